"""Label deciles: the mappings of a database, and the contents of their parts."""

from __future__ import annotations

import duckdb

from warehouse.errors import UsageError, command, listing, nearest
from warehouse.sql_text.templates import render
from warehouse.store import datasets
from warehouse.store.database import keep

# As ingest writes them: the format of a mapping, and the attribute with the occurrences.
FORMAT = "deciles"


def deciles(con: duckdb.DuckDBPyConnection, dataset: str | None = None) -> duckdb.DuckDBPyRelation:
    """Return the current mappings of labels to deciles, of one dataset or of all."""
    datasets.check(con, dataset)
    return keep(con, render("analyses/deciles", format=FORMAT), {"dataset": dataset})


def sizes(
    con: duckdb.DuckDBPyConnection, dataset: str | None, name: str
) -> duckdb.DuckDBPyRelation:
    """Return a mapping decile by decile.

    Occurrences are those from which it was made. For a loaded mapping, they are counted in the
    training set or, without one, in the qrels.
    """
    dataset = datasets.chosen(con, dataset)
    rows = con.execute(render("statements/current_attributes"), {"dataset": dataset}).fetchall()
    attributes = [str(attribute) for subject, attribute, _ in rows if subject == "document"]
    if name not in attributes:
        known = deciles(con, dataset).project("name").fetchall()
        hint = (
            nearest(name, attributes)
            or f"; there are {listing(str(n) for (n,) in known) or 'none'}"
        )
        raise UsageError(
            f"{name}: dataset {dataset} has no deciles of that name{hint}; "
            f"make them with: {command('deciles make', dataset)}"
        )
    origin = f"{name}_frequency"
    if origin not in attributes:
        origin = "training" if _has_training(con, dataset) else "qrels"
    counts = render("ingest/label_counts", dataset=dataset, origin=origin)
    return keep(
        con, render("analyses/decile_sizes", dataset=dataset, attribute=name, counts=counts)
    )


def _has_training(con: duckdb.DuckDBPyConnection, dataset: str) -> bool:
    ((found,),) = con.execute(
        "select count(*) from training join dataset using (dataset_id) where dataset.name = $name",
        {"name": dataset},
    ).fetchall()
    return bool(found)
