"""Resampling in SQL: the generator, exact tests, the error of looking at some permutations, ranks."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import inf, sqrt

import duckdb
import pytest

from warehouse.analyze import resampling
from warehouse.analyze.resampling import Resampling
from warehouse.sql_text import templates
from warehouse.store import database

# by metric, run and query
Values = Mapping[tuple[int, int, int], float | None]


def connection(
    values: Values, pairs: Sequence[tuple[int, int]], **limits: int
) -> duckdb.DuckDBPyConnection:
    """Return a connection with values of the metric 0, and a hypothesis for each pair (base, run)."""
    con = database.memory(database.Resources(**limits))
    con.execute(
        "create temp table compared "
        "(metric_number integer, run_number integer, query_number integer, value double)"
    )
    con.executemany(
        "insert into compared values (?, ?, ?, ?)", [(*k, v) for k, v in values.items()]
    )
    con.execute(
        "create temp table hypothesis (hypothesis integer, metric_number integer, "
        "base_number integer, run_number integer)"
    )
    con.executemany(
        "insert into hypothesis values (?, 0, ?, ?)", [(n, *pair) for n, pair in enumerate(pairs)]
    )
    resampling.put_units(con)
    return con


def of_runs(*runs: Sequence[float]) -> dict[tuple[int, int, int], float]:
    return {(0, run, query): v for run, some in enumerate(runs) for query, v in enumerate(some)}


def drawn(seed: int, *, queries: int, runs: int = 2) -> list[list[float]]:
    """Return random values of runs on so many queries."""
    rng = random.Random(seed)
    return [
        [rng.choice([0.0, 0.25, 1 / 3, 0.5, rng.random()]) for _ in range(queries)]
        for _ in range(runs)
    ]


@pytest.mark.parametrize(
    ("one", "other", "key", "words"),
    [
        (0, 0, 0, ("ff1dae59", "6cd10df2")),
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, ("2c3f628b", "ab4fd7ad")),
        (0x243F6A88, 0x85A308D3, 0x13198A2E, ("dd7ce038", "f62a4c12")),
    ],
)
def test_the_generator(one: int, other: int, key: int, words: tuple[str, str]) -> None:
    """The known answers of Philox 2x32 with 10 rounds in its authors' library, Random123."""
    counters = f"select {one}::ubigint as x, {other}::ubigint as y"
    macro = "{{ random_words(counters, key, [('x', 'y')]) }}"
    sql = templates.environment().from_string(macro).render(counters=counters, key=key)
    with duckdb.connect() as con:
        found = con.execute(sql).fetchall()[0]
    assert tuple(f"{word:08x}" for word in found) == words


def philox(one: int, other: int, key: int) -> tuple[int, int]:
    """Restate the generator."""
    for _ in range(10):
        product = one * 0xD256D193
        one, other = (product >> 32) ^ key ^ other, product & 0xFFFFFFFF
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return one, other


def every_sign(differences: Sequence[float]) -> float:
    """Restate Fisher's test: the share of all choices of signs whose sum is at least as far from 0."""
    signed = [d for d in differences if d]
    whole = abs(sum(signed)) - 1e-12
    sums = [
        sum(s * d for s, d in zip(signs, signed, strict=True))
        for signs in itertools.product((1, -1), repeat=len(signed))
    ]
    return sum(abs(one) >= whole for one in sums) / len(sums)


@pytest.mark.parametrize(("seed", "queries"), [(1, 1), (2, 7), (3, 8), (4, 9), (5, 13)])
def test_few_queries_are_exact(seed: int, queries: int) -> None:
    one, other = drawn(seed, queries=queries)
    differences = [b - a for a, b in zip(one, other, strict=True)]
    differing = sum(d != 0 for d in differences)
    with connection(of_runs(one, other), [(0, 1)]) as con:
        found = resampling.randomisation(con, Resampling(1000, 0), {0: differing})
    assert found[0].is_exact
    assert found[0].permutations == 2**differing
    assert found[0].p == every_sign(differences)


def test_what_differs_nowhere_beside_what_differs_often() -> None:
    """One of 30 queries, one of 5, and one that has no difference, in one call."""
    long, longer = drawn(12, queries=30)
    short = {(0, 2, query): v for query, v in enumerate(drawn(13, queries=5)[0])}
    values = of_runs(long, longer) | short
    differing = {0: 0, 1: sum(a != b for a, b in zip(long, longer, strict=True))}
    differing[2] = sum(long[query] != v for (_, _, query), v in short.items())
    with connection(values, [(0, 0), (0, 1), (0, 2)]) as con:
        found = resampling.randomisation(con, Resampling(1000, 0), differing)
    assert found[0].p == 1.0
    assert (found[1].is_exact, found[1].permutations) == (False, 1000)
    assert found[2].p == every_sign([v - long[query] for (_, _, query), v in short.items()])


