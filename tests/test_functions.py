"""Each function of the formulas against plain Python, and the printed scripts on a replica."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import random
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import duckdb
import pytest
from extended import assess
from hypothesis import given, settings
from hypothesis import strategies as st
from peered import OF_ITERATIONS, OF_SAMPLES
from test_metric_pages import text_of
from test_metric_properties import collection

from warehouse.analyze import view_examples
from warehouse.config.settings import resource_folder
from warehouse.metrics import notation
from warehouse.metrics.catalogue import catalogue
from warehouse.sql_text import functions, templates
from warehouse.store import database
from warehouse.warehouse import Warehouse

Number = float | None
NULL = None


def plain_ratio(a: Number, b: Number) -> Number:
    return None if a is None or b is None or b == 0 else a / b


def plain_trigamma(x: float) -> float:
    """The sum down to where a million terms are left; the integral stands for the rest."""
    terms = range(100_000)
    return math.fsum(1 / (x + n) ** 2 for n in terms) + 1 / (x + 100_000 - 0.5)


def grade_gain(relevance: int, gains: dict[int, float]) -> float:
    return gains.get(relevance, max(relevance, 0))


def odds(p: float) -> float:
    p = p or 0.001
    return math.log(p / ((1 - p) or 0.001))


def of_orders(
    value: Callable[[list[int]], float], num_rel: int, first: int, last: int, k: int | None
) -> float:
    """Return the mean of a value of the ranks of relevant documents by k, over all orders of ties."""
    orders = itertools.combinations(range(first, last + 1), num_rel)
    return statistics.fmean(value([x for x in ranks if k is None or x <= k]) for ranks in orders)


# For each scalar function: the SQL of a call, what it should give, and arguments to try.
Case = tuple[str, Callable[..., Any], Sequence[tuple[Any, ...]]]
# How many of equal scores are relevant, their ranks, the cutoff.
TIED = [(1, 4, 4, 4), (1, 4, 8, NULL), (3, 4, 8, 6), (5, 4, 8, 7), (2, 4, 9, 4), (2, 5, 9, 20)]
SMALL = [(1, 5), (3, 3), (2, 40), (4, 3)]
SCALARS: dict[str, Case] = {
    "ratio": (
        "ratio($1, $2)",
        plain_ratio,
        [(1, 3), (0.1, 0.7), (1, 0), (0, 0), (NULL, 2), (2, NULL)],
    ),
    "square": ("square($1)", lambda x: x * x, [(0.1,), (3,), (-0.7,)]),
    "within": (
        "within($1::integer, $2::integer)",
        lambda rank, k: k is None or (None if rank is None else rank <= k),
        [(1, 1), (2, 1), (5, NULL), (NULL, 3), (NULL, NULL)],
    ),
    "at_most": (
        "at_most($1::integer, $2::integer)",
        lambda n, k: n if k is None else min(n, k),
        [(3, 5), (7, 5), (7, NULL), (0, 1)],
    ),
    "comparable": (
        "comparable($1)",
        lambda x: round(x, 12),
        [((0.1 + 0.2 + 0.3) / 3,), (0.5,), (-1e-13,)],
    ),
    "is_whole": (
        "is_whole($1::double)",
        lambda grade: grade == int(grade) and abs(grade) < 2**31,
        [(2,), (0,), (-3,), (0.5,), (2147483647,), (2147483648,)],
    ),
    "judgment_hash": (
        "judgment_hash('q', 'd', $1::double, '0') = hash('q', 'd', try_cast($1 as integer), '0')",
        lambda grade: grade == int(grade),
        [(2,), (0,), (-3,), (0.5,)],
    ),
    "discount": ("discount($1)", lambda rank: math.log2(rank + 1), [(1,), (2,), (3,), (1000,)]),
    "listed_gain": (
        "listed_gain($1::double, map {1: 3e0, 3: 0.5e0, 4: -2e0})",
        lambda grade: grade_gain(grade, {1: 3.0, 3: 0.5, 4: -2.0}),
        [(1,), (2,), (3,), (4,), (0,), (-1,), (9,), (1.5,)],
    ),
    "exponential_gain": (
        "exponential_gain($1)",
        lambda grade: 2.0**grade - 1,
        [(0,), (1,), (4,), (-1,), (1000,)],
    ),
    "needed_documents": (
        "needed_documents($1, $2, $3)",
        lambda num_rel, recall, rule: {
            "ceil": lambda: math.ceil(recall * num_rel - 1e-9),
            "trec_eval_9": lambda: math.floor(recall * num_rel + 0.9),
            "trec_eval_10": lambda: math.floor(recall * num_rel + 0.5),
        }[rule](),
        [
            (n, r / 10, rule)
            for n in (1, 7, 30)
            for r in range(11)
            for rule in ("ceil", "trec_eval_9", "trec_eval_10")
        ],
    ),
    "depth_of_multiple": (
        "depth_of_multiple($1, $2)",
        lambda num_rel, multiple: (
            num_rel if multiple == 1 else math.floor(multiple * num_rel + 0.9)
        ),
        [(7, 1.0), (7, 0.2), (7, 1.8), (3, 0.4)],
    ),
    "nonrel_above": ("nonrel_above($1, $2)", lambda rank, rel: rank - rel, [(5, 2), (1, 1)]),
    "f_measure": (
        "f_measure($1, $2, $3, $4)",
        lambda found, num_ret, num_rel, weight: (
            plain_ratio(1 + weight, weight * num_rel / found + num_ret / found) if found else 0
        ),
        [(2, 5, 3, 1.0), (2, 5, 3, 0.25), (0, 5, 3, 1.0), (3, 3, 3, 4.0)],
    ),
    "support_credit": (
        "support_credit($1, $2)",
        lambda support, partial: {
            NULL: NULL,
            "support": 1.0,
            "partial_support": partial,
            "contradict": 0.0,
        }[support],
        [(word, 0.25) for word in ("support", "partial_support", "contradict", NULL)],
    ),
    "goodness": (
        "goodness($1, $2)",
        lambda score, lower: -score if lower else score,
        [(2.0, True), (2.0, False)],
    ),
    "in_single": (
        "in_single($1)::double",
        lambda score: (
            duckdb.sql(f"select {score!r}::float::double").fetchall()[0][0]
            if abs(score) < 3e38
            else math.copysign(math.inf, score)
        ),
        [(0.1,), (1e300,), (-1e300,), (16777217.0,)],
    ),
    "sum_of_reciprocals": (
        "sum_of_reciprocals($1, $2)",
        lambda a, b: sum(1 / n for n in range(a, b + 1)),
        SMALL,
    ),
    "sum_of_discounts": (
        "sum_of_discounts($1, $2)",
        lambda a, b: sum(1 / math.log2(n + 1) for n in range(a, b + 1)) if a <= b else None,
        SMALL,
    ),
    "expected_found": (
        "expected_found($1, $2, $3, $4::integer)",
        lambda *tied: of_orders(len, *tied),
        TIED,
    ),
    "expected_precisions": (
        "expected_precisions($1, 3, $2, $3, $4::integer)",
        lambda *tied: of_orders(lambda ranks: sum(n / x for n, x in enumerate(ranks, 4)), *tied),
        TIED,
    ),
    "expected_reciprocal_rank": (
        "expected_reciprocal_rank($1, $2, $3, $4::integer)",
        lambda *tied: of_orders(lambda ranks: 1 / ranks[0] if ranks else 0, *tied),
        TIED,
    ),
    "sum_of_powers": (
        "sum_of_powers($1, $2, $3)",
        lambda p, a, b: math.fsum(p**n for n in range(a, b + 1)),
        [(p, a, b) for p in (0.5, 0.8, 0.95, 1.0) for a, b in ((0, 9), (3, 3), (4, 3))],
    ),
    "trigamma": ("trigamma($1)", plain_trigamma, [(1.0,), (0.5,), (7.25,), (300.0,)]),
    "sum_of_inverse_squares": (
        "sum_of_inverse_squares($1, $2)",
        lambda a, b: math.fsum(1 / (a + n) ** 2 for n in range(round(b - a) + 1)),
        [(1.0, 1.0), (1.0, 50.0), (2.5, 9.5)],
    ),
    "possible_pairs": (
        "possible_pairs($1, 3, 5, 11)",
        {"both": 3, "one": 8, "all": 11}.__getitem__,
        [("both",), ("one",), ("all",)],
    ),
    "kept_pairs": (
        "kept_pairs($1, 3, 5)",
        {"both": 3, "one": 8, "all": 8}.__getitem__,
        [("both",), ("one",), ("all",)],
    ),
    "information": (
        "information($1::integer, $2::integer)",
        lambda frequency, population: (
            math.log2(population / frequency) if frequency and population else None
        ),
        [(1, 8), (3, 7), (0, 5), (2, 0), (NULL, 5)],
    ),
    "cosine": (
        "cosine($1, $2, $3)",
        lambda common, a, b: plain_ratio(common, math.sqrt(a * b)),
        [(1, 2, 3), (0, 1, 1), (0, 0, 4), (2, 2**40, 2**40)],
    ),
    "roc_area": (
        "roc_area($1, $2, $3, $4, $5)",
        lambda empty, rel, found, seen, wrong: (
            {
                "null": None,
                "zero": 0,
                "half": 0.5,
                "replay": int(found > 0),
                "roerei": int(rel == 0 or found == seen),
            }[empty]
            if found in (0, seen)
            else 1 - wrong / (found * (seen - found))
        ),
        [
            (empty, *counts)
            for empty in ("null", "zero", "half", "replay", "roerei")
            for counts in ((2, 2, 6, 4), (2, 0, 3, 0), (0, 0, 3, 0), (3, 2, 2, 0), (0, 0, 0, 0))
        ],
    ),
    "set_distance": (
        "set_distance($1, $2, $3, $4)",
        lambda distance, common, a, b: {
            "cosine": 1 - (plain_ratio(common, math.sqrt(a * b)) or 0),
            "jaccard": 1 - (plain_ratio(common, a + b - common) or 0),
            "hamming": a + b - 2 * common,
        }[distance],
        [
            (way, *sizes)
            for way in ("cosine", "jaccard", "hamming")
            for sizes in ((1, 2, 3), (0, 0, 4))
        ],
    ),
    "part_by_mass": (
        "part_by_mass($1, $2, $3)",
        lambda parts, before, mass: max(parts - math.floor(parts * before / mass), 1),
        [(10, 0.0, 5.0), (10, 2.6, 5.0), (10, 5.0, 5.0), (3, 4.9, 5.0)],
    ),
    "floored_log": (
        "floored_log($1::double)",
        lambda x: None if x is None else math.log(max(x, 1e-5)),
        [(0.5,), (0.0,), (NULL,)],
    ),
    "tau_b": (
        "tau_b($1, $2, $3)",
        lambda difference, one, other: plain_ratio(difference, math.sqrt(one * other)),
        [(3, 6, 6), (-2, 5, 6), (0, 0, 3)],
    ),
    "least_p": ("least_p($1)", lambda n: min(1, 0.5**n * 2), [(0,), (1,), (2,), (6,), (2000,)]),
    # with one degree of freedom, p of t is 1 - 2 / pi * atan(t), and t is sqrt(2) * mean / deviation
    "paired_p": (
        "paired_p($1, $2, 2)",
        lambda mean, deviation: (
            1 - 2 / math.pi * math.atan(math.sqrt(2) * abs(mean) / deviation)
            if deviation
            else (0.5 if mean else None)
        ),
        [(1.0, 0.5), (-1.0, 0.5), (1.0, 0.0), (-1.0, 0.0), (0.0, 0.0)],
    ),
    "paired_p_of": (
        "paired_p_of($1, $2, $3, 2)",
        lambda t, mean, deviation: (
            1 - 2 / math.pi * math.atan(abs(t)) if deviation else (0.5 if mean else None)
        ),
        [(2.0, 0.1, 0.5), (-0.5, -0.1, 1.0), (NULL, 1.0, 0.0), (NULL, 0.0, 0.0)],
    ),
    "log_of_one_plus": (
        "log_of_one_plus($1)",
        math.log1p,
        [(0.0,), (1e-12,), (0.7,), (3.0,), (1e20,)],
    ),
    # with one degree of freedom the density is 1 / (1 + t^2), with three its square root squared twice
    "t_density": (
        "t_density($1, $2)",
        lambda t, degrees: (1 + t * t / degrees) ** (-(degrees + 1) / 2),
        [(0.0, 4), (1.0, 1), (2.0, 3)],
    ),
    # Cauchy's distribution: the integral of 1 / (1 + t^2) is the arc tangent
    "t_mass_beyond": (
        "t_mass_beyond($1, 1)",
        lambda t: math.atan2(1, t) * (1 + t * t),
        [(0.0,), (1e-8,), (0.3,), (2.0,), (1000.0,)],
    ),
    # with two degrees of freedom the mass beyond t is 1 - t / sqrt(2 + t^2)
    "t_two_sided": (
        "t_two_sided($1, $2)",
        lambda t, degrees: (
            2 / math.pi * math.atan2(1, t) if degrees == 1 else 1 - abs(t) / math.hypot(t, 2**0.5)
        ),
        [(t, degrees) for t in (0.0, 0.5, 3.0, 1e90, 1e200) for degrees in (1, 2)] + [(-3.0, 2)],
    ),
    # with one degree of freedom, Cauchy's
    "t_below": (
        "t_below($1, 1)",
        lambda t: 0.5 + math.atan(t) / math.pi,
        [(-3.0,), (0.0,), (0.2,), (40.0,)],
    ),
    "normal_below": (
        "normal_below($1)",
        NormalDist().cdf,
        [(-8.0,), (-1.96,), (0.0,), (0.3,), (3.0,)],
    ),
    "in_units": (
        "in_units($1, $2)",
        lambda x, units: round(x * units),
        [(0.3, 1024.0), (-0.7, 2.0**40)],
    ),
    "whole_units": (
        "whole_units($1, $2)",
        lambda x, units: round(x * units) / units,
        [(0.3, 1024.0), (1.0, 0.25)],
    ),
    "picked": (
        "picked($1::ubigint, $2)",
        lambda word, n: word * n >> 32,
        [(0, 7), (2**32 - 1, 7), (2**31, 10)],
    ),
    "borda_points": (
        "borda_points($1::integer, $2, $3)",
        lambda rank, num_ret, candidates: (
            (candidates - num_ret + 1) / 2 if rank is None else candidates - rank + 1
        ),
        [(1, 3, 9), (3, 3, 9), (NULL, 3, 9)],
    ),
    "never_zero": ("never_zero($1)", lambda p: p or 0.001, [(0.0,), (0.3,)]),
    "log_odds": ("log_odds($1)", odds, [(0.0,), (0.3,), (1.0,)]),
    "segment": (
        "segment($1, $2, $3)",
        lambda rank, num_ret, segments: (rank - 1) // math.ceil(num_ret / segments) + 1,
        [(rank, 10, 4) for rank in range(1, 11)] + [(1, 1, 25)],
    ),
}
# Those with a test of their own.
OTHERS = {
    "total", "dcg", "tied_dcg", "mean_of", "from_lowest", "sorted_sum", "common_features", "tau_ap",
    "same_less_swapped", "units_per_one", "refuse", "interpolated_precision", "members_content",
    "half_line", "t_power", "correlation",
}  # fmt: skip


@pytest.fixture(scope="module")
def con() -> duckdb.DuckDBPyConnection:
    return database.memory()


def one(con: duckdb.DuckDBPyConnection, sql: str, *values: object) -> Any:
    return con.execute(f"select {sql}", list(values)).fetchall()[0][0]


def test_every_function_is_tried() -> None:
    assert {*SCALARS, *OTHERS} == set(functions.definitions())
    text = (resource_folder("sql") / "functions.sql").read_text(encoding="utf-8")
    assert text.count("create temp macro") == len(functions.definitions())


@pytest.mark.core
@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_function_is_as_in_plain_python(con: duckdb.DuckDBPyConnection, name: str) -> None:
    sql, exact, tries = SCALARS[name]
    for values in tries:
        found, expected = one(con, sql, *values), exact(*values)
        if expected is None or found is None or math.isinf(expected):
            assert found == expected, values
        else:
            assert found == pytest.approx(expected, rel=1e-13, abs=1e-13), values


VALUES = st.lists(st.none() | st.floats(-1e6, 1e6), max_size=12)


@pytest.mark.core
@settings(deadline=None)
@given(VALUES)
def test_aggregates_are_as_in_plain_python(
    con: duckdb.DuckDBPyConnection, xs: list[Number]
) -> None:
    rows = "(select unnest($1::double[]) as x, unnest(range(len($1))) as place)"
    found = con.execute(
        f"select total(x, place), total(x, x > 0, -place), mean_of(x, place), from_lowest(x, place), "
        f"sorted_sum(x), mean_of(x, x > 0, -place) from {rows}",
        [xs],
    ).fetchall()[0]
    there = [x for x in xs if x is not None]
    in_order = [x for x in reversed(there) if x > 0]
    assert found[0] == added(there)
    assert found[1] == added(in_order)
    assert found[2] == (added(there) / len(there) if there else None)
    assert found[3] == (sorted(there) or None)
    assert found[4] == (added(sorted(there)) if there else None)
    assert found[5] == (added(in_order) / len(in_order) if in_order else None)


def added(values: list[float]) -> float:
    """Add one value after another; the built-in sum makes up for rounding since Python 3.12."""
    return functools.reduce(operator.add, values, 0.0)


def test_a_place_may_be_several_columns(con: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(1)
    rows = [(rng.random() * 10 ** rng.randint(-9, 9), rng.randrange(3), n) for n in range(50)]
    con.execute("create or replace temp table placed (x double, a integer, b integer)")
    con.executemany("insert into placed values ($1, $2, $3)", rows)
    expected = 0.0
    for x, _, _ in sorted(rows, key=lambda row: row[1:]):
        expected += x
    assert one(con, "(select total(x, (a, b)) from placed)") == expected


def test_units_are_powers_of_two_that_sums_fit_in(con: duckdb.DuckDBPyConnection) -> None:
    for largest in (1e-40, 0.3, 1.0, 7.0, 1e9):
        for number in (1, 5, 10**6, 10**9):
            units = one(con, "units_per_one($1::double, $2)", largest, number)
            assert math.frexp(units)[0] == 0.5
            assert number * largest * units <= 2**60


def test_students_t_is_scipys(con: duckdb.DuckDBPyConnection) -> None:
    """By the incomplete beta function; SciPy's stdtr itself is wrong in the ninth digit near 0."""
    special, np = pytest.importorskip("scipy.special"), pytest.importorskip("numpy")
    assert one(con, "len(half_line())") == 129
    assert one(con, "t_two_sided('-infinity'::double, 3)") == 0
    assert one(con, "[t_two_sided(null, 3), t_two_sided(1, 0)]") == [None, None]
    rng = np.random.default_rng(1)
    ts = np.concatenate([[0.0], 10 ** rng.uniform(-5, 3, 1500)])
    degrees = np.concatenate([[1.0], np.round(10 ** rng.uniform(0, 4, 1500))])
    found = con.execute(
        "select t_two_sided(t, degrees) from (select unnest($1::double[]) as t, "
        "unnest($2::bigint[]) as degrees)",
        [ts.tolist(), degrees.tolist()],
    ).fetchall()
    ps = np.array([p for (p,) in found])
    near = special.betaincc(0.5, degrees / 2, ts**2 / (degrees + ts**2))
    far = special.betainc(degrees / 2, 0.5, degrees / (degrees + ts**2))
    exact = np.where(ts < 1, near, far)
    assert np.abs(ps - exact).max() < 1e-12
    assert ps == pytest.approx(exact, rel=2e-12, abs=1e-200)


