"""Values that are current are stored, beside the view of all versions that they are derived by."""

from __future__ import annotations

from pathlib import Path

from alembic import context, op

revision = "r0008"
down_revision = "r0007"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    first = context.script.get_revision("r0001").module
    first.create(execute, Path(__file__).with_suffix(".sql"))
    execute(
        "insert into store.current_score by name from store.derived_score order by run_id, evaluation_id"
    )
