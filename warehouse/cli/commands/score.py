"""`warehouse score`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress, sizes
from warehouse.errors import counted, listing

if TYPE_CHECKING:
    from warehouse.evaluate.scoring import Scores

SECTION, PLACE = "Evaluate", 2
EXAMPLES = {
    "score": (
        "warehouse score qrels.txt runs/bm25.run.gz nDCG@10 AP 'P(rel=2)@10'",
        "warehouse score qrels.txt runs/*.run.gz nDCG@10 AP -f csv",
        "warehouse score qrels.txt runs/bm25.run.gz 'nDCG(gains={1:1,2:3,3:7})@10'",
        "warehouse score qrels.txt runs/bm25.run.gz official -q -c -l 2 -f trec",
        "warehouse score qrels.txt runs/bm25.run.gz all_trec --protocol trec_eval_9 -f csv",
        "warehouse score qrels.txt runs/bm25.run.gz AP --attributes sources.csv",
        "warehouse score qrels.txt runs/bm25.run.gz nDCG@10 --exclude self",
        "warehouse score links.txt links.run AP 'LAG(aggregate=pooled)' --global --protocol ardoco",
        "warehouse score subtopics.txt runs/web.run alpha_nDCG@10 map_avgjg -R qrels_jg",
        "warehouse score qrels.txt runs/*.run.gz nDCG@10 --engine spark",
    )
}
# The most runs in the notes on equal scores.
_RUNS_WITH_TIES = 4
_VERSION = "'warehouse --version' prints the version"
# Options of trec_eval.
INSTEAD: Mapping[str, str] = {
    "-a": "the set all_trec has all measures of trec_eval",
    "-D": "'warehouse explain' shows how much each document adds to a value of a stored run",
    "-n": "the values over all queries are always printed; with -q they come last, as the query all",
    "-N": "give the size of the collection to the metric, as in 'Utility(collection=1000)'",
    "-T": "name the format of the run with --run-format, as in --run-format trec",
    "-v": _VERSION,
    "--version": _VERSION,
}


@dataclass(frozen=True)
class RowsOfBoth:
    """How the rows of the qrels and of the runs are read."""

    column: options.Columns = None
    qrels_column: options.QrelsColumns = None
    run_column: options.RunColumns = None
    relevance: options.Relevance = None
    normalise: options.Normalise = None
    where: options.Where = None
    qrels_where: options.QrelsWhere = None
    run_where: options.RunWhere = None
    repeated: options.Repeated = None
    qrels_repeated: options.QrelsRepeated = None
    run_repeated: options.RunRepeated = None
    is_global: options.Global = False
    queries: options.Queries = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments for `scoring.score`."""
        maps = ("column", "qrels_column", "run_column")
        given = {name: value for name, value in vars(self).items() if name not in maps}
        for name in maps:
            given[f"{name}s"] = options.pairs(getattr(self, name), f"--{name.replace('_', '-')}")
        return given


