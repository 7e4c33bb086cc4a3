"""Judgments of a sampled pool: NIST's five-column qrels, as sample_eval reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import hash_warnings, insert_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_LAYOUT = "query iteration document stratum relevance"
# The fields of a line with the document, the stratum as the iteration, and the relevance.
_FIELDS = {"doc_id": 3, "iteration": 4, "relevance": 5}


class Sampled(FileFormat):
    """Lines of `query iteration document stratum relevance`; the stratum becomes the iteration."""

    name = "sampled"
    aliases = ("sample_eval", "strata")
    contents = ("qrels", "iterations")

    def sniff(self, head: Head) -> Confidence:
        """Take no file for one: preferences have five fields too."""
        return Confidence.NONE

    def kind_of(self, kind: Kind) -> Kind:
        """Make judgments by iteration of qrels."""
        return "iterations"

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it line by line.

        Raises InputError for unreadable lines, and for a document that occurs twice in a query, in
        two strata too.
        """
        staging.run(con, "ingest/staged_lines", kind=kind)
        bad = insert_lines(
            con, source, "ingest/field_lines",
            kind=kind, expected=len(_LAYOUT.split()), layout=_LAYOUT, places=_FIELDS,
        )  # fmt: skip
        checks.check_staged(con, "qrels", source.source, position="line", bad=bad)
        return Reading(warnings=hash_warnings(con, source))
