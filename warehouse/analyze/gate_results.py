"""The stored verdicts of gates: which runs are red, and accepting them."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, check_names, check_text, listing, no_such_run
from warehouse.metrics import protocols
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets
from warehouse.store.clock import Clock


def fired(con: duckdb.DuckDBPyConnection) -> dict[int, set[tuple[str, ...]]]:
    """Return the gates that have made versions of runs red, by the key of the version."""
    rows = con.execute(
        "select run_id, metric, protocol, grouped_by, against, limits from gate_versions where is_red"
    ).fetchall()
    found: dict[int, set[tuple[str, ...]]] = {}
    for run_id, *gate in rows:
        found.setdefault(int(run_id), set()).add(tuple(gate))
    return found


def who() -> str:
    """Return who decides: the user and the host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"


def baselines(con: duckdb.DuckDBPyConnection, dataset: str) -> list[str]:
    """Return the names of the runs of a dataset that were made baselines, the newest first."""
    rows = con.execute(
        "select run.name from gate_baseline join run using (run_id) join dataset using (dataset_id) "
        "where dataset.name = $1 order by set_at desc",
        [dataset],
    ).fetchall()
    return [str(name) for (name,) in rows]


def checked_hashes(con: duckdb.DuckDBPyConnection, *gate: str) -> list[str]:
    """Return the contents that a gate has spent alpha on, in their order.

    The gate is given by its dataset, metric, protocol, group and reference.
    """
    rows = con.execute(
        "select content_hash from gate_place join dataset using (dataset_id) where dataset.name = $1 "
        "and metric = $2 and protocol = $3 and grouped_by = $4 and against = $5 order by place",
        list(gate),
    ).fetchall()
    return [str(content) for (content,) in rows]


def accepted(con: duckdb.DuckDBPyConnection) -> set[int]:
    """Return the keys of the versions of runs that were accepted."""
    rows = con.execute("select run_id from gate_acceptance").fetchall()
    return {int(run_id) for (run_id,) in rows}


def listed(
    con: duckdb.DuckDBPyConnection, dataset: str | None, *, red: bool = False
) -> duckdb.DuckDBPyRelation:
    """Return the verdicts on current runs, newest first; with `red`, on red ones only."""
    datasets.check(con, dataset)
    return database.keep(
        con,
        render("analyses/gate_results", run=None),
        {"dataset": dataset, "red": red},
        name="verdicts",
    )


def story(con: duckdb.DuckDBPyConnection, dataset: str | None, run: str) -> duckdb.DuckDBPyRelation:
    """Return all verdicts on a run and its versions, oldest first, with what has changed."""
    dataset = datasets.chosen(con, dataset)
    found = database.keep(
        con, render("analyses/gate_results", run=run), {"dataset": dataset}, name="verdicts"
    )
    if not found.limit(1).fetchall():
        _check_run(con, dataset, run)
    return found


def set_baseline(con: duckdb.DuckDBPyConnection, dataset: str | None, run: str, why: str) -> None:
    """Make a run the baseline of its group, inside the caller's transaction.

    Raises UsageError if the run is red, or there is none of that name.
    """
    dataset = datasets.chosen(con, dataset)
    if not check_text("why", why).strip(" .…"):
        raise UsageError("why: say in a few words why the run is the baseline")
    _check_run(con, dataset, run)
    if run in {row["run"] for row in standing(con, dataset)}:
        raise UsageError(f"{run}: is red, and nothing is compared with a red run: accept it first")
    con.execute(
        "insert into gate_baseline by name select run_id, $why as why, $who as set_by, $now as set_at, "
        "$version as program_version from run_version where dataset = $dataset and run = $run "
        "and is_current",
        {"dataset": dataset, "run": run, "why": why, "who": who(), "now": Clock(con).now(),
         "version": VERSION},
    )  # fmt: skip


def _check_run(con: duckdb.DuckDBPyConnection, dataset: str, run: str) -> None:
    """Refuse a run that a dataset does not have."""
    rows = con.execute("select run from runs where dataset = $1", [dataset]).fetchall()
    known = [str(name) for (name,) in rows]
    if run not in known:
        raise UsageError(no_such_run(run, dataset, known))


def end(
    con: duckdb.DuckDBPyConnection,
    run_ids: Sequence[int],
    gate: Mapping[str, str],
    verdict: str,
    why: str,
) -> None:
    """End the verdicts of a gate on versions of runs, inside the caller's transaction.

    The verdict is then "resolved", or "ended" if the gate itself is gone.
    """
    given = {"run_ids": list(run_ids), "verdict": verdict, "why": why, "now": Clock(con).now(),
             "version": VERSION}  # fmt: skip
    con.execute(render("statements/gate_ends"), given | dict(gate))


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
        times = {
            key: row[key] and row[key].isoformat() for key in ("checked_at", "accepted_at", "since")
        }
        found.append(row | times | {"text": text})
    return found


def accept(
    con: duckdb.DuckDBPyConnection, dataset: str | None, runs: Sequence[str] | None, why: str
) -> list[str]:
    """Accept red runs, or all, inside the caller's transaction; return their names.

    Raises UsageError if a run is not red.
    """
    dataset = datasets.chosen(con, dataset)
    if not check_text("why", why).strip(" .…"):
        raise UsageError("why: say in a few words why the run is accepted")
    red = {row["run"]: None for row in standing(con, dataset)}
    names = list(red) if runs is None else list(dict.fromkeys(check_names("runs", runs)))
    for name in names:
        if name not in red:
            _check_run(con, dataset, name)
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
            "who": who(),
            "now": Clock(con).now(),
            "version": VERSION,
        },
    )
    return names
