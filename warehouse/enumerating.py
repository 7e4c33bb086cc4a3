"""The verbs that say what there is, which the class `Warehouse` has beside its own."""

from __future__ import annotations

import duckdb

from warehouse import database
from warehouse.analyze import board
from warehouse.errors import UsageError
from warehouse.opened import File
from warehouse.templates import render


class Enumerating(File):
    """A warehouse file that says what it holds."""

    def runs(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current runs, of one dataset or of all.

        Columns: `dataset, run, version, system, tags, queries, predictions, run_at, source`; tags are a
        text of `key=value`, times are in UTC.
        """
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            return database.keep(con, render("analyses/runs"), {"dataset": dataset})

    def datasets(self) -> duckdb.DuckDBPyRelation:
        """Return the datasets with their qrels and the number of runs.

        Columns: `dataset, qrels, kind, label, queries, judgments, training, runs, metrics`: the version
        of the current qrels, what they are and hold, how many examples the training set has, and how
        many runs and metrics there are.
        """
        with self._read() as con:
            return database.keep(con, render("analyses/datasets"))

    def attributes(self, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return the current attributes of documents and queries, with their types and counts.

        Columns: `dataset, of, name, version, attribute, type, ids, present, values, different`: of so
        many ids so many have the attribute, with so many values, so many of which differ.
        """
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            return database.keep(con, render("analyses/attributes"), {"dataset": dataset})

    def slices(
        self, dataset: str | None = None, name: str | None = None
    ) -> duckdb.DuckDBPyRelation:
        """Return the slices that have been evaluated, or the parts of one slice of a dataset.

        Columns: `dataset, slice, of, version, parts, members, definition`; of one slice `part, members,
        queries, judgments, relevant`, as the current qrels judge them.
        """
        with self._read() as con:
            if dataset is not None:
                board.check_dataset(con, dataset)
            if name is None:
                return database.keep(con, render("analyses/slices"), {"dataset": dataset})
            if dataset is None:
                raise UsageError(f"slice {name}: say of which dataset")
            board.check_slice(con, dataset, name)
            return database.keep(
                con, render("analyses/slice_parts"), {"dataset": dataset, "slice": name}
            )
