"""The methods that merge runs: worked by hand, and what must hold whatever the lists.

Each method and normalisation has a case in `tests/cases`, over the same two runs: A has x 3, y 2 in
the query q and x 1 in r; B has z 2, x 1 in q and lacks r. Relevant are x and u in q, and y in r.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from fusions import DATASET, Lists, loaded, merged, recipe
from refusals import expect_refusal

from warehouse.config.settings import resource_folder
from warehouse.errors import DefinitionError
from warehouse.metrics import fusion
from warehouse.metrics.template import parts
from warehouse.sql_text import templates
from warehouse.warehouse import Warehouse

CASES = Path(__file__).parent / "cases"
RUNS = {"A": {"q": {"x": 3.0, "y": 2.0}, "r": {"x": 1.0}}, "B": {"q": {"z": 2.0, "x": 1.0}}}
QRELS = {"q": {"x": 1, "u": 1, "y": 0}, "r": {"y": 1, "x": 0}}
METHODS = sorted(fusion.methods())
NORMALISATIONS = sorted(fusion.normalisations())


def case(folder: str, name: str) -> dict[str, Any]:
    return tomllib.loads((CASES / folder / f"{name}.toml").read_text(encoding="utf-8"))


def random_runs(seed: int, *, names: str = "ABC") -> dict[str, Lists]:
    """Return runs with ties, lists of one document, and queries that only some of them have."""
    rng = random.Random(seed)
    runs: dict[str, Lists] = {}
    for name in names:
        runs[name] = {
            f"q{q}": {
                f"d{d}": rng.choice([rng.uniform(-3, 3), 0.5, -1.0])
                for d in rng.sample(range(20), rng.choice([1, 4, 12]))
            }
            for q in range(8)
            if rng.random() < 0.8 or q == 0
        }
    return runs


def random_qrels(seed: int) -> dict[str, dict[str, int]]:
    rng = random.Random(seed)
    return {f"q{q}": {f"d{d}": rng.choice([0, 1, 2]) for d in range(0, 20, 2)} for q in range(8)}


@pytest.fixture(scope="module")
def two() -> Iterator[duckdb.DuckDBPyConnection]:
    with loaded(RUNS, QRELS).file.read() as con:
        yield con


@pytest.fixture(scope="module")
def three() -> Iterator[duckdb.DuckDBPyConnection]:
    with loaded(random_runs(1), random_qrels(2)).file.read() as con:
        yield con


def _weights(name: str, number: int) -> list[float] | None:
    needed = fusion.WEIGHTS in fusion.methods()[name].needs
    return [0.5, 0.3, 0.2][:number] if needed else None


def test_everything_has_a_case() -> None:
    for folder, names in (("fusion", METHODS), ("normalisations", NORMALISATIONS)):
        worked = {path.stem for path in (CASES / folder).iterdir()}
        assert set(names) - worked == set(), (
            f"work a case by hand in tests/cases/{folder}/NAME.toml"
        )
        assert worked - set(names) == set(), "a case of nothing"


@pytest.mark.parametrize(
    ("normalise", "scores", "expected"),
    [
        # 2 apart: the variance is (4 + 0 + 4) / 3, and 2 / sqrt(8/3) = sqrt(3/2)
        ("zmuv", (1e16 + 2, 1e16, 1e16 - 2), (1.5**0.5, 0.0, -(1.5**0.5))),
        # above the lowest are 4 and 2, with the sum 6
        ("sum", (1e16 + 4, 1e16 + 2, 1e16), (4 / 6, 2 / 6, 0.0)),
    ],
)
def test_large_scores_keep_their_differences(
    wh: Warehouse, normalise: str, scores: tuple[float, ...], expected: tuple[float, ...]
) -> None:
    wh.ingest_run("tiny", {"q": dict(zip("abc", scores, strict=True))}, name="large")
    wh.ingest_run("tiny", {"r": {"x": 1.0}}, name="other")
    wh.fuse("tiny", ["large", "other"], "sum", name="both", normalise=normalise)
    rows = wh.query(
        "select score from predictions where run = 'both' and query_id = 'q' order by rank"
    )
    assert [row[0] for row in rows.fetchall()] == pytest.approx(expected, abs=1e-15)


@pytest.mark.core
@pytest.mark.parametrize(
    ("folder", "name"),
    [("fusion", name) for name in METHODS] + [("normalisations", name) for name in NORMALISATIONS],
)
def test_case(two: duckdb.DuckDBPyConnection, folder: str, name: str) -> None:
    given = case(folder, name)
    found = recipe(two, "AB", given["method"], given["normalise"], given.get("weights"))
    ours = merged(two, found)
    assert set(ours) == set(given["expected"])
    for query, expected in given["expected"].items():
        assert ours[query] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_even_documents_have_even_condorcet_scores() -> None:
    """A cycle: a beats b, b beats c, c beats a; each beats the last, d. Three have 4, one 1."""
    runs = {
        name: {"q": {doc: 4.0 - place for place, doc in enumerate(order)}}
        for name, order in {"A": "abcd", "B": "bcad", "C": "cabd"}.items()
    }
    with loaded(runs).file.read() as con:
        assert merged(con, recipe(con, "ABC", "condorcet")) == {
            "q": {"a": 4, "b": 4, "c": 4, "d": 1}
        }


@pytest.mark.slow
def test_tenths_that_add_up_to_a_half_are_no_majority() -> None:
    """0.1 + 0.2 against 0.3 is even, although 0.1 + 0.2 is not 0.3 in binary fractions."""
    up, down = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"b": 2.0, "a": 1.0}}
    with loaded({"A": up, "B": up, "C": down}).file.read() as con:
        found = recipe(con, "ABC", "w_condorcet", None, [0.1, 0.2, 0.3])
        assert merged(con, found) == {"q": {"a": 2, "b": 2}}


@pytest.mark.parametrize("weights", [[1e-300, 1.0], [3e299, 1e300], [2**31 - 2, 2**31 - 1]])
def test_extreme_weights(two: duckdb.DuckDBPyConnection, weights: list[float]) -> None:
    """B decides: z, x, and y, which it lacks."""
    ours = merged(two, recipe(two, "AB", "w_condorcet", None, weights))["q"]
    assert ours == {"z": 3, "x": 2, "y": 1}


@pytest.mark.slow
def test_ranks_beyond_what_was_trained_on() -> None:
    """Below rank 1,000 bayesfuse takes a document for absent; posfuse gives 0 to unseen ranks."""
    long = {f"d{n}": 2000.0 - n for n in range(1002)}
    runs = {"A": {"q": {"d0": 1.0}, "r": long}, "B": {"q": {"d0": 1.0}, "r": {"d0": 1.0}}}
    deep = {"q": {"d0": 1}, "r": {f"d{n}": 1 for n in range(900, 1000)}}
    with loaded(runs, deep).file.read() as con:
        bayes = merged(con, recipe(con, "AB", "bayesfuse"))["r"]
        assert bayes["d1001"] == pytest.approx(2 * -6.906754778648554)
        assert bayes["d999"] > bayes["d1000"]
    with loaded(runs, {"q": {"d0": 1}}).file.read() as con:
        places = merged(con, recipe(con, "AB", "posfuse"))["r"]
        assert (places["d0"], places["d1"], places["d1001"]) == (2, 0, 0)


@pytest.mark.slow
def test_a_probability_of_one_has_odds() -> None:
    """All five documents of a depth are relevant: ln(1 / 0.001) for each run."""
    run = {"q": {f"d{n}": 9.0 - n for n in range(5)}}
    with loaded({"A": run, "B": run}, {"q": dict.fromkeys(run["q"], 1)}).file.read() as con:
        ours = merged(con, recipe(con, "AB", "bayesfuse"))["q"]
        assert ours["d0"] == pytest.approx(2 * 6.907755278982137)


@pytest.mark.slow
def test_the_level_of_what_is_relevant() -> None:
    runs = {"A": {"q": {"a": 2.0, "b": 1.0}}, "B": {"q": {"b": 1.0}}}
    with loaded(runs, {"q": {"a": 1, "b": 2}}).file.read() as con:
        assert merged(con, recipe(con, "AB", "posfuse(rel=2)")) == {"q": {"a": 0, "b": 2}}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", METHODS)
def test_order_of_the_runs_changes_no_bit(three: duckdb.DuckDBPyConnection, name: str) -> None:
    """Weights go with their runs."""
    weights = _weights(name, 3)
    expected = merged(three, recipe(three, "ABC", name, None, weights))
    turned = None if weights is None else [weights[2], weights[0], weights[1]]
    assert merged(three, recipe(three, "CAB", name, None, turned)) == expected


@pytest.mark.slow
def test_threads_change_no_bit() -> None:
    """With more than a thousand lists, so that the work is shared out."""
    rng = random.Random(5)
    runs = {
        run: {
            f"q{q}": {f"d{rng.randrange(40)}": rng.random() for _ in range(12)} for q in range(210)
        }
        for run in "ABCDE"
    }
    found = []
    wh = loaded(runs, {f"q{q}": {"d1": 1, "d7": 1} for q in range(210)})
    for threads in (1, 4):
        with Warehouse(wh.path, threads=threads).file.read() as con:
            found.append(merged(con, recipe(con, "ABCDE", "segfuse", "zmuv")))
    assert found[0] == found[1]


def test_runs_whose_lower_scores_are_better_are_turned_round() -> None:
    wh = Warehouse(loaded({"A": {"q": {"a": 2.0, "b": 1.0}}}).path)
    wh.ingest_run(DATASET, {"q": {"a": 0.1, "b": 0.9}}, name="B", lower_is_better=True)
    with wh.file.read() as con:
        assert merged(con, recipe(con, "AB", "sum"))["q"] == {"a": 2, "b": 0}
        assert merged(con, recipe(con, "AB", "rrf(k=1)"))["q"] == {"a": 1, "b": 2 / 3}


def test_equal_scores_are_ranked_by_document_descending(two: duckdb.DuckDBPyConnection) -> None:
    same = {"q": {"a": 1.0, "b": 1.0}}
    with loaded({"A": same, "B": same}).file.read() as con:
        assert merged(con, recipe(con, "AB", "rrf(k=0)"))["q"] == {"b": 2, "a": 1}
        ours = merged(con, recipe(con, "AB", "rrf(k=0)", "min-max-inverted"))["q"]
        assert ours == {"b": 2, "a": 1}


@pytest.mark.parametrize("name", METHODS)
def test_method_file(name: str) -> None:
    """What a header declares is what the SQL uses."""
    found = fusion.methods()[name]
    text = found.body
    for path in sorted((resource_folder("sql") / "fusion_relations").iterdir()):
        if f"fusion_relations/{path.name}" in text:
            text += path.read_text(encoding="utf-8")
    used = templates.variables(text)
    params = {p.name for p in found.parameters}
    weights = {"weights", "whole_weights"}
    assert params - {"rel"} == used - weights - {"num_runs", "ranked", "entries", "ends", "votes"}
    assert bool(used & weights) == (fusion.WEIGHTS in found.needs)
    trained = "trained_entry" in text or "trained_precision" in text
    assert trained == (fusion.TRAINING in found.needs) == ("rel" in params)
    assert ("score" in found.body.replace("as score", "")) == found.scores
    assert found.summary.endswith(".")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("rrf", "rrf"), ("RRF(k=20)", "rrf(k=20)"), ("rrf(k=60)", "rrf"), ("CombSUM", "sum"),
        ("combmnz", "mnz"), ("comb_anz", "anz"), ("CombMED", "med"), ("CombMIN", "min"),
        ("CombMAX", "max"), ("gmnz( gamma = 1 )", "gmnz(gamma=1.0)"), ("rbc(phi=0.8)", "rbc"),
        ("weighted_bordafuse", "w_bordafuse"), ("Borda", "bordafuse"),
    ],
)  # fmt: skip
def test_names(text: str, canonical: str) -> None:
    assert str(fusion.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rff", "rff … rrf"),
        ("xyz", "xyz: no such fusion method; there are anz, "),
        ("rrf(c=3)", "rrf(c=3): rrf has no parameter 'c'; it has k"),
        ("rrf(k=-1)", "rrf(k=-1): k is at least 0, not -1"),
        ("rbc(phi=2)", "rbc(phi=2): phi is at most 1, not 2"),
        ("rrf@10", "rrf@10: rrf takes no @cutoff"),
        ("rrf(k=1", "rrf(k=1: not in the notation"),
    ],
)
def test_wrong_names(text: str, message: str) -> None:
    with expect_refusal(message):
        fusion.parse(text)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("scores = true", "'needs' is missing"),
        (
            'needs = ["wieghts"]\nscores = true',
            "needs: item 1 is one of weights, training, average_precision, not .*; did you mean weights",
        ),
        ("needs = []\nscores = true\nrange = [0, 1]", "unknown key 'range'; did you mean ranx"),
        (
            "needs = []\nscores = true\n[tune]\nk = {first = 1, last = 2, step = 1}",
            "no parameter 'k'",
        ),
    ],
)
def test_wrong_headers(head: str, message: str) -> None:
    common = 'title = "t"\nsummary = "s"\nformula = "f"\nreference = "r"'
    with pytest.raises(DefinitionError, match=message):
        fusion._method("mine", *parts(f"/*\n{common}\n{head}\n*/\nselect 1", "mine.sql.j2"))
