"""Shared parts of the conformance tests: values by a peer's labels, comparing golden files."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

import pytest
from shared_cases import CASES, EDGES, Case, Golden, aggregate, cases, opened

from warehouse.errors import UsageError
from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse

PROTOCOLS = {"9.0.8": "trec_eval_9", "10.0": "trec_eval_10"}
OPTIONS: dict[str, dict[str, int | bool]] = {
    "base": {},
    "c": {"complete": True},
    "J": {"judged_only": True},
    "M10": {"depth": 10},
    "l2": {"level": 2},
    "l8": {"level": 8},
    "cl2JM10": {"complete": True, "level": 2, "judged_only": True, "depth": 10},
}
# Lines that are not numbers: the tag of the run, and the grades of the first documents as a string.
TEXTS = ("runid", "relstring")


@dataclass(frozen=True)
class Ours:
    """Our values by trec_eval's labels."""

    values: dict[tuple[str, str], float]
    integers: frozenset[str]
    queries: frozenset[str]
    silent: frozenset[str]
    strings: dict[tuple[str, str], str]

    def printed(self, key: tuple[str, str]) -> str:
        value = self.values[key]
        return str(int(value)) if key[0] in self.integers else f"{value:6.4f}".strip()


def score(
    qrels: Path, runs: Mapping[str, Path], protocol: str, names: Sequence[str], **opts: int
) -> dict[str, Ours]:
    """Score runs at once, which takes far less time than one after another; return each one's values."""
    several = len(runs) > 1
    given = list(runs.values()) if several else next(iter(runs.values()))
    scores = Warehouse.score(qrels, given, names, protocol=protocol, **opts)
    labels: dict[str, list[str]] = {}
    integers = set()
    defaults = protocols.get(protocol).defaults(opts.get("level"))
    for one in scores.requested:
        label = one.trec_name or notation.trec_name(one.metric, defaults)[0]
        labels.setdefault(str(one.metric), []).append(label)
        if any(t.integer for t in one.metric.definition.trec_names):
            integers.add(label)
    named = dict(zip(scores.names, runs, strict=True)) if several else {"": next(iter(runs))}
    values: dict[str, dict[tuple[str, str], float]] = {run: {} for run in runs}
    for *of, query, metric, value in scores.relation.fetchall():
        mine = values[named["".join(of)]]
        for label in labels[metric]:
            mine[label, query] = value
    return {
        run: Ours(
            found,
            frozenset(integers),
            frozenset({query for _, query in found} - {"all"}),
            frozenset(),
            dict(scores.strings),
        )
        for run, found in values.items()
    }


def _score_one(
    qrels: Path, run: Path, protocol: str, names: tuple[str, ...], opts: tuple[tuple[str, int], ...]
) -> Ours:
    return score(qrels, {"": run}, protocol, names, **dict(opts))[""]


# The edge cases are small, and several tests look at the same values of them.
_of_edges = cache(_score_one)
_lately = lru_cache(maxsize=4)(_score_one)


def ask(
    qrels: Path, run: Path, protocol: str, names: Iterable[str] = ("all_trec",), **opts: int
) -> Ours:
    asked = _of_edges if EDGES in qrels.parts else _lately
    return asked(qrels, run, protocol, tuple(names), tuple(sorted(opts.items())))


# All the runs of these are held against trec_eval without options, and reading them takes little.
TOGETHER = ("dl19_passage", "ml_latest_small.qrels", "ml_latest_small.qrels.binary")

# The golden files of these have relstrings.
WITH_STRINGS = ("dl19_passage", "robust03")


@lru_cache(maxsize=2)
def all_runs(data: Case, version: str) -> dict[str, Ours]:
    return score(data.qrels, data.runs, PROTOCOLS[version], printed_by_trec_eval(data))


def ask_all(data: Case, run: str, version: str, opts: str) -> Ours:
    """Return everything that trec_eval and pytrec_eval print about a case, from one scoring.

    NumRel(rel=1) is what -c prints for num_rel at any level.
    """
    options = OPTIONS[opts]
    if opts == "base" and data.name in TOGETHER:
        ours = all_runs(data, version)[run]
        if data.name in WITH_STRINGS:  # which are of one run only
            texts = ask(data.qrels, data.runs[run], PROTOCOLS[version], ["relstring"]).strings
            ours = replace(ours, strings=texts)
    else:
        names = printed_by_trec_eval(data)
        names += ("NumRel(rel=1)",) if options.get("complete") else ()
        names += ("relstring",) if data.name in WITH_STRINGS else ()
        names += ("all_trec",) if data.name.startswith(EDGES) else ()
        ours = ask(data.qrels, data.runs[run], PROTOCOLS[version], names, **options)
    # changes of it stay with the caller
    return replace(ours, values=dict(ours.values))


@cache
def printed_by_trec_eval(data: Case) -> tuple[str, ...]:
    tools = ("trec_eval", "pytrec_eval-terrier")
    labels = {row["measure"] for row in aggregate(data) if row["tool"] in tools}
    return tuple(numbers_of(labels))


@cache
def known(label: str) -> bool:
    """Whether a label of trec_eval is the name of a metric here."""
    try:
        found = notation.request(label)
    except UsageError:
        return False
    return [one.trec_name or str(one.metric) for one in found] == [label]


