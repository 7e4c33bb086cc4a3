"""Who takes part in a benchmark, and by which commands."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import metrics

CHECKOUT = Path(__file__).resolve().parents[2]
PEER_SCRIPTS = Path(__file__).resolve().parent / "peers"

Command = tuple[str, ...]


@dataclass(frozen=True)
class Contender:
    """Some commands whose cost, all together, is measured; each round starts anew."""

    name: str
    commands: tuple[Command, ...]
    ours: bool = False
    before: tuple[Command, ...] = ()
    """Run before each round, not measured."""
    shows: Command | None = None
    """Prints the values afterwards, where the commands only store them; not measured."""
    file: Path | None = None
    """The database, which is removed before each round."""


def warehouse(*arguments: object) -> Command:
    """Return our command line as a process of its own."""
    code = "import sys; sys.argv[0] = 'warehouse'; from warehouse.cli import main; main()"
    return (sys.executable, "-c", code, *map(str, arguments))


def environment() -> dict[str, str]:
    """Return the environment of every contender: this checkout's package, nobody's own settings."""
    own = ("WAREHOUSE_DB", "WAREHOUSE_CONFIG")
    return {k: v for k, v in os.environ.items() if k not in own} | {"PYTHONPATH": str(CHECKOUT)}


def _scored(name: str, qrels: Path, run: Path) -> Contender:
    words = ("score", qrels, run, *metrics.METRICS, "-f", "csv")
    return Contender(name, (warehouse(*words),), ours=True)


def _stored(name: str, qrels: Path, runs: list[Path]) -> Contender:
    """Ingest and evaluate; the qrels are there, as in a warehouse that gets one more run."""
    db = qrels.with_name("measured.duckdb")
    asked = [word for metric in metrics.METRICS for word in ("-m", metric)]
    means = "select metric, avg(value) as value from run_scores group by metric"
    return Contender(
        name,
        (
            warehouse("ingest", "run", *runs, "-d", "work", "--db", db),
            warehouse("evaluate", "-d", "work", *asked, "--db", db),
        ),
        ours=True,
        before=(warehouse("ingest", "qrels", qrels, "-d", "work", "--db", db),),
        shows=warehouse("query", means, "-f", "csv", "--db", db),
        file=db,
    )


def _script(peer: str, qrels: Path, runs: list[Path], names: list[str]) -> tuple[Command, ...]:
    options = [word for name in names for word in ("--metric", name)]
    script = str(PEER_SCRIPTS / f"with_{peer}.py")
    return ((sys.executable, script, "--qrels", str(qrels), *options, *map(str, runs)),)


PEERS = ("trec_eval", "pytrec_eval", "ranx", "ir_measures", "polars")


def peers(
    qrels: Path, runs: list[Path], wanted: Sequence[str] = PEERS
) -> tuple[list[Contender], list[str]]:
    """Return the peers that are here, and a line about each that is not."""
    found: list[Contender] = []
    missing: list[str] = []
    for peer in wanted:
        if peer == "trec_eval":
            program = os.environ.get("TREC_EVAL")
            if program:
                words = (program, *metrics.trec_options(), str(qrels))
                commands = tuple((*words, str(run)) for run in runs)
                found.append(Contender("trec_eval (C)", commands))
            else:
                missing.append("trec_eval (C) is left out: TREC_EVAL is not set to its path")
        elif importlib.util.find_spec(peer):
            title = "polars by hand" if peer == "polars" else peer
            found.append(Contender(title, _script(peer, qrels, runs, metrics.pairs(peer))))
        else:
            missing.append(f"{peer} is left out: it is not installed")
    return found, missing


def _msmarco(folder: Path) -> list[Contender]:
    qrels, run = folder / "qrels.txt", folder / "run00.trec"
    return [
        _scored("score, TREC text", qrels, run),
        _scored("score, Parquet", qrels, run.with_suffix(".parquet")),
        _stored("ingest run + evaluate", qrels, [run]),
    ]


def _deep(folder: Path) -> list[Contender]:
    return [_scored("score, TREC text", folder / "qrels.txt", folder / "run00.trec")]


def _many(folder: Path) -> list[Contender]:
    runs = sorted(folder.glob("run*.trec"))
    return [_stored("ingest run + evaluate", folder / "qrels.txt", runs)]


def _slices(folder: Path) -> list[Contender]:
    """The whole with the parts of slices, each beside the whole alone, as if that were a peer."""
    qrels, run = folder / "qrels.txt", folder / "run00.parquet"
    db = folder / "measured.duckdb"
    few = ("AP", "nDCG", "nDCG@10", "P@10", "R@10", "R@100", "RR", "bpref", "Rprec", "Success@10")
    asked = [word for metric in few for word in ("-m", metric)]
    means = "select metric, avg(value) as value from run_scores group by metric"

    def evaluated(name: str, *slices: str) -> Contender:
        options = [word for text in slices for word in ("--slice", text)]
        return Contender(
            name,
            (warehouse("evaluate", "-d", "work", *asked, *options, "--db", db),),
            ours=bool(slices),
            before=(
                warehouse("ingest", "qrels", qrels, "-d", "work", "--db", db),
                warehouse("ingest", "run", run, "-d", "work", "--db", db),
            ),
            shows=warehouse("query", means, "-f", "csv", "--db", db),
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
    ]


OURS: dict[str, Callable[[Path], list[Contender]]] = {
    "msmarco": _msmarco,
    "deep": _deep,
    "many": _many,
    "slices": _slices,
}
"""Our ways through each work; `score` takes one run, so that many are stored."""

HELP = Contender("warehouse --help", (warehouse("--help"),), ours=True)
