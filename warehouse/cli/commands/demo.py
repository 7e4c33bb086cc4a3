"""`warehouse demo`."""

from __future__ import annotations

import gzip
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from warehouse.cli import output
from warehouse.cli.progress import Progress
from warehouse.errors import UsageError
from warehouse.report import file_replacement

SECTION, PLACE = "Begin", 1
EXAMPLES = {"demo": ("warehouse demo", "warehouse demo --files .")}

DATA = Path(__file__).parents[2] / "demo"


def demo(
    db: Annotated[Path, "The database file to make."] = Path("demo.duckdb"),
    files: Annotated[
        Path | None, "Also write the judgments and runs into this folder, as qrels.txt and runs/."
    ] = None,
) -> None:
    """Make a database from real data and show its leaderboard.

    The judgments and runs ship with the package: TREC 2019 Deep Learning, passage task, 43 queries,
    nine systems. `--files .` also writes them into this folder as TREC files, so that you can score
    and load them like your own.
    """
    from warehouse.warehouse import Warehouse

    plan = tomllib.loads((DATA / "demo.toml").read_text(encoding="utf-8"))
    dataset, metrics = plan["dataset"], plan["metrics"]
    if files is not None:
        _write_files(files, plan["qrels"], plan["runs"])
    wh = Warehouse(db)
    with Progress("loading", "file", len(plan["runs"]) + 1) as step:
        step("qrels")
        wh.ingest_qrels(dataset, str(DATA / plan["qrels"]), label=plan["label"])
        for name, about in plan["runs"].items():
            step(name)
            wh.ingest_run(dataset, str(DATA / f"{name}.run.gz"), name=name, **about)
    done = wh.evaluate(dataset, metrics=metrics)
    output.say(
        f"{db}: {len(plan['runs'])} runs of dataset {dataset}; "
        f"{done.computed} values computed, {done.up_to_date} up to date"
    )
    output.show(wh.leaderboard(dataset, metrics=metrics), "table", None)
    output.say("\nTry next:")
    for command in plan["next"]:
        output.say(f"  {_program()} {command} --db {shlex.quote(str(db))}")


def _write_files(folder: Path, qrels: str, runs: Iterable[str]) -> None:
    """Write the judgments and runs as files; existing files with other content are kept."""
    contents = {folder / Path(qrels).stem: gzip.decompress((DATA / qrels).read_bytes())}
    for name in runs:
        contents[folder / "runs" / f"{name}.run.gz"] = (DATA / f"{name}.run.gz").read_bytes()
    others = [path for path, content in contents.items() if _differs(path, content)]
    if others:
        raise UsageError(
            f"{others[0]}: is there already with other content; name another folder after --files"
        )
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        with file_replacement.new_file(path) as part:
            part.write_bytes(content)
    output.say(
        f"{folder / Path(qrels).stem} and {folder / 'runs'}: the judgments and runs as files"
    )


def _differs(path: Path, content: bytes) -> bool:
    return path.exists() and not (path.is_file() and path.read_bytes() == content)


def _program() -> str:
    """Return how this program was called, so that the commands it prints work as printed."""
    called = sys.argv[0]
    on_path = shutil.which("warehouse")
    if on_path is not None and Path(called).exists() and Path(on_path).samefile(called):
        return "warehouse"
    return shlex.quote(called) if Path(called).name == "warehouse" else "warehouse"
