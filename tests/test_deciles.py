"""Label deciles: how they are made, kept, listed and shown, and what is refused."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import oracles_deciles
import pytest
from projects import invoked, stored
from refusals import expect_refusal
from shared_cases import CASES, needs_cases

from warehouse.errors import ConflictError, UsageError
from warehouse.warehouse import Warehouse

# a occurs 4 times, b and c twice each, d and e once each: 10 occurrences
LABELS = {"1": "abd", "2": "abce", "3": "ac", "4": "a"}
TRAINING = {query: dict.fromkeys(labels, 1) for query, labels in LABELS.items()}


def mapping(wh: Warehouse, dataset: str = "tags", name: str = "decile") -> dict[str, int]:
    found = stored(
        wh,
        "with newest as (select max(attribute_set_id) as attribute_set_id from store.attribute_set "
        "join store.dataset using (dataset_id) "
        "where dataset.name = $dataset and attribute_set.name = $name) "
        "select subject_id, number::integer from store.attribute "
        "semi join newest using (attribute_set_id) "
        "where attribute = $name order by all",
        dataset=dataset,
        name=name,
    )
    return dict(found)


@pytest.fixture
def tags(wh: Warehouse) -> Warehouse:
    """Return a warehouse with a training set."""
    wh.ingest_training("tags", TRAINING)
    return wh


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("by", "parts", "expected"),
    [
        # before a 0 of 10 occurrences, b 4, c 6, d 8, e 9; of 5 parts: 5 - floor(5 * before / 10)
        ("mass", 5, {"a": 5, "b": 5 - 2, "c": 5 - 3, "d": 5 - 4, "e": 5 - 4}),
        # of 2 parts: 2 - floor(2 * before / 10)
        ("mass", 2, {"a": 2, "b": 2 - 0, "c": 2 - 1, "d": 2 - 1, "e": 2 - 1}),
        # of 3 parts: 3 - floor(12 / 10), 3 - floor(18 / 10), 3 - floor(24 / 10), 3 - floor(27 / 10)
        ("mass", 3, {"a": 3, "b": 3 - 1, "c": 3 - 1, "d": 3 - 2, "e": 3 - 2}),
        # five labels in two parts: three, then two
        ("count", 2, {"a": 2, "b": 2, "c": 2, "d": 1, "e": 1}),
        ("count", 5, {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}),
    ],
)
def test_worked_by_hand(tags: Warehouse, by, parts: int, expected: dict[str, int]) -> None:
    made = tags.make_deciles("tags", by=by, parts=parts)
    assert (made.status, made.name, made.num_subjects) == ("loaded", "decile", 5)
    assert mapping(tags) == expected
    used_up = "decile: part 4 has no labels: a, in part 5, alone has 40.0% of all occurrences"
    assert made.warnings == ((used_up,) if (by, parts) == ("mass", 5) else ())
    occurrences = {"a": 4, "b": 2, "c": 2, "d": 1, "e": 1}
    assert oracles_deciles.deciles(occurrences, by=by, parts=parts) == expected


def test_the_example_of_the_source(wh: Warehouse) -> None:
    """Of 3,956 labels whose frequency falls as 1 / place ** 0.8 the source shows some deciles."""
    rows = {f"{label:04d}": {"seen": (label + 1) ** -0.8} for label in range(3956)}
    wh.ingest_attributes("tags", rows, of="docs", name="labels")
    wh.make_deciles("tags", origin="seen")
    found = {int(label): decile for label, decile in mapping(wh).items()}
    shown = {0: 10, 1: 10, 5: 9, 11: 9, 30: 8, 3640: 1}
    assert {label: found[label] for label in shown} == shown
    sizes = Counter(found.values())
    assert [sizes[10], sizes[9], sizes[8], sizes[1]] == [4, 13, 34, 1392]
    shares = wh.decile_sizes("tags").relation.project("share").fetchall()
    assert all(0.07 < share < 0.13 for (share,) in shares)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(3))
def test_random_frequencies(wh: Warehouse, seed: int) -> None:
    rng = random.Random(seed)
    counts = {
        f"l{n}": rng.choice([0, 1, 1, 2, 3, 10, 200]) for n in range(rng.choice([12, 40, 300]))
    }
    counts["l0"] = 7
    wh.ingest_attributes(
        "tags", {k: {"seen": v} for k, v in counts.items()}, of="docs", name="labels"
    )
    ways = ["mass", "count"] if seed % 2 else ["count", "mass"]
    for parts, by in zip((2, 3, 10, 12), ways * 2, strict=True):
        wh.make_deciles("tags", origin="seen", by=by, parts=parts, replace=True)
        assert mapping(wh) == oracles_deciles.deciles(counts, by=by, parts=parts), (parts, by)


def test_where_occurrences_are_counted(wh: Warehouse) -> None:
    wh.ingest_qrels("tags", {"1": {"x": 1, "y": 0}, "2": {"x": 2, "z": 1}, "3": {"x": -1}})
    assert wh.make_deciles("tags", parts=2).num_subjects == 2  # x twice, z once; y never
    assert mapping(wh) == {"x": 2, "z": 1}
    wh.ingest_training("tags", TRAINING)
    with pytest.raises(ConflictError, match="named decile already"):
        wh.make_deciles("tags", parts=2)
    assert wh.make_deciles("tags", parts=2, replace=True).version == 2
    assert set(mapping(wh)) == set("abcde")
    assert wh.make_deciles("tags", parts=2).status == "unchanged"
    assert wh.make_deciles("tags", origin="qrels", parts=2, name="halves").status == "loaded"
    found = wh.deciles("tags").relation.project("name, version, parts, labels, origin").fetchall()
    assert found == [
        ("decile", 2, 2, 5, "training set, version 1: 2 parts of equal mass"),
        ("halves", 1, 2, 2, "qrels, version 1: 2 parts of equal mass"),
    ]


def test_iterations_of_one_query_count_once(wh: Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "subtopics.txt"
    path.write_text("q 1 a 1\nq 2 a 1\nq 1 b 1\nr 1 b 1\n")
    wh.ingest_qrels("web", str(path), iterations=True)
    wh.make_deciles("web", parts=2)
    assert mapping(wh, "web") == {"b": 2, "a": 1}
    assert [row[2] for row in wh.decile_sizes("web").fetchall()] == [2, 1]


def test_shown(tags: Warehouse) -> None:
    tags.make_deciles("tags", parts=5)
    shown = tags.decile_sizes("tags")
    assert shown.columns == [
        "decile", "labels", "occurrences", "share", "most_frequent", "least_frequent",
    ]  # fmt: skip
    assert shown.fetchall() == [
        ("5", 1, 4, 4 / 10, "a", "a"),
        ("3", 1, 2, 2 / 10, "b", "b"),
        ("2", 1, 2, 2 / 10, "c", "c"),
        ("1", 2, 2, 2 / 10, "d", "e"),
    ]
    # what was counted is kept, whatever is trained on later
    tags.ingest_training("tags", {"1": {"e": 1}}, replace=True)
    assert tags.decile_sizes("tags").fetchall() == shown.fetchall()


def test_a_mapping_of_ones_own(tags: Warehouse, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("doc_id,decile\na,10\nb,9\nz,9\n")
    tags.ingest_attributes("tags", str(path), of="docs")
    assert tags.deciles().relation.project("name, parts, labels, origin").fetchall() == [
        ("decile", 2, 3, str(path))
    ]
    # occurrences are those in the training set
    assert tags.decile_sizes("tags").fetchall() == [
        ("10", 1, 4, 4 / 6, "a", "a"),
        ("9", 2, 2, 2 / 6, "b", "z"),
    ]
    with pytest.raises(ConflictError, match=r"decile \(in labels\)"):
        tags.make_deciles("tags", parts=2)
    assert tags.make_deciles("tags", parts=2, name="made").status == "loaded"


@pytest.mark.slow
def test_what_is_refused(tags: Warehouse, counts) -> None:
    more = {
        "a": {"genre": "x", "seen": 3, "below": 1, "none": 0},
        "b": {"seen": 1, "below": -1, "none": 0},
    }
    tags.ingest_attributes("tags", more, of="docs", name="labels")
    before = counts(tags.path)
    for given, words in (
        ({"parts": 1}, r"parts=1: must be at least 2"),
        (
            {"parts": 6},
            r"parts=6: what is counted \(training\) has 5 labels, fewer than parts; .* at most 5",
        ),
        ({"by": "mas"}, "by=.mas.*mass"),
        ({"origin": "qrels"}, "dataset tags has no judgments .*warehouse ingest qrels FILE"),
        ({"origin": "trainng"}, "trainng.*training"),
        ({"origin": "sen"}, "sen.*seen"),
        ({"origin": "genre"}, "origin=.genre.: this attribute is a text; occurrences are a number"),
        ({"origin": "below", "parts": 2}, "origin=.below.: the document b has a number below 0"),
        ({"origin": "none", "parts": 2}, r"no label occurs in what is counted \(none\)"),
        ({"origin": "seen", "name": "seen"}, "the deciles themselves are called so"),
        ({"name": " "}, "the name of the deciles is empty"),
    ):
        with pytest.raises(UsageError, match=words):
            tags.make_deciles("tags", **given)  # type: ignore[arg-type]
        assert counts(tags.path) == before, given


@needs_cases
def test_bibtex(wh: Warehouse) -> None:
    """The labels' frequencies as the case lists them are those in the training set."""
    training, frequencies = oracles_deciles.bibtex_training(CASES / "bibtex")
    wh.ingest_training("bibtex", training)
    wh.make_deciles("bibtex")
    expected = oracles_deciles.deciles(frequencies)
    assert mapping(wh, "bibtex") == expected
    assert wh.deciles().relation.project("parts, labels").fetchall() == [(10, 159)]
    wh.make_deciles("bibtex", by="count", name="by_count")
    assert mapping(wh, "bibtex", "by_count") == oracles_deciles.deciles(frequencies, by="count")