def test_a_refusal_is_told(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.InvalidInputException, match="refused: a b"):
        con.execute("select refuse('a' || ' b')")
    with pytest.raises(duckdb.InvalidInputException, match="refused: a relevance above 1000"):
        con.execute("select exponential_gain(1001)")


def test_no_function_hides_one_of_duckdb() -> None:
    with duckdb.connect() as con:
        built_in = con.execute("select lower(function_name) from duckdb_functions()").fetchall()
    assert set(functions.definitions()) & {name for (name,) in built_in} == set()


def test_no_macro_of_the_templates_has_the_name_of_a_function() -> None:
    assert set(functions.definitions()) & set(templates.environment().globals) == set()


# ------------------------------------------------------------------------------- connections


@pytest.mark.core
def test_every_connection_has_them(tmp_path: Path) -> None:
    """Whichever file is attached, for reading and for writing, with limits and without."""
    wh = Warehouse(tmp_path / "a.duckdb")
    wh.init()
    limited = database.Resources(threads=1)
    for resources in (database.Resources(), limited):
        assert one(database.scratch(resources), "ratio(1, 2)") == 0.5
        with database.read(wh.path, resources=resources) as con:
            assert one(con, "ratio(1, 2)") == 0.5
            con.execute("create or replace temp view half as select ratio(1, 2) as x")
        assert con.execute("from half").fetchall() == [(0.5,)]
        with database.transaction(wh.path, resources=resources) as con:
            assert one(con, "ratio(1, 2)") == 0.5
    assert wh.query("select ratio(1, 0) is null as undefined").fetchall() == [(True,)]


