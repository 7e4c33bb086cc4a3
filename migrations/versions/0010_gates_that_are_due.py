"""Which gates a sync still has to hold."""

from __future__ import annotations

from alembic import op

revision = "0010"
down_revision = "0009"

TABLE = "gate_due"
COMMENT = (
    "One row per dataset and protocol of which a sync has computed values and not held the gates yet: empty "
    "unless one was ended between the two."
)
# column: (type, comment)
COLUMNS: dict[str, tuple[str, str]] = {
    "dataset_id": ("integer not null", "The dataset."),
    "protocol": ("varchar not null", "The protocol that the values were computed by."),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in COLUMNS.items())
    execute(f'create table "{TABLE}" ({body})')
    execute(f'comment on table "{TABLE}" is {_quoted(COMMENT)}')
    for name, (_, meaning) in COLUMNS.items():
        execute(f'comment on column "{TABLE}"."{name}" is {_quoted(meaning)}')


def downgrade() -> None:
    op.get_bind().exec_driver_sql(f'drop table "{TABLE}"')
