"""How often gates call runs worse that are not, and how often they see a drop: by simulation.

The statements are those of a sync, on values that are drawn: no run is loaded or scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist

import pytest

from warehouse.analyze import regressions
from warehouse.analyze.regressions import Comparison, Due, Gate, Limits
from warehouse.warehouse import Warehouse

np = pytest.importorskip("numpy")

NORMAL = NormalDist()
# Standard errors that are left for chance.
MARGIN = 3.5


def drawn(
    path: Path, groups: int, runs: int, queries: int, metrics: int = 1, drop: float = 0.0
) -> Warehouse:
    """Return a warehouse with groups of runs of equal quality, of which only the last has dropped.

    A query has its own difficulty, which all runs share, and each run its own luck on it.
    """
    rng = np.random.default_rng(46)
    wh = Warehouse(path)
    wh.ingest_qrels("d", {"q": {"a": 1}})
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="one", system="0")
    names = ["RR", "P@1", "AP"][:metrics]
    wh.evaluate(metrics=names)
    number = groups * runs
    with wh.file.transaction() as con:
        # the one run that is loaded is multiplied, with what belongs to it
        con.execute("create temp table copy as select range as n from range(1, $1)", [number])
        for table in ("run", "evaluation", "score"):
            con.execute(f"create temp table {table}_one as from store.{table}")
        con.execute(
            "insert into store.run by name select run_one.* replace (run_id + n as run_id, "
            "'r' || n as name, content_hash || n as content_hash, (n // $1)::varchar as system, "
            "ingested_at + to_seconds(n) as ingested_at, null as checksum) from run_one, copy",
            [runs],
        )
        con.execute(
            "insert into store.gate_due select run_id from store.run where run_id not in "
            "(select run_id from store.gate_due)"
        )
        con.execute(
            "insert into store.evaluation by name select evaluation_one.* replace ("
            "run_id + n as run_id, evaluation_id + n * $1 as evaluation_id, "
            "content_hash || n as content_hash, "
            "null as checksum) from evaluation_one, copy",
            [metrics],
        )
        con.execute(
            "insert into store.score by name select score_one.* replace "
            "(evaluation_id + n * $1 as evaluation_id) from score_one, copy",
            [metrics],
        )
        ease = rng.normal(0.5, 0.2, (metrics, groups, 1, queries))
        values = ease + rng.normal(0, 0.1, (metrics, groups, runs, queries))
        values[:, :, -1] -= drop
        con.execute("delete from store.query_score")
        base = con.execute("select min(evaluation_id) from store.evaluation").fetchone()[0]
        for metric in range(metrics):
            con.execute(
                "insert into store.query_score (evaluation_id, query_id, value) select "
                "$1 + $2 + (i // $3) * $4, 'q' || (i % $3), value from (select unnest($5) as value, "
                "unnest(range(len($5))) as i)",
                [base, metric, queries, metrics, values[metric].ravel().tolist()],
            )
        con.execute(
            "update store.score set value = found.value from (select evaluation_id, avg(value) as value "
            "from store.query_score group by all) as found "
            "where score.evaluation_id = found.evaluation_id"
        )
    return wh


def verdicts(wh: Warehouse, against: str, limits: Limits, metrics: int = 1) -> Iterator[Comparison]:
    """Yield the verdicts of a gate on all runs but the first of each group."""
    names = ["RR", "P@1", "AP"][:metrics]
    gates = [Gate("d", name, "system", against, limits, "default") for name in names]
    with wh.file.read() as con:
        seen = [(gate, one) for gate in gates for one in regressions.seen(con, gate)]
        seen.sort(key=lambda found: found[1].turn)
        dues = [Due(gate, one.run, one.run_id) for gate, one in seen]
        for _, found in regressions.judged(con, dues, {}):
            assert isinstance(found, Comparison), found
            if found.against is not None:
                yield found


def share_of_red(found: list[Comparison]) -> tuple[float, int]:
    """Return the share of runs that are worse in any metric, and the number of runs."""
    runs = {one.run_id for one in found}
    return len({one.run_id for one in found if one.verdict == "worse"}) / len(runs), len(runs)


def highest(alpha: float, number: int) -> float:
    return alpha + MARGIN * math.sqrt(alpha * (1 - alpha) / number)


def rate_of_the_chain(level: float, step: float = 0.02, end: float = 6.0) -> float:
    """Return the share of red runs of equal quality beside the last that was not red, by quadrature.

    The values of runs and references are normal, and a run is red if it is further below its reference
    than the bound of the test: the reference stays then. The density of the references solves
    f(v) = pdf(v) * (share of references below v + bound) + f(v) * (chance of being red below v).
    """
    bound = -NORMAL.inv_cdf(level) * math.sqrt(2)
    places = np.arange(-end, end + step / 2, step)
    density = np.array([NORMAL.pdf(place) for place in places])
    red = np.array([NORMAL.cdf(place - bound) for place in places])
    shift = round(bound / step)
    chain = density / density.sum()
    for _ in range(300):
        below = np.cumsum(chain)
        reached = np.concatenate([below[shift:], np.full(shift, below[-1])])
        chain = density * reached / (1 - red)
        chain /= chain.sum()
    return float((chain * red).sum())


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05, 0.1, 0.2])
def test_the_level_beside_the_last_accepted_run(alpha: float) -> None:
    assert rate_of_the_chain(Limits(alpha=alpha).level("last")) <= alpha * 1.005
    assert rate_of_the_chain(alpha) > alpha * 1.04


@pytest.mark.parametrize("number", [1, 2, 10, 200])
def test_the_p_beside_the_best_of_many(number: int) -> None:
    """The best of equal runs is drawn; the bound at which p is 0.05 is passed by 5 %."""
    rng = np.random.default_rng(46)
    draws = 40_000
    # the greatest of so many draws is the quantile of a power of a uniform one
    best = np.array([NORMAL.inv_cdf(u) for u in rng.uniform(size=draws) ** (1 / number)])
    z = (best - rng.normal(size=draws)) / math.sqrt(2)
    passed = np.mean([regressions.chosen_p(NORMAL.cdf(-one), number) < 0.05 for one in z[:8000]])
    assert abs(passed - 0.05) < MARGIN * math.sqrt(0.05 * 0.95 / 8000)
    stretch = regressions.stretched(0.05, number)
    bound = -stretch * NORMAL.inv_cdf(0.05)
    assert abs(np.mean(z > bound) - 0.05) < MARGIN * math.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize(
    ("against", "groups", "runs", "queries", "metrics"),
    [
        ("last", 10, 30, 50, 1),
        pytest.param("last", 60, 50, 25, 1, marks=pytest.mark.long),
        pytest.param("last", 15, 200, 50, 2, marks=pytest.mark.long),
        pytest.param("last", 80, 50, 200, 1, marks=pytest.mark.long),
        pytest.param("best", 1500, 2, 50, 1, marks=pytest.mark.long),
        pytest.param("best", 150, 11, 25, 1, marks=pytest.mark.long),
        pytest.param("best", 30, 101, 50, 1, marks=pytest.mark.long),
        pytest.param("best", 15, 201, 50, 2, marks=pytest.mark.long),
    ],
)
def test_runs_of_equal_quality_are_red_as_seldom_as_alpha_says(
    tmp_path: Path, against: str, groups: int, runs: int, queries: int, metrics: int
) -> None:
    wh = drawn(tmp_path / "drawn.duckdb", groups, runs, queries, metrics)
    found = list(verdicts(wh, against, Limits(num_metrics=metrics), metrics))
    share, number = share_of_red(found)
    print(
        f"{against}, {runs - 1} runs before, {queries} queries, {metrics} metrics: {share:.2%} red"
    )
    assert share <= highest(0.05, number)
    assert share > 0.01


@pytest.mark.parametrize(
    ("drop", "budget", "least", "most"),
    [
        (0.1, 0.0, 0.99, 1.0),
        (0.03, 0.0, 0.2, 0.7),
        (0.01, 0.01, 0.0, 0.06),
        (0.06, 0.01, 0.5, 0.95),
    ],
)
@pytest.mark.long
def test_a_drop_is_seen_as_often_as_by_a_fixed_paired_t_test(
    tmp_path: Path, drop: float, budget: float, least: float, most: float
) -> None:
    """Differences have the deviation 0.1 sqrt(2), and 50 queries the standard error 0.02."""
    groups = 400
    wh = drawn(tmp_path / "drawn.duckdb", groups, 2, 50, drop=drop)
    found = list(verdicts(wh, "last", Limits(max_drop=budget)))
    assert len(found) == groups
    share = sum(one.verdict == "worse" for one in found) / groups
    print(f"drop {drop}, max_drop {budget}: {share:.1%} red")
    assert least <= share <= most
    # a fixed test at the same level would see as much: the power of a one-sided t by the normal
    level = Limits().level("last")
    fixed = NORMAL.cdf((drop - budget) / 0.02 + NORMAL.inv_cdf(level))
    assert abs(share - fixed) < 0.03 + MARGIN * math.sqrt(fixed * (1 - fixed) / groups)
    sizes = sorted(one.could_see for one in found)
    # (1.87 + 0.85) * 0.02, by the quantiles of t with 49 degrees of freedom
    assert sizes[groups // 2] == pytest.approx(0.0543, abs=0.004)
