"""Preferences: the text format of trec_eval's `-R prefs`, five fields to a line."""

from __future__ import annotations

import duckdb

from warehouse.readers import checks
from warehouse.readers.files import LocalFile
from warehouse.readers.lines import BadLines, blocks
from warehouse.readers.staged import FIELDS, LAYOUT, Kind
from warehouse.sql_text import templates

_KIND: Kind = "preferences"


def read(con: duckdb.DuckDBPyConnection, file: LocalFile) -> None:
    """Fill `staged` from `query group subgroup document level`, separated by blanks or tabs.

    Raises InputError for unreadable lines, for a document that occurs twice in one subgroup, and
    for a group that contradicts itself: level 0 here and another there, or a circle.
    """
    con.execute(templates.render("ingest/preference_table"))
    insert = templates.render(
        "ingest/preference_lines", expected=FIELDS[_KIND], layout=LAYOUT[_KIND]
    )
    bad = BadLines(checks.LIMIT)
    for block in blocks(file, bad, single_blanks=True):
        con.execute(insert, {"text": block.text, "first": block.first}).fetchall()
    found, total = checks.problems(con, _KIND, place="line", word="level")
    if total or bad.total:
        problems = [*checks.in_words(found), *bad.problems]
        raise checks.refuse_staged(con, _KIND, file.source, problems, total + bad.total)
