"""Options that several commands share, each written once, and the reading of their values."""

from __future__ import annotations

import datetime as dt
import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from warehouse.cli import completion
from warehouse.config import times
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError, is_utf8, of_database

if TYPE_CHECKING:
    import duckdb

    from warehouse.analyze.across_datasets import Weights
    from warehouse.readers.kinds import Contents
    from warehouse.report.result import Result
    from warehouse.warehouse import Warehouse


def _keep_database(ctx: typer.Context, db: Path | None) -> Path | None:
    """Keep --db in the advice of commands that load; pages of others are read elsewhere."""
    is_typed = str(ctx.get_parameter_source("db")).endswith("COMMANDLINE")
    if is_typed and ctx.parent is not None and ctx.parent.info_name in ("ingest", "judgments"):
        ctx.with_resource(of_database(str(db)))
    return db


Database = Annotated[
    Path | None,
    "The database file.",
    "--db",
    {
        "callback": _keep_database,
        "envvar": "WAREHOUSE_DB",
        "show_default": "as warehouse.toml says, else warehouse.duckdb",
    },
]
Config = Annotated[
    Path | None,
    "The project's file: warehouse.toml, or pyproject.toml with [tool.warehouse].",
    {"show_default": "as WAREHOUSE_CONFIG says, else the nearest"},
]
Dataset = Annotated[str, "Name of the dataset.", "-d", {"autocompletion": completion.datasets}]
OneDataset = Annotated[
    str | None,
    "Name of the dataset; default: the only one.",
    "-d",
    {"autocompletion": completion.datasets},
]
AnyDataset = Annotated[
    str | None, "Name of the dataset; default: all.", "-d", {"autocompletion": completion.datasets}
]
OneRun = Annotated[str, "Name of the run.", {"autocompletion": completion.runs}]
SomeRuns = Annotated[
    list[str] | None,
    typer.Argument(
        autocompletion=completion.runs,
        metavar="RUN",
        help="Runs, or patterns, as in 'tas*'; default: all.",
    ),
]
SourceFile = Annotated[str, "The file; - is stdin. May be .gz, .bz2, .xz or .zst."]
QrelsLabel = Annotated[str | None, "A label for this version of the qrels.", "--label"]
Seed = Annotated[int, "Seed of the random numbers."]
_METRIC = (
    "A metric, as in nDCG@10, P(rel=2)@5, map or ndcg_cut_10, or under a name of your own, as in "
    "'gain = nDCG(dcg=exp-log2)@10'; repeatable."
)
Metrics = Annotated[list[str] | None, _METRIC, "-m", {"autocompletion": completion.metrics}]
# Metrics to show: values that are not stored are computed.
SHOWN_BY_DEFAULT = "those that warehouse.toml names, else those stored, else nDCG@10 AP P@10 RR"
ShownMetrics = Annotated[
    list[str] | None,
    _METRIC,
    "-m",
    {"autocompletion": completion.metrics, "show_default": SHOWN_BY_DEFAULT},
]
Protocol = Annotated[
    str,
    "The rules of the evaluation; see: warehouse protocols.",
    {"autocompletion": completion.protocols},
]
Exclude = Annotated[
    str | None,
    "Leave documents out of the rankings, whose ranks close up: the one with the id of its "
    "query (self), those in the training set (training), or a list by query.",
    {"metavar": "self|training|LIST"},
]
# Which runs: options of the commands that show several.
Runs = Annotated[
    list[str] | None,
    "Only the run of this name, or the runs that fit a pattern, as in 'tas*'; repeatable.",
    "--run",
    "-r",
    {"autocompletion": completion.runs},
]
Systems = Annotated[
    list[str] | None,
    "Only the runs of this system, or of those that fit a pattern; repeatable.",
    {"autocompletion": completion.systems},
]
RunTags = Annotated[
    list[str] | None,
    "Only the runs with this tag, as in stage=rerank; the value can be a pattern; repeatable.",
    {"metavar": "KEY=VALUE"},
]
Slice = Annotated[
    str | None,
    "Show each part of this slice, which must have been evaluated; see: warehouse slices.",
    {"autocompletion": completion.slices},
]
AsOf = Annotated[
    str | None,
    "Show the state as of the end of a day in UTC (2026-09-01), or as of a time "
    "(2026-09-01T12:00+02:00).",
    {"metavar": "TIME"},
]
QrelsVersion = Annotated[
    int | None, "Use this version of the qrels; default: the current one.", {"min": 1}
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
        "--format", "-f", callback=choose, show_default="as the name of the file says, else table",
        help=help,
    )  # fmt: skip


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
    "In CSV and TSV, put a ' before text that a spreadsheet would run as a formula (=cmd).",
    {"is_eager": True},
]
# eager: it is known when the format is chosen
Output = Annotated[
    Path | None,
    "Write to this file instead of stdout.",
    "--output",
    "-o",
    {"is_eager": True, "callback": _check_output},
]
Wide = Annotated[bool, "On a terminal, show everything, even if it is wider than the terminal."]
Names = Annotated[bool, "Say which metric each name in the head of the table stands for."]
Places = Annotated[int, "Digits after the point in tables.", {"min": 0, "max": 17}]
# How a table of a paper is laid out.
ShownColumns = Annotated[
    list[str] | None,
    "Show only these columns, in this order, as in run,nDCG@10.",
    {"metavar": "NAME,NAME"},
]
Label = Annotated[
    list[str] | None,
    "Show this name in place of a run's, as in tasb='TAS-B (ours)'; repeatable.",
    {"metavar": "RUN=NAME"},
]
Percent = Annotated[bool, "Show values of metrics between -1 and 1 times 100."]
LaidOutPlaces = Annotated[
    int | None,
    "Digits after the point in tables.",
    {"min": 0, "max": 17, "show_default": "4; in percent 2"},
]
MemoryLimit = Annotated[
    str | None, "Memory limit for DuckDB, as in 1GB; larger data spill to disk."
]
Threads = Annotated[int | None, "Threads for DuckDB.", {"min": 1}]
Engine = Annotated[str, "Where values are computed: local, or spark for many machines."]
Master = Annotated[
    str | None,
    "The cluster of --engine spark, as in spark://host:7077.",
    {"metavar": "URL", "show_default": "all processors of this machine"},
]
By = Annotated[
    Literal["run", "query"],
    "What a task of --engine computes: whole runs or, for very large ones, queries.",
]
LockTimeout = Annotated[float, "How many seconds to wait for a locked database.", {"min": 0}]


