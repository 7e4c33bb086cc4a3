"""Metrics of assessed answers again in plain Python.

A twin takes the rows of an answer, dicts of nuggets or citations with what the judge says, and the
parameters as keywords; `pooled_` twins take those of all answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction

Row = Mapping[str, object]
METRICS = [
    "NuggetScore", "NuggetScore(of=vital)", "NuggetScore(partial=0.0)", "NuggetScore(weighted=True)",
    "NuggetScore(of=vital, partial=0.25, weighted=True)", "NuggetScore(aggregate=pooled)",
    "NuggetContradiction", "NuggetContradiction(aggregate=pooled)", "PartCoverage",
    "PartCoverage(partial=True)", "RubricSupport", "RubricSupport(partial=0.25)", "RubricContradiction",
    "CitationPrecision", "CitationPrecision(partial=0.0)", "CitationPrecision(aggregate=pooled)",
    "CitationRecall", "CitationRecall(partial=0.25)", "CitationRecall(aggregate=pooled)", "CitationF",
    "CitationF(beta=2.0)", "CitationF(partial=0.0)",
]  # fmt: skip


def share(number: Fraction, whole: Fraction | int) -> float | None:
    return float(number / whole) if whole else None


def credit(word: object, partial: float) -> Fraction:
    return Fraction({"support": 1, "partial_support": partial}.get(str(word), 0))


def nugget_score(rows: Iterable[Row], *, of: str, partial: float, weighted: bool, **_: object):
    counted = [row for row in rows if of == "all" or row["importance"] == "vital"]
    worth = [Fraction(row["weight"]) if weighted else Fraction(1) for row in counted]
    got = [w * credit(row["assignment"], partial) for w, row in zip(worth, counted, strict=True)]
    return share(sum(got, Fraction()), sum(worth))


pooled_nugget_score = nugget_score


def nugget_contradiction(rows: Iterable[Row], **_: object) -> float | None:
    said = [row["assignment"] for row in rows]
    return share(Fraction(said.count("contradict")), len(said))


pooled_nugget_contradiction = nugget_contradiction


def part_coverage(rows: Iterable[Row], *, partial: bool) -> float | None:
    covers = {"support", "partial_support"} if partial else {"support"}
    parts = {row["part"] for row in rows} - {None}
    covered = {row["part"] for row in rows if row["assignment"] in covers} - {None}
    return share(Fraction(len(covered)), len(parts))


def rubric(rows: Iterable[Row], credits: Mapping[object, float]) -> float | None:
    questions: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        questions[("part", row["part"]) if row["part"] else row["nugget_id"]].append(row)
    got, worth = Fraction(), Fraction()
    for answers in questions.values():
        weight = max(Fraction(row["weight"]) for row in answers)
        worth += weight
        got += (
            weight * sum(Fraction(credits.get(r["assignment"], 0)) for r in answers) / len(answers)
        )
    return share(got, worth)


def rubric_support(rows: Iterable[Row], *, partial: float) -> float | None:
    return rubric(rows, {"support": 1, "partial_support": partial})


def rubric_contradiction(rows: Iterable[Row]) -> float | None:
    return rubric(rows, {"contradict": 1})


def citation_precision(rows: Iterable[Row], *, partial: float, **_: object) -> float | None:
    got = [credit(row["support"], partial) for row in rows if row["doc_id"] is not None]
    return share(sum(got, Fraction()), len(got))


pooled_citation_precision = citation_precision


def citation_recall(rows: Iterable[Row], *, partial: float, **_: object) -> float | None:
    best: dict[object, Fraction] = defaultdict(Fraction)
    for row in rows:
        key = row.get("answer"), row["sentence"]
        best[key] = max(best[key], credit(row["support"], partial))
    return share(sum(best.values(), Fraction()), len(best))


pooled_citation_recall = citation_recall


def citation_f(rows: Iterable[Row], *, beta: float, partial: float) -> float | None:
    p = citation_precision(rows, partial=partial)
    r = citation_recall(rows, partial=partial)
    if p is None or r is None:
        return None
    return (1 + beta**2) * p * r / (beta**2 * p + r) if p or r else 0.0
