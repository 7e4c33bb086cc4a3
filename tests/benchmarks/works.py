"""The benchmarks: for each what it is, what its files are, and who takes part."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import metrics, stored
from tests.benchmarks.contenders import (
    Contender,
    absent,
    module,
    peers,
    reading,
    repeated,
    script,
    warehouse,
)

Everybody = tuple[list[Contender], list[str]]

TREC = "score, TREC text"
PARQUET = "score, Parquet"
LIMITED = "score, TREC text, --memory-limit 512MB"
STORED = "ingest run + evaluate"
AT_ONCE = "score of all at once"
AT_ONCE_PARQUET = "score of all at once, Parquet"
HELP = "warehouse --help"
NEW_METRIC = "a new metric for all runs"
ALL_METRICS = "all metrics anew for all runs"
ONE_MORE = "one more run: ingest run + evaluate"
THE_FIRST = "the first run, into an empty file"
ALL_PAIRS = "compare all pairs: t, Holm"
RANDOMISED = "compare one pair: 10,000 permutations"
BOOTSTRAPPED = "compare one pair: 10,000 bootstrap samples"
BOARD_COMMAND = "warehouse leaderboard"
BOARD_CALL = "Warehouse.leaderboard, which opens the file"
BOARD_OPEN = "leaderboard on an open connection"
NO_GATE = "sync without a gate"
PYTREC_CALL = "pytrec_eval, dict"
RANX_CALL = "ranx, dict"
KINDS = ("dict", "pandas", "polars", "arrow")
PREPARED = ("dict", "arrow")

# in order, for the last bit
_MEANS = "select metric, avg(value order by run) from scores {where} group by metric"


@dataclass(frozen=True)
class Benchmark:
    """One line of the command's help; `data` names what `data.py` makes for it."""

    title: str
    everybody: Callable[[Path, Sequence[str]], Everybody]
    data: str | None = None


def called(kind: str) -> str:
    """Return the name of the contender that scores objects of a kind."""
    return f"Warehouse.score, {kind}"


def prepared(kind: str) -> str:
    """Return the name of the contender that scores objects of a kind with a prepared scorer."""
    return f"Warehouse.scorer, {kind}"


def _scored(name: str, qrels: Path, run: Path, *options: str) -> Contender:
    words = ("score", qrels, run, *metrics.METRICS, "-f", "csv", *options)
    return Contender(name, (warehouse(*words),), ours=True)


def _means(db: Path, where: str = "") -> tuple[str, ...]:
    return warehouse("query", _MEANS.format(where=where), "-f", "csv", "--db", db)


def _loading(db: Path, *runs: Path) -> tuple[tuple[str, ...], ...]:
    return (
        warehouse("ingest", "run", *runs, "-d", stored.DATASET, "--db", db),
        _evaluating(db, metrics.METRICS),
    )


def _evaluating(db: Path, asked: Sequence[str], *options: str) -> tuple[str, ...]:
    named = repeated("-m", asked)
    return warehouse("evaluate", "-d", stored.DATASET, *named, *options, "--db", db)


def _judging(db: Path, qrels: Path) -> tuple[str, ...]:
    return warehouse("ingest", "qrels", qrels, "-d", stored.DATASET, "--db", db)


def _stored(name: str, qrels: Path, runs: list[Path]) -> Contender:
    """Ingest and evaluate; the qrels are there, as in a warehouse that gets one more run."""
    db = qrels.with_name("measured.duckdb")
    return Contender(
        name,
        _loading(db, *runs),
        ours=True,
        before=(_judging(db, qrels),),
        shows=_means(db),
        file=db,
    )


def _msmarco(folder: Path, wanted: Sequence[str]) -> Everybody:
    qrels, run = folder / "qrels.txt", folder / "run00.trec"
    ours = [
        _scored(TREC, qrels, run),
        _scored(PARQUET, qrels, run.with_suffix(".parquet")),
        _scored(LIMITED, qrels, run, "--memory-limit", "512MB"),
        _stored(STORED, qrels, [run]),
    ]
    return _beside(ours, peers(qrels, [run], wanted))


def _one(folder: Path, wanted: Sequence[str]) -> Everybody:
    qrels, run = folder / "qrels.txt", folder / "run00.trec"
    return _beside([_scored(TREC, qrels, run)], peers(qrels, [run], wanted))


