"""Lists of what a database holds: datasets, runs, qrels, attributes, slices, views and tables."""

from __future__ import annotations

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import stored_metrics, view_examples
from warehouse.errors import UsageError, no_such_run
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets


def listing(con: Connection, of: str, dataset: str | None) -> Relation:
    """Return the rows of a template for one dataset or for all."""
    datasets.check(con, dataset)
    return database.keep(con, render(f"analyses/{of}"), {"dataset": dataset})


def all_datasets(con: Connection) -> Relation:
    """Return the datasets with their qrels and the number of runs."""
    return database.keep(con, render("analyses/datasets"))


def slices(con: Connection, dataset: str | None, name: str | None) -> Relation:
    """Return the evaluated slices, or the parts of one slice of a dataset."""
    if name is None:
        return listing(con, "slices", dataset)
    dataset = datasets.chosen(con, dataset)
    stored_metrics.check_slice(con, dataset, name)
    return database.keep(con, render("analyses/slice_parts"), {"dataset": dataset, "slice": name})


def run_versions(con: Connection, dataset: str | None, run: str | None) -> Relation:
    """Return the versions of a run, or of all, with their provenance, newest first.

    Forgotten ones are included.
    """
    dataset = datasets.chosen(con, dataset)
    found = database.keep(con, render("analyses/run_versions"), {"dataset": dataset, "run": run})
    if run is not None and not found.fetchall():
        rows = con.execute("select run from runs where dataset = $1", [dataset]).fetchall()
        raise UsageError(no_such_run(run, dataset, [str(row[0]) for row in rows]))
    return found


def schema(con: Connection) -> Relation:
    """Return every view and table with its columns and their meaning; see `Warehouse.schema`."""
    sql = render(
        "analyses/schema",
        database=database.ALIAS,
        examples=view_examples.EXAMPLES,
        macros=view_examples.MACROS,
        arguments=view_examples.ARGUMENTS,
    )
    return database.keep(con, sql)
