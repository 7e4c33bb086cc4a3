"""A program with more migrations than this one, so that tests have files to upgrade."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import schema_script

from warehouse.config.settings import SCHEMA_REVISION, resource_folder
from warehouse.store import database, own_schema, schema

_NUMBER = int(SCHEMA_REVISION.removeprefix("v")) + 1
REVISION = f"v{_NUMBER:04}"
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
        *(f"v{_NUMBER + n:04}" for n in range(1, 1 + len(later))),
    ]
    is_new = not folder.exists()
    if is_new:
        shutil.copytree(resource_folder("migrations"), folder)
    with ExitStack() as stack:
        stack.callback(database.close)  # its views are those of the other program
        database.close()
        for module in (own_schema, schema):
            stack.enter_context(mock.patch.object(module, "resource_folder", return_value=folder))
        for before, revision, steps in zip(
            revisions, revisions[1:], (statements, *later), strict=False
        ):
            for module in (own_schema, schema, database):
                stack.enter_context(mock.patch.object(module, "SCHEMA_REVISION", revision))
            if is_new:
                _add(folder, before, revision, steps)
        yield


def _add(folder: Path, before: str, revision: str, steps: tuple[str, ...]) -> None:
    """Add a revision to a folder of migrations, with its script."""
    path = folder / "versions" / f"{revision[1:]}_next.py"
    path.write_text(
        "from alembic import op\n"
        f"revision, down_revision = {revision!r}, {before!r}\n"
        "def upgrade():\n"
        f"    for sql in {steps!r}:\n"
        "        op.get_bind().exec_driver_sql(sql)\n"
    )
    path.with_suffix(".sql").write_text("".join(f"{sql};\n\n" for sql in steps))
    shutil.copy(folder / "scripts" / f"{before}.sql", folder / "scripts" / f"{revision}.sql")
    if len(set(steps)) == len(steps):  # statements that fail are tried too
        schema_script.write(folder, revision)
