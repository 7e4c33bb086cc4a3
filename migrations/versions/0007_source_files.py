"""The files that a project's sync has taken in, so that each is read again only when it has changed."""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"

TABLE = "source_file"
COMMENT = "One row per file that 'warehouse sync' has taken into a dataset, as it was then."
# column: (type, comment)
COLUMNS: dict[str, tuple[str, str]] = {
    "dataset_id": ("integer not null", "The dataset that it was taken into."),
    "kind": (
        "varchar not null",
        "What it holds: 'run', 'qrels', 'training', or attributes of 'docs' or of 'queries'.",
    ),
    "path": ("varchar not null", "The file's absolute path."),
    "name": ("varchar not null", "Name of the run or of the attributes; else the dataset's."),
    "size": ("bigint not null", "The file's size in bytes when it was read."),
    "mtime_ns": ("bigint not null", "When the file was changed last, in nanoseconds since 1970."),
    "settings": (
        "varchar not null",
        "What the project's file, the path and the side-car said of it, as JSON.",
    ),
    "source_sha256": ("varchar", "SHA-256 of the file's bytes after decompression."),
    "run_id": ("integer", "The run that its content is; null where it is no run."),
    "taken_at": ("timestamptz not null", "When it was read."),
    "program_version": ("varchar not null", "Version of this program that read it."),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in COLUMNS.items())
    execute(f'create table "{TABLE}" ({body})')
    execute(f'comment on table "{TABLE}" is {_quoted(COMMENT)}')
    for name, (_, comment) in COLUMNS.items():
        execute(f'comment on column "{TABLE}"."{name}" is {_quoted(comment)}')


def downgrade() -> None:
    op.get_bind().exec_driver_sql(f'drop table "{TABLE}"')
