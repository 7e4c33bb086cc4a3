"""Nuggets of queries, and judges' assessments of answers: entries of JSON, or rows of a table.

Each entry becomes rows by an SQL template of `sql/answers`: `nugget_rows`, `assignment_rows`,
`citation_rows`. It reads the shapes of nuggetizer 0.0.5, of the scorer of TREC DRAGUN
2025, and of the support evaluation of TREC RAG 2024.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from duckdb import DuckDBPyConnection as Connection

from warehouse.config import limits
from warehouse.errors import InputError
from warehouse.readers import checks, staging
from warehouse.readers.attributes import open_table, table_of
from warehouse.readers.files import LocalFile, check_file, open_file
from warehouse.readers.lines import LIMIT, BadLines, blocks

What = Literal["nugget", "assignment", "citation"]
# The templates that read the entries and that check the rows.
_TEMPLATES: Mapping[What, tuple[str, str]] = {
    "nugget": ("answers/nugget_rows", "answers/nugget_problems"),
    "assignment": ("answers/assignment_rows", "answers/assignment_problems"),
    "citation": ("answers/citation_rows", "answers/citation_problems"),
}
_ENTRIES = "create or replace temp table staged_entry (place bigint, entry json)"
_HINTS = (
    "query_id", "qid", "topic_id", "run", "run_id", "run_tag", "nugget_id", "answer_id", "text",
    "nugget", "importance", "weight", "part", "assignment", "annotation", "auto_assessment",
    "sentence", "doc_id", "support",
)  # fmt: skip


@dataclass(frozen=True)
class StagedAnswers:
    """The entries in the table `staged`, with the columns of the template."""

    source: str
    format: str
    source_sha256: str | None


def stage_answers(con: Connection, source: Any, what: What) -> StagedAnswers:
    """Read nuggets, assignments or citations into the temporary table `staged`.

    Raises InputError for unreadable entries, by line where the source has lines.

    >>> from warehouse.store import database
    >>> con = database.memory()
    >>> nuggets = [{"text": "Owls fly.", "importance": "vital"}]
    >>> stage_answers(con, [{"qid": "q1", "nuggets": nuggets}], "nugget").format
    'records'
    >>> con.execute("select query_id, nugget_id, text, importance, weight from staged").fetchall()
    [('q1', '1', 'Owls fly.', 'vital', 1.0)]
    """
    staging.drop(con, "staged", "staged_entry", "staged_line", "staged_table")
    try:
        with staging.file_order(con):
            con.execute(_ENTRIES)
            read = _entries(con, source)
            limits.current().check_rows(read.source, staging.row_count(con, "staged_entry"))
            if not staging.row_count(con, "staged_entry"):
                raise InputError(f"{read.source}: is empty: there is no row of data")
            rows, check = _TEMPLATES[what]
            staging.run(con, rows)
            _refuse_problems(con, read, check)
    except BaseException:
        staging.drop(con, "staged")
        raise
    finally:
        staging.drop(con, "staged_entry", "staged_line", "staged_table")
    return read


def _entries(con: Connection, source: Any) -> StagedAnswers:
    """Fill `staged_entry` from a source."""
    if isinstance(source, Mapping):
        source = [source]
    if isinstance(source, list | tuple):
        texts = [json.dumps(entry) for entry in source]
        con.execute(
            "insert into staged_entry select generate_subscripts($1::varchar[], 1), unnest($1)",
            [texts],
        )
        return StagedAnswers("<list>", "records", None)
    if not isinstance(source, str | os.PathLike):
        with open_table(con, source, "query_id", None, ()) as table:
            _rows_as_entries(con)
            return StagedAnswers(table.source, table.format, table.sha256)
    with open_file(source) as file:
        check_file(file)
        if file.text.lstrip().startswith(("{", "[")):
            return _json(con, file)
        table = table_of(con, file, "query_id", None, _HINTS)
        _rows_as_entries(con)
        return StagedAnswers(table.source, table.format, table.sha256)


def _rows_as_entries(con: Connection) -> None:
    position = checks.POSITION.replace("staged", "staged_table")
    con.execute(
        f"insert into staged_entry select {position}, to_json(staged_table) from staged_table order by 1"
    )


def _json(con: Connection, file: LocalFile) -> StagedAnswers:
    """Read JSON Lines, or one JSON text over several lines."""
    con.execute("create temp table staged_line (line bigint, line_text varchar)")
    bad = BadLines()
    sql = staging.render("answers/text_lines")
    for block in blocks(file, bad, single_blanks=False):
        con.execute(sql, {"text": block.text, "first": block.first})
    if bad.total:
        raise checks.refuse(file.source, bad.problems, bad.total)
    staging.run(con, "answers/json_entries")
    wrong = con.execute(
        "select line, count(*) over () from staged_line where not json_valid(line_text) "
        f"and not exists (from staged_entry) order by line limit {LIMIT}"
    ).fetchall()
    if wrong:
        invalid = [(int(line), "is no JSON") for line, _ in wrong]
        raise checks.refuse(file.source, invalid, int(wrong[0][1]))
    return StagedAnswers(file.source, "jsonl", file.sha256)


def _refuse_problems(con: Connection, read: StagedAnswers, check: str) -> None:
    found = staging.run(con, check, limit=LIMIT)
    if found:
        word = "row" if read.format == "records" else "line"
        problems = [
            (int(number), why) if word == "line" else (None, f"row {number}: {why}")
            for number, why, _ in found
        ]
        raise checks.refuse(read.source, problems, int(found[0][2]))
