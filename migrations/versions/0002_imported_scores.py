"""Values that other programs computed: where they came from.

The table is in the SQL file beside this one.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "r0002"
down_revision = "r0001"

_COMMENTS = {
    "table store.imported_score": "One row per evaluation whose values another program computed.",
    "column store.imported_score.evaluation_id": "Key of evaluation, in this file.",
    "column store.imported_score.source": (
        "Where the values came from: a path, <stdin> or a kind of Python object."
    ),
    "column store.imported_score.source_sha256": (
        "SHA-256 of the file's content, decompressed. Null if the source is not a file."
    ),
    "column store.imported_score.format": "Format in which it was read, such as 'jsonl' or 'csv'.",
    "column store.imported_score.judge": (
        "Who or what judged, as it was given: a person, a model. Null if nothing was said."
    ),
    "column store.imported_score.checksum": (
        "Hash of the other columns, and of the rows of other tables that belong to this one; "
        "`warehouse verify` computes it again."
    ),
    "column store.evaluation.fingerprint": (
        "Hash of the SQL that computed it; it changes with the formula, and then the value is "
        "stale. 'imported' if another program computed it."
    ),
}


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for sql in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if sql.strip():
            execute(sql)
    for what, text in _COMMENTS.items():
        execute(f"comment on {what} is {_quoted(text)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
