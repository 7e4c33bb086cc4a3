"""The source on label ranking: each of its metrics, decile by decile, against the twins of its text."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import oracles_deciles as source
import pytest
from projects import stored

from warehouse.metrics import protocols
from warehouse.metrics.notation import parse
from warehouse.warehouse import Warehouse

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
CUTOFFS = (1, 5, 10)
LEVELS = ("0.5", "0.7", "1")


@dataclass(frozen=True)
class Data:
    """Judgments, a run (its labels best first), and a mapping of labels to deciles."""

    qrels: Qrels
    run: Run
    deciles: Mapping[str, int]

    @property
    def instances(self) -> source.Instances:
        return [
            (list(self.run.get(query, {})), [d for d, grade in grades.items() if grade >= 1])
            for query, grades in self.qrels.items()
        ]

    @property
    def labels(self) -> int:
        return len({label for grades in self.qrels.values() for label in grades})


def close(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-11, abs_tol=1e-12)


def ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the labels best first, equal ones in the order of the source."""
    return dict(sorted(scores.items(), key=lambda pair: -pair[1]))


def wanted_by_decile(data: Data, looked_at: int = 500) -> dict[str, dict[str, float | None]]:
    """Return what the source has for each metric, by part."""
    cases, deciles, found = data.instances, data.deciles, {}
    for k in CUTOFFS:
        found[f"p_at_k_by_decile@{k}"] = source.p_at_k_by_decile(
            cases, deciles, k, looked_at=looked_at
        )
        found[f"prediction_proportions_at_k@{k}"] = source.prediction_proportions_at_k(
            [(predicted[:looked_at], actual) for predicted, actual in cases], deciles, k
        )
        for name, as_coded in (("", False), ("_as_coded", True)):
            found[f"nDCG_at_k_by_decile{name}@{k}"] = source.ndcg_at_k_by_decile(
                cases, deciles, k, as_coded=as_coded, looked_at=looked_at
            )
            found[f"positive_coverage_at_k{name}@{k}"] = source.positive_coverage_at_k(
                [(predicted[:looked_at], actual) for predicted, actual in cases],
                deciles, k, as_coded=as_coded,
            )  # fmt: skip
    for level in LEVELS:
        for name, as_coded in (("", False), ("_as_coded", True)):
            for middle in (False, True):
                how = "median" if middle else "mean"
                found[f"{how}_k_for_recall{name}@{level}"] = source.k_for_recall_by_decile(
                    cases, deciles, level, data.labels,
                    middle=middle, as_coded=as_coded, looked_at=looked_at,
                )  # fmt: skip
    return found


def random_data(rng: random.Random) -> Data:
    """Return labels of very different frequency, some in no decile, and instances of every kind."""
    labels = [f"l{n}" for n in range(rng.choice([8, 30, 60]))]
    weights = [1 / (n + 1) for n in range(len(labels))]
    grades: Qrels = {}
    run: Run = {}
    for number in range(rng.choice([3, 25, 60])):
        query = f"q{number}"
        actual = set(rng.choices(labels, weights, k=rng.randint(1, 7)))
        grades[query] = dict.fromkeys(sorted(actual), 1)
        if rng.random() < 0.2:
            grades[query][rng.choice(labels)] = 0
        if rng.random() < 0.9:
            predicted = rng.sample([*labels, "never seen"], rng.randint(1, 8))
            if rng.random() < 0.5:
                predicted = [label for label in labels if rng.random() < 0.8] or predicted
            rng.shuffle(predicted)
            scores = [rng.choice([0.5, 1.0, rng.random()]) for _ in predicted]
            run[query] = ranked(dict(zip(predicted, scores, strict=True)))
    run.setdefault("q0", {labels[0]: 1.0})
    counts = {label: rng.choice([0, 1, 2, 5, 40]) for label in labels}
    counts[labels[0]] = 9
    deciles = source.deciles(
        counts, by=rng.choice(["mass", "count"]), parts=rng.choice([2, 3, 5, 8])
    )
    for label in rng.sample(labels, rng.choice([0, 0, 3])):
        del deciles[label]
    return Data(grades, run, deciles)