def check_engine(engine: str, **given: bool) -> None:
    """Refuse the options of an engine without it; `given` says which of them were named."""
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
    "Read our column from the file's column, as in query_id=user; repeatable.",
    "--column",
    {"metavar": "OURS=THEIRS"},
]
QrelsColumns = Annotated[
    list[str] | None, "As --column, for the judgments only; repeatable.", {"metavar": "OURS=THEIRS"}
]
RunColumns = Annotated[
    list[str] | None, "As --column, for the runs only; repeatable.", {"metavar": "OURS=THEIRS"}
]
Iterations = Annotated[
    bool, "A document can be judged once per iteration, as in qrels for diversity."
]

System = Annotated[
    str | None, "The system that made the run.", {"autocompletion": completion.systems}
]
Tags = Annotated[
    list[str] | None, "A tag of the run; repeatable.", "--tag", {"metavar": "KEY=VALUE"}
]
RunAt = Annotated[
    str | None, "When the experiment was run, as in 2026-09-01T12:00+02:00; UTC without a zone."
]
Replace = Annotated[bool, "Load other content as a new version; the old one stays readable."]
Global = Annotated[
    bool,
    "All queries share one set of judged documents: one id per line (format text), or a "
    "column doc_id.",
    "--global",
]
Queries = Annotated[
    str | None,
    "With --global: read the queries from this file, one id per line; default: the "
    "queries of the runs.",
    {"metavar": "FILE"},
]
Normalise = Annotated[
    str | None,
    "Compute the document id by this SQL expression over a row's columns, as in "
    "'lower(trim(doc_id))'.",
    {"metavar": "SQL"},
]
Where = Annotated[
    str | None,
    "Read only the rows for which this SQL condition over the file's columns is true, as in "
    "'timestamp >= 1577836800'; TREC and JSON have our columns, as in 'query_id <> doc_id'.",
    {"metavar": "SQL"},
]
QrelsWhere = Annotated[str | None, "As --where, for the judgments only.", {"metavar": "SQL"}]
RunWhere = Annotated[str | None, "As --where, for the runs only.", {"metavar": "SQL"}]
Repeated = Annotated[
    str | None,
    "Where a document is there several times for a query, take the best, first, last, max or "
    "min of its rows, or their sum or count.",
    "--repeated",
    "--keep",
    {"metavar": "RULE"},
]
QrelsRepeated = Annotated[str | None, "As --repeated, for the judgments only.", {"metavar": "RULE"}]
RunRepeated = Annotated[str | None, "As --repeated, for the runs only.", {"metavar": "RULE"}]
Relevance = Annotated[
    str | None,
    "Compute the relevance by this SQL expression over the columns of a judgment, as in "
    "'rating >= 4'.",
    {"metavar": "SQL"},
]