def _many(folder: Path, wanted: Sequence[str]) -> Everybody:
    qrels, runs = folder / "qrels.txt", sorted(folder.glob("run*.trec"))
    tables = [run.with_suffix(".parquet") for run in runs]
    ours = [
        Contender(AT_ONCE, (reading("warehouse", qrels, runs),), ours=True),
        Contender(AT_ONCE_PARQUET, (reading("warehouse", qrels, tables),), ours=True),
        _stored(STORED, qrels, runs),
    ]
    return _beside(ours, peers(qrels, runs, wanted))


def _beside(ours: list[Contender], others: Everybody) -> Everybody:
    return ours + others[0], others[1]


def _slices(folder: Path, _: Sequence[str]) -> Everybody:
    """The whole with the parts of slices, each beside the whole alone, as if that were a peer."""
    qrels, run = folder / "qrels.txt", folder / "run00.parquet"
    db = folder / "measured.duckdb"
    few = ("AP", "nDCG", "nDCG@10", "P@10", "R@10", "R@100", "RR", "bpref", "Rprec", "Success@10")

    def evaluated(name: str, *slices: str) -> Contender:
        return Contender(
            name,
            (_evaluating(db, few, *repeated("--slice", slices)),),
            ours=bool(slices),
            before=(
                _judging(db, qrels),
                warehouse("ingest", "run", run, "-d", stored.DATASET, "--db", db),
            ),
            shows=_means(db),
            file=db,
        )

    of_queries = [f"q{n} = hash(query_id, {n}) % 10" for n in range(10)]
    of_documents = [f"d{n} = hash(doc_id, {n}) % 10" for n in range(10)]
    return [
        evaluated("and 10 parts of the queries", of_queries[0]),
        evaluated("and 10 parts of the documents", of_documents[0]),
        evaluated("and 10 slices of the queries, 10 parts each", *of_queries),
        evaluated("and 10 slices of the documents, 10 parts each", *of_documents),
        evaluated("the whole"),
    ], []


def _history(folder: Path, _: Sequence[str]) -> Everybody:
    """A file with many runs; before each round it is what it was made as, less what is measured."""
    db, empty, run = folder / stored.FILE, folder / "measured.duckdb", folder / stored.EXTRA

    def restored(*asked: str) -> tuple[tuple[str, ...], ...]:
        lost = repeated("--metric", asked)
        return (module("restore", db, "--run", run.stem, *lost),)

    of_run = f"where run = '{run.stem}'"
    return [
        Contender(
            NEW_METRIC,
            (_evaluating(db, [stored.NEW_METRIC]),),
            ours=True,
            before=restored(stored.NEW_METRIC),
            shows=module("plans", db, stored.DATASET, stored.NEW_METRIC),
        ),
        Contender(
            ALL_METRICS,
            (_evaluating(db, metrics.METRICS),),
            ours=True,
            before=restored(*metrics.METRICS),
            shows=_means(db),
        ),
        Contender(
            ONE_MORE,
            _loading(db, run),
            ours=True,
            group="one run",
            before=restored(),
            shows=_means(db, of_run),
        ),
        Contender(
            THE_FIRST,
            _loading(empty, run),
            group="one run",
            before=(_judging(empty, folder / "qrels.txt"),),
            shows=_means(empty, of_run),
            file=empty,
        ),
    ], []


def _board(folder: Path, _: Sequence[str]) -> Everybody:
    db = folder / stored.FILE

    def in_process(name: str, way: str) -> Contender:
        command = script("leaderboard_calls", db, stored.DATASET, way)
        return Contender(name, (command,), ours=True, times_itself=True)

    asked = warehouse("leaderboard", "-d", stored.DATASET, "-f", "csv", "--db", db)
    return [
        Contender(BOARD_COMMAND, (asked,), ours=True, shows=_means(db)),
        in_process(BOARD_CALL, "call"),
        in_process(BOARD_OPEN, "open"),
    ], []


def _compare(folder: Path, _: Sequence[str]) -> Everybody:
    """Whole processes: ours from the stored values, SciPy's from the same values in a Parquet file."""
    db, values = folder / stored.FILE, folder / stored.VALUES
    found = []
    for name, way in (
        (ALL_PAIRS, "pairs"),
        (RANDOMISED, "randomisation"),
        (BOOTSTRAPPED, "bootstrap"),
    ):
        ours = script("compare_calls", db, stored.DATASET, way)
        found.append(Contender(name, (ours,), ours=True, group=way))
        theirs = script("with_scipy", values, way)
        found.append(Contender(f"SciPy: {way}", (theirs,), group=way))
    return found, []


