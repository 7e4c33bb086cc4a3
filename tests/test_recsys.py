"""The metrics that read a training set or attributes: twins, errors, and what makes values stale."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import oracles_recsys
import pytest
import twins
from oracles_recsys import OF_RELEVANCE, World
from test_metric_properties import DOCS, Qrels, Run, collection
from twins import JUDGED_FIRST, OF_RUN, OF_RUN_RELEVANT, Ranked

from warehouse.errors import UsageError
from warehouse.metrics.notation import Metric, parse
from warehouse.warehouse import Warehouse

GENRES = ["crime", "drama", "film noir", "war"]


def surroundings(rng: random.Random) -> World:
    """Return a random training set and attributes; documents and queries are in some, not in all."""
    training = {
        f"q{number}": {doc: rng.choice([0, 1, 1, 2]) for doc in rng.sample(DOCS, rng.randint(1, 8))}
        for number in rng.sample(range(40), rng.randint(3, 25))
    }
    training["q1"] = {"a": 1, "b": 0}
    attributes: dict[str, dict[str, Any]] = {
        doc: {"genre": rng.sample(GENRES, rng.randint(1, 3)), "count": rng.randint(0, 30)}
        for doc in rng.sample(DOCS, 15)
    }
    return World(training, attributes)


PROTOCOLS = ["default", "rectools", "xclib", "trec_eval_10", OF_RUN, OF_RUN_RELEVANT, JUDGED_FIRST]


@pytest.mark.sample(7, 3)
@pytest.mark.parametrize("seed", range(len(PROTOCOLS)))
def test_twins(seed: int) -> None:
    rng = random.Random(seed)
    protocol = PROTOCOLS[seed % len(PROTOCOLS)]
    compare(
        collection(rng, 20), surroundings(rng), protocol,
        depth=rng.choice([None, None, 3]), judged_only=rng.choice([False, False, True]),
    )  # fmt: skip


def compare(
    data: tuple[Qrels, Run],
    world: World,
    protocol: str,
    depth: int | None = None,
    judged_only: bool = False,
    metrics: Sequence[str] = oracles_recsys.METRICS,
    module: ModuleType = oracles_recsys,
) -> None:
    """Hold what is computed against the twins, for each query and over all of them."""
    every = [(query, [], grades) for query, grades in data[0].items()]

    def whole(metric: Metric, lists: Sequence[Ranked]) -> float | None:
        given = [(one.query, one.docs, one.grades) for one in lists]
        beside = {"every": every} if metric.name in ("Hole", "PositiveCoverage") else {}
        return twins.twin(metric.name, module)(given, world, **twins.own(metric), **beside)

    twins.compare(
        data, metrics, lambda metric, one, _: whole(metric, [one]), whole,
        tolerance=1e-11, abs_tolerance=1e-12, of_relevance=OF_RELEVANCE,
        given={"training": world.training, "attributes": [world.attributes]},
        protocol=protocol, depth=depth, judged_only=judged_only,
    )  # fmt: skip


@pytest.mark.slow
def test_the_same_bits_with_any_number_of_threads() -> None:
    (qrels, run), world = collection(random.Random(5)), surroundings(random.Random(6))
    rows = [
        Warehouse.score(
            qrels, run, oracles_recsys.METRICS, threads=threads,
            training=world.training, attributes=[world.attributes],
        ).relation.fetchall()
        for threads in (1, 2, 4)
    ]  # fmt: skip
    assert rows[0] == rows[1] == rows[2]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ILD(attribute=genre)@3", "ILD(attribute=genre)@3"),
        ("ILD(attribute='genre')@3", "ILD(attribute=genre)@3"),
        ('ILD(attribute="main genre")@3', "ILD(attribute='main genre')@3"),
        (
            "PSP(instances=3, frequency=count-train)@3",
            "PSP(frequency='count-train', instances=3)@3",
        ),
    ],
)
def test_the_name_of_an_attribute_is_a_word_or_quoted(text: str, printed: str) -> None:
    (metric,) = parse(text)
    assert str(metric) == printed
    assert parse(printed) == [metric]


@pytest.mark.parametrize("text", ["ILD(attribute='')@3", "ILD(attribute=it's)@3"])
def test_a_name_that_cannot_be_written_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is the name of an attribute|' is missing in"):
        parse(text)


def test_an_attribute_that_is_required_is_asked_for() -> None:
    with pytest.raises(UsageError, match=r"needs an attribute, as in .*\(attribute=genre\)"):
        parse("CategoricalDiversity@3")


def test_quoted_attributes_are_read() -> None:
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}
    films = {"a": {"main genre": "war"}, "b": {"main genre": "crime"}}
    name = "ILD(attribute='main genre')@2"
    assert Warehouse.score(qrels, run, name, attributes=[films]).means() == {name: 1.0}


QRELS: Qrels = {"ann": {"up": 1, "jaws": 0}, "bob": {"jaws": 1}}
RUN: Run = {"ann": {"up": 2.0, "alien": 1.0}, "bob": {"jaws": 2.0, "up": 1.0}}
SEEN = {"ann": {"jaws": 1}, "bob": {"alien": 1}, "eve": {"up": 1, "jaws": 1}}
FILMS = {"up": {"genre": "animation", "year": 2009}, "jaws": {"genre": "horror", "year": 1975}}
ASKED = ["AP", "PSP@1", "MIUF@2", "ILD(attribute=genre)@2", "ILD(attribute=year)@2"]


def first_run(wh: Warehouse) -> None:
    wh.ingest_qrels("films", QRELS)
    wh.ingest_run("films", RUN, name="first")


@pytest.fixture
def wh(tmp_path: Path, prepared) -> Warehouse:
    return prepared(tmp_path / "w.duckdb", first_run)


def computed(wh: Warehouse, **options: object) -> list[tuple[str, str]]:
    return [
        (metric, why) for *_, metric, why in wh.evaluate("films", metrics=ASKED, **options).details
    ]


def test_what_a_dataset_lacks_is_said_before_anything_is_computed(wh: Warehouse) -> None:
    with pytest.raises(UsageError) as caught:
        computed(wh)
    said = str(caught.value).splitlines()
    assert said[0] == (
        "PSP@1 reads a training set, and dataset films has none; "
        "load it with: warehouse ingest training FILE -d films"
    )
    assert [line.split(" reads ")[0] for line in said] == ASKED[1:]
    wh.ingest_training("films", SEEN)
    wh.ingest_attributes(
        "films", {"up": {"genres": "animation", "age": 1}}, of="docs", name="facts"
    )
    with pytest.raises(UsageError) as caught:
        computed(wh)
    first, second = str(caught.value).splitlines()
    assert "attribute genre of the documents, and dataset films has none of that name" in first
    assert "did you mean genres?" in first
    assert first.endswith("warehouse ingest attributes FILE --of docs -d films")
    assert "attribute year" in second
    assert "it has age, genres" in second
    assert wh.query("select count(*) from query_scores").fetchall() == [(0,)]


@pytest.mark.parametrize("given", [{}, {"attributes": [{"up": {"genres": "animation"}}]}])
def test_what_files_lack_is_said(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        Warehouse.score(QRELS, RUN, ["PSP@1", "ILD(attribute=genre)@2"], **given)
    first, second = str(caught.value).splitlines()
    assert first == (
        "PSP@1 reads a training set, and what was given has none; load it with: training="
    )
    assert second.endswith("attributes=")
    assert ("did you mean genres?" in second) == bool(given)


def test_counts_from_an_attribute_need_no_training_set() -> None:
    counts = {"up": {"seen": 3}, "jaws": {"seen": 5}}
    name = "PSP(frequency=seen, instances=20)@1"
    assert Warehouse.score(QRELS, RUN, name, attributes=[counts]).means() == {name: 1.0}


@pytest.mark.parametrize("name", ["PSP", "PSR", "PSnDCG"])
def test_what_is_worth_infinitely_much_is_refused(name: str) -> None:
    """1 / 0^A: up is not in training. Where nothing of that kind is relevant B may be 0."""
    seen = {"bob": {"jaws": 1}, "eve": {"jaws": 1, "alien": 1}}
    metric = f"{name}(B=0)@2"
    told = r"^document up: is relevant, and its worth with A=0.55 and B=0.0 is no finite number: it is "
    with pytest.raises(UsageError, match=told + "not in training"):
        Warehouse.score(QRELS, RUN, metric, training=seen)
    judged = {"ann": {"up": 0, "jaws": 1}}
    found = Warehouse.score(judged, {"ann": {"jaws": 1.0}}, metric, training=seen).means()
    assert list(found.values()) == [1.0]


def test_a_frequency_below_0_is_refused_where_it_makes_no_number() -> None:
    """(-5 + 1.5)^0.55 is no real number."""
    counts = {"up": {"seen": -5}, "jaws": {"seen": 5}}
    with pytest.raises(UsageError, match=r"document up: .* its frequency is below 0"):
        Warehouse.score(QRELS, RUN, "PSP(frequency=seen, instances=20)@1", attributes=[counts])


@pytest.mark.slow
def test_what_data_make_impossible_is_bad_input(tmp_path: Path, program) -> None:
    """Not SQL that fails: exit code 2, and of what is stored nothing changes."""
    wh = Warehouse(tmp_path / "films.duckdb")
    wh.ingest_training("films", {"bob": {"jaws": 1}})
    wh.ingest_qrels("films", QRELS)
    wh.ingest_run("films", RUN, name="one")
    done = program.shell("warehouse evaluate -m 'AP PSP(B=0)@2' --db films.duckdb", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("warehouse: document up: is relevant, and its worth with A=0.55")
    assert wh.query("from store.evaluation").fetchall() == []


@pytest.mark.parametrize("given", ["", ", cold=zero", ", aggregate=pooled"])
def test_of_no_example_nothing_has_a_share(given: str) -> None:
    """-log2(1 / 0): a training set in which nothing is relevant has no examples."""
    metric = f"MIUF(population=examples{given})@2"
    found = Warehouse.score(QRELS, RUN, metric, training={"bob": {"jaws": 0}})
    assert {value for _, _, value in found.relation.fetchall()} == {None}


@pytest.mark.slow
def test_only_what_reads_it_is_stale(wh: Warehouse) -> None:
    wh.ingest_training("films", SEEN)
    wh.ingest_attributes("films", FILMS, of="docs", name="facts")
    assert computed(wh) == [(metric, "missing") for metric in ASKED]
    assert computed(wh) == []

    wh.ingest_training("films", {**SEEN, "tom": {"up": 1}}, replace=True)
    assert computed(wh, dry_run=True) == [("PSP@1", "stale"), ("MIUF@2", "stale")]
    assert computed(wh) == [("PSP@1", "stale"), ("MIUF@2", "stale")]

    other = {**FILMS, "up": {"genre": "animation", "year": 2010}}
    wh.ingest_attributes("films", other, of="docs", name="facts", replace=True)
    assert computed(wh) == [("ILD(attribute=year)@2", "stale")]
    # the same under another name, and in another order
    wh.ingest_training("films", {"tom": {"up": 1}, **SEEN}, replace=True)
    assert computed(wh) == []


@pytest.mark.slow
def test_stored_runs_and_files_give_the_same(wh: Warehouse) -> None:
    wh.ingest_training("films", SEEN)
    wh.ingest_attributes("films", FILMS, of="docs", name="facts")
    names = [name.replace("frequency=count", "frequency=year") for name in oracles_recsys.METRICS]
    names = [name.replace("attribute=count", "attribute=year") for name in names]
    wh.evaluate("films", metrics=names)
    read = Warehouse.score(QRELS, RUN, names, training=SEEN, attributes=[FILMS])
    stored = wh.query(
        "select query_id, metric, value from query_scores "
        "union all select 'all', metric, value from scores"
    )
    assert set(stored.fetchall()) == set(read.relation.fetchall())


def test_entropy_is_lenskits() -> None:
    """Values of LensKit 2025.8.1: matrix_column_entropy of the items' distributions over genres.

    The last are with GeometricRankWeight(0.85).
    """
    genres = {"a": "s", "b": "st", "c": "tuv", "d": "u", "e": "vs", "f": "t"}
    lists = {"q1": "abcdef", "q2": "fcb", "q3": "d"}
    golden = {
        "q1": [1.9287323709586306, 1.7177610244083281, 1.8746259200252369],
        "q2": [1.5694463813275639, 1.5694463813275639, 1.511396607947857],
        "q3": [6.41225451606141e-05, 6.41225451606141e-05, 6.41225451606141e-05],
    }
    scores = Warehouse.score(
        {query: {"a": 1} for query in lists},
        {q: {doc: -float(n) for n, doc in enumerate(docs)} for q, docs in lists.items()},
        [
            "Entropy(attribute=genre, smoothing=1e-6)",
            "Entropy(attribute=genre, smoothing=1e-6)@3",
            "Entropy(attribute=genre, smoothing=1e-6, p=0.85)",
        ],
        attributes=[{doc: {"genre": list(values)} for doc, values in genres.items()}],
    )
    found: dict[str, list[float]] = {}
    for query, _, value in scores.relation.filter("query_id <> 'all'").fetchall():
        found.setdefault(query, []).append(value)
    assert found == {query: pytest.approx(values, abs=1e-12) for query, values in golden.items()}


@pytest.mark.parametrize("given", ["A=11", "B=1e7"])
def test_what_no_double_holds_is_refused(given: str) -> None:
    """(B + 1)^A of two numbers that are great enough is infinite, and the share of two such ones NaN."""
    with pytest.raises(UsageError, match="is at most"):
        parse(f"PSP({given})@1")


def test_a_catalogue_may_be_as_great_as_any_number() -> None:
    """jaws is popular, the first of N places, and shown first: max(1 - 1, 0) / N."""
    judged, run = {"ann": {"jaws": 1}}, {"ann": {"jaws": 1.0}}
    metric = f"Serendipity(catalogue={2**31 - 1})@1"
    assert Warehouse.score(judged, run, metric, training=SEEN).means() == {metric: 0.0}
