"""A program with more migrations than this one, so that tests have files to upgrade."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from unittest import mock

import duckdb

from warehouse.config.settings import SCHEMA_REVISION, resource_folder
from warehouse.store import database, own_schema, schema

_NUMBER = int(SCHEMA_REVISION.removeprefix("r")) + 1
REVISION = f"r{_NUMBER:04}"
# A table, a column, and a view that is made anew.
STATEMENTS = (
    "create table store.note (run_id integer)",
    "comment on table store.note is 'One row per note.'",
    "comment on column store.note.run_id is 'The run.'",
    "alter table store.run add column colour varchar",
    "comment on column store.run.colour is 'Colour of the run.'",
    "update store.run set checksum = null",
    "create or replace view store.training_version as select 1 as number",
    "comment on view store.training_version is 'One row.'",
    "comment on column store.training_version.number is 'A number.'",
)
# What the revisions after that do: rows are written, columns renamed and dropped, a table made anew.
LATER = (
    (
        "insert into store.note select run_id from store.run",
        "alter table store.note add column text varchar default 'none'",
        "comment on column store.note.text is 'What was noted.'",
        "alter table store.run rename column colour to shade",
    ),
    (
        "create table store.noted as select run_id, text from store.note",
        "drop table store.note",
        "alter table store.noted rename to note",
        "comment on table store.note is 'One row per note.'",
        "alter table store.run drop column shade",
        "update store.run set checksum = null",
    ),
)


@contextmanager
def installed(
    folder: Path, statements: tuple[str, ...] = STATEMENTS, later: Sequence[tuple[str, ...]] = ()
) -> Iterator[None]:
    """Let this process be that program; its migrations are written to a new folder.

    Each of `later` are the statements of one more revision.
    """
    revisions = [
        SCHEMA_REVISION,
        REVISION,
        *(f"r{_NUMBER + n:04}" for n in range(1, 1 + len(later))),
    ]
    if not folder.exists():
        shutil.copytree(resource_folder("migrations"), folder)
        for before, revision, steps in zip(
            revisions, revisions[1:], (statements, *later), strict=False
        ):
            (folder / "versions" / f"{revision[1:]}_next.py").write_text(
                "from alembic import op\n"
                f"revision, down_revision = {revision!r}, {before!r}\n"
                "def upgrade():\n"
                f"    for sql in {steps!r}:\n"
                "        op.get_bind().exec_driver_sql(sql)\n"
            )
            (folder / "versions" / f"{revision[1:]}_next.sql").write_text(
                "".join(f"{sql};\n\n" for sql in steps)
            )
        with suppress(duckdb.Error):  # statements that fail are tried too
            own_schema.write_tables(folder)
    with ExitStack() as stack:
        stack.callback(database.close)  # its views are those of the other program
        database.close()
        stack.enter_context(mock.patch.object(own_schema, "resource_folder", return_value=folder))
        for module in (schema, database):
            stack.enter_context(mock.patch.object(module, "SCHEMA_REVISION", revisions[-1]))
        stack.enter_context(mock.patch.object(schema, "resource_folder", return_value=folder))
        yield
