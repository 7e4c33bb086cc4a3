"""Verdicts of gates with their intervals, who accepted a run, baselines, places that alpha was spent on, alerts."""

from __future__ import annotations

import re
from pathlib import Path

from alembic import context, op

revision = "r0007"
down_revision = "r0006"

_CHANGED = ("gate_result", "gate_acceptance")
_COMMENTS = {
    "gate_result.low": "Lower end of the interval of the difference that fits the test. Null if nothing was tested.",
    "gate_result.high": "Upper end of this interval. Null if nothing was tested.",
    "gate_result.could_see": "The drop that the test finds in four of five cases. Null if nothing was tested.",
    "gate_acceptance.accepted_by": "Who accepted it, as user@host. Null if that is not known.",
    "gate_result.p": "One-sided p-value: how likely so large a drop is if the true one is not beyond the limit. Null if nothing was tested.",
    "gate_result.why": "Which limits were passed, or why the run is unchecked, in words. Null if it is good.",
    "gate_result.verdict": "'good', 'worse', 'unchecked', or 'resolved' where a red one has ended, 'ended' where the gate has changed or is gone.",
}


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    path = Path(__file__).with_suffix(".sql")
    for statement in re.findall(
        r"^alter table .+;$", path.read_text(encoding="utf-8"), re.MULTILINE
    ):
        execute(statement)
    for table in _CHANGED:
        execute(f"update store.{table} set checksum = null")
    execute(
        "update store.gate_result set verdict = "
        "case verdict when 'regressed' then 'worse' when 'first' then 'unchecked' else verdict end"
    )
    for column, text in _COMMENTS.items():
        quoted = text.replace("'", "''")
        execute(f"comment on column store.{column} is '{quoted}'")
    first = context.script.get_revision("r0001").module
    first.create(execute, path)