def test_none_is_in_the_file(tmp_path: Path) -> None:
    """But for the one that says what is newest, which the views call, and the questions."""
    wh = Warehouse(tmp_path / "a.duckdb")
    wh.init()
    with duckdb.connect(str(wh.path), read_only=True) as con:
        rows = con.execute(
            "select function_name from duckdb_functions() where not internal"
        ).fetchall()
    assert sorted(name for (name,) in rows) == sorted(["recency", *view_examples.MACROS])


# ------------------------------------------------------------------------------- scripts


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> tuple[Warehouse, Path]:
    """Return a warehouse with judgments by iteration, training and attributes, and its replica."""
    folder = tmp_path_factory.mktemp("pasted")
    qrels, first = collection(random.Random(5))
    _, second = collection(random.Random(6))
    wh = Warehouse(folder / "a.duckdb")
    lines = [
        f"{query} {number} {doc} {max(grade - number, 0) if grade > 0 else grade}"
        for query, grades in qrels.items()
        for doc, grade in grades.items()
        for number in range(2)
    ]
    path = folder / "qrels.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    wh.ingest_qrels("tiny", path, iterations=True)
    wh.ingest_run("tiny", first, name="first")
    wh.ingest_run("tiny", second, name="second")
    docs = sorted({doc for grades in (*qrels.values(), *first.values()) for doc in grades})
    wh.ingest_training(
        "tiny", {query: dict.fromkeys(docs[n::3], 1) for n, query in enumerate(qrels)}
    )
    genres = {doc: {"genre": ["war", doc[-1]], "count": n} for n, doc in enumerate(docs)}
    wh.ingest_attributes("tiny", genres, of="docs", name="genres")
    facts = [
        {"query_id": query, "text": f"fact {n}", "importance": kind, "part": f"part {n % 2}"}
        | {"assignment": said, "sentence": n, "doc_id": docs[n], "support": said}
        for query in qrels
        for n, (kind, said) in enumerate(
            (("vital", "support"), ("okay", "not_support"), ("vital", "partial_support")), 1
        )
    ]
    for name in ("first", "second"):
        assess(wh, "tiny", facts, name)
    return wh, folder / "replica.duckdb"


