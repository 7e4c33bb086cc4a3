"""`warehouse init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from warehouse.cli import options
from warehouse.cli.output import say
from warehouse.config import project
from warehouse.report.file_replacement import new_file

SECTION, PLACE = "Begin", 2
EXAMPLES = {"init": ("warehouse init", "warehouse init --db mine.duckdb")}

STARTER = Path(__file__).parents[2] / "sync" / "starter.toml"


def init(
    own: Annotated[bool, "Make a restored replica writable again."] = False,
    allow_place: Annotated[
        bool, "Read predictions wherever this database says that they lie (see --where-it-lies)."
    ] = False,
    *,
    database: options.LimitedFile,
) -> None:
    """Write a warehouse.toml and make the database that it names.

    The file, with comments, is written if there is none in this folder or above it; with --db it is
    not written. The database is made, or its schema is upgraded. Running it again changes nothing.
    """
    if database.db is None and project.current().file is None:
        path = Path(project.FILE)
        with new_file(path) as part:
            part.write_bytes(STARTER.read_bytes())
        say(f"{path}: written; say in it where qrels and runs are, then: warehouse sync")
    # the file just written counts
    with project.using(None):
        wh = database.open()
    existed = wh.path.exists()
    changed = wh.init(own=own, allow_place=allow_place)
    news = "is a warehouse of its own now" if own else "brought up to date"
    state = "is up to date" if not changed else news if existed else "made"
    say(f"{project.relative(wh.path)}: {state}")
