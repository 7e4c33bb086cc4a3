"""Conformance: our values against those that trec_eval and pytrec_eval print.

The data and the golden files are the shared cases (see `shared_cases.py`). The `exact` files (17
digits) must agree to 1e-9, the official outputs (four digits) to the digit that is printed, per query
and over all queries, and in both directions: no golden row without ours and no query of ours without
a golden row. What differs by design stands in a test of its own with the reason.

The parts of trec_eval's own suite that read -R prefs, qrels_prefs and qrels_jg are in test_preferences.
"""

from __future__ import annotations

import math

import pytest
from conformance import (
    LARGER,
    OPTIONS,
    PROTOCOLS,
    TWICE,
    ask,
    ask_all,
    check_exact,
    check_printed,
    check_queries,
    check_strings,
    numbers_of,
)
from shared_cases import EDGES, Case, Golden, aggregate, aggregate_of, case, cases, needs_cases

from warehouse.errors import InputError
from warehouse.warehouse import Warehouse

pytestmark = needs_cases
PYTREC_EVAL = "pytrec_eval-terrier"


def means_of(data: Case, version: str, opts: str, run: str) -> dict[str, str]:
    """Return trec_eval's values over all queries by label, with all digits."""
    return {label: row["exact"] for label, row in rows_of(data, version, opts, run).items()}


def rows_of(data: Case, version: str, opts: str, run: str) -> dict[str, dict[str, str]]:
    """Return the rows of trec_eval's values over all queries by label."""
    return {
        row["measure"]: row
        for row in aggregate_of(data, "trec_eval", run)
        if (row["version"], row["opts"]) == (version, opts)
    }


def layers(data: Case, version: str, opts: str, run: str) -> tuple[Golden, Golden]:
    """Return the golden rows as (exact, printed); the files of 10.0 and of -c are overlays."""

    def rows(tool: str, opts: str) -> Golden:
        return (data.golden(tool, opts) or {}).get(run, {})

    exact = dict(rows("trec_eval-9.0.8-exact", "base"))
    if version == "10.0":
        # 10.0's file holds the queries that differ; where it has none of a measure whose mean does,
        # they are not stored, and 9.0.8's values of the queries are not 10.0's
        nine, ten = (means_of(data, each, "base", run) for each in ("9.0.8", "10.0"))
        changed = {label for label in ten if ten[label] != nine.get(label)}
        changed -= {m for m, query in rows("trec_eval-10.0-exact", "base") if query != "all"}
        exact = {key: text for key, text in exact.items() if key[0] not in changed}
    if opts == "base":
        return exact | (rows("trec_eval-10.0-exact", "base") if version == "10.0" else {}), {}
    if opts == "c":
        printed = {
            key: text if key[0].startswith(("num_", "runid", "relstring"))
            else f"{float(text):6.4f}".strip()
            for key, text in exact.items()
        }  # fmt: skip
        printed |= rows("trec_eval-9.0.8", "c")
        return {}, printed | (rows("trec_eval-10.0", "c") if version == "10.0" else {})
    return {}, rows(f"trec_eval-{version}", opts)


def keys() -> list[object]:
    """Return a parameter set for every invocation of trec_eval and pytrec_eval that gave values.

    What is held against the same scoring stands together: it is kept for the next. Quick are the values
    without options, of one run of the larger cases and of every fourth edge case, and every option on
    the plain case. Slow are those of all cases, options on one run of every 16th case (of the edge
    cases, every 24th), each option on another one, and pytrec_eval, which gives trec_eval's values;
    the versions take turns. All of them on all runs are "long".
    """
    made: list[object] = []
    core = {(f"{EDGES}/plain", "base"), (f"{EDGES}/ties_float32", "base"), (f"{EDGES}/tabs", "c")}
    for number, data in enumerate(cases()):
        is_edge, is_plain = data.name.startswith(EDGES), data.name == f"{EDGES}/plain"
        found = {
            (row["run"], row["opts"], row["tool"], row["version"])
            for row in aggregate(data)
            if row["tool"] in ("trec_eval", PYTREC_EVAL) and row["qrels"] == data.qrels_name
            if (data.name, row["tool"]) != (TWICE, PYTREC_EVAL)
        }
        for run, opts, tool, version in sorted(
            found, key=lambda of: (*of[:2], of[3] == "10.0", of[2])
        ):
            is_core = (data.name, opts) in core and tool == "trec_eval"
            marks = [pytest.mark.core] if is_core else []
            runs = sorted(data.runs)
            place = list(OPTIONS).index(opts)
            turn = runs[place % len(runs)]
            # of one run the two versions of trec_eval take turns
            asked = run == turn and (len(runs) > 1 or version != "10.0" or opts in ("c", "cl2JM10"))
            if not is_plain:
                asked = asked and (number + place) % (24 if is_edge else 16) == 0
            is_usual = opts == "base" and tool != PYTREC_EVAL
            if is_usual and data.name in LARGER and run != runs[0]:
                is_usual = version == list(PROTOCOLS)[runs.index(run) % 2]
            if is_edge and not is_plain:
                is_usual = is_usual and version == list(PROTOCOLS)[number % 2]
            is_first = version == "9.0.8" and (run == runs[0] or data.name not in LARGER)
            is_quick = is_usual and (number % 4 == 0 if is_edge else is_first)
            is_quick = is_quick or (is_plain and version == list(PROTOCOLS)[place % 2])
            if not (is_usual or asked or is_core):
                marks.append(pytest.mark.long)
            elif not (is_core or is_quick):
                marks.append(pytest.mark.slow)
            label = "-".join([data.name, run, tool, version, opts])
            made.append(pytest.param(data, tool, version, opts, run, id=label, marks=marks))
    return made


