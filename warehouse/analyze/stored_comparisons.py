"""Storing a comparison in the database, so that SQL can read it."""

from __future__ import annotations

import duckdb

from warehouse.analyze.paired_tests import PAIRS, Compared
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock


def keep(con: duckdb.DuckDBPyConnection, found: Compared) -> int:
    """Store a comparison inside the caller's transaction; return its id.

    Raises UsageError if a run has been forgotten since it was compared.
    """
    ids = list(found.run_ids.values())
    runs = con.execute(
        "select run_id, dataset_id from run where list_contains($ids::integer[], run_id)",
        {"ids": ids},
    ).fetchall()
    if len(runs) != len(ids):
        raise UsageError(f"{found.dataset}: a run has been forgotten meanwhile; compare again")
    number = rows.next_id(con, "comparison_id", "comparison")
    how = found.how
    row = {
        "comparison_id": number,
        "dataset_id": runs[0][1],
        "qrels_id": found.qrels_id,
        "protocol": found.protocol,
        "judged_only": found.judged_only,
        "test": how.test,
        "correction": how.corrected_by,
        "family": how.family,
        "alpha": how.alpha,
        "interval": how.interval_by,
        "resamples": how.resamples if how.is_resampled else None,
        "seed": how.seed if how.is_resampled else None,
        "compared_at": Clock(con).now(),
        "program_version": VERSION,
        "engine_version": duckdb.__version__,
    }
    rows.add(con, "comparison", [row])
    values = found.pairs.project(", ".join(map(ident, PAIRS))).fetchall()
    pairs = dict(zip(PAIRS, zip(*values, strict=True), strict=True))
    columns = {"base_id": "integer", "run_id": "integer"} | {
        name: kind for name, kind in PAIRS.items() if name not in ("base", "run")
    }
    given = {name: list(values) for name, values in pairs.items() if name in columns}
    given["base_id"] = [found.run_ids[name] for name in pairs["base"]]
    given["run_id"] = [found.run_ids[name] for name in pairs["run"]]
    con.execute(
        render("statements/comparison_pairs", columns=columns), {"comparison_id": number} | given
    )
    return number