class _Opening:
    """Options of the database that a command opens."""

    def open(self) -> Warehouse:
        """Return the warehouse."""
        from warehouse.warehouse import Warehouse

        path, *limits = vars(self).items()
        return Warehouse(path[1], **dict(limits))


@dataclass(frozen=True)
class File(_Opening):
    """The database of a command that reads."""

    db: Database = None
    lock_timeout: LockTimeout = LOCK_TIMEOUT


@dataclass(frozen=True)
class LimitedFile(_Opening):
    """The database of a command that computes or loads."""

    db: Database = None
    memory_limit: MemoryLimit = None
    threads: Threads = None
    lock_timeout: LockTimeout = LOCK_TIMEOUT


@dataclass(frozen=True)
class ProjectFile(LimitedFile):
    """The database of a command that syncs: another sync may take minutes."""

    lock_timeout: LockTimeout = 600.0


@dataclass(frozen=True)
class Table:
    """How and where a table is written."""

    format: Format = "table"
    out: Output = None
    safe_csv: SafeCsv = False
    wide: Wide = False

    def show(
        self, found: Result | duckdb.DuckDBPyRelation, places: int | None = None, **about: Any
    ) -> None:
        """Write a result, with its notes, or a relation; see `output.show`."""
        from warehouse.cli import output

        output.show(found, self.format, self.out, places=places, wide=self.wide, **about)


@dataclass(frozen=True)
class NumberTable(Table):
    """How and where a table of numbers is written."""

    places: Places = 4

    def show(
        self, found: Result | duckdb.DuckDBPyRelation, places: int | None = None, **about: Any
    ) -> None:
        """Write it with the digits of --places, unless others are given."""
        super().show(found, self.places if places is None else places, **about)


@dataclass(frozen=True)
class Layout:
    """How a table of a paper is laid out."""

    columns: ShownColumns = None
    label: Label = None
    percent: Percent = False
    places: LaidOutPlaces = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments for a method of the warehouse."""
        label = pairs(self.label, "--label")
        return {**vars(self), "columns": self.columns or (), "label": label}


@dataclass(frozen=True)
class Choice:
    """Which runs are shown."""

    only_runs: Runs = None
    system: Systems = None
    tag: RunTags = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments for a method of the warehouse."""
        return {"run": self.only_runs or (), "system": self.system or (), "tag": self.tag or ()}


@dataclass(frozen=True)
class State:
    """The time, the qrels and the protocol of the values that are shown."""

    as_of: AsOf = None
    qrels: QrelsVersion = None
    protocol: Protocol = "default"


class _Mapped:
    """How the rows of a file are read."""

    def asked(self) -> dict[str, Any]:
        """Return the arguments for a method of the warehouse."""
        given = dict(vars(self))
        return {"columns": pairs(given.pop("column"), "--column"), **given}


@dataclass(frozen=True)
class Rows(_Mapped):
    """How the rows of a file are read."""

    column: Columns = None
    normalise: Normalise = None
    where: Where = None
    repeated: Repeated = None


@dataclass(frozen=True)
class JudgmentRows(_Mapped):
    """How the rows of a file of judgments are read."""

    column: Columns = None
    relevance: Relevance = None
    normalise: Normalise = None
    where: Where = None
    repeated: Repeated = None


@dataclass(frozen=True)
class About:
    """The description of a new run."""

    system: System = None
    tag: Tags = None
    at: RunAt = None

    def asked(self) -> dict[str, Any]:
        """Return the arguments for a method of the warehouse."""
        tags = pairs(self.tag, "--tag")
        return {"system": self.system, "tags": tags, "run_at": moment(self.at)}


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


def weights(text: str) -> Weights:
    """Read the weights of datasets: a word, or NAME=NUMBER separated by commas.

    >>> weights("relevant"), weights("A=2,B=0.5")
    ('relevant', {'A': 2.0, 'B': 0.5})
    """
    if "=" not in text:
        return cast("Weights", text)
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
