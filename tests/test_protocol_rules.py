"""Rules of protocols that no peer has: every query of the run counts; depth counts judged documents."""

from __future__ import annotations

import random
from math import log2
from pathlib import Path

import oracles_preferences
import oracles_recsys
import oracles_sources
import pytest
from peered import PEERED
from projects import invoked
from test_diversity import by_iteration, written
from test_metric_properties import METRICS, Qrels, Run
from test_recsys import surroundings
from twins import JUDGED_FIRST, OF_RUN, OF_RUN_RELEVANT, OWN_PROTOCOLS, close

from warehouse.config import project_file
from warehouse.metrics import protocols
from warehouse.warehouse import Warehouse


@pytest.fixture(autouse=True)
def _with_own_protocols(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_CONFIG", str(OWN_PROTOCOLS))


def values(qrels: object, run: object, names: object, **options: object) -> dict:
    rows = Warehouse.score(qrels, run, names, **options).relation.fetchall()
    return {(metric, query): value for query, metric, value in rows}


# a is judged and answered, b is answered only, c is judged only
JUDGED: Qrels = {"a": {"x": 1, "y": 0}, "c": {"x": 1}}
ANSWERED: Run = {"a": {"z": 4.0, "x": 2.0}, "b": {"p": 3.0, "q": 1.0}}


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("metric", "of_a", "of_b", "whole"),
    [
        ("NumQ", 1, 1, 2),
        ("NumRet", 2, 2, 4),
        ("NumRel", 1, 0, 1),
        ("P@2", 1 / 2, 0, 1 / 4),
        ("AP", (1 / 2) / 1, 0, 1 / 4),
        ("SetR", 1 / 1, 0, 1 / 2),
        ("nDCG", (1 / log2(3)) / 1, 0, 1 / log2(3) / 2),
        ("Judged@2", 1 / 2, 0, 1 / 4),
        ("Unjudged@2", 1 / 2, 1, 3 / 4),
        # what nobody judged may all be relevant: 1 - 0.2 * 0.8 of a, where x at rank 2 is known
        ("RBPresid", 1 - 0.2 * 0.8, 1, (1 - 0.2 * 0.8 + 1) / 2),
        # no value without a relevant document, so b is no part of the mean
        ("LAG", 1, None, 1),
        ("AUC", 0 / 1, None, 0),
        # one list by score: z p x q, of which x is the only one that is relevant
        ("AP(aggregate=pooled)", 1 / 2, 0, (1 / 3) / 1),
        ("AUC(aggregate=pooled)", 0 / 1, None, 1 / 3),
        # b has no relevant document, so it weighs nothing
        ("AP(aggregate=weighted, weight=relevant)", 1 / 2, 0, (1 * 1 / 2 + 0 * 0) / (1 + 0)),
        ("NumPref", 1, 0, 1),
        ("PrefBalanced", 1, 0, 1 / 2),
        ("P_IA@2", 1 / 2, 0, 1 / 4),
        ("alpha_nDCG", 1 / log2(3), 0, 1 / log2(3) / 2),
    ],
)
def test_every_query_of_the_run(metric: str, of_a: float, of_b: float | None, whole: float) -> None:
    rows = values(JUDGED, ANSWERED, metric, protocol=OF_RUN)
    ours = {query: value for (_, query), value in rows.items()}
    assert set(ours) == {"a", "b", "all"}
    for query, wanted in (("a", of_a), ("b", of_b), ("all", whole)):
        assert close(ours[query], wanted), query


@pytest.mark.slow
def test_queries_that_count_and_what_is_stored_of_them(wh: Warehouse) -> None:
    """By rule: which queries have a value; beside it, how many are judged and how many answered."""
    wh.ingest_qrels("tiny", JUDGED)
    wh.ingest_run("tiny", ANSWERED, name="mine")
    wh.ingest_run("tiny", {"b": {"p": 1.0}}, name="other")
    for protocol, mine, other in (
        ("default", ["a", "c"], ["a", "c"]), ("trec_eval_10", ["a"], []), (OF_RUN, ["a", "b"], ["b"]),
    ):  # fmt: skip
        wh.evaluate("tiny", metrics="P@2", protocol=protocol)
        sql = "select run, query_id from query_scores where protocol = $protocol order by all"
        assert wh.query(sql, protocol=protocol).fetchall() == [
            *(("mine", query) for query in mine), *(("other", query) for query in other),
        ]  # fmt: skip
        sql = (
            "select run, num_queries, num_answered, num_judged from scores "
            "where protocol = $protocol order by all"
        )
        assert wh.query(sql, protocol=protocol).fetchall() == [
            ("mine", len(mine), 1, 2), ("other", len(other), 0, 2),
        ]  # fmt: skip
    page = wh.queries("tiny", "mine", metrics="P@2", protocol=OF_RUN).fetchall()
    assert page == [("a", 0.5, 2, 1, 1, 1), ("b", 0.0, 2, 0, 0, 2)]


