"""Label deciles: documents divided into parts by how often they occur, stored as an attribute."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Literal

import duckdb

from warehouse.errors import UsageError, command, counted, listing, nearest, option
from warehouse.ingest import steps
from warehouse.ingest.attributes import LoadedAttributes, keep
from warehouse.readers.attributes import StagedAttributes
from warehouse.sql_text.templates import render

By = Literal["mass", "count"]
BY: Mapping[str, str] = {"mass": "equal mass", "count": "equal count"}
# The format of tables of attributes made by this module.
FORMAT = "deciles"


def frequency_of(name: str) -> str:
    """Return the attribute that holds how often a label occurred when its decile was made."""
    return f"{name}_frequency"


def make_deciles(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    *,
    origin: str | None = None,
    by: By = "mass",
    parts: int = 10,
    name: str = "decile",
    replace: bool = False,
) -> steps.Store[LoadedAttributes]:
    """Divide a dataset's labels into parts; return what stores them as the attribute `name`.

    Occurrences are counted in the training set or in the qrels, or `origin` is an attribute that
    holds them. The default is the training set if there is one, else the qrels.
    """
    steps.check_name("deciles", name)
    if by not in BY:
        raise UsageError(
            f"{option('by', by)}: deciles are by {' or by '.join(BY)}{nearest(by, BY)}"
        )
    if parts < 2:
        raise UsageError(f"{option('parts', parts)}: must be at least 2")
    versions = _versions(con, dataset)
    if origin is None:
        origin = "training" if "training" in versions else "qrels"
    if origin in (name, frequency_of(name)):
        raise UsageError(
            f"{option('from', origin)}: the deciles themselves are called so; give another "
            f"{option('name', None)}"
        )
    _refuse_missing(con, dataset, origin, versions)
    counts = render("ingest/label_counts", dataset=dataset, origin=origin)
    con.execute(f"create or replace temp table label_count as\n{counts}")
    num_labels = _checked(con, dataset, origin, parts)
    con.execute("drop table if exists temp.staged_attribute")
    con.execute(
        render("ingest/deciles", by=by, parts=parts, attribute=name, frequency=frequency_of(name))
    )
    warnings = _empty_parts(con, name)
    con.execute("drop table temp.label_count")
    words = {"training": "training set", "qrels": "qrels"}
    known = f"{words[origin]}, version {versions[origin]}" if origin in words else origin
    staged = StagedAttributes(
        subject="document",
        source=f"{known}: {parts} parts of {BY[by]}",
        format=FORMAT,
        source_sha256=None,
        normalise=None,
        columns={name: "number", frequency_of(name): "number"},
        num_subjects=num_labels,
        num_values=2 * num_labels,
    )

    def store(con: duckdb.DuckDBPyConnection) -> LoadedAttributes:
        kept = keep(con, staged, dataset, name, replace=replace)
        return dataclasses.replace(kept, warnings=warnings)

    return store


def _empty_parts(con: duckdb.DuckDBPyConnection, name: str) -> tuple[str, ...]:
    """Say which staged parts have no label, because one label has as many occurrences as they."""
    rows = con.execute(render("ingest/empty_parts", attribute=name)).fetchall()
    return tuple(
        f"{name}: {'part' if len(empty) == 1 else 'parts'} {listing(map(str, empty))} "
        f"{'has' if len(empty) == 1 else 'have'} no labels: {label}, in part {part}, alone has "
        f"{share:.1%} of all occurrences"
        for empty, label, part, share in rows
    )


def _versions(con: duckdb.DuckDBPyConnection, dataset: str) -> dict[str, int]:
    """Return the current versions of a dataset's training set and qrels, if it has them."""
    found = con.execute(
        "select 'training', training_version from training_version "
        "where dataset = $name and is_current union all "
        "select 'qrels', qrels_version from qrels_version where dataset = $name and is_current",
        {"name": dataset},
    ).fetchall()
    return {str(what): int(version) for what, version in found}


def _refuse_missing(
    con: duckdb.DuckDBPyConnection, dataset: str, origin: str, versions: Mapping[str, int]
) -> None:
    """Refuse an origin that the dataset does not have."""
    if origin in versions:
        return
    if origin == "training":
        raise UsageError(
            f"dataset {dataset} has no training set; load it with: "
            f"{command('ingest training FILE', dataset)}, or count in the judgments: "
            f"{option('from', 'qrels')}"
        )
    if origin == "qrels":
        raise UsageError(
            f"dataset {dataset} has no judgments to count in; load them with: "
            f"{command('ingest qrels FILE', dataset)}"
        )
    rows = con.execute(render("statements/current_attributes"), {"dataset": dataset}).fetchall()
    types = {str(name): str(kind) for subject, name, kind in rows if subject == "document"}
    if types.get(origin) == "number":
        return
    if origin in types:
        raise UsageError(
            f"{option('from', origin)}: this attribute is a {types[origin]}; occurrences are a number"
        )
    hint = nearest(origin, ["training", "qrels", *types])
    known = f"; it has {listing(types) or 'none'}"
    raise UsageError(
        f"{option('from', origin)}: dataset {dataset} has no attribute of the documents of that name"
        f"{hint or known}"
    )


def _checked(con: duckdb.DuckDBPyConnection, dataset: str, origin: str, parts: int) -> int:
    """Return the number of labels. Refuse counts that cannot be divided."""
    ((labels, wrong, total),) = con.execute(
        "select count(*), "
        "min(doc_id) filter (where occurrences is null or occurrences < 0), "
        "coalesce(sum(occurrences), 0) from label_count"
    ).fetchall()
    if wrong is not None:
        raise UsageError(
            f"{option('from', origin)}: the document {wrong} has a number below 0, or one too great for "
            "a count"
        )
    if total == 0:
        raise UsageError(f"dataset {dataset}: no label occurs in what is counted ({origin})")
    if labels < parts:
        raise UsageError(
            f"{option('parts', parts)}: what is counted ({origin}) has "
            f"{counted(labels, 'label')}, fewer than "
            f"parts; ask for at most {labels}"
        )
    return int(labels)
