"""The user models, ERR and Compat against the values of ir_measures and against their twins.

`golden_peers/*.tsv` hold what ir_measures prints; its first line says which versions and how they were
made. All agree to 1e-9, ERR to the five decimals that gdeval prints. Where two scores of a query are
equal, cwl_eval keeps the order of the file and Compat takes the lower document id first: left out.
"""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path

import oracles_user_models
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles_user_models import METRICS
from quick import examples
from shared_cases import CASES, needs_cases, opened
from test_metric_properties import COLLECTIONS, FEW, LARGE, Qrels, Run
from test_templates import sums_without_order, tables_of
from twins import JUDGED_FIRST, OF_RUN, Ranked, compare, own, twin

from warehouse.evaluate.plan import plan
from warehouse.metrics import notation, protocols
from warehouse.sql_text import templates
from warehouse.warehouse import Warehouse

PEERS = Path(__file__).parent / "golden_peers"
RANDOM = (PEERS / "random.qrels", PEERS / "random.run")
DL19 = CASES / "dl19_passage"
Values = dict[tuple[str, str], float]


@cache
def golden(name: str, run: str) -> Values:
    values: Values = {}
    comment, _, *rows = (PEERS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    assert comment.startswith("# ir_measures 0.4.3, cwl-eval 1.0.12")
    for row in rows:
        of, measure, query, value = row.split("\t")
        if of == run:
            values[measure, query] = float(value)
    assert values
    return values


def tied(run: Path) -> set[str]:
    """Return the queries of a run in which two documents have the same score."""
    seen: set[tuple[str, float]] = set()
    found: set[str] = set()
    with opened(run) as lines:
        for line in lines:
            query, _, _, _, score = line.split()[:5]
            if (query, float(score)) in seen:
                found.add(query)
            seen.add((query, float(score)))
    return found


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "qrels", "run"),
    [
        pytest.param("random", *RANDOM, id="random", marks=pytest.mark.core),
        *(
            pytest.param(
                "dl19_passage", DL19 / "qrels.txt", DL19 / "runs" / f"{run}.run.gz",
                id=f"dl19-{run}", marks=needs_cases,
            )
            for run in ("bm25", "repllama")
        ),
    ],
)  # fmt: skip
def test_ir_measures(name: str, qrels: Path, run: Path) -> None:
    theirs = golden(name, run.name.partition(".")[0])
    names = {
        measure: str(notation.parse(measure, defaults=notation.Defaults(names="ir_measures"))[0])
        for measure, _ in theirs
    }
    rows = Warehouse.score(qrels, run, list(names.values())).relation.fetchall()
    ours = {(metric, query): value for query, metric, value in rows}
    open_order = tied(run)
    wrong = []
    compared = 0
    for (measure, query), value in theirs.items():
        gdeval = measure.startswith("ERR")  # keeps doubles, and puts equal scores in our order
        if not gdeval and (query in open_order or (query == "all" and open_order)):
            continue
        compared += 1
        found = ours[names[measure], query]
        if found is None or abs(found - value) > (5.1e-6 if gdeval else 1e-9):
            wrong.append(f"{measure} {query}: golden {value}, ours {found}")
    assert not wrong, f"{len(wrong)} of {compared} differ: {wrong[:20]}"
    assert compared > len(names)
    for measure, canonical in names.items():
        mine = {
            query
            for (metric, query), value in ours.items()
            if metric == canonical and value is not None
        }
        assert mine == {query for of, query in theirs if of == measure}, measure


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("Q", (0.5349699886600041, 0.705411643314869, 0.3109453095964253)),
        ("Q@5", (0.12763157894736843, 0.5721212121212121, 0.130471503534369)),
        (
            "Q(beta=10,gains={1:1,2:3,3:9,4:27})@10",
            (0.2611867622451619, 0.28786168610349205, 0.1262579912940412),
        ),
    ],
)
def test_ntcireval(metric: str, values: tuple[float, ...]) -> None:
    """What pyNTCIREVAL 0.0.3 makes of the random run, with gains of 1:2:3:4 or 1:3:9:27 as given."""
    rows = Warehouse.score(*RANDOM, metric).relation.fetchall()
    ours = {query: value for query, _, value in rows}
    for query, value in zip(("1", "2", "all"), values, strict=True):
        assert math.isclose(ours[query], value, rel_tol=1e-14), query


# --------------------------------------------------------------------------- the twins


@pytest.mark.slow
@pytest.mark.core
@given(
    data=COLLECTIONS,
    protocol=st.sampled_from(
        ["default", "trec_eval_9", "trec_eval_10", "trec_eval_c", OF_RUN, JUDGED_FIRST]
    ),
    depth=st.sampled_from([None, None, 1, 3]),
    judged_only=st.booleans(),
    level=st.sampled_from([None, None, 2]),
)
@examples(8)
def test_twins(
    data: tuple[Qrels, Run],
    protocol: str,
    depth: int | None,
    judged_only: bool,
    level: int | None,
) -> None:
    """Every value of every query, and the mean over those queries for which there is one."""

    def of_query(metric: notation.Metric, one: Ranked, _: object) -> float | None:
        value = twin(metric.name, oracles_user_models)(one.docs, one.grades, **own(metric))
        low, high = metric.definition.range
        assert value is None or low <= value <= high + 1e-12, (metric, one.query)
        return value

    compare(
        data, METRICS, of_query, tolerance=1e-11, protocol=protocol, depth=depth,
        judged_only=judged_only, level=level,
    )  # fmt: skip