def test_what_there_is_not(wh: Warehouse) -> None:
    with pytest.raises(UsageError, match="no such database"):
        wh.make_deciles("tags")
    wh.ingest_qrels("tags", {"1": {"x": 1, "y": 1}})
    with expect_refusal("tag … tags"):
        wh.make_deciles("tag")
    with expect_refusal("tag … tags"):
        wh.deciles("tag")
    with pytest.raises(UsageError, match=r"has no training set; .*origin=.qrels."):
        wh.make_deciles("tags", origin="training")
    with pytest.raises(UsageError, match="make them with: warehouse deciles make -d tags"):
        wh.decile_sizes("tags")
    wh.make_deciles("tags", parts=2)
    with expect_refusal("decil … decile"):
        wh.decile_sizes("tags", "decil")


def test_the_commands(tags: Warehouse) -> None:
    def run(*arguments: str) -> tuple[str, str]:
        found = invoked("deciles", *arguments, "--db", str(tags.path))
        assert found.exit_code == 0, found.output
        return found.stdout, found.stderr

    assert run()[1] == "no deciles yet: warehouse deciles make -d DATASET\n"
    used_up = "decile: part 4 has no labels: a, in part 5, alone has 40.0% of all occurrences"
    made = run("make", "-d", "tags", "--parts", "5")
    assert made == ("", f"warning: {used_up}\ndecile: made (5 labels)\n")
    again = run("make", "-d", "tags", "--parts", "5")[1]
    assert again == f"warning: {used_up}\ndecile: unchanged (5 labels)\n"
    again = run("make", "-d", "tags", "--parts", "2", "--by", "count", "--replace")
    assert again[1] == "decile: replaced, version 2 (5 labels)\n"
    assert "training set, version 1: 2 parts of equal count" in run("-d", "tags", "-f", "csv")[0]
    assert run("show", "-d", "tags", "-f", "csv")[0] == (
        "decile,labels,occurrences,share,most_frequent,least_frequent\n"
        "2,3,8.0,0.8,a,c\n"
        "1,2,2.0,0.2,d,e\n"
    )