@pytest.mark.slow
def test_what_is_printed_runs_when_pasted(replica: tuple[Warehouse, Path]) -> None:
    """In a plain DuckDB on a replica, with the values that the program has, to the bit."""
    wh, path = replica
    names = [text_of(found) for found in catalogue().values()]
    names += [
        *OF_ITERATIONS,
        *OF_SAMPLES,
        "nDCG(dcg=exp-log2)@5",
        "nDCG(ties=average)@5",
        "RBP(gain=normalised)",
        "AP@3",
    ]
    names = [str(metric) for metric in dict.fromkeys(notation.parse(*names))]
    wh.evaluate("tiny", metrics=names)
    wh.publish(path)
    with duckdb.connect(str(path), read_only=True) as con:
        stored = by_metric(con, "select metric, run, query_id, value from query_scores")
        means = by_metric(con, "select metric, run, value from scores")
        assert by_metric(con, Warehouse.sql(names, dataset="tiny", by_query=True)) == stored
        assert by_metric(con, Warehouse.sql(names, dataset="tiny")) == means
    with duckdb.connect() as con:
        con.execute(f"attach '{path}' as w (read_only); use w")
        for table, query in TABLES.items():
            con.execute(f"create table memory.{table} as {query}")
        con.execute("use memory; detach w")
        assert by_metric(con, Warehouse.sql(names, by_query=True)) == stored
        assert by_metric(con, Warehouse.sql(names)) == means


