"""Lists of runs, datasets, attributes and slices: methods of the class `Warehouse`."""

from __future__ import annotations

import duckdb

from warehouse.analyze import datasets, leaderboard
from warehouse.opened import File
from warehouse.sql_text.templates import render
from warehouse.store import database


class Enumerating(File):
    """Lists what the database holds."""

    def runs(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current runs of one dataset or of all.

        Columns: `dataset, run, version, system, tags, queries, predictions, run_at, source`. Tags
        are text of `key=value`; times are in UTC.
        """
        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            return database.keep(con, render("analyses/runs"), {"dataset": dataset})

    def datasets(self) -> duckdb.DuckDBPyRelation:
        """Return the datasets with their qrels and the number of runs.

        Columns: `dataset, qrels, kind, label, queries, judgments, training, runs, metrics`. `qrels`
        is the current version, followed by its kind, label and counts; `training` is the number of
        examples in the training set; `runs` and `metrics` are counts too.
        """
        with self._read() as con:
            return database.keep(con, render("analyses/datasets"))

    def only_dataset(self) -> str:
        """Return the name of the only dataset. Raises UsageError if there are none or several.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}}, "tiny")
        >>> wh.only_dataset()
        'tiny'
        """
        with self._read() as con:
            return datasets.chosen(con, None)

    def attributes(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current attributes of documents and queries, with their types and counts.

        Columns: `dataset, of, name, version, attribute, type, ids, present, values, different`. Of
        all `ids`, `present` have the attribute; they have that many `values`, of which that many
        are `different`.
        """
        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            return database.keep(con, render("analyses/attributes"), {"dataset": dataset})

    def slices(
        self, dataset: str | None = None, name: str | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return the slices that have been evaluated, or the parts of one slice of a dataset.

        For one slice, the dataset is by default the only one.

        Columns: `dataset, slice, of, version, parts, members, definition`; for one slice `part,
        members, queries, judgments, relevant`, by the current qrels.
        """
        with self._read() as con:
            if dataset is not None:
                datasets.check(con, dataset)
            if name is None:
                return database.keep(con, render("analyses/slices"), {"dataset": dataset})
            dataset = datasets.chosen(con, dataset)
            leaderboard.check_slice(con, dataset, name)
            return database.keep(
                con, render("analyses/slice_parts"), {"dataset": dataset, "slice": name}
            )
