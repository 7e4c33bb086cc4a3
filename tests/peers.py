"""Comparing with other programs that compute the same metrics: random data, our values, the check.

    qrels, run = random_collection(1)
    mine = ours(qrels, run, ["P_5", "map"], "trec_eval_9")
    same(mine, theirs)          # both {metric: {query: value}}

The peers are test dependencies (extra `peers`); a test file asks for its own with `peer("ranx")`.
What no environment of ours can hold is compared through golden files, see `golden_peers`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any

import pytest

from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Values = dict[str, dict[str, float | None]]

ALL = "all"
# Often equal, and some of them only as 32-bit floats.
SCORES = (0.0, 1.0, 2.0, 2.00000001, 3.5, -1.0, 16777216.0, 16777217.0)
# As bytes, 'Z' < 'a' < 'é', and 'd10' < 'd2'.
DOCS = (*"abcdefghijklmnopqrstuvwxyz", *(f"d{n}" for n in range(1, 21)), "é", "Z", "9")


def peer(name: str) -> ModuleType:
    """Import a peer, or skip the whole file with the reason."""
    return pytest.importorskip(name, reason=f"{name} is not installed; it is in the extra 'peers'")


def random_collection(
    seed: int,
    *,
    queries: int = 40,
    ties: bool = True,
    grades: Sequence[int] = (-1, 0, 1, 2, 3),
    gaps: bool = True,
    longest: int = 30,
) -> tuple[Qrels, Run]:
    """Return judgments and a run: short and long lists; graded, binary and useless judgments.

    `ties` gives every other query equal scores, some of them equal as 32-bit floats only; without
    it, all scores of a query differ as 32-bit floats too. `gaps` leaves queries out on either side.
    No query has only negative grades: trec_eval stops at one. Query ids sort as bytes.
    """
    rng = random.Random(seed)
    low, high = min(grades), max(grades)
    pools = [list(grades), list(grades), [0, 1], [0], [max(1, low), high]]
    if low < 0:
        pools.append([low, high])
    qrels: Qrels = {"anchor": {"a": high, "b": 0}}
    run: Run = {"anchor": {"b": 2.0, "a": 1.0, "c": 0.5}}
    for number in range(queries):
        query = f"q{number:03}"
        pool = rng.choice(pools)
        judged = {doc: rng.choice(pool) for doc in rng.sample(DOCS, rng.randint(1, 25))}
        if max(judged.values()) < 0:
            judged[rng.choice(list(judged))] = 0
        found = rng.sample(DOCS, rng.randint(1, longest))
        if ties and number % 2:
            scores = [rng.choice(SCORES) for _ in found]
        else:
            scores = [rank / 8 for rank in rng.sample(range(-80, 800), len(found))]
        if not gaps or rng.random() < 0.9:
            qrels[query] = judged
        if not gaps or rng.random() < 0.9:
            run[query] = dict(zip(found, scores, strict=True))
    if gaps:
        qrels["only judged"] = {"a": high, "b": 0}
        run["only in the run"] = {"a": 1.0}
    return qrels, run


def ours(
    qrels: object,
    run: object,
    metrics: Iterable[str],
    protocol: str = protocols.DEFAULT,
    **options: Any,
) -> Values:
    """Return our values by requested name and by query; the value over all queries under `all`."""
    rules = protocols.get(protocol).defaults(options.get("level"))
    canonical = {name: str(notation.parse_one(name, defaults=rules).metric) for name in metrics}
    scores = Warehouse.score(
        qrels, run, list(dict.fromkeys(canonical.values())), protocol=protocol, **options
    )
    found: Values = {}
    for query, metric, value in scores.relation.fetchall():
        found.setdefault(metric, {})[query] = value
    return {name: found[metric] for name, metric in canonical.items()}


def same(mine: Values, theirs: Values, *, tolerance: float = 1e-9) -> int:
    """Compare by metric and query, in both directions; return the number of values.

    A value that only one side has is a difference; None and NaN are equal.
    """
    wrong, compared = [], 0
    for metric in {**mine, **theirs}:
        a, b = mine.get(metric, {}), theirs.get(metric, {})
        for query in {**a, **b}:
            compared += 1
            if query not in a or query not in b or not near(a[query], b[query], tolerance):
                wrong.append(
                    f"{metric} {query}: ours {a.get(query, 'nothing')}, theirs {b.get(query, 'nothing')}"
                )
    assert not wrong, f"{len(wrong)} of {compared} differ:\n" + "\n".join(wrong[:20])
    assert compared
    return compared


def near(a: float | None, b: float | None, tolerance: float = 1e-9) -> bool:
    """Whether two values agree; None and NaN both mean no value."""
    if undefined(a) or undefined(b):
        return undefined(a) and undefined(b)
    return math.isclose(a, b, rel_tol=0, abs_tol=tolerance)


def undefined(value: float | None) -> bool:
    return value is None or math.isnan(value)


def without(values: Values, queries: Iterable[str]) -> Values:
    """Remove some queries, and the values over all queries."""
    left_out = {*queries, ALL}
    return {m: {q: v for q, v in found.items() if q not in left_out} for m, found in values.items()}