# The tables that a statement without a warehouse reads, from the views of one.
TABLES = {
    "run": "select run, query_id, doc_id, score from predictions order by all",
    "qrels": "select query_id, doc_id, iteration, relevance from store.judgment",
    "training": "select query_id, doc_id, relevance from store.example",
    "document_attributes": "select subject_id as doc_id, * exclude (subject_id) from store.attribute",
    "assignments": """
        select run, query_id, judge, nugget_id, importance, weight, part, assignment
        from store.assignment join store.assessment_version as a using (assessment_id)
        join store.run_version using (run_id)
        join store.nugget using (nugget_set_id, query_id, nugget_id) where a.is_current""",
    "citations": """
        select run, query_id, judge, sentence, doc_id, support
        from store.citation join store.assessment_version as a using (assessment_id)
        join store.run_version using (run_id) where a.is_current""",
}


def by_metric(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, set[tuple[object, ...]]]:
    """Return the rows of a statement by their metric, which is in the first column."""
    found: dict[str, set[tuple[object, ...]]] = {}
    for metric, *row in con.execute(sql).fetchall():
        found.setdefault(metric, set()).add(tuple(row))
    return found


def test_a_statement_makes_what_it_calls_and_nothing_else() -> None:
    script = Warehouse.sql(["AP", "RBP@10"])
    assert script.count("macro ratio(") == script.count("\nhits_rel_1 as (") == 1
    assert "macro paired_p" not in script
    assert script.index("-- AP") < script.index("macro ratio(") < script.index("scope_hit as (")
    for noise in ("where true", "99999999", "0000000", "ideal_gains"):
        assert noise not in Warehouse.sql("RBP(p=0.8)@10")
