"""A table with all of its columns, whatever their names: files and objects in memory."""

from __future__ import annotations

import contextlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from warehouse.errors import InputError, UsageError, first_line
from warehouse.readers import checks, delimited, documents, objects, rejects
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.guess import guess, head_text
from warehouse.readers.lines import refuse_if_not_text
from warehouse.readers.staged import canonical_format
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import ident, literal
from warehouse.store.engine_errors import in_words

FORMATS = ("csv", "tsv", "jsonl", "parquet")
_JSON_PLACE = re.compile(
    r'^.*Malformed JSON in file ".*", at byte \d+ in (?:line|record/value) (\d+)'
)

_WRITTEN = re.compile(r"(DATE|TIME|UUID)[^\[]*\Z")
# How DuckDB calls the second of two keys that are alike, and 1.5 one without a name.
_NUMBERED = re.compile(r"(.*_|C)\d+\Z", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A source as the temporary table `staged_table`, in the order of its rows.

    `columns` is `{name: DuckDB type}`; in a format without types (`typed` is False) all are text.
    `line_of` converts the number of a row to its line, if the source has lines.
    """

    source: str
    format: str
    sha256: str | None
    columns: Mapping[str, str]
    typed: bool = True
    line_of: Callable[[int], int] | None = None

    def refuse(self, found: Iterable[checks.Problem], total: int) -> InputError:
        """Return the error for rows with problems, by line or by row."""
        places: Sequence[tuple[int | None, str]] = (
            checks.in_words_by_row(found)
            if self.line_of is None
            else checks.in_words(found, self.line_of)
        )
        return checks.refuse(self.source, places, total)


@contextlib.contextmanager
def open_table(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    *,
    key: str,
    format: str | None = None,
    hints: Iterable[str] = (),
) -> Iterator[Table]:
    """Read a source into `staged_table`, which is dropped when the block ends.

    `key` names the column for the outer keys of a dict of dicts. `hints` are column names by which
    the format may be recognised. Raises InputError and UsageError.
    """
    name = None if format is None else table_format(format)
    try:
        if isinstance(source, str | os.PathLike):
            with open_file(source) as file:
                check_file(file)
                names = [key, *hints]
                yield load_file(con, file, name or _guessed(file, names), key, ids=names)
        else:
            yield load_object(con, source, key)
    finally:
        with contextlib.suppress(duckdb.Error):
            con.execute("drop table if exists temp.staged_table")


def table_format(format: str) -> str:
    """Return the canonical name of a format with named columns."""
    name = canonical_format(format)
    if name == "trec":
        raise UsageError(f"this is read from {', '.join(FORMATS)}, not from {name}")
    return name


def _guessed(file: LocalFile, hints: list[str]) -> str:
    if file.head.startswith(b"PAR1"):
        return "parquet"
    if head_text(file).lstrip().startswith("["):
        return "jsonl"
    found = guess(file, hints)
    if found == "trec":
        raise InputError(
            f"{file.source}: its format is not clear: say it with --format {'|'.join(FORMATS)}"
        )
    return found


def load_file(
    con: duckdb.DuckDBPyConnection,
    file: LocalFile,
    format: str,
    key: str,
    *,
    ids: Collection[str] = (),
) -> Table:
    """Fill `staged_table` from an open file of a known format.

    Of JSON the columns of `ids` keep all their digits, as text.
    """
    if format in ("csv", "tsv"):
        return _delimited(con, file, format)
    if format == "parquet":
        relation = f"read_parquet({literal(file.path)}, binary_as_string = true)"
        return Table(file.source, format, file.sha256, _fill(con, file.source, relation))
    refuse_if_not_text(file, checks.LIMIT)
    if format == "ranx":
        return _nested(con, file, key)
    columns = _json(con, file.source, file.path, ids)
    line_of = None if head_text(file).lstrip().startswith("[") else _json_lines(file)
    return Table(file.source, format, file.sha256, columns, line_of=line_of)


def load_object(con: duckdb.DuckDBPyConnection, source: Any, key: str) -> Table:
    """Fill `staged_table` from a dict of dicts, a data frame, an Arrow table or a relation."""
    if isinstance(source, Mapping):
        name = f"<{type(source).__name__}>"
        return Table(name, "dict", None, _dict(con, name, source, key))
    name = objects.object_name(source)
    objects.refuse_index(source, [key])
    with objects.relation_of(con, source) as relation:
        return Table(name, "table", None, _fill(con, name, relation))


def _delimited(con: duckdb.DuckDBPyConnection, file: LocalFile, format: str) -> Table:
    refuse_if_not_text(file, checks.LIMIT)
    delimiter = "," if format == "csv" else "\t"
    header, blank_lines = delimited.header_of(file, delimiter)
    _check_names(file.source, header)
    named = ", ".join(f"c{number} as {ident(name)}" for number, name in enumerate(header))
    with delimited.relation_of_records(
        con, [file], delimiter, len(header), blank_lines
    ) as relation:
        con.execute(f"create temp table staged_table as select {named} from {relation}").fetchall()
        rejected = rejects.first(con, checks.LIMIT)
    ((rows,),) = con.execute("select count(*) from staged_table").fetchall()
    lines = delimited.Lines(file, delimiter, (record for record, _, _ in rejected), int(rows))
    if rejected:
        places = [(lines.of_record(record), reason) for record, reason, _ in rejected]
        raise checks.refuse(file.source, places, rejected[0][2])
    columns = dict.fromkeys(header, "VARCHAR")
    return Table(file.source, format, file.sha256, columns, typed=False, line_of=lines.of_row)


def _fill(con: duckdb.DuckDBPyConnection, source: str, relation: str) -> dict[str, str]:
    try:
        with in_words():
            described = con.execute(f"describe select * from {relation}").fetchall()
            columns = {str(row[0]): str(row[1]) for row in described}
            _check_names(source, list(columns))
            con.execute(f"create temp table staged_table as select * from {relation}").fetchall()
    except duckdb.Error as error:
        raise _unreadable(source, error) from error
    return columns


def _unreadable(source: str, error: duckdb.Error) -> InputError:
    place = _JSON_PLACE.match(str(error))
    if place:
        return checks.refuse(source, [(int(place[1]), "not JSON")], 1)
    if "expected records" in str(error):
        return InputError(f"{source}: holds JSON that is not an object, or a key without a name")
    return InputError(f"{source}: cannot be read as a table: {first_line(error)}")


def _check_names(source: str, names: Sequence[str]) -> None:
    seen: dict[str, str] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            raise InputError(f"{source}: column {number} has no name: give it one, or leave it out")
        if name.lower() in seen:
            raise InputError(
                f"{source}: the columns {seen[name.lower()]!r} and {name!r} have the same name"
            )
        seen[name.lower()] = name


def _json(
    con: duckdb.DuckDBPyConnection, source: str, path: str, ids: Collection[str]
) -> dict[str, str]:
    """Read objects; texts that DuckDB takes for dates, times or UUIDs stay texts."""
    given = f"{literal(path)}, format = 'auto', records = true, compression = 'uncompressed'"
    sniffed = (
        f"read_json({given}, sample_size = -1, convert_strings_to_integers = false, "
        "map_inference_threshold = -1)"
    )
    try:
        with in_words():
            described = con.execute(f"describe select * from {sniffed}").fetchall()
            types = {str(row[0]): str(row[1]) for row in described}
            if any(_NUMBERED.match(name) for name in types):
                keys = con.execute(templates.render("ingest/json_keys", path=path)).fetchall()
                _check_names(source, [str(name) for (name,) in keys])
    except duckdb.Error as error:
        raise _unreadable(source, error) from error
    exact = [name for name in ids if types.get(name) == "DOUBLE"]
    types |= dict.fromkeys(exact, "VARCHAR")
    read_as = {name: "VARCHAR" if _WRITTEN.match(kind) else kind for name, kind in types.items()}
    read_as |= dict.fromkeys(exact, "JSON")
    sql = templates.render("ingest/json_table", given=given, columns=read_as, exact=exact)
    _fill(con, source, f"({sql})")
    return types


def _json_lines(file: LocalFile) -> Callable[[int], int]:
    """Return a function from rows to lines: rows are the lines that are not blank."""

    def line_of(row: int) -> int:
        with Path(file.path).open("rb") as handle:
            numbers = (number for number, line in enumerate(handle, 1) if line.strip())
            return next((n for count, n in enumerate(numbers, 1) if count == row), row)

    return line_of


def _nested(con: duckdb.DuckDBPyConnection, file: LocalFile, key: str) -> Table:
    try:
        text = Path(file.path).read_text(encoding="utf-8-sig")
        value = json.loads(text, object_pairs_hook=documents.without_repetition)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{file.source}: not JSON: {error}") from None
    except ValueError as error:
        raise InputError(f"{file.source}: {error}; keep one of them") from None
    if not isinstance(value, dict):
        raise InputError(f"{file.source}: not a JSON object of the form {{id: {{name: value}}}}")
    return Table(file.source, "ranx", file.sha256, _dict(con, file.source, value, key))


def _dict(
    con: duckdb.DuckDBPyConnection, source: str, given: Mapping[Any, Any], key: str
) -> dict[str, str]:
    """Fill the table from a dict of dicts, which DuckDB reads as JSON Lines."""
    if not given:
        raise InputError(f"{source}: is empty: there is no row of data")
    with tempfile.TemporaryDirectory(prefix="warehouse-") as folder:
        path = Path(folder) / "rows.jsonl"
        with path.open("w", encoding="utf-8") as handle:
            for id, values in given.items():
                if not isinstance(values, Mapping):
                    raise InputError(f"{source}: {id!r}: not a dict of the form {{name: value}}")
                if key in values:
                    raise InputError(f"{source}: {id!r}: {key!r} names the keys, not a value")
                row = {key: documents.text_of(source, id)} | {
                    str(name): value for name, value in values.items() if not _is_missing(value)
                }
                handle.write(documents.as_json(f"{source}: {id!r}", row) + "\n")
        return _json(con, source, str(path), [key])


def _is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: NaN, or pandas' NA, which is not even unequal."""
    try:
        return bool(value != value)
    except TypeError:
        return True
    except ValueError:  # several values
        return False
