"""A program with one migration more than this one, so that tests have files to upgrade."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from warehouse.config.settings import SCHEMA_REVISION, resource_folder
from warehouse.store import database, schema

REVISION = "r0003"
# A table, a column, and a view that is made anew.
STATEMENTS = (
    "create table store.note (run_id integer)",
    "comment on table store.note is 'One row per note.'",
    "comment on column store.note.run_id is 'The run.'",
    "alter table store.run add column colour varchar",
    "comment on column store.run.colour is 'Colour of the run.'",
    "update store.run set checksum = null",
    "create or replace view judgments as select 1 as number",
    "comment on view judgments is 'One row.'",
    "comment on column judgments.number is 'A number.'",
)


@contextmanager
def installed(folder: Path, statements: tuple[str, ...] = STATEMENTS) -> Iterator[None]:
    """Let this process be that program; its migrations are written to a new folder."""
    if not folder.exists():
        shutil.copytree(resource_folder("migrations"), folder)
        (folder / "versions" / "0003_next.py").write_text(
            "from alembic import op\n"
            f"revision, down_revision = {REVISION!r}, {SCHEMA_REVISION!r}\n"
            "def upgrade():\n"
            f"    for sql in {statements!r}:\n"
            "        op.get_bind().exec_driver_sql(sql)\n"
        )
    with ExitStack() as stack:
        for module in (schema, database):
            stack.enter_context(mock.patch.object(module, "SCHEMA_REVISION", REVISION))
        stack.enter_context(mock.patch.object(schema, "resource_folder", return_value=folder))
        yield
