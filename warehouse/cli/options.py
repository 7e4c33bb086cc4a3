"""Options that several commands share, each written once, and the reading of their values."""

from __future__ import annotations

import datetime as dt
import glob
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from warehouse.cli import completion
from warehouse.config import times
from warehouse.errors import UsageError, is_utf8, of_database

if TYPE_CHECKING:
    from warehouse.readers.kinds import Contents


def _keep_database(ctx: typer.Context, db: Path | None) -> Path | None:
    """Keep --db in the advice of commands that load; pages of others are read elsewhere."""
    is_typed = str(ctx.get_parameter_source("db")).endswith("COMMANDLINE")
    if is_typed and ctx.parent is not None and ctx.parent.info_name in ("ingest", "judgments"):
        ctx.with_resource(of_database(str(db)))
    return db


Database = Annotated[
    Path | None,
    typer.Option(
        "--db",
        callback=_keep_database,
        envvar="WAREHOUSE_DB",
        show_default="as warehouse.toml says, else warehouse.duckdb",
        help="The database file.",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        show_default="as WAREHOUSE_CONFIG says, else the nearest",
        help="The project's file: warehouse.toml, or pyproject.toml with [tool.warehouse].",
    ),
]
Dataset = Annotated[
    str,
    typer.Option(
        "--dataset", "-d", autocompletion=completion.datasets, help="Name of the dataset."
    ),
]
OneDataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "-d",
        autocompletion=completion.datasets,
        help="Name of the dataset; default: the only one.",
    ),
]
AnyDataset = Annotated[
    str | None,
    typer.Option(
        "--dataset",
        "-d",
        autocompletion=completion.datasets,
        help="Name of the dataset; default: all.",
    ),
]
OneRun = Annotated[str, typer.Argument(autocompletion=completion.runs, help="Name of the run.")]
SomeRuns = Annotated[
    list[str] | None,
    typer.Argument(
        autocompletion=completion.runs,
        metavar="RUN",
        help="Runs, or patterns, as in 'tas*'; default: all.",
    ),
]
SourceFile = Annotated[
    str, typer.Argument(help="The file; - is stdin. May be .gz, .bz2, .xz or .zst.")
]
QrelsLabel = Annotated[
    str | None, typer.Option("--label", help="A label for this version of the qrels.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the random numbers.")]
_METRIC = (
    "A metric, as in nDCG@10, P(rel=2)@5, map or ndcg_cut_10, or under a name of your own, as in "
    "'gain = nDCG(dcg=exp-log2)@10'; repeatable."
)
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=completion.metrics,
        help=_METRIC,
    ),
]
# Metrics to show: what is not stored is computed.
SHOWN_BY_DEFAULT = "those that warehouse.toml names, else those stored, else nDCG@10 AP P@10 RR"
ShownMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        "-m",
        autocompletion=completion.metrics,
        show_default=SHOWN_BY_DEFAULT,
        help=_METRIC,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        autocompletion=completion.protocols,
        help="The rules of the evaluation; see: warehouse protocols.",
    ),
]
Exclude = Annotated[
    str | None,
    typer.Option(
        "--exclude",
        metavar="self|training|LIST",
        help="Leave documents out of the rankings, whose ranks close up: the one with the id of its "
        "query (self), those in the training set (training), or a list by query.",
    ),
]
# Which runs: options of the commands that show several.
Runs = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        "-r",
        autocompletion=completion.runs,
        help="Only the run of this name, or the runs that fit a pattern, as in 'tas*'; repeatable.",
    ),
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        "--system",
        autocompletion=completion.systems,
        help="Only the runs of this system, or of those that fit a pattern; repeatable.",
    ),
]
RunTags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="KEY=VALUE",
        help="Only the runs with this tag, as in stage=rerank; the value can be a pattern; repeatable.",
    ),
]
Slice = Annotated[
    str | None,
    typer.Option(
        "--slice",
        autocompletion=completion.slices,
        help="Show each part of this slice, which must have been evaluated; see: warehouse slices.",
    ),
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of",
        metavar="TIME",
        help="Show the state as of the end of a day in UTC (2026-09-01), or as of a time "
        "(2026-09-01T12:00+02:00).",
    ),
]
QrelsVersion = Annotated[
    int | None,
    typer.Option("--qrels", min=1, help="Use this version of the qrels; default: the current one."),
]


