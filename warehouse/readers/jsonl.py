"""JSON Lines: one object a line."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from warehouse.config import limits
from warehouse.errors import EmptyError, InputError
from warehouse.readers import checks, reshaped, row_rules, staging
from warehouse.readers.columns import choose
from warehouse.readers.files import HEAD, LocalFile
from warehouse.readers.formats import ANY_TABLE, Confidence, FileFormat, Head, Reading, Table
from warehouse.readers.kinds import ColumnNames, Contents, Kind
from warehouse.readers.lines import insert_lines, refuse_if_not_text
from warehouse.readers.reshaped import has_lists
from warehouse.readers.tables import check_names, fill_table, table_errors
from warehouse.sql_text.quoting import literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# A single brace may be the id of a query.
_OBJECT = r'(?s)\{\s*("(?:[^"\\]|\\.)*"\s*:|\}\s*$)'
_LIST = r"\[\s*\{\s*\""
_HEAD_LINES = 100
_JSON_LINE = r'^.*Malformed JSON in file ".*", at byte \d+ in (?:line|record/value) (\d+)'
_TWICE = r'(?s)in (line|record/value) (\d+):.* has duplicate key "(.*)"'
_DEEP = "JSON exceeds maximum recursion depth"
_NO_BRACKETS = rb'(?s)"(?:[^"\\]|\\.)*"|[^\[\]{}"]+'
TOO_DEEP = "is nested too deeply: a value of a key is a text, a number or a list of these"
# Types that DuckDB gives to texts.
_WRITTEN = r"(DATE|TIME|UUID)[^\[]*\Z"
_WRITTEN_FIELD = r"(?<=[^,] )(DATE|TIME|UUID)[^,)\[]*(?=[,)\[])"
_WRITTEN_LIST = r"(DATE|TIME|UUID)[^\[]*\[\]\Z"
# How DuckDB calls the second of two keys that are alike, and 1.5 one without a name.
_NUMBERED = r"(?s)(.*_|C)\d+\Z"


class JsonLines(FileFormat):
    """An object with our columns as keys on each line."""

    name = "jsonl"
    aliases = ("ndjson", "jsonlines")
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    contents: ClassVar[tuple[Contents, ...]] = ANY_TABLE
    names_columns = True

    def sniff(self, head: Head) -> Confidence:
        """Go by the first characters, then by the suffix; the objects may also be in a list."""
        text = head.text.lstrip()
        if text.startswith("[") and (head.contents == "attributes" or re.match(_LIST, text)):
            return Confidence.CERTAIN
        if re.match(_OBJECT, text):
            return Confidence.CONTENT
        return Confidence.SUFFIX if head.suffix in self.suffixes else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it line by line, or as a table if it is a list or has lists of documents."""
        types = _keys(source)
        available = list(types)
        if re.match(_LIST, source.text.lstrip()) or has_lists(kind, types, mapping):
            ids = [name for name in available if name not in ("score", "relevance")]
            return reshaped.read(con, self.read_table(con, source, "", ids), kind, mapping)
        if not available and not source.text.strip():
            raise EmptyError(source.source, "line")
        if not available:
            raise InputError(
                f"{source.source}: not JSON Lines: the first line is not a JSON object"
            )
        found, ranking = choose(
            source.source, kind, available, mapping,
            sample=lambda name: [
                one[name] for one in map(_with_fields, _first_objects(source)) if name in one
            ],
        )  # fmt: skip
        plain = {name for one in _first_objects(source) for name in one}
        pointers = {
            ours: "".join(map(_pointer, [theirs] if theirs in plain else theirs.split(".")))
            for ours, theirs in found.items()
        }
        staging.run(con, "ingest/staged_lines", kind=kind)
        bad = insert_lines(
            con,
            source,
            "ingest/json_lines",
            single_blanks=False,
            kind=kind,
            pointers=pointers,
            keep_words=kind != "run" and row_rules.reads_words(),
        )
        checks.check_staged(
            con, kind, source.source, position="line", word=ranking, bad=bad, columns=found
        )
        return Reading(ranking, value=found.get("value"))

    def read_table(
        self, con: Connection, source: LocalFile, key: str, ids: Collection[str]
    ) -> Table:
        """Read all keys, of objects on lines or in a list."""
        refuse_if_not_text(source)
        _refuse_deep(source)
        types = fill_from_json(con, source.source, source.path, ids)
        line_of = None if _is_list(source) else partial(_line_of, source)
        return Table(source.source, self.name, source.sha256, types, line_of=line_of)


