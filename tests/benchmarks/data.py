"""Make the files of a benchmark: `python -m tests.benchmarks.data WORK FOLDER SCALE`.

A folder gets qrels.txt, run00.trec … and each run once more as Parquet, run00.parquet …, or a warehouse
(`stored.py`); and last made.json, which says what they are. The same arguments give the same rows.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from tests.benchmarks import stored

# Makes runs of MS MARCO's size; it lies beside the checkout where the shared cases are.
GENERATOR = Path(__file__).resolve().parents[3] / "shared" / "cases" / "make_msmarco_scale.py"
POOL = 8_841_823
SEED = 7


@dataclass(frozen=True)
class Work:
    """How much there is to do."""

    queries: int
    judged: int
    """Judgments of a query."""
    depth: int = 1000
    runs: int = 1
    graded: bool = True
    warehouse: stored.Maker | None = None
    """Makes a warehouse of it."""


WORKS = {
    "msmarco": Work(queries=6980, judged=1, graded=False),
    "deep": Work(queries=54, judged=278),
    # of each query's 156 candidates a run has 120
    "judged": Work(queries=6000, judged=156, depth=120),
    "many": Work(queries=200, judged=50, runs=100),
    "queries": Work(queries=100_000, judged=2, depth=20, graded=False),
    "slices": Work(queries=10_000, judged=100, depth=200),
    "compare": Work(
        queries=7000, judged=2, depth=10, runs=50, graded=False, warehouse=stored.compared
    ),
    "nights": Work(queries=50, judged=10, depth=20, runs=2000),
    "history": Work(queries=200, judged=50, runs=1000, warehouse=stored.history),
    "leaderboard": Work(
        queries=200, judged=10, depth=100, runs=10_000, warehouse=stored.leaderboard
    ),
}


def make(name: str, folder: Path, scale: float) -> None:
    """Write the files. Scaled are the runs where there are many, and the queries.

    Of a warehouse these are all there from a tenth on: less would make each run cheaper than it is.
    """
    work = WORKS[name]
    of_queries = min(scale * 10, 1) if work.warehouse else scale
    queries = max(1, round(work.queries * of_queries))
    runs = max(min(work.runs, 2), round(work.runs * min(scale, 1)))
    work = replace(work, queries=queries, runs=runs)
    folder.mkdir(parents=True, exist_ok=True)
    if work.warehouse:
        judgments = work.warehouse(folder, queries, work.judged, work.depth, runs)
        source = "synthetic, by SQL"
    else:
        judgments, source = _files(name, work, folder, scale)
    what = asdict(work) | {"judgments": judgments, "source": source}
    del what["warehouse"]
    (folder / "made.json").write_text(json.dumps(what))


def _files(name: str, work: Work, folder: Path, scale: float) -> tuple[int, str]:
    """Write qrels and runs; return how many judgments there are, and where they are from."""
    if name == "msmarco" and GENERATOR.exists():
        options = ["--out", str(folder), "--scale", str(scale)]
        subprocess.run([sys.executable, str(GENERATOR), *options], check=True)
        source = GENERATOR.name
    else:
        _synthetic(work, folder)
        source = f"synthetic, seed {SEED}"
    for run in folder.glob("run*.trec"):
        _parquet(run)
    with (folder / "qrels.txt").open() as file:
        return sum(1 for _ in file), source


def _synthetic(work: Work, folder: Path) -> None:
    import numpy as np

    rng = np.random.default_rng([SEED, 1])
    topics: list[tuple[int, list[int]]] = []
    with (folder / "qrels.txt").open("w") as file:
        for query in range(1, work.queries + 1):
            candidates = rng.choice(POOL, work.depth * 13 // 10, replace=False)
            topics.append((query, candidates.tolist()))
            likely = 1 / (np.arange(len(candidates)) + 20)
            chosen = rng.choice(candidates, work.judged, replace=False, p=likely / likely.sum())
            share = [0.6, 0.2, 0.13, 0.07] if work.graded else [0, 1, 0, 0]
            grades = rng.choice(4, work.judged, p=share)
            pairs = zip(chosen.tolist(), grades.tolist(), strict=True)
            file.writelines(f"{query} 0 {doc} {grade}\n" for doc, grade in pairs)
    for run in range(work.runs):
        rng = np.random.default_rng([SEED, 2, run])
        with (folder / f"run{run:02d}.trec").open("w") as file:
            for query, candidates in topics:
                # the runs overlap as those of real systems do: each disturbs one common order
                at = np.arange(len(candidates)) + rng.normal(0, work.depth / 3, len(candidates))
                docs = [candidates[i] for i in np.argsort(at)[: work.depth].tolist()]
                falls = rng.exponential(0.02, work.depth) * (rng.random(work.depth) > 0.02)
                scores = (30 - np.cumsum(falls)).tolist()
                file.writelines(
                    f"{query} Q0 {doc} {rank} {score:.4f} run{run:02d}\n"
                    for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), 1)
                )


def _parquet(run: Path) -> None:
    import duckdb

    duckdb.execute(
        """
        copy (
            select query_id, doc_id, score
            from read_csv($run, delim = ' ', header = false, quote = '', escape = '', columns = {
                query_id: 'varchar', q0: 'varchar', doc_id: 'varchar', rank: 'integer',
                score: 'double', tag: 'varchar'})
        ) to $parquet (format parquet)
        """,
        {"run": str(run), "parquet": str(run.with_suffix(".parquet"))},
    )


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