def _objects(calls: int) -> Callable[[Path, Sequence[str]], Everybody]:
    """Objects in memory, scored by a call; where there are several, the figure is that of the later."""

    def everybody(folder: Path, wanted: Sequence[str]) -> Everybody:
        files = (folder / "qrels.txt", folder / "run00.parquet")

        def timed(name: str, program: str, kind: str) -> Contender:
            known_as = program.removesuffix("_built").removesuffix("_prepared")
            asked = repeated("--metric", metrics.pairs(known_as))
            command = script("objects", program, kind, *files, "--calls", calls, *asked)
            return Contender(name, (command,), ours=known_as == "warehouse", times_itself=True)

        found = [timed(called(kind), "warehouse", kind) for kind in KINDS]
        if calls > 1:
            found += [timed(prepared(kind), "warehouse_prepared", kind) for kind in PREPARED]
        missing = []
        if "pytrec_eval" in wanted:
            if importlib.util.find_spec("pytrec_eval"):
                found.append(timed(PYTREC_CALL, "pytrec_eval", "dict"))
            else:
                missing.append(absent("pytrec_eval"))
        if "ranx" in wanted:
            if importlib.util.find_spec("ranx"):
                found.append(timed(RANX_CALL, "ranx", "dict"))
                found.append(timed("ranx, its Qrels and Run built before", "ranx_built", "dict"))
            else:
                missing.append(absent("ranx"))
        return found, missing

    return everybody


def gated(against: str) -> str:
    """Return the name of the contender that syncs with one gate."""
    return f"sync with one gate against the {against} run"


def _nights(folder: Path, _: Sequence[str]) -> Everybody:
    """All runs in one sync, beside the same without a gate, as if that were a peer."""
    db = folder / "measured.duckdb"

    def synced(name: str, against: str) -> Contender:
        command = script("gated_sync", folder, db, against)
        ours = against != "none"
        return Contender(name, (command,), ours, shows=_means(db), file=db, times_itself=True)

    of_gates = [synced(gated(against), against) for against in ("last", "best")]
    return [*of_gates, synced(NO_GATE, "none")], []


def _help(_: Path, __: Sequence[str]) -> Everybody:
    return [Contender(HELP, (warehouse("--help"),), ours=True)], []


BENCHMARKS = {
    "msmarco": Benchmark(
        "6,980 queries with 1,000 documents each, about one relevant per query", _msmarco, "msmarco"
    ),
    "deep": Benchmark(
        "54 queries with 1,000 documents each, 15 thousand graded judgments", _one, "deep"
    ),
    "judged": Benchmark(
        "6,000 queries with 120 documents each, all of them judged, as in learning to rank",
        _one,
        "judged",
    ),
    "many": Benchmark(
        "100 runs of 200 queries with 1,000 documents each, 50 judged", _many, "many"
    ),
    "queries": Benchmark(
        "100,000 queries with 20 documents each (--scale 0.25, 0.5: trec_eval takes a time that grows "
        "with the square of their number)",
        _one,
        "queries",
    ),
    "objects-msmarco": Benchmark(
        "the work of msmarco on objects in memory; the time of the call", _objects(1), "msmarco"
    ),
    "objects-deep": Benchmark(
        "the work of deep likewise; the time of a call from the second on", _objects(8), "deep"
    ),
    "history": Benchmark(
        "a file with 1,000 runs of 200 queries with 1,000 documents each (2 GB, 15 minutes to make)",
        _history,
        "history",
    ),
    "leaderboard": Benchmark(
        "30 metrics of 10,000 runs stored, 60 million values of 200 queries", _board, "leaderboard"
    ),
    "compare": Benchmark(
        "50 runs, five metrics, 7,000 queries: stored values held against each other",
        _compare,
        "compare",
    ),
    "slices": Benchmark(
        "ten metrics for 10,000 queries with 200 documents each and a million judgments: the whole, "
        "and beside it the parts of slices",
        _slices,
        "slices",
    ),
    "nights": Benchmark(
        "2,000 runs of 50 queries with 20 documents each in one sync, with a gate and without",
        _nights,
        "nights",
    ),
    "help": Benchmark("warehouse --help", _help),
}
