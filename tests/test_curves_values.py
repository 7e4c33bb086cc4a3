"""The points of curves: against twins in plain Python, scikit-learn, trec_eval, and what must hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import oracles_curves as twins
import pytest
from shared_cases import case, needs_cases

from warehouse.evaluate.evaluation import compute
from warehouse.evaluate.plan import plan
from warehouse.evaluate.stored_runs import Job
from warehouse.metrics import curves, protocols
from warehouse.metrics.notation import parse, parse_one
from warehouse.warehouse import Warehouse

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Found = dict[str | None, list[tuple[float, float]]]
Values = dict[str, dict[str | None, float | None]]

ELEVEN = [n / 10 for n in range(11)]
PROJECT = """
[protocols.odd]
extends = "default"
summary = "The first seven documents, then the judged ones among them."
depth = 7
judged_only = true
"""
RULES = {
    "default": {},
    "trec_eval_9": {"as_single": True},
    "odd": {"depth": 7, "judged_only": True},
}
Twin = Callable[[dict[str, twins.Listed]], twins.Curves]
CURVES: dict[str, tuple[int, Twin]] = {
    "PrecisionByRank": (1, lambda of: twins.precision_by_rank(of, cutoff=100)),
    "PrecisionByRank(rel=2)@4": (2, lambda of: twins.precision_by_rank(of, cutoff=4)),
    "RecallByRank": (1, lambda of: twins.recall_by_rank(of, cutoff=100)),
    "RecallByRank(rel=2)@4": (2, lambda of: twins.recall_by_rank(of, cutoff=4)),
    "RankByRecall": (1, lambda of: twins.rank_by_recall(of, levels=ELEVEN)),
    "RankByRecall(rel=2, levels=[0.25,0.7,1])": (
        2, lambda of: twins.rank_by_recall(of, levels=[0.25, 0.7, 1]),
    ),
    "InterpolatedPrecision(rel=2, levels=[0,0.28,0.7], needed=ceil)": (
        2, lambda of: twins.interpolated_precision(of, levels=[0, 0.28, 0.7], rule="ceil"),
    ),
    **{
        f"InterpolatedPrecision(needed={rule})": (
            1, lambda of, rule=rule: twins.interpolated_precision(of, levels=ELEVEN, rule=rule),
        )
        for rule in ("ceil", "trec_eval_9", "trec_eval_10")
    },
    **{
        f"PrecisionRecall(rel={rel}, ties={ties}, aggregate={aggregate}, points={points})@{cutoff}": (
            rel,
            lambda of, ties=ties, aggregate=aggregate, points=points, cutoff=cutoff: (
                twins.precision_recall(
                    of, ties=ties, aggregate=aggregate, points=points, cutoff=cutoff
                )
            ),
        )
        for rel, points, cutoff in ((1, "all", 100), (2, "corners", 5))
        for ties in ("rank", "threshold")
        for aggregate in ("mean", "pooled")
    },
    "PrecisionRecall": (
        1, lambda of: twins.precision_recall(
            of, ties="rank", aggregate="mean", points="corners", cutoff=None
        ),
    ),
    **{
        f"ROC(rel={rel}, ties={ties}, points={points}){at}": (
            rel,
            lambda of, ties=ties, points=points, at=at: twins.roc(
                of, ties=ties, points=points, cutoff=int(at[1:]) if at else None
            ),
        )
        for rel, points, at in ((1, "all", ""), (1, "corners", ""), (2, "corners", "@5"))
        for ties in ("rank", "half")
    },
}  # fmt: skip


def collection(seed: int, queries: int = 12) -> tuple[Qrels, Run]:
    """Make judgments and a run: ties, gaps, grades below 0, queries without answer or relevance."""
    dice = random.Random(seed)
    pool = [f"d{number}" for number in range(16)]
    qrels: Qrels = {}
    run: Run = {"unjudged": {"d1": 1.0}}
    for number in range(queries):
        query = f"q{number}"
        grades = (-1, 0) if number == 0 else (-1, 0, 0, 1, 1, 2, 3)
        judged = dice.sample(pool, dice.randint(2, 12))
        qrels[query] = {doc: dice.choice(grades) for doc in judged}
        if number == 1:
            continue
        shown = dice.sample(pool, dice.randint(1, len(pool)))
        # equal scores within a query and across queries, some of them only as 32-bit floats
        run[query] = {
            doc: dice.choice([dice.randint(1, 5) / 4, 0.7 + dice.randint(0, 2) * 1e-9])
            for doc in shown
        }
    return qrels, run


# The curves whose area a metric gives.
AREAS = {
    f"{curve}(ties={rule}{pooled}){at}": f"{metric}(ties={rule}, aggregate=pooled){at}"
    for curve, metric, rules, pooled in (
        ("ROC", "AUC", ("rank", "half", "input"), ""),
        ("PrecisionRecall", "AP", ("rank", "threshold"), ", aggregate=pooled"),
    )
    for rule in rules
    for at in ("", "@6")
}
IPREC = [f"IPrec@{level}" for level in ELEVEN]


def points(wh: Warehouse, curve: str, dataset: str, protocol: str = "default") -> Found:
    """Return every stored point of a curve of the only run, by query; positions must be in order."""
    metric = wh.curve(dataset, curve, store=True, protocol=protocol).metric
    return stored(wh, dataset).get((str(metric), protocol), {})


def stored(wh: Warehouse, dataset: str) -> dict[tuple[str, str], Found]:
    """Return all stored points by curve and protocol, then by query."""
    rows = wh.query(
        "select curve, protocol, query_id, position, x, y from curve_points "
        "where dataset = $d order by all",
        d=dataset,
    ).fetchall()
    made: dict[tuple[str, str], Found] = {}
    for curve, protocol, query_id, position, x, y in rows:
        found = made.setdefault((curve, protocol), {}).setdefault(query_id, [])
        assert position == len(found)
        found.append((x, y))
    return made


def same(ours: Sequence[tuple[float, float]], theirs: Sequence[Sequence[float]]) -> bool:
    return len(ours) == len(theirs) and all(
        math.isclose(a, float(b), rel_tol=1e-12, abs_tol=1e-12)
        for one, other in zip(ours, theirs, strict=True)
        for a, b in zip(one, other, strict=True)
    )


def area(found: Sequence[tuple[float, float]]) -> float:
    """Return the area by trapezoids."""
    return math.fsum((x - a) * (y + b) / 2 for (a, b), (x, y) in pairwise(found))


def steps(found: Sequence[tuple[float, float]]) -> float:
    """Return the area where each point holds back to the one before it, from 0 on."""
    begun = [(0.0, 0.0), *found]
    return math.fsum((x - a) * y for (a, _), (x, y) in zip(begun, found, strict=False))


@pytest.fixture(
    scope="module", params=[1, *(pytest.param(seed, marks=pytest.mark.long) for seed in (2, 3))]
)
def random_data(request, tmp_path_factory) -> Iterator[tuple[Warehouse, Qrels, Run]]:
    folder = tmp_path_factory.mktemp("curves")
    (folder / "warehouse.toml").write_text(PROJECT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAREHOUSE_CONFIG", str(folder / "warehouse.toml"))
        qrels, run = collection(request.param)
        wh = Warehouse(folder / "curves.duckdb")
        wh.ingest_qrels("random", qrels)
        wh.ingest_run("random", run, name="run")
        wanted = [curves.parse(name) for name in CURVES]
        areas = [curves.parse(name) for name in AREAS]
        jobs = [Job(plan(wanted, protocols.get(protocol))) for protocol in RULES]
        jobs.append(Job(plan([*areas, *parse(*AREAS.values(), *IPREC)], protocols.get("default"))))
        compute(wh.file, jobs, "random")
        yield wh, qrels, run


@pytest.fixture(scope="module")
def points_of(random_data) -> dict[tuple[str, str], Found]:
    """Return the points of all of `CURVES` and `AREAS`, read once."""
    return stored(random_data[0], "random")


@pytest.fixture(scope="module")
def values_of(random_data) -> Values:
    """Return the values of the metrics in `AREAS` and `IPREC`, read once."""
    return values(random_data[0])


@pytest.fixture(autouse=True)
def _project(request, monkeypatch: pytest.MonkeyPatch) -> None:
    if "random_data" in request.fixturenames:
        wh, *_ = request.getfixturevalue("random_data")
        monkeypatch.setenv("WAREHOUSE_CONFIG", str(wh.path.parent / "warehouse.toml"))


@pytest.mark.core
@pytest.mark.parametrize("name", list(CURVES))
def test_against_the_twins(
    name: str, random_data: tuple[Warehouse, Qrels, Run], points_of: dict[tuple[str, str], Found]
) -> None:
    _, qrels, run = random_data
    rel, twin = CURVES[name]
    for protocol, rules in RULES.items():
        # trec_eval_9 counts the queries that are in the run alone
        counted = {q: g for q, g in qrels.items() if protocol != "trec_eval_9" or q in run}
        lists = twins.lists(counted, run, rel, **rules)
        theirs = {query: found for query, found in twin(lists).items() if found}
        ours = points_of[str(curves.parse(name)), protocol]
        assert set(ours) == set(theirs), protocol
        for query, found in theirs.items():
            assert same(ours[query], found), f"{protocol}: {query}: {ours[query]} {found}"


def test_every_parameter_has_a_twin() -> None:
    seen: dict[str, dict[str, set[object]]] = {}
    for name in CURVES:
        metric = curves.parse(name)
        for key, value in metric.params.items():
            seen.setdefault(metric.name, {}).setdefault(key, set()).add(value)
    assert set(curves.curves()) - set(seen) == set(), (
        "name it in CURVES, with a twin in oracles_curves"
    )
    for name, found in curves.curves().items():
        for p in found.parameters:
            if p.inherited:
                continue
            others = set(p.choices) - {"input"} if p.choices else {p.default}
            assert others <= seen[name][p.name], p.name
            assert p.choices or len(seen[name][p.name]) > 1, p.name


def values(wh: Warehouse) -> Values:
    """Return the stored values of metrics by query, and over all of them under None."""
    rows = wh.query(
        "select metric, query_id, value from query_scores where protocol = 'default' "
        "union all "
        "select metric, null, value from score_versions where is_current and protocol = 'default'"
    ).fetchall()
    made: dict[str, dict[str | None, float | None]] = {}
    for metric, query_id, value in rows:
        made.setdefault(metric, {})[query_id] = value
    return made


def named(text: str) -> str:
    return str(parse_one(text).metric)


@pytest.mark.parametrize("ties", ["rank", "half", "input"])
@pytest.mark.parametrize("at", ["", "@6"])
def test_the_area_under_roc_is_auc(ties: str, at: str, random_data, points_of, values_of) -> None:
    wh, *_ = random_data
    curve = f"ROC(ties={ties}){at}"
    ours = points_of[str(curves.parse(curve)), "default"]
    auc = values_of[named(AREAS[curve])]
    assert {query for query, value in auc.items() if value is not None} == set(ours)
    for query, found in ours.items():
        assert math.isclose(area(found), auc[query], rel_tol=1e-12)
        assert found[0] == (0, 0)
        assert found[-1] == (1, 1)
    trace = wh.curve("random", curve)
    assert math.isclose(trace.areas["run"], auc[None], rel_tol=1e-12)


@pytest.mark.parametrize("ties", ["rank", "threshold"])
@pytest.mark.parametrize("at", ["", "@6"])
def test_the_area_under_precision_and_recall_is_ap(
    ties: str, at: str, random_data, points_of, values_of
) -> None:
    wh, qrels, _ = random_data
    # AP at a cutoff divides by R, too
    curve = f"PrecisionRecall(ties={ties}, aggregate=pooled){at}"
    ours = points_of[str(curves.parse(curve)), "default"]
    ap = values_of[named(AREAS[curve])]
    for query in [*qrels, None]:
        assert math.isclose(steps(ours.get(query, [])), ap[query], rel_tol=1e-12, abs_tol=1e-15)
    trace = wh.curve("random", curve)
    assert math.isclose(trace.areas["run"], ap[None], rel_tol=1e-12)


def test_how_many_queries_a_mean_is_over(random_data, points_of) -> None:
    wh, *_ = random_data
    by_query = points_of[str(curves.parse("RankByRecall")), "default"]
    shown = wh.curve("random", "RankByRecall").fetchall()
    for _, _, x, _, queries in shown:
        assert queries == sum(x in dict(found) for query, found in by_query.items() if query)


def _sklearn(found: Found, lists: dict[str | None, twins.Listed], *, roc: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    compared = 0
    for query, one in lists.items():
        good = sum(one.is_rel)
        if not good or (roc and good == len(one.is_rel)):
            assert not roc or query not in found
            continue
        truth, scores = list(one.is_rel), list(one.scores)
        if roc:
            xs, ys, _ = metrics.roc_curve(truth, scores, drop_intermediate=False)
            theirs = list(zip(xs, ys, strict=True))
        else:
            ys, xs, _ = metrics.precision_recall_curve(truth, scores, drop_intermediate=True)
            # theirs ends in (0, 1); its recall is over the relevant documents that are listed
            share = good / one.num_rel
            theirs = [(x * share, y) for x, y in zip(xs, ys, strict=True)][-2::-1]
        assert same(found[query], theirs), query
        compared += 1
    assert compared


@pytest.mark.slow
@needs_cases
@pytest.mark.parametrize(
    ("name", "run", "rel"),
    [("dl19_passage", "bm25", 2), pytest.param("bibtex", "ridge", 1, marks=pytest.mark.long)],
)
def test_scikit_learn_on_real_data(name: str, run: str, rel: int, wh: Warehouse) -> None:
    from shared_cases import opened

    found = case(name)
    wh.ingest_qrels("d", found.qrels)
    wh.ingest_run("d", found.runs[run], name="run")
    qrels: Qrels = {}
    for line in opened(found.qrels.with_name("qrels.txt")):
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    scores: Run = {}
    for line in opened(found.folder / "runs" / f"{run}.run"):
        query, _, doc, _, score, _ = line.split()
        scores.setdefault(query, {})[doc] = float(score)
    keep = sorted(qrels)[:200]
    every = twins.lists(qrels, scores, rel)
    lists: dict[str | None, twins.Listed] = {query: every[query] for query in keep}
    lists[None] = twins.pooled(every, ties="half")
    ours = points(wh, f"ROC(rel={rel}, ties=half, points=all)", "d")
    _sklearn(ours, lists, roc=True)
    few = points(wh, f"roc_curve(rel={rel})", "d")
    for query, of_query in few.items():
        assert set(of_query) <= set(ours[query])
        assert math.isclose(area(of_query), area(ours[query]), rel_tol=1e-12)
    pr = points(wh, f"PrecisionRecall(rel={rel}, ties=threshold, aggregate=pooled)", "d")
    _sklearn(pr, lists, roc=False)
    # the identity, on real data
    wh.evaluate("d", metrics=f"AUC(rel={rel}, ties=half, aggregate=pooled)")
    rows = dict(wh.query("select query_id, value from query_scores").fetchall())
    for query, value in rows.items():
        assert (value is None) == (query not in few)
        assert value is None or math.isclose(area(few[query]), value, rel_tol=1e-12)
    ((pooled,),) = wh.query("select value from scores").fetchall()
    assert math.isclose(area(few[None]), pooled, rel_tol=1e-12)


@pytest.mark.sample(12, 6)
@pytest.mark.slow
@needs_cases
@pytest.mark.parametrize("name", ["dl19_passage", "edge_basic/ties_blocks", "edge_basic/plain"])
@pytest.mark.parametrize("version", ["9.0.8", "10.0"])
def test_the_eleven_points_of_trec_eval(name: str, version: str, tmp_path: Path) -> None:
    found = case(name)
    golden = found.golden(f"trec_eval-{version}-exact", "base")
    older = found.golden("trec_eval-9.0.8-exact", "base")
    assert older is not None
    wh = Warehouse(tmp_path / "golden.duckdb")
    wh.ingest_qrels("d", found.qrels)
    compared = 0
    runs = list(found.runs)[:3]
    for run in runs:
        wh.ingest_run("d", found.runs[run], name=run)
    protocol = "trec_eval_9" if version == "9.0.8" else "trec_eval_10"
    metric = wh.curve("d", "iprec_at_recall", runs=runs, store=True, protocol=protocol).metric
    for run in runs:
        rows = wh.query(
            "select query_id, x, y from curve_points where run = $r and curve = $c and protocol = $p",
            r=run, c=str(metric), p=protocol,
        ).fetchall()  # fmt: skip
        # of trec_eval 10 only what differs from 9 is kept in some of the files
        theirs = older.get(run, {}) | ((golden or {}).get(run, {}))
        for query_id, x, y in rows:
            key = (f"iprec_at_recall_{x:.2f}", query_id or "all")
            assert math.isclose(y, float(theirs[key]), rel_tol=1e-12, abs_tol=1e-12), key
            compared += 1
    assert compared > 50
