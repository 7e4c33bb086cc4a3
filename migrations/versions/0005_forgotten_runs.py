"""What stays of runs that were removed."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

TABLE = "forgotten_run"
COMMENT = (
    "One row per version of a run that was removed on purpose: what the table run had of it, when it was "
    "removed and why. Its predictions, hits and values are gone; its tags stay in run_tag."
)
# Beside the columns of the table run, which it has with their types and comments: name: (type, comment)
COLUMNS = {
    "forgotten_at": ("timestamptz not null", "When it was removed."),
    "reason": ("varchar", "Why, as given with --reason."),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    columns = execute(
        "select column_name, data_type, is_nullable, comment from duckdb_columns() "
        "where table_name = 'run' and not internal order by column_index"
    ).fetchall()
    body = [f'"{name}" {kind}{"" if free else " not null"}' for name, kind, free, _ in columns]
    body += [f'"{name}" {kind}' for name, (kind, _) in COLUMNS.items()]
    execute(f'create table "{TABLE}" ({", ".join(body)})')
    execute(f'comment on table "{TABLE}" is {_quoted(COMMENT)}')
    comments = [(name, comment) for name, _, _, comment in columns]
    comments += [(name, comment) for name, (_, comment) in COLUMNS.items()]
    for name, comment in comments:
        execute(f'comment on column "{TABLE}"."{name}" is {_quoted(comment)}')


def downgrade() -> None:
    op.get_bind().exec_driver_sql(f'drop table "{TABLE}"')
