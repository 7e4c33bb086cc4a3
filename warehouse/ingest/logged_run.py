"""A run written from a training loop: a file that `sync` loads, without the database and its lock."""

from __future__ import annotations

import datetime as dt
import gzip
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from warehouse import readers
from warehouse.errors import UsageError
from warehouse.ingest import steps
from warehouse.store import database

_SAFE = re.compile(r"[^\w.-]+")
# A dataset is the name of a folder.
_NO_FOLDER = re.compile(r"\.{1,2}|.*[/\\\0].*", re.DOTALL)


def log_run(
    scores: object,
    *,
    dataset: str,
    system: str | None = None,
    step: int | None = None,
    name: str | None = None,
    tags: Mapping[str, object] | None = None,
    run_at: dt.datetime | None = None,
    spool: str | os.PathLike[str] = "spool",
) -> Path:
    """Write a run into a spool folder, from which `warehouse sync` loads it; return its file.

    `scores` is as for `Warehouse.ingest_run`, as `{query: {document: score}}`. The run's name is
    `name`, by default the system and the step, as in "ours-1200"; the step is a tag, too. The file is
    complete as soon as it is there, and never changes: its name has a hash of the content. Next to it,
    and before it, its side-car is written. No database is opened, so that any number of processes may
    log. Raises InputError for scores that could not be loaded, and UsageError.

    In warehouse.toml, this loads them: `[[runs]]`, `files = "spool/{dataset}/*.run.gz"`,
    `sidecar = true`.

    >>> import tempfile
    >>> path = log_run({"q1": {"d1": 0.5}}, dataset="dl19", system="ours", step=1200,
    ...                spool=tempfile.mkdtemp())
    >>> path.parent.name, path.name.startswith("ours-1200-")
    ('dl19', True)
    """
    steps.check_name("dataset", dataset)
    if _NO_FOLDER.fullmatch(dataset):
        raise UsageError(f"dataset {dataset!r}: is no name of a folder in the spool; give another")
    if name is None and system is None:
        raise UsageError("the run has no name: give system= (and step=), or name=")
    parts = [str(part) for part in (system, step) if part is not None]
    name = steps.check_name("run", "-".join(parts) if name is None else name)
    moment = dt.datetime.now(dt.UTC) if run_at is None else run_at
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    about: dict[str, object] = {"name": name, "time": moment.isoformat()}
    about |= {} if system is None else {"system": system}
    given_tags = {str(key): str(value) for key, value in (tags or {}).items()}
    about["tags"] = given_tags if step is None else {"step": str(step), **given_tags}
    content = json.dumps(_lists(scores)).encode()
    digest = hashlib.sha256(content + json.dumps([name, dataset]).encode()).hexdigest()[:16]
    folder = Path(spool) / dataset
    path = folder / f"{_SAFE.sub('_', name)[:80]}-{digest}.run.gz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _write(path.with_suffix(".json"), json.dumps(about).encode())
        _write(path, gzip.compress(content, mtime=0))
    return path


def _lists(scores: object) -> dict[str, dict[str, float]]:
    """Return the ranked lists of a source that can be loaded as a run; of ranks, the lower is better."""
    lists: dict[str, dict[str, float]] = {}
    with database.memory() as con:
        staged = readers.stage(con, scores, "run", hashed=False)
        sign = -1 if staged.ranked_by == "rank" else 1
        for (query,) in con.execute("select query_id from staged_ranking").fetchall():
            lists[query] = {}
        for query, document, score in con.execute("from staged").fetchall():
            lists[query][document] = sign * score
    return lists


def _write(path: Path, content: bytes) -> None:
    """Write a file that others see whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        part.chmod(0o644)
        part.replace(path)
    except BaseException:
        part.unlink()
        raise
