"""The stored verdicts of gates: which runs are red, and accepting them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from warehouse.analyze import datasets
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, check_names, check_text, listing, no_such_run
from warehouse.metrics import protocols
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.clock import Clock


def fired(con: duckdb.DuckDBPyConnection) -> list[int]:
    """Return the keys of the versions of runs of which a gate fired, without the accepted ones."""
    rows = con.execute("select distinct run_id from gate_versions where is_red").fetchall()
    return [int(run_id) for (run_id,) in rows]


def accepted(con: duckdb.DuckDBPyConnection) -> set[int]:
    """Return the keys of the versions of runs that were accepted."""
    rows = con.execute("select run_id from gate_acceptance").fetchall()
    return {int(run_id) for (run_id,) in rows}


def listed(
    con: duckdb.DuckDBPyConnection, dataset: str | None, *, red: bool
) -> duckdb.DuckDBPyRelation:
    """Return the verdicts, newest first; with `red`, those of current runs that are not accepted."""
    datasets.check(con, dataset)
    return database.keep(
        con, render("analyses/gate_results"), {"dataset": dataset, "red": red}, name="verdicts"
    )


def standing(con: duckdb.DuckDBPyConnection, dataset: str | None = None) -> list[dict[str, Any]]:
    """Return the red verdicts as dicts for JSON; `text` is a sentence for people."""
    found = []
    for row in database.records(listed(con, dataset, red=True)):
        by = "" if row["protocol"] == protocols.DEFAULT else f" by protocol {row['protocol']}"
        beside = (
            ""
            if row["reference"] is None
            else f", compared with {row['reference']} {row['reference_value']:.4f}"
        )
        text = (
            f"{row['dataset']}: gate {row['metric']}{by}: {row['run']} {row['value']:.4f} is red: "
            f"{row['why']}{beside}"
        )
        times = {key: row[key] and row[key].isoformat() for key in ("checked_at", "accepted_at")}
        found.append(row | times | {"text": text})
    return found


def accept(
    con: duckdb.DuckDBPyConnection, dataset: str | None, runs: Sequence[str] | None, why: str
) -> list[str]:
    """Accept red runs, or all, inside the caller's transaction; return their names.

    Raises UsageError if a run is not red.
    """
    dataset = datasets.chosen(con, dataset)
    if not check_text("why", why).strip():
        raise UsageError("why: say in a few words why the run is accepted")
    red = {row["run"]: None for row in standing(con, dataset)}
    names = list(red) if runs is None else list(dict.fromkeys(check_names("runs", runs)))
    for name in names:
        if name not in red:
            rows = con.execute("select run from runs where dataset = $1", [dataset]).fetchall()
            known = [str(run) for (run,) in rows]
            if name not in known:
                raise UsageError(no_such_run(name, dataset, known))
            are = f"red are {listing(red)}" if red else "no run of it is red"
            raise UsageError(f"{name}: there is nothing to accept: no gate fired; {are}")
    if not names:
        raise UsageError(f"{dataset}: no run of it is red, so there is nothing to accept")
    con.execute(
        render("statements/accepted"),
        {
            "dataset": dataset,
            "runs": names,
            "why": why,
            "now": Clock(con).now(),
            "version": VERSION,
        },
    )
    return names
