"""`warehouse shell`."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.errors import UsageError
from warehouse.store.scratch_folders import scratch_folder

SECTION, PLACE = "Share", 3
EXAMPLES = {"shell": ("warehouse shell", "warehouse shell --replica replica.duckdb")}


def shell(
    replica: Annotated[
        Path | None, "Keep the replica in this file.", {"show_default": "a temporary file"}
    ] = None,
    *,
    database: options.File,
) -> None:
    """Browse a replica of the database in harlequin.

    Writers do not have to wait for a replica. Needs the extra "shell"; without it, the command says
    what else can open the file.
    """
    from warehouse.config import installation

    wh = database.open()
    program = _harlequin()
    if program is None:
        wh.schema()
        file = shlex.quote(str(replica or "replica.duckdb"))
        raise UsageError(
            f"the shell needs harlequin: {installation.adding('shell')}\n"
            f"or publish a replica and open it with the DuckDB shell:\n"
            f"  warehouse publish {file} --db {shlex.quote(str(wh.path))}\n"
            f"  duckdb -readonly {file}"
        )
    with scratch_folder() as folder:
        made = wh.publish(replica or folder / f"{wh.path.stem}.duckdb")
        output.say(f"{made.path}: a replica as of now; changes to it do not reach {wh.path}")
        code = subprocess.run([program, "--read-only", str(made.path)], check=False).returncode
    raise typer.Exit(code)


def _harlequin() -> str | None:
    """Return the path of harlequin: the first on the PATH, else this environment's."""
    own = Path(sys.executable).parent / "harlequin"
    return shutil.which("harlequin") or (str(own) if own.exists() else None)
