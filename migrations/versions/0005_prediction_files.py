"""Runs whose predictions stay in their files: where each file lies, and how it is read again.

The table is in the SQL file beside this one.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "r0005"
down_revision = "r0004"

_COMMENTS = {
    "table store.prediction_file": (
        "One row per version of a run whose predictions stay in their file, as loaded with "
        "--where-it-lies: they are not in store.prediction, nor in the view predictions. The hash "
        "of the file is run.source_sha256."
    ),
    "column store.prediction_file.run_id": "Key of run, in this file.",
    "column store.prediction_file.place": "Absolute path of the file, or its URL.",
    "column store.prediction_file.columns": (
        "JSON: the file's names of our columns, as given with --column. The format and what else it was "
        "read with are in run."
    ),
    "column store.prediction_file.checksum": (
        "Hash of the other columns; `warehouse verify` computes it again."
    ),
}


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"))
    for what, text in _COMMENTS.items():
        quoted = text.replace("'", "''")
        execute(f"comment on {what} is '{quoted}'")
