"""ranx's `fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from warehouse.compat.ranx.lists import Run
from warehouse.compat.ranx.scratch import DATASET, names_of, warehouse
from warehouse.errors import UsageError
from warehouse.metrics import fusion

_FUSED = "fused"


def fuse(
    runs: Sequence[Run],
    norm: str | None = "min-max",
    method: str = "wsum",
    params: Mapping[str, Any] | None = None,
) -> Run:
    """Merge runs, which must have the same queries; the answer is named after the method.

    `norm` and `method` are ranx's names, and `params` what the method takes: `weights`, one for each
    run, or numbers such as the `k` of rrf. Methods that are trained on judgments are refused, because
    ranx hands them tables that its optimize_fusion makes; `Warehouse.fuse` trains them.

    >>> one, two = Run({"q": {"x": 3, "y": 2}}, name="one"), Run({"q": {"x": 1, "z": 2}}, name="two")
    >>> fuse([one, two], norm=None, method="sum")
    {'q': {'x': 4.0, 'z': 2.0, 'y': 2.0}}
    """
    if len(runs) < 2:
        raise UsageError("runs: give two or more to merge")
    names = names_of(runs)
    for name, run in zip(names[1:], runs[1:], strict=True):
        if run.keys() != runs[0].keys():
            raise UsageError(f"{names[0]} and {name}: do not have the same queries")
    if _FUSED in names:
        raise UsageError(f"{_FUSED}: is the name of the result; give the run another")
    given = dict(params or {})
    weights = given.pop("weights", None)
    parsed = fusion.of(fusion.parse(method))
    if fusion.TRAINING in parsed.needs:
        raise UsageError(
            f"{method}: is trained on judgments; Warehouse.fuse trains it, with train_queries"
        )
    called = method
    if given:
        called = f"{method}({','.join(f'{name}={value}' for name, value in given.items())})"
    with warehouse(runs) as wh:
        wh.fuse(
            DATASET, names, called, name=_FUSED, normalise=norm or "none",
            weights=None if weights is None else [float(weight) for weight in weights],
        )  # fmt: skip
        with wh.file.read() as con:
            rows = con.execute(
                "select query_id, doc_id, score from rankings where run = $1", [_FUSED]
            ).fetchall()
    merged: dict[str, dict[str, float]] = {query: {} for query in runs[0].keys()}  # noqa: SIM118
    for query, doc, score in rows:
        merged[query][doc] = score
    return Run(merged, name=parsed.name)