def test_some_permutations_are_within_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one statement, for two seeds: p is within four standard errors of the exact one."""
    monkeypatch.setattr(resampling, "EXACT", 0)
    samples = [drawn(seed, queries=12) for seed in range(8)]
    runs = [run for sample in samples for run in sample]
    hypotheses = [(2 * n, 2 * n + 1) for n in range(len(samples))]
    differing = {
        n: sum(a != b for a, b in zip(*sample, strict=True)) for n, sample in enumerate(samples)
    }
    with connection(of_runs(*runs), hypotheses) as con:
        for seed in (0, 1):
            found = resampling.randomisation(con, Resampling(10_000, seed), differing)
            for number, (one, other) in enumerate(samples):
                exact = every_sign([b - a for a, b in zip(one, other, strict=True)])
                error = sqrt(exact * (1 - exact) / 10_000)
                assert found[number].p == pytest.approx(exact, abs=4 * error + 1e-4)
                assert found[number].standard_error == pytest.approx(error, rel=0.2, abs=1e-4)


def test_the_permutations_are_those_of_the_generator() -> None:
    """Worked anew in Python, choice by choice: 70 queries need two blocks of 64."""
    one, other = drawn(6, queries=90)
    differences = [b - a for a, b in zip(one, other, strict=True) if a != b]
    assert len(differences) > 64
    how = Resampling(200, 3)
    with connection(of_runs(one, other), [(0, 1)]) as con:
        found = resampling.randomisation(con, how, {0: len(differences)})[0]
    extreme = 0
    for permutation in range(200):
        total = 0.0
        for place, difference in enumerate(differences):
            word = philox(permutation, place // 64, how.key("signs"))[place % 64 // 32]
            total += -difference if word >> (place % 32) & 1 else difference
        extreme += abs(total) >= abs(sum(differences)) - 1e-12
    assert found.p == (1 + extreme) / 201


def test_tukey_of_few_is_within_its_error() -> None:
    """All 6^4 orders of three runs on four queries; p within four standard errors of the exact one."""
    runs = drawn(7, queries=4, runs=3)
    columns = list(zip(*runs, strict=True))
    spreads = []
    for orders in itertools.product(itertools.permutations(range(3)), repeat=4):
        sums = [
            sum(c[o[place]] for c, o in zip(columns, orders, strict=True)) for place in range(3)
        ]
        spreads.append(max(sums) - min(sums))
    pairs = [(0, 1), (0, 2), (1, 2)]
    with connection(of_runs(*runs), pairs) as con:
        found = resampling.tukey(con, Resampling(10_000, 0), 0, 3)
    for number, (base, run) in enumerate(pairs):
        apart = abs(sum(runs[run]) - sum(runs[base])) - 1e-12
        exact = sum(spread >= apart for spread in spreads) / len(spreads)
        error = sqrt(exact * (1 - exact) / 10_000)
        assert found[number].p == pytest.approx(exact, abs=4 * error + 1e-4)


def test_tukey_leaves_out_queries_that_one_run_lacks() -> None:
    runs = drawn(8, queries=6, runs=3)
    whole = of_runs(*runs)
    lacking = {key: value for key, value in whole.items() if key != (0, 2, 5)}
    shorter = {key: value for key, value in whole.items() if key[2] != 5}
    how = Resampling(500, 0)
    found = []
    for values in (lacking, shorter):
        with connection(values, [(0, 1), (0, 2)]) as con:
            found.append(resampling.tukey(con, how, 0, 3))
    assert found[0] == found[1]


def resampled(how: Resampling, queries: int) -> Iterator[list[int]]:
    """Restate which queries each resample draws."""
    for resample in range(how.resamples):
        words = [
            word
            for slot in range((queries + 1) // 2)
            for word in philox(resample, slot, how.key("resamples"))
        ]
        yield [word * queries >> 32 for word in words[:queries]]


@pytest.mark.parametrize("queries", [5, 6])
def test_the_bootstrap_worked_anew(queries: int) -> None:
    """Resample by resample in Python; the ends are quantiles between neighbours, as numpy's are."""
    np = pytest.importorskip("numpy")
    # sixty-fourths: their sums are exact
    one, other = ([round(x * 64) / 64 for x in values] for values in drawn(3, queries=queries))
    differences = [b - a for a, b in zip(one, other, strict=True)]
    how = Resampling(100, 5)
    means = [
        sum(differences[pick] for pick in picks) / queries for picks in resampled(how, queries)
    ]
    with connection(of_runs(one, other), [(0, 1)]) as con:
        found = resampling.bootstrap(con, how, {0: queries}, 0.1)[0]
    assert found == pytest.approx(tuple(np.quantile(means, [0.05, 0.95])), abs=1e-12)
    means.sort()  # 0.05 of the way from the first of 100 to the last is place 4.95
    low, high = 0.05 * 99 - 4, 0.95 * 99 - 94
    assert found == (
        means[4] + low * (means[5] - means[4]),
        means[94] + high * (means[95] - means[94]),
    )


