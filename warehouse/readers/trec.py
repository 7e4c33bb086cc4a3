"""TREC runs and qrels: the fast way when the file allows it, else the careful way, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from warehouse.errors import InputError, counted, option
from warehouse.readers import checks, ir_metadata, row_rules, staging
from warehouse.readers.files import LocalFile, TextTraits
from warehouse.readers.formats import Confidence, FileFormat, Files, Head, Reading, Readings
from warehouse.readers.kinds import FIELDS, LAYOUT, ColumnNames, Kind
from warehouse.readers.lines import (
    HIGHEST_GRADE,
    LONGEST_RECORD,
    NUMBER,
    UNIX_TIME,
    counts,
    fields_of,
    has_fields,
    hash_warnings,
    insert_lines,
    is_number,
    last_line,
)
from warehouse.readers.prefs import Preferences
from warehouse.readers.sampled import Sampled

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_PAIR = rf"\d+:{NUMBER.pattern}"
_NAMES = "query_id, doc_id, relevance, timestamp, as they come"


class Trec(FileFormat):
    """Lines of `query Q0 document rank score tag`, or of `query iteration document relevance`."""

    name = "trec"
    aliases = ("trec_eval",)
    suffixes = (".run", ".res", ".trec", ".txt")
    contents = ("run", "qrels", "iterations", "training", "documents")

    def sniff(self, head: Head) -> Confidence:
        """Go by the first line; without one that tells, a text is TREC by default."""
        return Confidence.LAYOUT if has_fields(head.line) else Confidence.DEFAULT

    def objection(self, head: Head) -> str:
        """Refuse a run as one set of documents, and files that look like TREC by chance."""
        return _no_set(head.line) if head.contents == "documents" else _other_layout(head)

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it with the CSV reader if that is safe and finds no fault, else line by line."""
        warnings: tuple[str, ...] = ()
        if kind == "run" and (header := ir_metadata.header(source)) is not None:
            warnings = _read_lines(con, source, kind, skipped=header.num_lines)
            notes = (*header.warnings, *warnings)
            return Reading(tag=_tag(source), warnings=notes, about=header.about)
        is_simple = row_rules.current() is None and _is_regular(source.traits)
        is_simple = is_simple and (kind != "run" or len(_tags(source)) < 2)
        if not (is_simple and _read_columns(con, [source], kind)):
            warnings = _read_lines(con, source, kind)
        return Reading(tag=_tag(source) if kind == "run" else None, warnings=warnings)

    def batch_key(self, file: LocalFile, mapping: ColumnNames) -> tuple[object, ...] | None:
        """Return the delimiter and the line ends of a regular file."""
        traits = file.traits
        if ir_metadata.has_header(file) or len(_tags(file)) > 1:
            return None
        return None if mapping or not _is_regular(traits) else (traits.has_tab, traits.has_return)

    def read_batch(self, con: Connection, files: Files, mapping: ColumnNames) -> Readings | None:
        """Read regular files with the CSV reader."""
        if not _read_columns(con, files, "run", together=True):
            return None
        return [Reading(tag=_tag(file)) for file in files]


def _no_set(line: str) -> str:
    if not has_fields(line) or len(fields_of(line)) == FIELDS["qrels"]:
        return ""
    return (
        "this looks like a run; one set for all queries is a document id on each line "
        f"({option('format', 'text')}), a table with a column doc_id, or qrels"
    )


def _other_layout(head: Head) -> str:
    """Return the kind of a file whose first lines are not a TREC run or qrels, and advice.

    Some formats look like TREC by chance, as `user item rating time` looks like qrels.
    """
    lines = [fields_of(line) for line in islice(head.lines(), 2)]
    names = "below a first line with the names query_id, doc_id and"
    # a long line may be cut within its last field
    inner = (fields[1:-1] or fields[1:] or fields for fields in lines)
    if any(all(re.fullmatch(_PAIR, field) for field in fields) for fields in inner):
        return (
            "pairs of a column and a value are a sparse matrix: put its numbers of rows and columns on "
            f"top, as in '100 2000', or say its {option('format', 'svmlight')} if each line begins with "
            "labels, which are judgments"
        )
    by_chance = "; if it is TREC all the same, say its format"
    if lines and len(lines[0]) == 1 and "::" in lines[0][0]:
        return (
            f"'::' stands between its columns ({lines[0][0][:80]}): put tabs there, and a line with the "
            f"names of the columns on top ({_NAMES})"
        )
    # the first line may hold other names of columns
    if lines and len(lines[-1]) == FIELDS["qrels"] and _has_times(head):
        bare = f", or read it as it is: {option('format', 'bare')}" if "\t" in head.line else ""
        return (
            f"its fourth column holds times ({lines[-1][3]}), where TREC qrels have the relevance: put "
            f"a line with the names of its columns on top ({_NAMES}, with tabs between){bare}{by_chance}"
        )
    if lines and all(
        len(fields) > FIELDS["run"] and all(map(is_number, fields)) for fields in lines
    ):
        return (
            f"its lines are numbers, {len(lines[0])} in the first, and no TREC run: give each document "
            f"a line of its own, {names} score (or rank){by_chance}"
        )
    return ""


def _has_times(head: Head) -> bool:
    """Whether the lines are user, item, rating and time: items are many, and ratings few and low."""
    rows = [fields for line in islice(head.lines(), 100) if len(fields := fields_of(line)) == 4]
    if rows and UNIX_TIME.fullmatch(rows[:2][-1][3]):
        return True
    # the last line may be cut
    rows = rows if head.text.endswith("\n") else rows[:-1]
    numbers = [row for row in rows if all(map(is_number, row[1:]))]
    if len(numbers) < max(2, len(rows) - 1):  # the first may be of names
        return False
    items, ratings, times = ({float(row[place]) for row in numbers} for place in (1, 2, 3))
    return len(items) > len(ratings) and max(ratings) <= HIGHEST_GRADE < min(times)