def test_the_board_says_over_how_many_queries_a_value_is(wh: Warehouse) -> None:
    """Also where more queries count than are judged."""
    run = {**ANSWERED, **{f"b{n}": {"p": 1.0} for n in range(5)}}
    wh.ingest_qrels("tiny", {"a": {"x": 1}})
    wh.ingest_run("tiny", run, name="mine")
    wh.evaluate("tiny", metrics="AUC P@1", protocol=OF_RUN)
    board = wh.leaderboard("tiny", protocol=OF_RUN)
    assert "AUC: mean over 1 of 7 queries (undefined for the others)" in board.notes


def test_relevance_is_asked_of_judged_queries_only() -> None:
    """Where a query that nothing is relevant for has no part in it, one without judgments has none."""
    ours = values(JUDGED, ANSWERED, "P@2 NumRet", protocol=OF_RUN_RELEVANT)
    assert ours == {
        ("P@2", "a"): 0.5, ("P@2", "all"): 0.5,
        ("NumRet", "a"): 2, ("NumRet", "b"): 2, ("NumRet", "all"): 4,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["each counts as 0", "1 query of the run is not judged; it is left out"]),
        (
            ["--protocol", OF_RUN],
            ["each is left out", "is not judged; it counts, with no relevant document"],
        ),
        (["--protocol", OF_RUN, "-c"], ["each counts as 0", "it is left out"]),
    ],
)
def test_what_is_said_of_them(tmp_path: Path, options: list[str], words: list[str]) -> None:
    (tmp_path / "q").write_text("a 0 x 1\na 0 y 0\nc 0 x 1\n")
    (tmp_path / "r").write_text("a Q0 x 1 1 t\nb Q0 p 1 1 t\n")
    result = invoked("score", str(tmp_path / "q"), str(tmp_path / "r"), "P@1", *options)
    assert result.exit_code == 0, result.output
    for word in words:
        assert word in result.stderr


# n is in the judgments as nobody's business: a grade below 0 counts as unjudged
GRADES: Qrels = {"q": {"a": 1, "b": 0, "c": 1, "n": -1}}
LISTED: Run = {"q": {doc: 7.0 - place for place, doc in enumerate("uanvbc")}}
NAMES = "NumRet SetP SetR AP LRAP Judged SetF bpref"


@pytest.mark.parametrize(
    ("protocol", "depth", "wanted"),
    [
        # u a n v b are looked at, a b are left
        ("default", 5, (2, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1, 1 / 2, 1 / 2)),
        ("default", 1, (0, 0, 0, 0, 0, 0, 0, 0)),
        # a b c are left, of which so many are looked at
        (JUDGED_FIRST, 5, (3, 2 / 3, 1, 5 / 6, 5 / 6, 1, 4 / 5, (1 + 0) / 2)),
        (JUDGED_FIRST, 2, (2, 1 / 2, 1 / 2, 1 / 2, 1 / 2, 1, 1 / 2, 1 / 2)),
        (JUDGED_FIRST, 1, (1, 1, 1 / 2, 1 / 2, 1 / 2, 1, 2 / 3, 1 / 2)),
    ],
)
def test_depth_before_or_after(protocol: str, depth: int, wanted: tuple[float, ...]) -> None:
    ours = values(GRADES, LISTED, NAMES, protocol=protocol, depth=depth, judged_only=True)
    assert [ours[name, "q"] for name in NAMES.split()] == pytest.approx(wanted, rel=1e-12)


def test_a_metric_that_asks_for_judged_documents_itself() -> None:
    """The order is the protocol's, whoever asks for judged documents."""
    ours = values(GRADES, LISTED, "SetP(judged_only=True) SetP", protocol="by_metric")
    assert (ours["SetP(judged_only=True)", "q"], ours["SetP", "q"]) == (1 / 2, 1 / 2)
    ours = values(GRADES, LISTED, "SetR(judged_only=True) SetR", protocol="by_metric", depth=3)
    assert (ours["SetR(judged_only=True)", "q"], ours["SetR", "q"]) == (1, 1 / 2)


def by_part(wh: Warehouse, slice: str) -> dict[tuple[str, str], float | None]:
    sql = "select part, metric, value from slice_scores where slice = $slice"
    return {(part, m): value for part, m, value in wh.query(sql, slice=slice).fetchall()}


