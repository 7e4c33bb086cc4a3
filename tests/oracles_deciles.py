"""The label ranking thesis in plain Python: metrics by decile as its text defines them.

Instances are pairs of the ranked predictions and the list of actual labels. If the program of the
thesis does something else than its text, `as_coded=True` does the same. A decile without a value is
None. `deciles` is how labels are assigned to deciles, which the thesis leaves open.
"""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import log2
from pathlib import Path
from statistics import mean, median

Instances = Sequence[tuple[Sequence[str], Sequence[str]]]
Deciles = Mapping[str, int]
REST = "not_included"
LOOKED_AT = 500


def deciles(counts: Mapping[str, float], *, by: str = "mass", parts: int = 10) -> dict[str, int]:
    """Divide labels into parts; the most frequent labels are in the highest part."""
    ordered = sorted(counts, key=lambda label: (-counts[label], label.encode()))
    found: dict[str, int] = {}
    if by == "mass":
        total, before = sum(map(Fraction, counts.values())), Fraction(0)
        for label in ordered:
            found[label] = max(parts - int(parts * before / total), 1)
            before += Fraction(counts[label])
        return found
    # equal parts; if there is a remainder, the first parts have one more
    least, more = divmod(len(ordered), parts)
    for part in range(parts):
        size = least + (part < more)
        found |= dict.fromkeys(ordered[:size], parts - part)
        ordered = ordered[size:]
    return found


def part_of(label: str, deciles: Deciles) -> str:
    return str(deciles[label]) if label in deciles else REST


def parts_of(instances: Instances, deciles: Deciles) -> list[str]:
    labels = {label for predicted, actual in instances for label in (*predicted, *actual)}
    return sorted({part_of(label, deciles) for label in labels | set(deciles)})


def by_part(labels: Iterable[str], deciles: Deciles) -> dict[str, list[str]]:
    """Put labels into their deciles, in order."""
    found: dict[str, list[str]] = {}
    for label in labels:
        found.setdefault(part_of(label, deciles), []).append(label)
    return found


def precision(predicted: Sequence[str], actual: Sequence[str], k: int) -> float:
    top = predicted[:k]
    return sum(label in actual for label in top) / len(top) if top else 0.0


def ndcg(
    predicted: Sequence[str], actual: Sequence[str], k: int, *, as_coded: bool = False
) -> float:
    """Divide by the gain of every actual label; the program takes the first k of them."""
    gained = sum(1 / log2(n + 1) for n, label in enumerate(predicted[:k], 1) if label in actual)
    ideal = min(k, len(actual)) if as_coded else len(actual)
    return gained / sum(1 / log2(n + 1) for n in range(1, ideal + 1))


def k_for_recall(
    predicted: Sequence[str],
    actual: Sequence[str],
    min_recall: Fraction,
    labels: int,
    *,
    as_coded: bool = False,
) -> int | None:
    if not predicted and as_coded:
        return None
    found = 0
    for k, label in enumerate(predicted, 1):
        found += label in actual
        if Fraction(found, len(actual)) >= min_recall:
            return k
    return labels // 2


def _by_decile(
    instances: Instances,
    deciles: Deciles,
    calculate: Callable[[list[str], list[str]], float | None],
    together: Callable[[list[float]], float],
    looked_at: int,
) -> dict[str, float | None]:
    values: dict[str, list[float]] = {part: [] for part in parts_of(instances, deciles)}
    for predicted, actual in instances:
        placed = by_part(predicted[:looked_at], deciles)
        for part, wanted in by_part(actual, deciles).items():
            value = calculate(placed.get(part, []), wanted)
            if value is not None:
                values[part].append(float(value))
    return {part: together(found) if found else None for part, found in values.items()}


def p_at_k_by_decile(
    instances: Instances, deciles: Deciles, k: int, *, looked_at: int = LOOKED_AT
) -> dict[str, float | None]:
    return _by_decile(instances, deciles, lambda p, a: precision(p, a, k), mean, looked_at)


def ndcg_at_k_by_decile(
    instances: Instances,
    deciles: Deciles,
    k: int,
    *,
    as_coded: bool = False,
    looked_at: int = LOOKED_AT,
) -> dict[str, float | None]:
    return _by_decile(
        instances, deciles, lambda p, a: ndcg(p, a, k, as_coded=as_coded), mean, looked_at
    )


def k_for_recall_by_decile(
    instances: Instances,
    deciles: Deciles,
    min_recall: str,
    labels: int,
    *,
    middle: bool = False,
    as_coded: bool = False,
    looked_at: int = LOOKED_AT,
) -> dict[str, float | None]:
    """Return the mean k, or the median."""

    def calculate(predicted: list[str], actual: list[str]) -> int | None:
        return k_for_recall(predicted, actual, Fraction(min_recall), labels, as_coded=as_coded)

    return _by_decile(instances, deciles, calculate, median if middle else mean, looked_at)


def prediction_proportions_at_k(
    instances: Instances, deciles: Deciles, k: int
) -> dict[str, float | None]:
    shown = Counter(
        part_of(label, deciles) for predicted, _ in instances for label in predicted[:k]
    )
    return {part: shown[part] / (k * len(instances)) for part in parts_of(instances, deciles)}


def positive_coverage_at_k(
    instances: Instances, deciles: Deciles, k: int, *, as_coded: bool = False
) -> dict[str, float | None]:
    """As coded, the divisor is that of the mapping, which is None for labels without a decile."""
    right = {label for predicted, actual in instances for label in predicted[:k] if label in actual}
    every = deciles if as_coded else {label for _, actual in instances for label in actual}
    found, known = by_part(right, deciles), by_part(every, deciles)
    return {
        part: len(found.get(part, [])) / len(known[part]) if part in known else None
        for part in parts_of(instances, deciles)
    }


def bibtex_training(folder: Path) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
    """Return the training set, and the labels' frequencies in it as the case lists them."""
    training: dict[str, dict[str, int]] = {}
    with gzip.open(folder / "train_labels.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            query, _, labels = line.rstrip("\n").partition("\t")
            training[query] = dict.fromkeys(labels.split(), 1)
    with (folder / "labels.tsv").open(encoding="utf-8", newline="") as lines:
        frequencies = {
            row["label"]: int(row["train_frequency"])
            for row in csv.DictReader(lines, delimiter="\t")
        }
    return {query: labels for query, labels in training.items() if labels}, frequencies
