"""TREC runs and qrels: the fast way when the file allows it, else the careful way, line by line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb

from warehouse.errors import InputError
from warehouse.readers import checks, rejects
from warehouse.readers.files import LocalFile
from warehouse.readers.line_looks import Look
from warehouse.readers.lines import LONGEST_RECORD, BadLines, blocks, count, last_data_line
from warehouse.readers.staged import FIELDS, LAYOUT, PREFERENCES, Kind
from warehouse.sql_text import templates

_TAIL = 1 << 16


def read(con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind) -> str | None:
    """Fill `staged` from a TREC file and return the tag on its last line. Raises InputError."""
    if is_regular(file.look) and _fast(con, [file], kind):
        return _tag(_tail(file), kind)
    return _careful(con, file, kind)


def read_together(
    con: duckdb.DuckDBPyConnection, files: Sequence[LocalFile]
) -> list[str | None] | None:
    """Fill `staged` from regular TREC runs of one layout in one statement, and return their tags.

    Returns None, with nothing staged, if anything is in doubt.
    """
    if not _fast(con, files, "run", together=True):
        return None
    return [_tag(_tail(file), "run") for file in files]


def is_regular(look: Look) -> bool:
    """Whether the CSV reader can be tried: text with this one delimiter and no comments."""
    return (
        look.is_text
        and not look.has_comment
        and not look.has_feed
        and look.has_blank != look.has_tab
        and (not look.has_return or look.windows_ends)
        and look.longest_gap < LONGEST_RECORD
    )


def layout(look: Look) -> tuple[bool, bool]:
    """Return what regular files must share to be read together."""
    return look.has_tab, look.has_return


def _fast(
    con: duckdb.DuckDBPyConnection,
    files: Sequence[LocalFile],
    kind: Kind,
    *,
    together: bool = False,
) -> bool:
    """Try the CSV reader with this one delimiter; return False if the result is doubtful."""
    sql = templates.render(
        "ingest/trec_fast",
        paths=[file.path for file in files],
        delimiter="\t" if files[0].look.has_tab else " ",
        kind=kind,
        underscores=any(file.look.has_underscore for file in files),
        together=together,
    )
    with rejects.collected(con):
        con.execute(sql).fetchall()
        fits = not rejects.any_at_all(con)
    unread = "rank is null" if kind == "run" else "iteration is null"
    if fits and not checks.any_problem(con, kind, unread=unread, together=together):
        return True
    con.execute("drop table staged")
    return False


def _careful(con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind) -> str | None:
    """Read whole lines, with runs of blanks as one; report all problems with line numbers."""
    con.execute(templates.render("ingest/careful_table", kind=kind))
    insert = templates.render(
        "ingest/trec_lines", kind=kind, expected=FIELDS[kind], layout=LAYOUT[kind]
    )
    bad = BadLines(checks.LIMIT)
    last: str | None = None
    for block in blocks(file, bad, single_blanks=True):
        con.execute(insert, {"text": block.text, "first": block.first}).fetchall()
        last = last_data_line(block.text) or last
    found, total = checks.problems(con, kind, place="line")
    if total or bad.total:
        opening = _judge(con, file, kind)
        raise checks.refuse_staged(
            con,
            kind,
            file.source,
            [*checks.in_words(found), *bad.problems],
            total + bad.total,
            opening=f"{opening}; {count(total + bad.total, 'problem')}" if opening else "",
        )
    return _tag(last, kind)


def _judge(con: duckdb.DuckDBPyConnection, file: LocalFile, kind: Kind) -> str:
    """Say what the file is if most of its lines are not of this kind."""
    ((fields, grades),) = con.execute(
        templates.render("ingest/trec_shape", kind=kind)
    ).fetchall() or [(None, None)]
    if fields is None or fields == FIELDS[kind] or fields > FIELDS[kind] == FIELDS["run"]:
        return ""
    layout = f"{FIELDS[kind]} fields: {LAYOUT[kind]}"
    if kind != "run" and fields >= FIELDS["run"]:
        raise InputError(
            f"{file.source}: this looks like a run ({fields} fields, {LAYOUT['run']}): "
            "use 'warehouse ingest run', or give it to 'warehouse score' after the qrels"
        )
    if kind == "run" and fields == FIELDS["qrels"] and grades:
        raise InputError(
            f"{file.source}: this looks like qrels ({fields} fields, {LAYOUT['qrels']}): "
            "use 'warehouse ingest qrels', or give it to 'warehouse score' before the run"
        )
    if kind == "qrels" and fields == FIELDS["preferences"]:
        raise InputError(
            f"{file.source}: this looks like preferences ({fields} fields, {LAYOUT['preferences']}): "
            f"say so: 'warehouse ingest qrels --format {PREFERENCES}', or "
            f"'warehouse score --qrels-format {PREFERENCES}'"
        )
    what = "a TREC run" if kind == "run" else "TREC qrels"
    return (
        f"not {what}: most lines have {count(fields, 'field')} where {what} has {layout}. "
        "A table needs a first line with the names of its columns"
    )


def _tail(file: LocalFile) -> str | None:
    with Path(file.path).open("rb") as handle:
        handle.seek(max(0, file.size - _TAIL))
        return last_data_line(handle.read().decode("utf-8", "replace"))


def _tag(line: str | None, kind: Kind) -> str | None:
    if not line or kind != "run":
        return None
    fields = re.split(r"[ \t]+", line)
    return fields[min(FIELDS["run"], len(fields)) - 1]
