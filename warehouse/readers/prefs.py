"""Preferences: the text format of trec_eval's `-R prefs`, five fields to a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import FIELDS, LAYOUT, ColumnNames, Kind
from warehouse.readers.lines import hash_warnings, insert_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection


class Preferences(FileFormat):
    """Lines of `query group subgroup document level`, separated by blanks or tabs."""

    name = "prefs"
    aliases = ("preferences",)
    contents = ("qrels", "preferences")

    def sniff(self, head: Head) -> Confidence:
        """Take files that are read as preferences; qrels only if the caller says so."""
        is_wanted = head.contents == "preferences"
        return Confidence.CERTAIN if is_wanted else Confidence.NONE

    def kind_of(self, kind: Kind) -> Kind:
        """Make preferences of qrels."""
        return "preferences"

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it line by line.

        Raises InputError for unreadable lines, for a document that occurs twice in one subgroup, and
        for a group that contradicts itself: level 0 here and another there, or a circle.
        """
        staging.run(con, "ingest/staged_lines", kind=kind)
        bad = insert_lines(
            con, source, "ingest/field_lines", kind=kind, expected=FIELDS[kind], layout=LAYOUT[kind]
        )
        checks.check_staged(con, kind, source.source, position="line", bad=bad)
        return Reading(warnings=hash_warnings(con, source))
