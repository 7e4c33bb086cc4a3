"""The user models, ERR and Compat against the values of ir_measures.

`golden_peers/*.tsv` hold what ir_measures prints; its first line says which versions and how they were
made. All agree to 1e-9, ERR to the five decimals that gdeval prints. Where two scores of a query are
equal, cwl_eval keeps the order of the file and Compat takes the lower document id first: left out.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import pytest
from peered import USER_MODELS as METRICS
from shared_cases import CASES, needs_cases, opened
from test_templates import own_sql, sums_without_order, tables_of

from warehouse.metrics import notation
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


def test_templates() -> None:
    """What `test_templates` asks of every metric, asked of these with all their parameters."""
    for metric in notation.parse(*METRICS):
        sql = own_sql(metric)
        assert tables_of(sql) == set(metric.definition.reads), str(metric)
        assert sums_without_order(sql) == [], str(metric)