def format_option(
    help: str = "table, json, jsonl, csv, tsv, markdown, latex, html or parquet (with -o).",
    more: Sequence[str] = (),
) -> Any:
    """Return the option for the output format; a command may have additional formats.

    The format is chosen, and refused if it is not available, before any work is done.
    """

    def choose(ctx: typer.Context, param: typer.CallbackParam, value: str | None) -> str:
        from warehouse.cli import output

        source = ctx.get_parameter_source(str(param.name))
        is_default = source is not None and source.name == "DEFAULT"
        named = None if is_default else value
        safe = ctx.params.get("safe_csv", False)
        return output.choose_format(named, ctx.params.get("out"), more, safe=safe)

    return typer.Option(
        "--format",
        "-f",
        callback=choose,
        show_default="as the name of the file says, else table",
        help=help,
    )


def _check_output(value: Path | None) -> Path | None:
    if value is None or str(value) == "-":
        return None
    from warehouse.report import file_replacement

    file_replacement.check_file(value)
    return value


Format = Annotated[str, format_option()]
# eager, as the output is
SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        is_eager=True,
        help="For spreadsheets: in CSV and TSV, no text is a formula (=cmd); it gets a ' before it.",
    ),
]
# eager: it is known when the format is chosen
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        is_eager=True,
        callback=_check_output,
        help="Write to this file instead of stdout.",
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide", help="On a terminal, show everything, even if it is wider than the terminal."
    ),
]
Names = Annotated[
    bool,
    typer.Option("--names", help="Say which metric each name in the head of the table stands for."),
]
Places = Annotated[
    int, typer.Option("--places", min=0, max=17, help="Digits after the point in tables.")
]
# How a table of a paper is laid out.
ShownColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAME,NAME",
        help="Show only these columns, in this order, as in run,nDCG@10.",
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="RUN=NAME",
        help="Show this name in place of a run's, as in tasb='TAS-B (ours)'; repeatable.",
    ),
]
Percent = Annotated[
    bool,
    typer.Option("--percent", help="Show values of metrics between -1 and 1 times 100."),
]
LaidOutPlaces = Annotated[
    int | None,
    typer.Option(
        "--places",
        min=0,
        max=17,
        show_default="4; in percent 2",
        help="Digits after the point in tables.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit", help="Memory limit for DuckDB, as in 1GB; larger data spill to disk."
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads for DuckDB.")]
Engine = Annotated[
    str,
    typer.Option("--engine", help="Where values are computed: local, or spark for many machines."),
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        show_default="all processors of this machine",
        help="The cluster of --engine spark, as in spark://host:7077.",
    ),
]
By = Annotated[
    Literal["run", "query"],
    typer.Option(
        "--by",
        help="What a task of --engine computes: whole runs or, for very large ones, queries.",
    ),
]
LockTimeout = Annotated[
    float,
    typer.Option("--lock-timeout", min=0, help="Seconds to wait, once next, for a locked file."),
]


def check_engine(engine: str, **given: bool) -> None:
    """Refuse the options of an engine without it; `given` says which of them were named."""
    from warehouse.errors import UsageError

    for name, is_given in given.items():
        if is_given and engine == "local":
            raise UsageError(f"--{name}: goes with --engine spark")


def input_format(contents: Contents, of: str = "file", name: str = "--format") -> Any:
    """Return the option for the format of a file; its help names those that can hold the contents."""
    from warehouse.readers import registry  # needed by commands that read files, and only then

    *others, last = registry.names(contents)
    known = f"{', '.join(others)} or {last}"
    return typer.Option(name, help=f"Format of the {of}: {known}; default: guessed from the file.")


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--column",
        metavar="OURS=THEIRS",
        help="Read our column from the file's column, as in query_id=user; repeatable.",
    ),
]
QrelsColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--qrels-column",
        metavar="OURS=THEIRS",
        help="As --column, for the judgments only; repeatable.",
    ),
]
RunColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--run-column", metavar="OURS=THEIRS", help="As --column, for the runs only; repeatable."
    ),
]
Iterations = Annotated[
    bool,
    typer.Option(
        "--iterations",
        help="A document can be judged once per iteration, as in qrels for diversity.",
    ),
]