@FEW
@given(data=LARGE)
def test_identities(data: tuple[Qrels, Run]) -> None:
    """Models that must meet: one document looked at, a person who never tires, one who never stops."""
    qrels, run = data
    pairs = [
        ("NERR8(max_rel=1)@1", "P@1"),
        ("NERR9(max_rel=1)@1", "P@1"),
        ("NERR10(p=0.0, max_rel=1)", "P@1"),
        ("SDCG(max_rel=1)@1", "P@1"),
        ("BPM(T=1000.0, max_rel=1)@5", "P@5"),
        ("NERR10(p=1.0, max_rel=3, horizon=7)", "NERR8(max_rel=3)@7"),
    ]
    rows = Warehouse.score(
        qrels, run, [name for pair in pairs for name in pair]
    ).relation.fetchall()
    ours = {(metric, query): value for query, metric, value in rows}
    for query in [*qrels, "all"]:
        for one, other in pairs:
            assert math.isclose(ours[one, query], ours[other, query], rel_tol=1e-12), (one, query)


@FEW
@given(data=LARGE)
def test_the_best_order_is_compatible(data: tuple[Qrels, Run]) -> None:
    qrels, _ = data
    ideal = {q: {doc: float(grade) for doc, grade in grades.items()} for q, grades in qrels.items()}
    rows = Warehouse.score(qrels, ideal, ["Compat", "NumRel", "AUC"]).relation.fetchall()
    ours = {(metric, query): value for query, metric, value in rows}
    for query in qrels:
        assert ours["Compat", query] == pytest.approx(1.0 if ours["NumRel", query] else 0.0)
        assert ours["AUC", query] in (1.0, None)


@pytest.mark.long
def test_many_threads_to_the_bit() -> None:
    """Enough rows for DuckDB to share them out: products and sums must still go in one order."""
    rng = random.Random(7)
    queries = [f"q{n}" for n in range(300)]
    docs = [f"d{n}" for n in range(1000)]
    qrels = {q: {d: rng.randint(0, 3) for d in rng.sample(docs, 60)} for q in queries}
    run = {q: {d: rng.random() for d in rng.sample(docs, 500)} for q in queries}
    one, two, four = (
        Warehouse.score(qrels, run, METRICS, threads=n).relation.fetchall() for n in (1, 2, 4)
    )
    assert one == two == four


@pytest.mark.slow
@needs_cases
def test_runs_evaluated_together_have_the_values_of_each_alone(tmp_path: Path) -> None:
    """To the bit: a product over a window, for one, would fall into other pieces."""
    wh = Warehouse(tmp_path / "together.duckdb")
    wh.ingest_qrels("dl19", DL19 / "qrels.txt")
    runs = {name: DL19 / "runs" / f"{name}.run.gz" for name in ("ada2", "bm25", "tasb")}
    for name, path in runs.items():
        wh.ingest_run("dl19", path, name=name)
    wh.evaluate("dl19", metrics=METRICS)
    rows = wh.query("select run, metric, query_id, value from query_scores").fetchall()
    together = {row[:3]: row[3] for row in rows}
    for name, path in runs.items():
        alone = Warehouse.score(DL19 / "qrels.txt", path, METRICS, threads=2).relation.fetchall()
        for query, metric, value in alone:
            assert query == "all" or together[name, metric, query] == value, (metric, query)


# --------------------------------------------------------------------------- undefined is left out


@pytest.mark.slow
def test_the_mean_is_over_the_queries_for_which_there_is_a_value(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "undefined.duckdb")
    wh.ingest_qrels("tiny", {"a": {"x": 1}, "b": {"x": 0}, "c": {"x": 1}, "s": {"x": 1}})
    wh.ingest_run(
        "tiny",
        {"a": {"x": 2.0, "y": 1.0}, "b": {"x": 1.0}, "c": {"y": 2.0, "x": 1.0, "z": 0.5}},
        name="mine",
    )
    wh.evaluate("tiny", metrics=["AUC", "ERR@5"])
    sql = "select metric, value, num_queries from scores order by metric"
    # a: 1 of 1 pairs, c: 1 of 2; b has nothing else than the document that is not relevant, s no answer
    assert wh.query(sql).fetchall() == [
        ("AUC", 0.75, 2),
        ("ERR@5", (1 + 0 + 1 / 2 + 0) / 64, 4),
    ]


# --------------------------------------------------------------------------- how the SQL is written


def test_templates() -> None:
    """What `test_templates` asks of every metric, asked of these with all their parameters."""
    work = plan(notation.parse(*METRICS), protocols.get("default"))
    for metric, sql in work.queries.items():
        found = metric.definition
        rendered = templates.compiled(found.body)
        read = tables_of(rendered.render(metric.params | {r: r for r in found.reads}))
        assert read == set(found.reads), str(metric)
        assert sums_without_order(sql) == [], str(metric)