@pytest.mark.slow
def test_depth_in_a_part_of_the_documents(wh: Warehouse) -> None:
    """Counted in the part's own list where it counts judged documents, else in the whole list."""
    wh.ingest_qrels("tiny", GRADES)
    wh.ingest_run("tiny", LISTED, name="mine")
    kinds = {doc: {"kind": "x" if doc in "ac" else "y"} for doc in "uanvbc"}
    wh.ingest_attributes("tiny", kinds, of="docs", name="kinds")
    names = "NumRet NumRet(judged_only=True) SetR SetR(judged_only=True) LRAP(judged_only=True)"
    wh.evaluate("tiny", metrics=names, protocol="by_metric", slices=["kind"])
    assert by_part(wh, "kind") == {
        # x: a c, a among the first two of u a n v b c; y: u n v b, u among them, b judged
        ("x", "NumRet"): 1, ("x", "NumRet(judged_only=True)"): 2, ("x", "SetR"): 1 / 2,
        ("x", "SetR(judged_only=True)"): 1, ("x", "LRAP(judged_only=True)"): 1,
        ("y", "NumRet"): 1, ("y", "NumRet(judged_only=True)"): 1, ("y", "SetR"): 0,
        ("y", "SetR(judged_only=True)"): 0, ("y", "LRAP(judged_only=True)"): 0,
    }  # fmt: skip


@pytest.mark.slow
def test_every_query_of_the_run_in_its_part(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", JUDGED)
    wh.ingest_run("tiny", ANSWERED, name="mine")
    lengths = {"a": {"length": "short"}, "b": {"length": "long"}, "c": {"length": "long"}}
    wh.ingest_attributes("tiny", lengths, of="queries", name="lengths")
    wh.evaluate(
        "tiny", metrics="NumRet P@2 AUC(aggregate=pooled)", protocol=OF_RUN, slices=["length"]
    )
    assert by_part(wh, "length") == {
        ("short", "NumRet"): 2, ("short", "P@2"): 1 / 2, ("short", "AUC(aggregate=pooled)"): 0,
        ("long", "NumRet"): 2, ("long", "P@2"): 0, ("long", "AUC(aggregate=pooled)"): None,
    }  # fmt: skip


EVERYTHING = [
    *METRICS, *oracles_sources.METRICS, *oracles_preferences.METRICS, *oracles_recsys.METRICS, *PEERED,
]  # fmt: skip


@pytest.mark.parametrize(
    "protocol",
    [
        pytest.param(OF_RUN_RELEVANT, marks=pytest.mark.long),
        pytest.param("judged_first_3", marks=pytest.mark.long),
    ],
)
def test_stored_values_are_those_of_files(wh: Warehouse, tmp_path: Path, protocol: str) -> None:
    """To the bit, every metric that there is, with another run beside."""
    rng = random.Random(11)
    judged, run = by_iteration(rng)
    world = surroundings(rng)
    other = {query: dict(reversed(found.items())) for query, found in list(run.items())[::2]}
    runs = {"mine": run, "other": other}
    qrels = written(judged, tmp_path)
    wh.ingest_qrels("all", qrels, iterations=True)
    wh.ingest_training("all", world.training)
    wh.ingest_attributes("all", world.attributes, of="docs", name="world")
    for name, one in runs.items():
        wh.ingest_run("all", one, name=name)
    wh.evaluate("all", metrics=EVERYTHING, protocol=protocol)
    rows = wh.query(
        "select run, metric, query_id, value from query_scores "
        "union all select run, metric, 'all', value from scores"
    ).fetchall()
    stored = {row[:3]: row[3] for row in rows}
    scored = {
        (name, metric, query): value
        for name, one in runs.items()
        for (metric, query), value in values(
            qrels, one, EVERYTHING, protocol=protocol, iterations=True,
            training=world.training, attributes=[world.attributes],
        ).items()
    }  # fmt: skip
    assert stored == scored


def test_the_rules_are_shown() -> None:
    result = invoked("protocols", "show", "default", OF_RUN, JUDGED_FIRST, "-f", "csv")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "queries,≠,judged,run,judged" in lines
    assert "judged_only_first,≠,false,false,true" in lines


def test_the_keys_of_the_package_are_those_of_a_project() -> None:
    found = protocols._built_in().convert(dict[str, project_file.Protocol])
    assert found.keys() == protocols._built_in().record.keys()


def test_rules_of_the_package() -> None:
    """trec_eval counts the depth first; nothing here does otherwise unless it says so."""
    with_own = protocols.catalogue()
    assert {p.queries for p in with_own.values()} == {"judged", "both", "run"}
    first = {name for name, p in with_own.items() if p.judged_only_first}
    assert first == {JUDGED_FIRST, "judged_first_3", "by_metric"}
