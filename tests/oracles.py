"""Each metric a second time, in plain Python: a ranking and its judgments in, a number out.

A twin takes `docs` (the ids, best first) and `grades` (by id) and the parameters as keywords. What is
undefined is 0, as the metrics' headers say. `ranking` is the twin of a protocol's order.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor, log2

Docs = Sequence[str]
Grades = Mapping[str, int]


def ranking(
    scores: Mapping[str, float],
    grades: Grades,
    *,
    single: bool = False,
    depth: int | None = None,
    judged_only: bool = False,
) -> list[str]:
    """Order documents by score, then by id as bytes, both descending; cut first, then thin out."""

    def key(doc: str) -> tuple[float, bytes]:
        score = scores[doc]
        if single:
            score = struct.unpack("f", struct.pack("f", score))[0]
        return score, doc.encode()

    docs = sorted(scores, key=key, reverse=True)[:depth]
    return [doc for doc in docs if grades.get(doc, -1) >= 0] if judged_only else docs


def ratio(a: float, b: float) -> float:
    return a / b if b else 0.0


def relevant(grades: Grades, rel: int) -> int:
    return sum(grade >= rel for grade in grades.values())


def hits(docs: Docs, grades: Grades, rel: int, cutoff: int | None = None) -> list[int]:
    """Return the ranks of the relevant documents, counted from 1."""
    return [r for r, doc in enumerate(docs[:cutoff], 1) if grades.get(doc, 0) >= rel]


def precisions(docs: Docs, grades: Grades, rel: int, cutoff: int | None = None) -> list[float]:
    return [n / rank for n, rank in enumerate(hits(docs, grades, rel, cutoff), 1)]


def ap(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None, norm: str) -> float:
    found = precisions(docs, grades, rel, cutoff)
    total = relevant(grades, rel)
    divisor = {"R": total, "hits": len(found)}
    if cutoff is not None:
        divisor |= {"min": min(total, cutoff), "k": cutoff}
    return ratio(sum(found), divisor[norm])


def rr(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None) -> float:
    return 1 / min(hits(docs, grades, rel, cutoff), default=float("inf"))


def p(docs: Docs, grades: Grades, *, rel: int, cutoff: int, norm: str, no_relevant: float) -> float:
    if not relevant(grades, rel):
        return no_relevant
    divisor = {"k": cutoff, "retrieved": len(docs[:cutoff])}[norm]
    return ratio(len(hits(docs, grades, rel, cutoff)), divisor)


def r(docs: Docs, grades: Grades, *, rel: int, cutoff: int) -> float:
    return ratio(len(hits(docs, grades, rel, cutoff)), relevant(grades, rel))


def rprec(docs: Docs, grades: Grades, *, rel: int) -> float:
    total = relevant(grades, rel)
    return ratio(len(hits(docs, grades, rel, total)), total)


def set_p(docs: Docs, grades: Grades, *, rel: int) -> float:
    return ratio(len(hits(docs, grades, rel)), len(docs))


def set_r(docs: Docs, grades: Grades, *, rel: int) -> float:
    return ratio(len(hits(docs, grades, rel)), relevant(grades, rel))


def set_f(docs: Docs, grades: Grades, *, rel: int, beta: float, x: float | None) -> float:
    weight = beta**2 if x is None else x
    precision, recall = set_p(docs, grades, rel=rel), set_r(docs, grades, rel=rel)
    return ratio((1 + weight) * precision * recall, weight * precision + recall)


def success(docs: Docs, grades: Grades, *, rel: int, cutoff: int) -> float:
    return float(any(grades.get(doc, 0) >= rel for doc in docs[:cutoff]))


def bpref(docs: Docs, grades: Grades, *, rel: int) -> float:
    total = relevant(grades, rel)
    non_relevant = sum(0 <= grade < rel for grade in grades.values())
    above, gained = 0, 0.0
    for doc in docs:
        grade = grades.get(doc, -1)
        if grade >= rel:
            gained += 1 - ratio(min(above, total), min(non_relevant, total))
        elif grade >= 0:
            above += 1
    return ratio(gained, total)


def iprec(docs: Docs, grades: Grades, *, rel: int, recall: float, needed: str) -> float:
    total = relevant(grades, rel)
    # the level is a decimal number: 0.7 of ten is seven
    count = {
        "ceil": ceil(Fraction(str(recall)) * total),
        "trec_eval_9": int(recall * total + 0.9),
        "trec_eval_10": floor(recall * total + 0.5),
    }[needed]
    return max(precisions(docs, grades, rel)[max(count - 1, 0) :], default=0.0)


def gain(grade: int, dcg: str) -> int:
    return {"log2": grade, "exp-log2": 2**grade - 1, "binary": 1}[dcg]


def ndcg(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None, dcg: str) -> float:
    best = sorted((grade for grade in grades.values() if grade >= rel), reverse=True)[:cutoff]
    actual = sum(
        gain(grades[docs[k - 1]], dcg) / log2(k + 1) for k in hits(docs, grades, rel, cutoff)
    )
    return ratio(actual, sum(gain(grade, dcg) / log2(k + 1) for k, grade in enumerate(best, 1)))


def judged(docs: Docs, grades: Grades, *, cutoff: int) -> float:
    return ratio(sum(doc in grades for doc in docs[:cutoff]), len(docs[:cutoff]))


def num_q(docs: Docs, grades: Grades) -> float:
    return 1.0


def num_rel(docs: Docs, grades: Grades, *, rel: int) -> float:
    return float(relevant(grades, rel))


def num_rel_ret(docs: Docs, grades: Grades, *, rel: int, cutoff: int | None) -> float:
    return float(len(hits(docs, grades, rel, cutoff)))


def num_ret(docs: Docs, grades: Grades, *, cutoff: int | None) -> float:
    return float(len(docs[:cutoff]))


TWINS: dict[str, Callable[..., float]] = {
    "AP": ap, "IPrec": iprec, "Judged": judged, "NumQ": num_q, "NumRel": num_rel,
    "NumRelRet": num_rel_ret, "NumRet": num_ret, "P": p, "R": r, "RR": rr, "Rprec": rprec,
    "SetF": set_f, "SetP": set_p, "SetR": set_r, "Success": success, "bpref": bpref, "nDCG": ndcg,
}  # fmt: skip
