"""Verdicts of gates with their intervals, who accepted a run, baselines, places that alpha was spent on, alerts."""

from __future__ import annotations

from pathlib import Path

from alembic import context, op

revision = "r0007"
down_revision = "r0006"

_ADDED = {
    "gate_result": {
        "low double": "Lower end of the interval of the difference that fits the test. Null if nothing was tested.",
        "high double": "Upper end of this interval. Null if nothing was tested.",
        "could_see double": "The drop that the test finds in four of five cases. Null if nothing was tested.",
    },
    "gate_acceptance": {
        "accepted_by varchar": "Who accepted it, as user@host. Null if that is not known.",
    },
}
_COMMENTS = {
    "gate_result.p": "One-sided p-value: how likely so large a drop is if the true one is not beyond the limit. Null if nothing was tested.",
    "gate_result.why": "Which limits were passed, or why the run is unchecked, in words. Null if it is good.",
    "gate_result.verdict": "'good', 'worse', 'unchecked', or 'resolved' where a red one has ended, 'ended' where the gate has changed or is gone.",
}


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    said = dict(_COMMENTS)
    for table, columns in _ADDED.items():
        for column, text in columns.items():
            execute(f"alter table store.{table} add column {column}")
            said[f"{table}.{column.split()[0]}"] = text
        execute(f"update store.{table} set checksum = null")
    execute(
        "update store.gate_result set verdict = "
        "case verdict when 'regressed' then 'worse' when 'first' then 'unchecked' else verdict end"
    )
    for column, text in said.items():
        quoted = text.replace("'", "''")
        execute(f"comment on column store.{column} is '{quoted}'")
    first = context.script.get_revision("r0001").module
    first.create(execute, Path(__file__).with_suffix(".sql"))