def fill_from_json(con: Connection, source: str, path: str, ids: Collection[str]) -> dict[str, str]:
    """Fill `staged_table` from objects, and return the types of their keys.

    Texts that DuckDB takes for dates, times or UUIDs stay texts; the keys of `ids` keep their digits.
    """
    given = f"{literal(path)}, format = 'auto', records = true, compression = 'uncompressed'"
    sniffed = (
        f"read_json({given}, sample_size = -1, convert_strings_to_integers = false, "
        "map_inference_threshold = -1)"
    )
    with _json_errors(source):
        types = staging.types_of(con, sniffed)
        if any(re.match(_NUMBERED, name) for name in types):
            keys = staging.run(con, "ingest/json_keys", path=path)
            check_names(source, [str(name) for (name,) in keys])
    exact = [name for name in ids if types.get(name) == "DOUBLE"]
    types |= dict.fromkeys(exact, "VARCHAR")
    types |= {name: "JSON[]" for name in ids if re.match(_WRITTEN_LIST, types.get(name, ""))}
    read_as = {
        name: "VARCHAR" if re.match(_WRITTEN, kind) else kind for name, kind in types.items()
    }
    read_as |= {
        name: re.sub(_WRITTEN_FIELD, "VARCHAR", kind)
        for name, kind in types.items() if kind.startswith("STRUCT")
    }  # fmt: skip
    read_as |= dict.fromkeys(exact, "JSON")
    sql = staging.render("ingest/json_table", given=given, columns=read_as, exact=exact)
    with _json_errors(source):
        fill_table(con, source, f"({sql})")
    return types


@contextlib.contextmanager
def _json_errors(source: str) -> Iterator[None]:
    """Raise errors of the engine about JSON as InputError, with the line if it is known."""
    try:
        with table_errors(source):
            yield
    except InputError as error:
        reason = str(error.__cause__ or "")
        if found := re.match(_JSON_LINE, reason):
            raise checks.refuse(source, [(int(found[1]), "not JSON")], 1) from error
        if twice := re.search(_TWICE, reason):
            what = f"the key {twice[3]!r} is there twice"
            line = int(twice[2]) if twice[1] == "line" else None
            raise checks.refuse(source, [(line, what)], 1) from error
        if _DEEP in reason:
            raise InputError(f"{source}: {TOO_DEEP}") from error
        if "expected records" in reason:
            nameless = "holds JSON that is not an object, or a key without a name"
            raise InputError(f"{source}: {nameless}") from error
        raise


def _refuse_deep(file: LocalFile) -> None:
    """Refuse JSON that is nested too deeply, before DuckDB reads it: DuckDB 1 would end the process."""
    with Path(file.path).open("rb") as handle:
        pieces = [handle.read()] if _is_list(file) else handle
        for number, piece in enumerate(pieces, 1):
            if is_deep(piece):
                raise checks.refuse(file.source, [(number, TOO_DEEP)], 1)


def is_deep(text: bytes) -> bool:
    """Whether JSON is nested more deeply than the limit, beyond which DuckDB makes no table of it."""
    deepest = limits.current().nesting
    return text.count(b"[") + text.count(b"{") > deepest and _depth(text) > deepest


def _depth(text: bytes) -> int:
    """Return how deeply JSON is nested.

    >>> _depth(b'{"a": [1, "[["]}')
    2
    """
    steps = (1 if byte in b"[{" else -1 for byte in re.sub(_NO_BRACKETS, b"", text))
    return max(accumulate(steps), default=0)


def _is_list(file: LocalFile) -> bool:
    return file.text.lstrip().startswith("[")


def _line_of(file: LocalFile, row: int) -> int:
    """Return the line of a row: rows are the lines that are not blank."""
    with Path(file.path).open("rb") as handle:
        numbers = (number for number, line in enumerate(handle, 1) if line.strip())
        return next((n for count, n in enumerate(numbers, 1) if count == row), row)


def _pointer(name: str) -> str:
    return "/" + name.replace("~", "~0").replace("/", "~1")


def _keys(file: LocalFile) -> dict[str, str]:
    """Return the keys of the first objects, in order, with types as DuckDB calls them."""
    keys: dict[str, str] = {}
    for value in _first_objects(file):
        keys = {name: _type(one) for name, one in _with_fields(value).items()} | keys
    return keys


def _first_objects(file: LocalFile) -> Iterator[dict[str, Any]]:
    """Yield the first objects, and pass over other values."""
    for number, line in enumerate(_first_lines(file), 1):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        except RecursionError:
            raise checks.refuse(file.source, [(number, TOO_DEEP)], 1) from None
        if isinstance(value, dict):
            yield value


def _with_fields(given: dict[str, Any], levels: int = 8) -> dict[str, Any]:
    """Return an object with the fields of the objects in it, to some levels, under their paths.

    >>> _with_fields({"doc": {"id": "d1"}})
    {'doc': {'id': 'd1'}, 'doc.id': 'd1'}
    """
    found = dict(given)
    for name, one in given.items():
        is_record = levels and isinstance(one, dict) and len(one) <= staging.WIDEST
        inner = _with_fields(one, levels - 1) if is_record else {}
        for path, value in inner.items():
            found.setdefault(f"{name}.{path}", value)
    return found


def _type(value: object) -> str:
    if not isinstance(value, list):
        return "JSON"
    return "STRUCT()[]" if value and isinstance(value[0], dict) else "JSON[]"


def _first_lines(file: LocalFile) -> Iterator[str]:
    """Yield the lines that begin in a file's head, each to its end, but not too many."""
    seen, longest = 0, limits.current().line_bytes
    with Path(file.path).open(encoding="utf-8-sig", errors="replace", newline="\n") as handle:
        for _ in range(_HEAD_LINES):
            if seen > HEAD or not (line := handle.readline(longest)):
                return
            seen += len(line)
            yield line
