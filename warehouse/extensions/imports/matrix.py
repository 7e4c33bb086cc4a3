"""Sparse matrices as text: rows are queries and columns documents, both by their numbers from 0."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from warehouse.errors import InputError, counted, option
from warehouse.extensions.imports.letor import is_letor
from warehouse.readers import checks, staging
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import insert_lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_HEADER = r"\s*(\d+)[ \t]+(\d+)(?:[ \t]+(\d+))?[ \t]*"
_PAIRS = r"\s*(?:\d+:\S+[ \t]*)*"
_UNLABELLED = (
    "{} {} no label and {}: means leave such rows out, where pyxclib counts them as 0 (but in "
    "recall_at_k, and unless remove_invalid takes them out)"
)
_LABELS = r"\s*(?:\d+(?:,\d+)*)?(?:[ \t]+\d+:\S+)*[ \t]*"


class Matrix(FileFormat):
    """The text files of extreme multi-label classification, and svmlight's with several labels.

    After a first line `rows columns`, each line has pairs `column:value`; after `rows features labels`,
    or without such a line, it has `label,label feature:value …`, of which the labels are judgments.
    """

    name = "matrix"
    aliases = ("xmc", "svmlight", "libsvm")
    contents = ("run", "qrels", "training")

    def sniff(self, head: Head) -> Confidence:
        """Go by the first line with two or three numbers, and a second line that fits it."""
        lines = list(islice(head.lines(), 2))
        first = re.fullmatch(_HEADER, lines[0]) if lines else None
        if first is None or len(lines) < 2 or ":" not in lines[1]:
            return Confidence.NONE
        body = _PAIRS if first[3] is None else _LABELS
        # a long line may be cut within its last field
        fits = any(re.fullmatch(body, one) for one in (lines[1], lines[1].rpartition(" ")[0]))
        return Confidence.CERTAIN if fits else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read it line by line. Raises InputError for what is no pair, and for places outside."""
        first = re.fullmatch(_HEADER, source.text.partition("\n")[0].rstrip("\r"))
        line = Head(source.head, source.text, source.suffix, kind, ()).line
        if is_letor(line):
            raise InputError(
                f"{source.source}: is LETOR (grade qid:query feature:value …), and no matrix: "
                f"{option('format', 'letor')}"
            )
        labels = first is None or first[3] is not None
        if labels and kind == "run":
            raise InputError(
                f"{source.source}: holds labels of rows, which are judgments; a run is a matrix with a "
                "first line 'rows columns' and pairs of a column and a score"
            )
        size = (None, None) if first is None else (int(first[1]), int(first[3] or first[2]))
        if size[0] is not None and source.lines - 1 < size[0]:
            is_short = f"says {size[0]:,} rows, and {source.lines - 1:,} follow: is the file cut?"
            raise InputError(f"{source.source}: 1 problem", problems=[(1, is_short)])
        staging.run(con, "ingest/staged_lines", kind=kind)
        bad = insert_lines(
            con, source, "imports/matrix_lines", kind=kind, labels=labels, header=int(first is not None),
            num_rows=size[0], num_columns=size[1],
        )  # fmt: skip
        ((queries,),) = con.execute("select count(distinct query_id) from staged").fetchall()
        checks.check_staged(con, kind, source.source, position="line", bad=bad)
        empty = (source.lines if size[0] is None else size[0]) - queries
        if empty < 1 or kind == "run":
            return Reading()
        are = ("has", "is no query") if empty == 1 else ("have", "are no queries")
        return Reading(warnings=(_UNLABELLED.format(counted(empty, "row"), *are),))