def numbers_of(labels: Iterable[str]) -> list[str]:
    """Return the labels of numbers; every one of them must be the name of a metric here."""
    numbers = sorted(label for label in set(labels) if not label.startswith(TEXTS))
    assert [label for label in numbers if not known(label)] == []
    return numbers


def trec_eval_set_f(ours: Ours, query: str) -> float:
    """Return set_F from our precision and recall with trec_eval's own arithmetic.

    Ours divides whole numbers once and is exact; trec_eval's 2PR / (P + R) is off in the last bit.
    If the true value lies on a rounding boundary (11/32 = 0.34375), that bit decides a digit.
    """
    p, r = ours.values["set_P", query], ours.values["set_recall", query]
    return 2.0 * p * r / (r + p) if p + r else 0.0


def check_strings(ours: Ours, golden: Golden, where: str) -> None:
    """Compare relstring, which is a text for each query."""
    theirs = {query: text for (label, query), text in golden.items() if label == "relstring"}
    if theirs:
        mine = {query: f"'{text}'" for (_, query), text in ours.strings.items()}
        assert mine == theirs, where


def check_exact(ours: Ours, golden: Golden, where: str) -> int:
    wrong = [
        f"{key}: golden {text}, ours {ours.values.get(key)}"
        for key, text in golden.items()
        if key not in ours.values
        or not math.isclose(ours.values[key], float(text), rel_tol=0, abs_tol=1e-9)
    ]
    assert not wrong, f"{where}: {len(wrong)} of {len(golden)} differ: {wrong[:10]}"
    return len(golden)


def check_printed(ours: Ours, golden: Golden, where: str) -> int:
    wrong = []
    for key, text in golden.items():
        if key in ours.values and ours.printed(key) == text:
            continue
        if key[0] == "set_F" and key in ours.values and key[1] != "all":
            theirs = trec_eval_set_f(ours, key[1])
            same = math.isclose(theirs, ours.values[key], rel_tol=4e-16)
            if same and f"{theirs:6.4f}".strip() == text:
                continue
        wrong.append(f"{key}: golden {text}, ours {ours.values.get(key)}")
    assert not wrong, f"{where}: {len(wrong)} of {len(golden)} differ: {wrong[:10]}"
    return len(golden)


def check_queries(ours: Ours, golden: Golden, where: str) -> None:
    """Check that for every measure printed per query, both sides have values of the same queries."""
    theirs = {key for key in golden if key[1] != "all"}
    measures = {measure for measure, _ in theirs}
    mine = {key for key in ours.values if key[1] != "all" and key[0] in measures}
    assert mine == theirs, f"{where}: queries differ: {sorted(mine ^ theirs)[:10]}"


SUITE = CASES / "trec_eval_suite"


def suite_file(name: str) -> Path:
    return next(p for p in (SUITE / "data" / name, SUITE / "data" / f"{name}.gz") if p.exists())


def parsed(version: str, name: str) -> Golden:
    golden: Golden = {}
    with opened(SUITE / "upstream_golden" / version / name) as lines:
        for line in lines:
            label, query, text = line.rstrip("\n").split("\t")
            golden[label.strip(), query] = text
    return golden


# A document that occurs twice in a ranking: trec_eval stops, ir_measures and ranx silently take the
# last line. We refuse the file (`test_a_document_twice_is_refused`), so there is nothing to
# compare.
TWICE = f"{EDGES}/dup_docs_in_run"


QUICK = f"{EDGES}/ties_blocks"
# Of these CI looks at one run.
LARGER = ("bibtex", "mptp2078", "robust03")


def looked_at_with(data: Case, run: str) -> dict[str, Path]:
    """Return the runs that are scored at once where one of them is asked for."""
    return {run: data.runs[run]} if data.name in LARGER else data.runs


def peer_keys(tool: str) -> list[object]:
    """Return a parameter set for every run that a peer scored: CI takes one of every third case."""
    made = []
    for number, data in enumerate(cases()):
        if data.name == TWICE:
            continue
        found = {
            (row["run"], row["opts"]): None
            for row in aggregate(data)
            if row["tool"] == tool and row["qrels"] == data.qrels_name
        }
        for place, (run, opts) in enumerate(found):
            is_slow = not place and (number + (tool == "ranx")) % 3 == 0
            marks = [pytest.mark.slow if is_slow else pytest.mark.long]
            marks = [] if data.name == QUICK else marks
            label = "-".join([data.name, run, opts])
            made.append(pytest.param(data, run, opts, id=label, marks=marks))
    return made


@lru_cache(maxsize=4)
def tied_queries(run: Path) -> frozenset[str]:
    """Return the queries of a run with two documents of equal score in 32 bits."""
    with opened(run) as lines:
        rows = [line.split()[:5] for line in lines]
    singles = array("f", [float(row[4]) for row in rows])
    seen: set[tuple[str, float]] = set()
    tied = set()
    for row, score in zip(rows, singles, strict=True):
        if (row[0], score) in seen:
            tied.add(row[0])
        seen.add((row[0], score))
    return frozenset(tied)