def score(
    qrels: Annotated[str, "The judgments; - is stdin."],
    run: Annotated[str, "The run, or a glob of several; - is stdin."],
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            help="Metrics, or a set: official, all_trec, set, prefs …; files before the first "
            "metric are further runs.",
            show_default="those of the protocol, else official",
        ),
    ] = None,
    metric: options.Metrics = None,
    per_query: Annotated[bool, "Also print the values of each query.", "-q"] = False,
    protocol: options.Protocol = "default",
    level: Annotated[
        int | None, "Lowest relevance that counts as relevant (not for nDCG).", "-l", {"min": 1}
    ] = None,
    complete: Annotated[bool, "Count every judged query, as 0 if the run lacks it.", "-c"] = False,
    judged_only: Annotated[bool, "Remove unjudged documents from the rankings.", "-J"] = False,
    depth: Annotated[
        int | None, "Use only the first N documents of each ranking.", "-M", {"min": 1}
    ] = None,
    zscores: Annotated[
        Path | None,
        "Print z-scores, by the means and standard deviations in this file (lines of "
        "'query measure mean stddev'); a value without a line in it is -1000000.",
        "-Z",
    ] = None,
    lower_is_better: Annotated[bool, "The scores are distances: smallest first."] = False,
    qrels_format: Annotated[
        str | None, options.input_format("qrels", "qrels", "--qrels-format")
    ] = None,
    iterations: options.Iterations = False,
    rel_info: Annotated[
        str | None,
        "What the qrels are, as for trec_eval: qrels, qrels_jg, prefs or qrels_prefs.",
        "-R",
        {"metavar": "KIND"},
    ] = None,
    training: Annotated[str | None, "A training set, for metrics that need one."] = None,
    exclude: options.Exclude = None,
    run_format: Annotated[str | None, options.input_format("run", "run", "--run-format")] = None,
    attributes: Annotated[
        list[str] | None,
        "A table of attributes of documents (with a column doc_id) or of queries "
        "(query_id); repeatable.",
    ] = None,
    *,
    rows: RowsOfBoth,
    table: Annotated[
        options.NumberTable,
        options.format_option(
            "table, json, jsonl, csv, tsv, markdown, latex, html, parquet (with -o) or trec.",
            ["trec"],
        ),
    ],
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    engine: options.Engine = "local",
    master: options.Master = None,
    by: options.By = "run",
) -> None:
    """Score run files against a qrels file; nothing is stored.

    The qrels are judgments, with --iterations one per iteration, or preferences (--qrels-format
    prefs). Name metrics as in ir_measures (nDCG@10, P(rel=2)@5), ranx (ndcg@10, map@100-l2) or
    trec_eval (ndcg_cut_10, P.5,10), after the files or with -m. -l, -c, -J, -M and -Z mean what
    they mean in trec_eval; -f trec prints its layout. Several runs are scored at once, and each
    gets a line. --column, --where and --repeated are for both files, and with the prefix qrels- or run-,
    as in --run-column, for one of them. With --engine spark, tasks of a cluster score the runs, each
    with one thread and 1 GB of memory unless --threads and --memory-limit say otherwise; a run that is
    refused then does not keep the others from their values, and the command ends with 2. With -q and
    -f parquet, -o is then a new folder, into which the tasks write the values by query.
    """
    from warehouse.errors import InputError, UsageError
    from warehouse.evaluate import scoring  # not the class, which loads every other verb
    from warehouse.metrics import notation, protocols
    from warehouse.report import trec

    runs, words = _runs(run, metrics or [])
    if table.out is not None and any(_is_same_file(table.out, given) for given in (qrels, *runs)):
        raise UsageError(
            f"{table.out}: is one of the files to score; give the result a file of its own"
        )
    if [qrels, *runs, training, exclude].count("-") > 1:
        raise UsageError("only one of the files can be read from stdin")
    options.check_engine(engine, master=master is not None, by=by != "run")
    if engine != "local" and table.format == "trec":
        raise UsageError("-f trec: the layout is made by the local engine; leave out --engine")
    if table.format == "trec" and len(runs) > 1:
        raise UsageError("-f trec: trec_eval's layout has room for one run; use another format")
    if rel_info is not None:
        iterations, qrels_format = _read_rel_info(rel_info, iterations, qrels_format)
    wanted = [*words, *(metric or ())] or scoring.usual(protocol)
    if table.format != "trec":
        notation.request(*wanted)  # refuses relstring, which only that layout has room for
    into = table.out if engine != "local" and per_query and table.format == "parquet" else None
    with Progress("scoring", "file", 1, sizes([qrels, *runs])):
        scores = scoring.score(
            qrels, runs[0] if len(runs) == 1 and engine == "local" else runs, wanted,
            per_query=per_query, protocol=protocol, level=level, complete=complete,
            judged_only=judged_only, depth=depth, lower_is_better=lower_is_better,
            qrels_format=qrels_format, run_format=run_format, attributes=attributes or (),
            iterations=iterations, training=training, exclude=exclude, zscores=zscores,
            tie_ranges=True, memory_limit=memory_limit, threads=threads, engine=engine,
            master=master, by=by, into=into, **rows.asked(),
        )  # fmt: skip
    if exclude is not None:
        output.say(_left_out(scores, exclude))
    for warning in scores.warnings:
        output.warn(warning)
    for note in (*scores.notes, *_of_ties(scores, table.places)):
        output.say(note)
    if table.format == "trec":
        (read,) = scores.read
        runid = read.staged.tag if any(word in notation.TREC_SETS for word in wanted) else None
        defaults = protocols.get(protocol).defaults(level)
        text = trec.text(
            scores.relation.fetchall(), scores.lines, defaults,
            runid=runid, digits=table.places, strings=scores.strings,
            zscores=zscores is not None,
        )  # fmt: skip
        output.emit(text, table.out, table.format)
        return
    if per_query:
        shown = scores.relation
    else:
        shown = scores.board() if scores.names else scores.relation.project("metric, value")
    sums = {str(r.metric) for r in scores.requested if r.metric.is_count}
    counts = sums if zscores is None else set()
    if into is None:
        table.show(shown, titles={"query_id": "query"}, counts=counts)
    else:
        output.say(f"{into}: values of {counted(len(scores.names), 'run')}, as Parquet files")
    if scores.refused:
        raise InputError("\n".join(str(error) for error in scores.refused.values()))