def _is_regular(traits: TextTraits) -> bool:
    """Whether the CSV reader can be tried: text with one delimiter."""
    return (
        traits.is_text
        and not traits.has_feed
        and traits.has_blank != traits.has_tab
        and (not traits.has_return or traits.windows_ends)
        and traits.longest_gap < LONGEST_RECORD
    )


def _read_columns(
    con: Connection, files: Sequence[LocalFile], kind: Kind, *, together: bool = False
) -> bool:
    """Read files with the CSV reader; return False, with nothing staged, if the result is doubtful."""
    with staging.rejects(con):
        staging.run(
            con,
            "ingest/trec_columns",
            paths=[file.path for file in files],
            delimiter="\t" if files[0].traits.has_tab else " ",
            kind=kind,
            underscores=any(file.traits.has_underscore for file in files),
            together=together,
        )
        fits = not staging.any_reject(con)
    unread = "rank is null" if kind == "run" else "iteration is null"
    if fits and not checks.any_problem(con, kind, unread=unread, together=together):
        return True
    con.execute("drop table staged")
    return False


def _read_lines(
    con: Connection, file: LocalFile, kind: Kind, *, skipped: int = 0
) -> tuple[str, ...]:
    """Read whole lines, with runs of blanks as one; report all problems with line numbers."""
    staging.run(con, "ingest/staged_lines", kind=kind)
    bad = insert_lines(
        con, file, "ingest/field_lines",
        skipped=skipped, kind=kind, expected=FIELDS[kind], layout=LAYOUT[kind],
    )  # fmt: skip
    checks.check_staged(
        con, kind, file.source, position="line", bad=bad,
        diagnosis=lambda: _diagnosis(con, file, kind),
    )  # fmt: skip
    return (*hash_warnings(con, file), *(_long_tags(con) if kind == "run" else ()))


def _diagnosis(con: Connection, file: LocalFile, kind: Kind) -> str:
    """Name the kind of the file if most of its lines are not of this kind."""
    ((fields, grades),) = staging.run(con, "ingest/trec_shape", kind=kind) or [(None, None)]
    if fields is None or fields == FIELDS[kind] or fields > FIELDS[kind] == FIELDS["run"]:
        return ""

    def looks_like(what: str, layout: Kind, advice: str) -> InputError:
        shape = f"{fields} fields, {LAYOUT[layout]}"
        return InputError(f"{file.source}: this looks like {what} ({shape}): {advice}")

    if kind != "run" and fields >= FIELDS["run"]:
        raise looks_like(
            "a run", "run",
            "use 'warehouse ingest run', or give it to 'warehouse score' after the qrels",
        )  # fmt: skip
    rows = [fields_of(line) for line in islice(file.text.splitlines(), 100)]
    rows = [row for row in rows if len(row) == FIELDS["qrels"] and is_number(row[2])]
    if (
        kind == "run"
        and fields == FIELDS["qrels"]
        and counts([row[0] for row in rows], [float(row[2]) for row in rows])
    ):
        return (
            "a query, a document, its rank and its score seem to stand on each line: put tabs between "
            "them, or make it a table"
        )
    if kind == "run" and fields == FIELDS["qrels"] and grades:
        raise looks_like(
            "qrels", "qrels",
            "use 'warehouse ingest qrels', or give it to 'warehouse score' before the run",
        )  # fmt: skip
    if kind == "qrels" and fields == FIELDS["preferences"]:
        raise looks_like(
            "preferences", "preferences",
            f"say so: 'warehouse ingest qrels --format {Preferences.name}', or "
            f"'warehouse score --qrels-format {Preferences.name}'; if the fields are a query, an "
            f"iteration, a document, its stratum and the relevance, the format is {Sampled.name}",
        )  # fmt: skip
    what = "a TREC run" if kind == "run" else "TREC qrels"
    return (
        f"not {what}: most lines have {counted(fields, 'field')} where {what} has "
        f"{FIELDS[kind]} fields: {LAYOUT[kind]}. "
        "A table needs a first line with the names of its columns, and commas or tabs between them"
    )


def _tags(file: LocalFile) -> set[str]:
    """Return the last words of the lines in the head of a run and of its last line: its tags, mostly."""
    words = (last_line(file) or "").rsplit(None, 1)
    head = file.text[: file.text.rfind("\n") + 1]
    ends = (
        (f"{blank}{words[-1]}{end}" for blank in " \t" for end in ("\n", "\r\n")) if words else ()
    )
    if sum(map(head.count, ends)) == head.count(
        "\n"
    ):  # as in most files; in a fraction of the time
        return set(words[-1:])
    lines = (line for line in head.split("\n") if line.strip() and line[0] != "#")
    return {*words[-1:], *(line.rsplit(None, 1)[-1] for line in lines)}


def _long_tags(con: Connection) -> tuple[str, ...]:
    """Return the warning about lines of a run whose tag has blanks, as lines joined by mistake do."""
    sql = "select count(*), min(line) from staged where fields > $1"
    ((number, line),) = con.execute(sql, [FIELDS["run"]]).fetchall()
    if not number:
        return ()
    have, first = ("has", "") if number == 1 else ("have", " first")
    return (
        f"{counted(number, 'line')} {have} more than {FIELDS['run']} fields (line {line:,}{first}): "
        "the sixth is the tag, and nothing behind it is read",
    )


def _tag(file: LocalFile) -> str | None:
    """Return the tag on the last line of a run."""
    line = last_line(file)
    fields = line.split(" ") if line else [None]
    return fields[min(FIELDS["run"], len(fields)) - 1]
