"""Plain text with one id on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import insert_lines
from warehouse.sql_text.quoting import ident

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# A placeholder for the query of judgments without queries.
EVERY_QUERY = "(every query)"


class Text(FileFormat):
    """A document id on each line."""

    name = "text"
    contents = ("documents",)

    def sniff(self, head: Head) -> Confidence:
        """Take a file that no other format takes."""
        is_wanted = head.contents == "documents"
        return Confidence.SHAPE if is_wanted else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the ids as relevant documents of one query, a placeholder for every query."""
        try:
            read_ids(con, source, "staged_id")
            staging.run(con, "ingest/staged_lines", kind=kind)
            con.execute(
                "insert into staged by name select $every as query_id, id as doc_id, 1 as relevance, "
                "line from staged_id",
                {"every": EVERY_QUERY},
            ).fetchall()
        finally:
            staging.drop(con, "staged_id")
        checks.check_staged(con, kind, source.source, position="line")
        return Reading()


def read_ids(con: Connection, file: LocalFile, table: str) -> None:
    """Make a table `(line, id)` of the lines of a text file; blank lines are ignored."""
    con.execute(f"create or replace temp table {ident(table)} (line bigint, id varchar)")
    insert_lines(con, file, "ingest/id_lines", single_blanks=False, table=table).refuse(file.source)
