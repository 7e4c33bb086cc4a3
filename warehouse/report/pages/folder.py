"""Writing the pages as a folder of plain files."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from warehouse.config.project import request
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, check_at_least
from warehouse.metrics.notation import Metrics
from warehouse.report.pages import site
from warehouse.report.pages.contents import Contents, contents, state
from warehouse.store.file import WarehouseFile

# The file that says that a folder is a report, and which files of it are ours.
MANIFEST = "report.json"
# Where files are until all are written.
_PART = ".report.part"
_OURS = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


@dataclass(frozen=True)
class Report:
    """A written report: its first page, and how many files it has."""

    path: Path
    num_files: int
    size: int


@request()
def write(
    file: WarehouseFile,
    folder: Path,
    datasets: Sequence[str],
    *,
    metrics: Metrics = (),
    depth: int = 20,
    with_text: bool = False,
    on_dataset: Callable[[str], None] | None = None,
) -> Report:
    """Write the pages of some datasets, or of all; the arguments are as in `Warehouse.report`."""
    check_at_least(1, depth=depth)
    before = _files_before(folder)
    with file.read() as con:
        there = state(con, datasets)
    found: list[Contents] = []
    refused: list[UsageError] = []
    for row in there.datasets:
        for protocol in there.evaluated[row["dataset"]]:
            if on_dataset is not None:
                on_dataset(f"{row['dataset']}, {protocol}")
            try:
                read = contents(
                    file,
                    row["dataset"],
                    protocol,
                    metrics=metrics,
                    depth=depth,
                    with_text=with_text,
                )
                if read is not None:
                    read.read_all()
            except UsageError as error:  # of several datasets and protocols, some lack the metrics
                refused.append(error)
                continue
            found += [] if read is None else [read]
    if refused and not found:
        raise refused[0]
    now = dt.datetime.now(dt.UTC)
    about = site.About(database=file.path.name, written_at=now, stamp=now.isoformat())
    size = 0
    written: list[str] = []
    part = folder / _PART
    try:
        shutil.rmtree(part, ignore_errors=True)
        for path, make in site.files(about, there, found):
            size += _write(folder, path, make())
            written.append(path)
        manifest = {"program": f"ranking-warehouse {VERSION}", "files": sorted(written)}
        size += _write(folder, MANIFEST, json.dumps(manifest, indent=0) + "\n")
        # the disk has room for all: from here on, files only change their names
        for path in (*written, MANIFEST):
            target = Path(os.path.realpath(folder / path))
            if target.exists():
                shutil.copymode(target, part / path)
            (part / path).replace(target)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    for path in sorted(set(before) - set(written)):  # only the report before had them
        (folder / path).unlink(missing_ok=True)
    return Report(folder / "index.html", len(written) + 1, size)


def _write(folder: Path, path: str, text: str) -> int:
    """Write a file into the part, and make the folder that it will be moved to."""
    content = text.encode("utf-8", "backslashreplace")
    for target in (folder / path, folder / _PART / path):
        target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)
    return len(content)


def _files_before(folder: Path) -> list[str]:
    """Return the files of the report that is there; refuse a folder with anything else in it."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: is a file; name a folder for the report")
    if not folder.is_dir() or all(path.name == _PART for path in folder.iterdir()):
        return []
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return [path for path in files if _OURS.fullmatch(path) and ".." not in path]
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f"{folder}: is not empty and not a report ({MANIFEST} is missing or broken); name a new "
            "folder"
        ) from None
