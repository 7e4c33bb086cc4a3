"""JSON Lines of queries with their candidates, as RankLLM, Ragnarök and UMBRELA read and write them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from warehouse.errors import InputError
from warehouse.readers import reshaped, staging
from warehouse.readers.columns import candidates as named
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, Head, Reading
from warehouse.readers.jsonl import JsonLines
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.tables import table_errors

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# A query is an object, or stands in a list of lines.
_QUERY = re.compile(r'\[?\s*\{\s*"query"\s*:\s*\{[^{}]*"qid"\s*:')


class Candidates(JsonLines):
    """Lines of `{query: {qid}, candidates: [{docid, score}]}`, or with a `judgment` of each."""

    name = "candidates"
    aliases = ("umbrela", "rank_llm")
    suffixes = ()
    contents = ("run", "qrels", "training")

    def sniff(self, head: Head) -> Confidence:
        """Go by the query at its beginning, an object with a qid."""
        return Confidence.NAMED if _QUERY.match(head.text.lstrip()) else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read each candidate as a document of its query; what else a line has is left alone."""
        table = self.read_table(con, source, "", ())
        if not {"query", "candidates"} <= table.columns.keys():
            staging.drop(con, "staged_table")
            raise InputError(f"{source.source}: its lines have no query and candidates")
        with table_errors(source.source):
            con.execute(
                "create or replace temp table staged_table as "
                "select query.qid as query_id, candidates from staged_table"
            ).fetchall()
            fields = staging.types_of(
                con,
                "(select unnest(candidate) from staged_table, unnest(candidates) as t(candidate))",
            )
        if kind != "run" and not named(kind, "relevance", list(fields)):
            staging.drop(con, "staged_table")
            raise InputError(
                f"{source.source}: its candidates have no judgment ({', '.join(fields)}): it is a run"
            )
        types = staging.types_of(con, "staged_table")
        return reshaped.read(con, replace(table, columns=types), kind, mapping)