def _runs(run: str, words: list[str]) -> tuple[list[str], list[str]]:
    """Separate runs from metrics: the files after a run, up to the first metric, are runs.

    A word that could be both is a metric; ./AP is the file.
    """
    others = list(takewhile(_is_run, words))
    return options.expand_globs([run, *others]), words[len(others) :]


def _is_run(word: str) -> bool:
    from warehouse.errors import UsageError
    from warehouse.metrics import notation

    try:
        notation.request(word)
    except UsageError:
        from warehouse.readers.registry import is_file_name

        there = glob.has_magic(word) or os.sep in word or Path(word).is_file()
        return there or is_file_name(word)
    return False


def _left_out(scores: Scores, exclude: str) -> str:
    """Say how many documents are left out of the rankings."""
    number = sum(read.num_excluded for read in scores.read)
    every = sum(read.staged.rows for read in scores.read)
    left_out = f"--exclude {exclude}: {number:,} of {counted(every, 'prediction')} left out"
    if number:
        return f"{left_out}; the ranks below them close up"
    return f"{left_out}: are the ids written as in the run?"


def _of_ties(scores: Scores, digits: int) -> Iterator[str]:
    """Name the range of the shown values over all orders of equal scores."""
    runs: dict[int, list[str]] = {}
    for one in scores.ranges:
        low, high = (f"{value:.{digits}f}" for value in (one.low, one.high))
        if low != high:
            runs.setdefault(one.run_id, []).append(f"{one.metric} {low}\N{EN DASH}{high}")
    for number, (run_id, ranges) in enumerate(runs.items()):
        if number == _RUNS_WITH_TIES:
            yield f"equal scores change values of {counted(len(runs) - number, 'other run')} too"
            return
        of = f"{scores.names[run_id]}: " if scores.names else ""
        yield f"{of}equal scores: by the order of their documents, {listing(ranges)}"


def _is_same_file(out: Path, given: str) -> bool:
    return out.exists() and Path(given).exists() and out.samefile(given)


def _read_rel_info(
    kind: str, iterations: bool, qrels_format: str | None
) -> tuple[bool, str | None]:
    """Translate trec_eval's -R to our two options."""
    from warehouse.errors import UsageError, nearest

    known = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
    if kind not in known:
        raise UsageError(f"-R {kind}: is one of {', '.join(known)}{nearest(kind, known)}")
    if kind == "prefs":
        from warehouse.readers import qrels_kind
        from warehouse.readers.prefs import Preferences

        if qrels_format and qrels_kind(qrels_format, iterations=False) != "preferences":
            raise UsageError(
                f"-R prefs is a format of its own: leave out --qrels-format {qrels_format}"
            )
        return iterations, Preferences.name
    return iterations or kind != "qrels", qrels_format
