"""Views for people show what is current: `migrations/views.sql` has them, made anew after each upgrade.

Views and macros of earlier names go.
"""

from __future__ import annotations

from pathlib import Path

from alembic import context, op

revision = "r0006"
down_revision = "r0005"

_GONE = (
    *(f"view if exists {name}" for name in ("run_scores", "judgments", "rankings", "gate_results")),
    *(f"macro table if exists {name}" for name in ("board", "history", "ranked_list")),
)


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for gone in _GONE:
        execute(f"drop {gone}")
    first = context.script.get_revision("r0001").module
    first.create(execute, Path(__file__).with_suffix(".sql"))