@pytest.mark.parametrize("queries", [5, 12])
def test_bca_is_that_of_scipy(queries: int) -> None:
    """SciPy makes the interval of the same resamples, given to it as those of an earlier call."""
    np, stats = pytest.importorskip("numpy"), pytest.importorskip("scipy.stats")
    # skewed, in sixty-fourths
    one, other = ([round(x**3 * 64) / 64 for x in some] for some in drawn(5, queries=queries))
    differences = np.array(other) - np.array(one)
    how = Resampling(400, 5)
    means = [differences[picks].mean() for picks in resampled(how, queries)]
    first = stats.bootstrap((differences,), np.mean, n_resamples=10, method="BCa")
    first.bootstrap_distribution = np.array(means)
    wanted = stats.bootstrap(
        (differences,), np.mean, n_resamples=0, bootstrap_result=first, method="BCa",
        confidence_level=0.9,
    ).confidence_interval  # fmt: skip
    runs = of_runs(one, other, one, [value + 0.5 for value in one])
    with connection(runs, [(0, 1), (0, 2), (0, 3)]) as con:
        found = resampling.bootstrap(
            con, how, dict.fromkeys(range(3), queries), 0.1, is_corrected=True
        )
        plain = resampling.bootstrap(con, how, {0: queries}, 0.1)
    assert found[0] == pytest.approx((wanted.low, wanted.high), abs=1e-12)
    assert found[0] != pytest.approx(plain[0], abs=1e-3)
    # nothing deviates
    assert [found[1], found[2]] == [(0.0, 0.0), (0.5, 0.5)]


def studentised(some: Sequence[Fraction], mean: Fraction) -> float:
    """Return the t of some differences less a mean: infinite if only the mean differs from 0."""
    total, n = sum(some), len(some)
    shift = total - n * mean
    spread = n * sum(one * one for one in some) - total * total
    if not spread:
        return inf if shift else 0.0
    return abs(float(shift)) / sqrt(spread)


@pytest.mark.parametrize("queries", [5, 8])
def test_the_paired_bootstrap_test_worked_anew(queries: int) -> None:
    """Sakai 2006, resample by resample in fractions, which the shift to the mean 0 leaves exact.

    A pair with one difference in all queries has an infinite t, which no shifted resample reaches.
    """
    one, other = ([round(x * 64) / 64 for x in values] for values in drawn(3, queries=queries))
    differences = [Fraction(b) - Fraction(a) for a, b in zip(one, other, strict=True)]
    how = Resampling(200, 5)
    t = studentised(differences, Fraction(0))
    extreme = sum(
        studentised([differences[pick] for pick in picks], sum(differences) / Fraction(queries))
        >= t - 1e-9
        for picks in resampled(how, queries)
    )
    runs = of_runs(one, other, one, [value + 0.5 for value in one])
    with connection(runs, [(0, 1), (0, 2), (0, 3)]) as con:
        found = resampling.bootstrap_test(con, how, dict.fromkeys(range(3), queries))
    assert found[0] == resampling.Chance((1 + extreme) / 201, 200, is_exact=False)
    assert 1 < extreme < 200
    assert [found[n].p for n in (1, 2)] == [1.0, 1 / 201]