def test_what_the_text_and_the_program_read_differently() -> None:
    """No prediction in the decile: half of the labels by the text, no value by the program."""
    qrels = {"1": {"a": 1}, "2": {"b": 1, "c": 1}, "3": {"d": 1, "e": 1, "f": 1, "g": 0}}
    run = {"1": {"a": 1.0}, "2": {"b": 2.0}}
    names = ["mean_k_for_recall@1", "mean_k_for_recall_as_coded@1"]
    found = Warehouse.score(qrels, run, names).means()
    assert list(found.values()) == [(1 + 7 // 2 + 7 // 2) / 3, (1 + 7 // 2) / 2]


def test_the_protocols_words() -> None:
    rules = protocols.get("label_deciles")
    assert (rules.depth, rules.relevant_only, rules.ties) == (500, True, "input")
    found = parse("P@5", "nDCG@5", "k@recall(0.5)", defaults=rules.defaults())
    assert [str(metric) for metric in found] == [
        "P(norm=retrieved)@5", "nDCG(dcg=binary)@5", "KAtRecall(never=half)@0.5",
    ]  # fmt: skip


def compare_by_slice(
    wh: Warehouse, every: Mapping[tuple[str, str], Data], protocol: str, looked_at: int = 500
) -> int:
    """Evaluate by the slices and hold every metric of the source in every part; count the values.

    The data are by the name of the slice and of the run.
    """
    names = list(wanted_by_decile(next(iter(every.values()))))
    slices = list(dict.fromkeys(slice for slice, _ in every))
    wh.evaluate("tags", metrics=names, protocol=protocol, slices=slices)
    sql = "select slice, run, metric, part, value from slice_score_versions where is_current"
    found = stored(wh, sql)
    ours = {tuple(row[:4]): row[4] for row in found}
    held = 0
    for (slice, run), data in every.items():
        for name, parts in wanted_by_decile(data, looked_at).items():
            metric = str(parse(name)[0])
            for part, value in parts.items():
                if part != source.REST or "coverage_at_k_as_coded" not in name:
                    # the program stops at labels of no decile, which its mapping does not have
                    assert close(ours[slice, run, metric, part], value), (slice, run, name, part)
                    held += 1
    return held


def load(wh: Warehouse, data: Data) -> None:
    wh.ingest_qrels("tags", data.qrels)
    wh.ingest_run("tags", data.run, name="run")
    table = {label: {"decile": decile} for label, decile in data.deciles.items()}
    wh.ingest_attributes("tags", table, of="docs", name="deciles")


@pytest.mark.slow
@pytest.mark.sample(2, 2)
@pytest.mark.parametrize("seed", [1, 2])
def test_random_data_by_slice(
    wh: Warehouse, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a list is longer than it is looked at, which no case here is for 500."""
    looked_at = [500, 4][seed % 2]
    text = f'[protocols.cut]\nextends = "label_deciles"\nsummary = "Cut."\ndepth = {looked_at}\n'
    (tmp_path / "warehouse.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    data = random_data(random.Random(seed))
    load(wh, data)
    assert compare_by_slice(wh, {("decile", "run"): data}, "cut", looked_at) >= 2 * 27


@pytest.mark.slow
def test_the_parts_of_what_is_shown_add_up(wh: Warehouse) -> None:
    data = random_data(random.Random(11))
    load(wh, data)
    compare_by_slice(wh, {("decile", "run"): data}, "label_deciles")
    found = wh.query(
        "select metric, sum(slice_scores.value), any_value(scores.value) "
        "from slice_scores join scores using (run, metric, protocol) "
        "where metric like 'Share%' group by metric"
    ).fetchall()
    assert len(found) == len(CUTOFFS)
    assert all(close(parts, whole) for _, parts, whole in found)


@pytest.mark.slow
def test_deciles_that_were_made_are_evaluated(wh: Warehouse) -> None:
    qrels, run = {"1": {"a": 1, "c": 1}, "2": {"b": 1}}, {"1": {"b": 3.0, "a": 2.0, "c": 1.0}}
    wh.ingest_training("tags", {"1": {"a": 1, "b": 1}, "2": {"a": 1}})
    wh.ingest_qrels("tags", qrels)
    wh.ingest_run("tags", run, name="first")
    wh.make_deciles("tags", parts=2)
    wh.evaluate("tags", metrics="P@1 Share@2", protocol="label_deciles", slices=["decile"])
    found = wh.query("select metric, part, value from slice_scores order by all").fetchall()
    # a is in 2, b in 1, c in none; b stands first, a second, c third
    assert found == [
        ("P(norm=retrieved)@1", "1", 0.0),  # b is asked for by the second query, which has no list
        ("P(norm=retrieved)@1", "2", 1.0),
        ("P(norm=retrieved)@1", "not_included", 1.0),
        ("Share@2", "1", 1 / 4),
        ("Share@2", "2", 1 / 4),
        ("Share@2", "not_included", 0.0),
    ]