@pytest.mark.parametrize(("data", "tool", "version", "opts", "run"), keys())
def test_trec_eval(data: Case, tool: str, version: str, opts: str, run: str) -> None:
    if tool == PYTREC_EVAL:
        check_pytrec_eval(data, run, opts)
    else:
        check_trec_eval(data, version, opts, run)


def check_trec_eval(data: Case, version: str, opts: str, run: str) -> None:
    where = f"{data.name} {run}, trec_eval {version} {opts}"
    assert data.refused("trec_eval", version, opts, run) is None
    means = {(label, "all"): row for label, row in rows_of(data, version, opts, run).items()}
    exact, printed = layers(data, version, opts, run)
    supported = numbers_of(measure for measure, _ in [*exact, *printed, *means])
    arguments = OPTIONS[opts]
    ours = ask_all(data, run, version, opts)

    check_strings(ours, exact | printed, where)
    if arguments.get("complete") and "level" in arguments:
        # trec_eval's -c summary counts the relevant documents of rel > 0, whatever -l says; ours
        # obeys the level. The golden number is that of NumRel(rel=1).
        key = ("num_rel", "all")
        theirs = means.pop(key)["exact"]
        assert printed.pop(key) == theirs
        assert ours.values["NumRel", "all"] == int(theirs)
    check_queries(ours, {k: v for k, v in (exact | printed).items() if k[0] in supported}, where)
    nans = {key for key, text in printed.items() if "nan" in text}
    if nans:
        # trec_eval 10 -c scores a made-up document for a query that the run lacks; -J takes it away,
        # and the interpolated precisions of an empty ranking are 0/0 there. Undefined is 0 here.
        assert (data.name, version, opts) == (f"{EDGES}/missing_queries_in_run", "10.0", "cl2JM10")
        silent = ours.queries - ask(data.qrels, data.runs[run], "trec_eval_9", ["map"]).queries
        for measure, query in nans:
            assert measure.startswith(("iprec_at_recall_", "11pt_avg"))
            assert query in silent | {"all"}
            if measure in supported and query in silent:
                assert ours.values[measure, query] == 0.0
        printed = {key: text for key, text in printed.items() if key not in nans}
        means = {key: row for key, row in means.items() if "nan" not in row["exact"]}

    def mine(rows: Golden) -> Golden:
        return {key: text for key, text in rows.items() if key[0] in supported}

    compared = check_exact(ours, mine(exact), where)
    compared += check_printed(ours, mine(printed), where)
    compared += check_exact(ours, mine({k: row["exact"] for k, row in means.items()}), where)
    compared += check_printed(
        ours, mine({k: row["official_4dec"] for k, row in means.items()}), where
    )
    assert compared >= len(supported)


def test_every_set_of_options_is_asked_for():
    """The goldens hold all options: an unknown name of options would be a KeyError, none unseen."""
    seen = {row["opts"] for data in cases() for row in aggregate(data)}
    assert seen <= set(OPTIONS)


def check_pytrec_eval(data: Case, run: str, opts: str) -> None:
    """pytrec_eval is trec_eval 9; its per-query values are stored for the edge cases only."""
    tool = "pytrec_eval-0.5.11"
    golden = dict((data.golden(tool, "base") or {}).get(run, {})) if opts == "base" else {}
    for row in aggregate_of(data, PYTREC_EVAL, run):
        if row["opts"] == opts:
            golden[row["measure"], "all"] = row["exact"]
    supported = numbers_of(measure for measure, _ in golden)
    ours = ask_all(data, run, "9.0.8", opts)
    mine = {key: text for key, text in golden.items() if key[0] in supported}
    for key, text in mine.items():
        if key[0].startswith("gm_") and key[1] != "all":  # of a query it gives the logarithm
            mine[key] = repr(math.exp(float(text)))
            ours.values[key] = max(ours.values[key], 1e-5)
    check_exact(ours, mine, f"{data.name} {run} pytrec_eval {opts}")
    check_queries(ours, mine, f"{data.name} {run} pytrec_eval {opts}")


