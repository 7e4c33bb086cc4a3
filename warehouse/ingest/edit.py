"""The name and the description of a run, changed without another version of its predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError, nearest, no_such_run
from warehouse.ingest import runs, steps
from warehouse.store import checksums


@dataclass(frozen=True)
class Edited:
    """A run as it is called and described now: the tags belong to its current version."""

    dataset: str
    run: str
    system: str | None
    tags: Mapping[str, str]


def edit(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    *,
    name: str | None = None,
    system: str | None = None,
    tags: Mapping[str, str] | None = None,
    without: Collection[str] = (),
) -> Edited:
    """Rename all versions of a run, and describe the current one, inside the caller's transaction.

    An empty `system` removes it; `without` names tags to remove. Raises UsageError if there is no such
    run or tag, and for a name that another run of the dataset has.
    """
    runs.check_options(runs.RunOptions(name=name, tags=tags or {}))
    rows = con.execute(
        "select run.name, run_id, system from run join dataset using (dataset_id) "
        "where dataset.name = $dataset order by recency(ingested_at, content_hash)",
        {"dataset": dataset},
    ).fetchall()
    ids = [run_id for known, run_id, _ in rows if known == run]
    if not ids:
        raise UsageError(no_such_run(run, dataset, {str(known) for known, *_ in rows}))
    if name is not None and name != run:
        steps.check_name("run", name)
        if any(known == name for known, *_ in rows):
            raise UsageError(f"{name}: dataset {dataset} has a run of that name; choose another")
        _change(con, {"name": name}, ids)
    current = ids[-1]
    there = dict(
        con.execute("select key, value from run_tag where run_id = $1", [current]).fetchall()
    )
    for key in without:
        if key not in there:
            raise UsageError(f"{run}: has no tag {key}{nearest(key, there) or ''}")
    kept = {key: value for key, value in there.items() if key not in without} | dict(tags or {})
    described = next(found for _, run_id, found in rows if run_id == current)
    if system is not None:
        described = system or None
    _change(con, {"system": described}, [current])
    con.execute("delete from run_tag where run_id = $1", [current])
    con.execute(
        "insert into run_tag select $1, unnest($2::varchar[]), unnest($3::varchar[])",
        [current, list(kept), list(kept.values())],
    )
    return Edited(dataset, run if name is None else name, described, kept)


def _change(con: duckdb.DuckDBPyConnection, columns: Mapping[str, object], ids: list[int]) -> None:
    checksums.change(con, "run", columns, "list_contains($ids, run_id)", {"ids": ids})
