"""Predictions that stay in their files: read again when a statement needs them.

The catalogue says where each file lies and how it was read, and has its hash. A file that is gone, or
that has changed, is refused.
"""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from warehouse.config import allowed_paths
from warehouse.config.allowed_paths import is_allowed
from warehouse.errors import InputError, UsageError, WarehouseError, command, option, url
from warehouse.readers import Staged, clear, stage, staging
from warehouse.readers.files import open_file
from warehouse.sql_text.quoting import literal
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.scratch_folders import scratch_folder

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# The temporary table of the predictions that were read again.
TABLE = "prediction_in_place"


@dataclass(frozen=True)
class PredictionFile:
    """The file with the predictions of a stored run: where it lies, its hash, how it is read."""

    run_id: int
    dataset: str
    run: str
    location: str
    sha256: str
    format: str
    columns: str
    normalise: str | None
    where: str | None

    def refused(self, reason: str) -> InputError:
        """Return the error for a file that does not have the predictions any more."""
        return InputError(
            f"{self.location}: {reason}, and the predictions of run {self.run} are in no other place: "
            "put the file back as it was, or remove the run and load it again: "
            f"{command(f'forget {shlex.quote(self.run)}', self.dataset)}"
        )


def location_of(staged: Staged) -> str:
    """Return where the file of a staged run lies: its URL, or its absolute path.

    Raises UsageError for a source that cannot be read a second time.
    """
    if staged.source_sha256 is not None and staged.repeated is None:
        named = url(staged.source)
        if named is not None:
            return named
        path = Path(staged.source).absolute()
        if path.is_file():
            return str(path)
    raise UsageError(
        f"{staged.source}: {option('where-it-lies')} is for one file, which can be read again, with "
        f"each document once for a query; load this without it"
    )


def files_of(con: Connection, run_ids: Sequence[int] | None = None) -> list[PredictionFile]:
    """Return the files of those runs whose predictions stay there, among some or among all."""
    rows = con.execute(
        "select run_id, dataset.name, run.name, place, run.source_sha256, run.format, columns, "
        "run.normalise, run.kept_where from prediction_file join run using (run_id) "
        "join dataset using (dataset_id) where $ids is null or list_contains($ids, run_id) "
        "order by run_id",
        {"ids": None if run_ids is None else list(run_ids)},
    ).fetchall()
    return [PredictionFile(*row) for row in rows]


def provide_predictions(con: Connection, run_ids: Sequence[int]) -> bool:
    """Let the relation `prediction` have the predictions of some runs, wherever they lie.

    Those that stay in files are read into a temporary table, unless they are in it, and a view of
    that name is found before the file's own. Returns whether there are any. Raises InputError if a
    file cannot be read, or is not the one that was loaded.
    """
    known = con.execute(
        "select run_id from prediction_file where list_contains($ids, run_id)",
        {"ids": list(run_ids)},
    ).fetchall()
    if not known:
        return False
    needed = {run_id for (run_id,) in known}
    if not needed <= _there(con):
        con.execute(
            "create or replace temp table prediction_in_place "
            "(run_id integer, query_id varchar, doc_id varchar, score double)"
        )
        with _reader(con) as reader:
            for file in files_of(con, sorted(needed)):
                _read(con, reader, file)
    con.execute(render("statements/predictions_in_place"))
    return True


_CHANGED = "has other content than when it was loaded"


def _there(con: Connection) -> set[int]:
    """Return the runs that were read into the temporary table."""
    tables = "select 1 from duckdb_tables() where database_name = 'temp' and table_name = $name"
    if not con.execute(tables, {"name": TABLE}).fetchall():
        return set()
    return {run_id for (run_id,) in con.execute(f"select distinct run_id from {TABLE}").fetchall()}


def _read(con: Connection, reader: Connection, file: PredictionFile) -> None:
    """Add the predictions of a file to the temporary table, in their order."""
    _check_allowed(con, file)
    with scratch_folder(database.shared_folder()) as folder:
        try:
            staged = stage(
                reader, file.location, "run", format=file.format, columns=json.loads(file.columns),
                normalise=file.normalise, where=file.where, empty=True,
            )  # fmt: skip
        except (WarehouseError, TypeError, ValueError) as error:  # the columns may be no JSON
            raise file.refused(_reason(file, error)) from error
        if staged.source_sha256 != file.sha256:
            raise file.refused(_CHANGED)
        copied = literal(str(folder / "predictions.parquet"))
        with staging.file_order(reader):
            reader.execute(
                f"copy (select query_id, doc_id, score from staged) to {copied} (format parquet)"
            )
            con.execute(
                f"insert into {TABLE} select {file.run_id}, query_id, doc_id, score "
                f"from read_parquet({copied})"
            )
        clear(reader)


def allow(con: Connection, locations: Iterable[str] | None = None) -> None:
    """Allow reading from some locations, also by copies, or from all that the database names."""
    named = (file.location for file in files_of(con))
    allowed_paths.allow(named if locations is None else locations)


def _check_allowed(con: Connection, file: PredictionFile) -> None:
    """Refuse a location that the user has not named: somebody else may have made the database."""
    path = _database(con)
    if not is_allowed(file.location, path):
        raise InputError(
            f"{file.location}: has the predictions of run {file.run}, says the database, but lies "
            "outside its folder, and nobody here has allowed to read it. If you trust the database: "
            f"warehouse init --allow-place --db {shlex.quote(str(path))}"
        )


def _database(con: Connection) -> Path:
    """Return the path of the attached file."""
    rows = con.execute(
        "select path from duckdb_databases() where database_name = $1", [database.ALIAS]
    ).fetchall()
    return Path(rows[0][0])


def _reason(file: PredictionFile, error: Exception) -> str:
    """Return why a file cannot be read: it has changed, or the error's text."""
    with contextlib.suppress(InputError), open_file(file.location) as opened:
        if opened.sha256 != file.sha256:
            return _CHANGED
    return str(error).removeprefix(f"{file.location}: ")


@contextlib.contextmanager
def _reader(con: Connection) -> Iterator[Connection]:
    """Yield a connection to an engine of its own, with the same limits, which can open files.

    The first one may be closed to them, and tables staged on it stay.
    """
    sql = "select current_setting('memory_limit'), current_setting('threads')"
    ((memory_limit, threads),) = con.execute(sql).fetchall()
    with database.memory(database.Resources(memory_limit, threads)) as reader:
        yield reader