def values(name: str, protocol: str, opts: str = "base") -> dict[tuple[str, str], float]:
    """Return a run's values, of trec_eval's protocols those that `test_trec_eval` looks at."""
    data = case(f"{EDGES}/{name}")
    for version, other in PROTOCOLS.items():
        if other == protocol:
            return ask_all(data, "run", version, opts).values
    return ask(data.qrels, data.runs["run"], protocol, **OPTIONS[opts]).values


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", ["crlf", "tabs", "scientific_scores", "interleaved_queries", "rank_contradicts_score"]
)
@pytest.mark.parametrize("protocol", ["default", "trec_eval_9", "trec_eval_10"])
def test_how_a_file_is_written_changes_nothing(name: str, protocol: str) -> None:
    assert values(name, protocol) == values("plain", protocol)


def test_ties_in_32_bits() -> None:
    """Scores that differ as doubles only are ties for trec_eval 9 and are none for trec_eval 10."""
    nine, ten = values("ties_float32", "trec_eval_9"), values("ties_float32", "trec_eval_10")
    assert (repr(nine["map", "all"])[:7], repr(ten["map", "all"])[:7]) == ("0.18376", "0.21076")
    assert values("ties_float32", "default")["map", "all"] == ten["map", "all"]


@pytest.mark.slow
def test_negative_judgments_count_as_unjudged() -> None:
    """Grades below 0 change what looks at judged non-relevant documents, and -J; nothing else."""
    both = case(f"{EDGES}/plain"), case(f"{EDGES}/negative_judgements")
    plain, negative = (ask(of.qrels, of.runs["run"], "trec_eval_9").values for of in both)
    differing = {label for label, query in plain if plain[label, query] != negative[label, query]}
    assert differing == {"bpref", "gm_bpref", "infAP", "num_nonrel_judged_ret"}
    judged = values("negative_judgements", "trec_eval_9", "J")
    assert judged["num_ret", "all"] < values("plain", "trec_eval_9", "J")["num_ret", "all"]


def test_a_document_twice_is_refused() -> None:
    data = case(f"{EDGES}/dup_docs_in_run")
    why = data.refused("trec_eval", "9.0.8", "base", "run")
    assert why is not None
    assert "duplicate docs LA041090-0148" in why
    with pytest.raises(InputError, match="LA041090-0148"):
        Warehouse.score(data.qrels, data.runs["run"], "map", protocol="trec_eval_9")


@pytest.mark.slow
def test_missing_queries() -> None:
    """trec_eval 10 stops without -c where 9 leaves the missing queries out; both agree with -c."""
    data = case(f"{EDGES}/missing_queries_in_run")
    assert data.refused("trec_eval", "9.0.8", "base", "run") is None
    why = data.refused("trec_eval", "10.0", "base", "run")
    assert why is not None
    assert "not found in qrels" in why
    run = data.runs["run"]
    for protocol in ("trec_eval_9", "trec_eval_10"):
        assert ask(data.qrels, run, protocol).values["num_q", "all"] == 2
        assert ask(data.qrels, run, protocol, complete=True).values["num_q", "all"] == 4
    assert len(ask(data.qrels, run, "trec_eval_9", complete=True).queries) == 2
    assert len(ask(data.qrels, run, "trec_eval_10", complete=True).queries) == 4
    assert ask(data.qrels, run, "default").values["num_q", "all"] == 4


def test_what_missing_queries_count_as() -> None:
    """An empty ranking; trec_eval 9's -c prints yaap 0.3466 (ln 2 / 2), utility 0, num_rel 3 at -l 2.

    q1 has a, relevant, and x: ln((1 + 1) / (1 + 1 - 1)), and 1 - 1. q2 has nothing of two that are
    relevant: ln(1 / 3), and -2.
    """
    qrels, run = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1, "d": 1}}, {"q1": {"a": 2.0, "x": 1.0}}
    names = "yaap utility.1,-1,-1,0 NumRel(rel=1)"
    found = Warehouse.score(qrels, run, names, protocol="trec_eval_c").means()
    assert list(found.values()) == pytest.approx([(math.log(2) + math.log(1 / 3)) / 2, -1, 3])
    found = Warehouse.score(qrels, run, "num_rel", protocol="trec_eval_c", level=2).means()
    assert found == {"NumRel(rel=2)": 0}
