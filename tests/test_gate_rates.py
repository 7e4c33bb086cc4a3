"""Which runs gates call worse, and how often a sequential test errs: by simulation.

The statements are those of a sync, on values that are drawn: no run is loaded or scored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pytest

from warehouse.analyze import regressions
from warehouse.analyze.regressions import Comparison, Due, Gate, Limits
from warehouse.warehouse import Warehouse

np = pytest.importorskip("numpy")
stats = pytest.importorskip("scipy.stats")

NORMAL = NormalDist()
# Standard errors that are left for chance.
MARGIN = 3.5


def drawn(
    path: Path, groups: int, runs: int, queries: int, metrics: int = 1, drop: float = 0.0
) -> tuple[Warehouse, Any]:
    """Return a warehouse with groups of runs of equal quality, and their values.

    Only the last run of a group has dropped. A query has its own difficulty, which all runs share, and
    each run its own luck on it.
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
    return wh, values


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
    bound = -NORMAL.inv_cdf(regressions.pair_level(0.05, number))
    assert abs(np.mean(z > bound) - 0.05) < MARGIN * math.sqrt(0.05 * 0.95 / draws)


def red_runs(values: Any, against: str, alpha: float = 0.05) -> Any:
    """Return which runs are red, of values by metric, group, run and query, as a gate should."""
    metrics, groups, runs, queries = values.shape
    level = alpha / (1 + 2.1 * math.sqrt(alpha)) if against == "last" else alpha
    level /= metrics
    each, place = np.arange(groups), np.zeros(groups, int)
    red = np.zeros((groups, runs), bool)
    means = values.mean(axis=3)
    for run in range(1, runs):
        p = regressions.pair_level(level, run) if against == "best" else level
        least = stats.t.isf(p, queries - 1) / math.sqrt(queries)
        for metric in range(metrics):
            if against == "best":
                place = np.where(red[:, :run], -np.inf, means[metric, :, :run]).argmax(axis=1)
            drop = values[metric, each, place] - values[metric, :, run]
            red[:, run] |= drop.mean(axis=1) > least * drop.std(axis=1, ddof=1)
        if against == "last":
            place = np.where(red[:, run], place, run)
    return red[:, 1:]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("against", "groups", "runs", "queries", "metrics"),
    [
        ("last", 10, 30, 50, 1),
        ("best", 6, 20, 25, 2),
        pytest.param("last", 15, 200, 50, 2, marks=pytest.mark.long),
        pytest.param("last", 80, 50, 200, 1, marks=pytest.mark.long),
        pytest.param("best", 30, 101, 50, 1, marks=pytest.mark.long),
    ],
)
def test_gates_find_the_red_runs_of_the_simulation(
    tmp_path: Path, against: str, groups: int, runs: int, queries: int, metrics: int
) -> None:
    wh, values = drawn(tmp_path / "drawn.duckdb", groups, runs, queries, metrics)
    found = list(verdicts(wh, against, Limits(num_metrics=metrics), metrics))
    worse = {one.run for one in found if one.verdict == "worse"}
    # the interval is that of the test
    level = 0.05 / (1 + 2.1 * math.sqrt(0.05) * (against == "last")) / metrics
    by_run = values[0].reshape(groups * runs, queries)
    for one in found[:: len(found) // 9]:
        if one.metric == "RR":
            number, other = (int(name.replace("one", "r0")[1:]) for name in (one.run, one.against))
            p = regressions.pair_level(level, number % runs) if against == "best" else level
            gain = by_run[number] - by_run[other]
            half = stats.t.isf(p, queries - 1) * gain.std(ddof=1) / math.sqrt(queries)
            assert (one.low, one.high) == pytest.approx((gain.mean() - half, gain.mean() + half))
            assert (one.verdict == "worse") == (one.high < 0)
    places = np.argwhere(red_runs(values, against)) @ [runs, 1] + 1
    assert worse == {f"r{place}" for place in places}
    assert worse


def anytime_p(gains: Any, budget: float = 0.0) -> Any:
    """Return the p of the sequential test after each query, in NumPy; the gains lie between -1 and 1."""
    scaled = (gains + budget) / (1 + budget)
    money = sum(np.exp(np.log1p(-share / 32 * scaled).cumsum(axis=-1)) for share in range(1, 32))
    return np.minimum(1, 31 / money)


@pytest.mark.parametrize("budget", [0.01, pytest.param(0.0, marks=pytest.mark.slow)])
def test_the_sequential_test_is_that_of_the_simulation(tmp_path: Path, budget: float) -> None:
    wh, values = drawn(tmp_path / "drawn.duckdb", 1, 9, 25, drop=0.4)
    limits = Limits(max_drop=budget, sequential=True)
    found = {one.run: one.p for one in verdicts(wh, "one", limits) if one.run != "one"}
    expected = anytime_p(values[0, 0, 1:] - values[0, 0, :1], budget)[:, -1]
    assert found == pytest.approx({f"r{n}": p for n, p in enumerate(expected, 1)}, rel=1e-6)
    assert min(found.values()) < 0.05


@pytest.mark.parametrize(
    ("sequences", "runs", "queries", "budget"),
    [
        (200, 30, 60, 0.01),
        *(
            pytest.param(500, runs, queries, budget, marks=pytest.mark.long)
            for runs in (10, 100, 200)
            for queries in (25, 50, 200)
            for budget in (0.0, 0.01)
        ),
    ],
)
def test_spending_errs_in_as_few_sequences_of_runs_as_it_says(
    sequences: int, runs: int, queries: int, budget: float
) -> None:
    """Runs that dropped by as much as they may come night by night, and share their reference's luck.

    With the same alpha for each, some run is worse in more sequences than alpha says.
    """
    alpha, rng = 0.2, np.random.default_rng(38)
    limits = Limits(alpha=alpha, sequential=True, spend=True)
    levels = np.array([limits.at(place).alpha for place in range(1, runs + 1)])
    found = []
    for _ in range(sequences):
        luck = rng.choice([-0.05, 0.05], queries)
        gains = rng.choice([-0.25, 0.25], (runs, queries)) - luck - budget
        found.append(anytime_p(gains, budget)[:, -1])
    spent = (np.array(found) < levels).any(axis=1).mean()
    same = (np.array(found) < alpha).any(axis=1).mean()
    print(f"{runs} | {queries} | {budget:g} | {spent:.1%} | {same:.1%}")
    assert spent <= alpha
    assert queries < 60 or runs < 30 or same > 1.5 * alpha
