"""LETOR, as SVMrank and LightGBM have it: a grade, a query, the features of a document, and its id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from warehouse.errors import InputError
from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import ColumnNames, Contents, Kind
from warehouse.readers.lines import insert_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_LINE = re.compile(r"\s*[+-]?[0-9.]+\s+qid:\S+(\s.*)?")


class Letor(FileFormat):
    """Lines of `grade qid:query feature:value … #docid = document`; the features are not read."""

    name = "letor"
    aliases = ("svmrank",)
    contents: ClassVar[tuple[Contents, ...]] = ("qrels", "training")
    lacks: ClassVar[Mapping[Contents, str]] = {
        "run": "LETOR (grade qid:query feature:value …) holds judgments and features: a run has a score "
        "for each document, as in lines of query Q0 document rank score tag"
    }

    def sniff(self, head: Head) -> Confidence:
        """Go by the first line."""
        return Confidence.CERTAIN if is_letor(head.line) else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it line by line. Raises InputError if documents have no ids."""
        staging.run(con, "ingest/staged_lines", kind=kind)
        bad = insert_lines(con, source, "imports/letor_lines")
        rows, ids = con.execute("select count(*), count(doc_id) from staged").fetchall()[0]
        if rows and not ids:
            raise InputError(
                f"{source.source}: LETOR without ids of documents: end each line with that of its "
                "document, as in #docid = GX001"
            )
        checks.check_staged(con, kind, source.source, position="line", bad=bad)
        return Reading()


def is_letor(line: str) -> bool:
    """Whether a line is of LETOR.

    >>> is_letor("2 qid:10 1:0.03 #docid = GX001"), is_letor("3,17 1:0.5")
    (True, False)
    """
    return _LINE.fullmatch(line) is not None
