"""Write what ranx makes of some real runs, by every method and normalisation, as JSON.

    python -m venv peers && peers/bin/pip install ranx==0.3.21
    peers/bin/python tests/golden_peers/make_fusion.py FOLDER > tests/golden_peers/fusion.json

FOLDER holds qrels.txt and runs/NAME.run.gz. Of equal scores in a list only the first is kept, for
ranx leaves the order of the others open. `few` are three runs cut short, of which each has documents
of its own; `same` are three that rank the same documents, for condorcet. Ids are of one length, for
which ranx compiles its loading once.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("NUMBA_OPT", "0")

Lists = dict[str, dict[str, float]]
FEW, SAME = ("bm25_rm3", "splade_pp_ed", "tasb"), ("bm25", "rr_gpt35_bm25", "rr_v2aug_bm25")
NORMS = (None, "min-max", "min-max-inverted", "max", "sum", "zmuv", "rank", "borda")
BOTH_WAYS, EVERY_NORM = (None, "min-max-inverted"), ("sum", "segfuse")
PLAIN = (
    "sum", "anz", "mnz", "min", "max", "med", "isr", "log_isr", "bordafuse",
)  # fmt: skip
WITH: Mapping[str, Mapping[str, Any]] = {
    "gmnz": {"gamma": 0.5},
    "logn_isr": {"sigma": 0.01},
    "rrf": {"k": 60},
    "rbc": {"phi": 0.8},
}
WEIGHTED = ("wsum", "wmnz", "mixed", "w_bordafuse")
WEIGHTS = (0.2, 0.3, 0.5)
# No two of these can be even with the third, and none outvotes both others.
VOTES = (0.2, 0.35, 0.45)
TRAINED = ("mapfuse", "posfuse", "probfuse", "segfuse", "slidefuse", "bayesfuse")
SEGMENTS, WINDOW = 4, 2
# These read ranks: after borda, ranx has the documents that a list lacked in no order.
BY_RANK = (
    "isr", "log_isr", "logn_isr", "rrf", "rbc", "bordafuse", "w_bordafuse", *TRAINED,
)  # fmt: skip


def read_run(path: Path, depth: int) -> Lists:
    """Read a TREC run: the first documents of each query whose scores differ."""
    rows: dict[str, list[tuple[float, str]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            query, _, doc, _, score, *_ = line.split()
            rows.setdefault(query, []).append((float(score), doc))
    lists: Lists = {}
    for query, listed in rows.items():
        kept: dict[float, str] = {}
        for score, doc in sorted(listed, reverse=True)[:depth]:
            kept.setdefault(score, doc)
        lists[query] = {doc: score for score, doc in kept.items()}
    return lists


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, doc, grade = line.split()
        found.setdefault(query, {})[doc] = int(grade)
    return found


def fused(
    runs: Mapping[str, Lists], qrels: Mapping[str, Mapping[str, int]], method: str, norm: str | None
) -> Lists:
    """Return what ranx makes of some runs; trained methods are trained on all queries of the qrels."""
    import ranx
    from ranx import fusion
    from ranx.meta.optimize_fusion import norm_switch

    def padded(side: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        return {q.ljust(16): {d.ljust(16): v for d, v in docs.items()} for q, docs in side.items()}

    given = [ranx.Run(padded(run)) for run in runs.values()]
    params: dict[str, Any] = dict(WITH.get(method, {}))
    if method in WEIGHTED:
        params["weights"] = list(WEIGHTS)
    if method == "w_condorcet":
        params["weights"] = list(VOTES)
    if method in TRAINED:
        change = None if norm is None else norm_switch(norm)
        of_norm = (
            given
            if change is None
            else change(given)
            if norm == "borda"
            else [change(run) for run in given]
        )
        train = getattr(fusion, f"{method}_train")
        judged = ranx.Qrels(padded(qrels))
        learned = train(judged, of_norm, *([SEGMENTS] if method == "probfuse" else []))
        params[{"mapfuse": "map_scores", "bayesfuse": "log_odds"}.get(method, "probs")] = learned
        if method == "slidefuse":
            params["w"] = WINDOW
    made = ranx.fuse(given, norm=norm, method=method, params=params).run
    return {
        q.strip(): {doc.strip(): float(score) for doc, score in docs.items()}
        for q, docs in made.items()
    }


def works() -> list[tuple[str, str | None]]:
    """Return every method with scores as they are and turned round, and two with all that change them.

    Those that read ranks are not reproducible in ranx after borda.
    """
    return [
        (method, norm)
        for method in (*PLAIN, *WITH, *WEIGHTED, *TRAINED)
        for norm in (NORMS if method in EVERY_NORM else BOTH_WAYS)
        if norm != "borda" or method not in BY_RANK
    ]


def rounded(lists: Lists) -> Lists:
    """Keep 13 digits: what is compared is 9 places."""
    return {q: {d: float(f"{s:.13g}") for d, s in docs.items()} for q, docs in lists.items()}


def main() -> None:
    from importlib.metadata import version

    folder = Path(sys.argv[1])
    qrels = read_qrels(folder / "qrels.txt")
    path = folder / "runs"
    few = {name: read_run(path / f"{name}.run.gz", 12) for name in FEW}
    same = {name: read_run(path / f"{name}.run.gz", 100) for name in SAME}
    common = sorted(set.intersection(*(set(run) for run in few.values())))[:3]
    few = {name: {q: run[q] for q in common} for name, run in few.items()}
    judged = {
        q: {d: g for d, g in qrels[q].items() if any(d in run[q] for run in few.values())}
        # a relevant document that no run has counts in average precision
        | {"unfound": 3}
        for q in common
    }
    shared: dict[str, Lists] = {}
    for name, run in same.items():
        ten = {
            q: sorted(set.intersection(*(set(r[q]) for r in same.values())))[:12] for q in common
        }
        shared[name] = {q: {d: run[q][d] for d in ten[q]} for q in common}
    print(
        json.dumps(
            {
                "made by": f"make_fusion.py with ranx {version('ranx')}",
                "few": few,
                "same": shared,
                "qrels": judged,
                "fused": {
                    f"{method} {norm}": rounded(fused(few, judged, method, norm))
                    for method, norm in works()
                },
                "condorcet": {
                    method: fused(shared, judged, method, None)
                    for method in ("condorcet", "w_condorcet")
                },
            },
            separators=(",", ":"),
        )
    )


if __name__ == "__main__":
    main()
