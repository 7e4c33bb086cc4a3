"""Label deciles: methods of the class `Warehouse`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import duckdb

from warehouse.opened import File

if TYPE_CHECKING:
    from warehouse.ingest import LoadedAttributes


class Deciling(File):
    """Divides labels into deciles."""

    def make_deciles(
        self,
        dataset: str,
        *,
        origin: str | None = None,
        by: Literal["mass", "count"] = "mass",
        parts: int = 10,
        name: str = "decile",
        replace: bool = False,
    ) -> LoadedAttributes:
        """Divide the labels (documents) of a dataset into `parts` by how often they occur.

        The part of each label is stored as its attribute `name`: the highest part, 10 by default,
        has the most frequent labels, and part 1 the rarest. `by="mass"` makes parts with equal
        numbers of occurrences, `by="count"` parts with equal numbers of labels. `origin` is
        "training", "qrels" or an attribute with the number of occurrences; default: the training
        set, or without one the qrels. `replace` stores other deciles of that name as a new version.
        Raises UsageError if there is nothing to count, or if there are fewer labels than parts.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_training({"1": {"a": 1, "b": 1}, "2": {"a": 1}}, "tiny")
        >>> wh.make_deciles("tiny", parts=2).columns
        {'decile': 'number', 'decile_frequency': 'number'}
        >>> wh.deciles("tiny").project("name, parts, labels, origin").fetchall()
        [('decile', 2, 2, 'training set, version 1: 2 parts of equal mass')]
        >>> wh.decile_sizes("tiny").fetchall()
        [('2', 1, 2.0, 0.6666666666666666, 'a', 'a'), ('1', 1, 1.0, 0.3333333333333333, 'b', 'b')]
        """
        from warehouse.analyze import datasets
        from warehouse.ingest import make_deciles

        with self._read() as con:
            datasets.check(con, dataset)
        with self._write() as connection:
            return make_deciles(
                connection, dataset,
                origin=origin, by=by, parts=parts, name=name, replace=replace,
            )  # fmt: skip

    def deciles(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the mappings of labels to deciles, with their origin.

        Columns: `dataset, name, version, parts, labels, origin, made_at`. They include loaded
        attributes of documents with the name "decile".
        """
        from warehouse.analyze import deciles

        with self._read() as con:
            return deciles.deciles(con, dataset)

    def decile_sizes(self, dataset: str, name: str = "decile") -> duckdb.DuckDBPyRelation:
        """Return the size of each part of a mapping, that of the most frequent labels first.

        Columns: `decile, labels, occurrences, share, most_frequent, least_frequent`.
        """
        from warehouse.analyze import deciles

        with self._read() as con:
            return deciles.sizes(con, dataset, name)