def ranks_anew(
    runs: Sequence[Sequence[float | None]], how: Resampling, alpha: float, better: int
) -> dict[int, tuple[int, int, float]]:
    """Restate the ranks of runs resample by resample, with means as fractions."""
    ranks: list[list[int]] = []
    for picks in resampled(how, len(runs[0])):
        means = []
        for run in runs:
            drawn = [Fraction(v) for v in (run[pick] for pick in picks) if v is not None]
            means.append(better * sum(drawn) / len(drawn) if drawn else -inf)
        ranks.append([1 + sum(other > mean for other in means) for mean in means])
    cut = alpha / 2 * len(ranks)
    found = {}
    for number, of_run in enumerate(zip(*ranks, strict=True)):
        among = range(1, len(runs) + 1)
        low = min(r for r in among if sum(x <= r for x in of_run) >= cut and r in of_run)
        high = min(r for r in among if sum(x > r for x in of_run) <= cut and r in of_run)
        found[number] = low, high, of_run.count(1) / len(of_run)
    return found


@pytest.mark.parametrize(("queries", "lower_is_better"), [(4, True), (7, False)])
def test_ranks_worked_anew(
    monkeypatch: pytest.MonkeyPatch, queries: int, lower_is_better: bool
) -> None:
    """Quarters, which tie often, and a run without some values; all at once and in pieces."""
    rng = random.Random(queries)
    runs: list[list[float | None]] = [
        [rng.randrange(5) / 4 for _ in range(queries)] for _ in range(4)
    ]
    runs[3][1:] = [None] * (queries - 1)
    values = {
        (0, run, query): v for run, of_run in enumerate(runs) for query, v in enumerate(of_run)
    }
    how = Resampling(200, 9)
    wanted = ranks_anew(runs, how, 0.3, -1 if lower_is_better else 1)
    for most in (100, 3):
        monkeypatch.setattr(resampling, "_SIDE_BY_SIDE", most)
        with connection(values, [(0, 0)]) as con:
            found = resampling.rank_intervals(con, how, 0, 0.3, lower_is_better=lower_is_better)
        assert {n: (one.low, one.high, one.p_first) for n, one in found.items()} == wanted


def test_ranks_of_two_runs_on_two_queries() -> None:
    """By hand, the four draws 11, 12, 21, 22 are equally likely.

    The means of 1, 1/4 are 1, 5/8, 5/8, 1/4 and those of 1/2, 1/2 are 1/2: first in 3 of 4. Those of
    1, 1/4 and of 1/4, 1 are equal in 12 and 21, so that each is first in 3 of 4. At alpha 0.6, 0.3 are
    cut off at either end. No p of two queries is below 2 of 2^2 choices of signs: at alpha 0.5 nothing
    is resolved.
    """
    for other, share, place in (([0.5, 0.5], 1 / 4, 2), ([0.25, 1.0], 3 / 4, 1)):
        with connection(of_runs([1.0, 0.25], other), [(0, 1)]) as con:
            found = resampling.rank_intervals(
                con, Resampling(10_000, 0), 0, 0.6, lower_is_better=False
            )
            unresolved = resampling.rank_intervals(
                con, Resampling(100, 0), 0, 0.5, lower_is_better=False
            )
        assert set(unresolved.values()) == {resampling.Ranks(None, None, None)}
        # four standard errors of 10,000 draws
        assert found[0].p_first == pytest.approx(3 / 4, abs=0.0174)
        assert found[1].p_first == pytest.approx(share, abs=0.0174)
        assert [(one.low, one.high) for one in found.values()] == [(1, 1), (place, place)]


def results(threads: int, order: Sequence[int]) -> Iterator[object]:
    runs = drawn(10, queries=150, runs=4)
    values = of_runs(*runs)
    shuffled = [list(values.items())[place] for place in order]
    pairs = [(0, 1), (0, 2), (0, 3)]
    with connection(dict(shuffled), pairs, threads=threads) as con:
        how = Resampling(2000, 1)
        yield resampling.randomisation(con, how, dict.fromkeys(range(3), 150))
        yield resampling.tukey(con, how, 0, 4)
        yield resampling.bootstrap(con, how, dict.fromkeys(range(3), 150), 0.05)
        yield resampling.rank_intervals(con, how, 0, 0.05, lower_is_better=False)


@pytest.mark.slow
def test_threads_and_order_change_no_bit() -> None:
    order = list(range(600))
    other = random.Random(0).sample(order, len(order))
    wanted = list(results(1, order))
    assert list(results(2, other)) == wanted
    assert list(results(4, order)) == wanted


def test_another_seed_gives_other_numbers() -> None:
    runs = drawn(11, queries=60)
    with connection(of_runs(*runs), [(0, 1)]) as con:
        ends = {resampling.bootstrap(con, Resampling(100, s), {0: 60}, 0.05)[0] for s in range(5)}
    assert len(ends) == 5