System = Annotated[
    str | None,
    typer.Option(
        "--system", autocompletion=completion.systems, help="The system that made the run."
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="KEY=VALUE", help="A tag of the run; repeatable."),
]
RunAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        help="When the experiment was run, as in 2026-09-01T12:00+02:00; UTC without a zone.",
    ),
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace", help="Load other content as a new version; the old one stays readable."
    ),
]
Global = Annotated[
    bool,
    typer.Option(
        "--global",
        help="All queries share one set of judged documents: one id per line (format text), or a "
        "column doc_id.",
    ),
]
Queries = Annotated[
    str | None,
    typer.Option(
        "--queries",
        metavar="FILE",
        help="With --global: read the queries from this file, one id per line; default: the "
        "queries of the runs.",
    ),
]
Normalise = Annotated[
    str | None,
    typer.Option(
        "--normalise",
        metavar="SQL",
        help="Compute the document id by this SQL expression over a row's columns, as in "
        "'lower(trim(doc_id))'.",
    ),
]
Where = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="SQL",
        help="Read only the rows for which this SQL condition over the file's columns is true, as in "
        "'timestamp >= 1577836800'; TREC and JSON have our columns, as in 'query_id <> doc_id'.",
    ),
]
QrelsWhere = Annotated[
    str | None,
    typer.Option("--qrels-where", metavar="SQL", help="As --where, for the judgments only."),
]
RunWhere = Annotated[
    str | None,
    typer.Option("--run-where", metavar="SQL", help="As --where, for the runs only."),
]
Repeated = Annotated[
    str | None,
    typer.Option(
        "--repeated",
        "--keep",
        metavar="RULE",
        help="Where a document is there several times for a query, take the best, first, last, max or "
        "min of its rows, or their sum or count.",
    ),
]
QrelsRepeated = Annotated[
    str | None,
    typer.Option("--qrels-repeated", metavar="RULE", help="As --repeated, for the judgments only."),
]
RunRepeated = Annotated[
    str | None,
    typer.Option("--run-repeated", metavar="RULE", help="As --repeated, for the runs only."),
]
Relevance = Annotated[
    str | None,
    typer.Option(
        "--relevance",
        metavar="SQL",
        help="Compute the relevance by this SQL expression over the columns of a judgment, as in "
        "'rating >= 4'.",
    ),
]


def pairs(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """Read KEY=VALUE options.

    >>> pairs(["query_id=user"], "--column")
    {'query_id': 'user'}
    """
    found: dict[str, str] = {}
    for text in texts or ():
        if not is_utf8(text):
            raise UsageError(f"{option} {text}: is not UTF-8")
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{option} {text}: write it as KEY=VALUE")
        if key.strip() in found:
            raise UsageError(f"{option} {key.strip()}: given twice")
        found[key.strip()] = value
    return found


def weights(text: str) -> str | dict[str, float]:
    """Read the weights of datasets: a word, or NAME=NUMBER separated by commas.

    >>> weights("relevant"), weights("A=2,B=0.5")
    ('relevant', {'A': 2.0, 'B': 0.5})
    """
    if "=" not in text:
        return text
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value = None
        if not name.strip() or value is None:
            raise UsageError(f"--weights {part}: write weights as in A=2,B=1")
        if name.strip() in found:
            raise UsageError(f"--weights {name.strip()}: given twice")
        found[name.strip()] = value
    return found


def moment(text: str | None) -> dt.datetime | None:
    """Read a timestamp; one without a zone is UTC.

    >>> moment("2026-09-01T12:00").isoformat()
    '2026-09-01T12:00:00+00:00'
    """
    if text is None:
        return None
    try:
        return times.begin(text)
    except ValueError as error:
        raise UsageError(f"--at {text}: {error}") from None


def numbers(text: str | None, option: str) -> list[float] | None:
    """Read numbers separated by commas.

    >>> numbers("0.3,0.7", "--weights")
    [0.3, 0.7]
    """
    if text is None:
        return None
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"{option} {text}: write numbers with commas between, as in 0.3,0.7"
        ) from None


def expand_globs(files: list[str]) -> list[str]:
    """Expand globs that the shell left alone, also of a store; one without a match is an error."""
    from warehouse.readers import remote
    from warehouse.sync.patterns import Pattern

    found: list[str] = []
    for file in files:
        matches = [file]
        if glob.has_magic(file) and remote.is_listed(file):
            matches = [str(one) for one, _ in Pattern(file).files(Path())]
        elif glob.has_magic(file) and remote.scheme(file) is None and not Path(file).exists():
            matches = sorted(glob.glob(file, recursive=True))
        if not matches:
            raise UsageError(f"{file}: no file matches")
        found += matches
    return list(dict.fromkeys(found))
