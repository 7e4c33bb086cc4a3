"""Runs of PyTerrier's `pt.Experiment`, kept in a warehouse and read back from it.

>>> import pandas as pd, tempfile
>>> topics = pd.DataFrame({"qid": ["1"], "query": ["chemical reactions"]})
>>> kept = kept_runs(tempfile.mkdtemp() + "/runs.duckdb", "vaswani", topics)
>>> list(kept)
['save_dir', 'save_mode', 'save_format']

`pt.Experiment([bm25, dph], topics, qrels, ["map"], names=["bm25", "dph"], **kept)` then loads each run.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from warehouse.errors import ConflictError, UsageError, WarehouseError
from warehouse.warehouse import Warehouse

# The tag of a run that says for which topics it was computed.
TAG = "topics"
_COLUMNS = ("qid", "docno", "score")
# PyTerrier's name for a file of a format that is given as two functions.
_SUFFIX = ".custom"
_CURRENT = """
    select runs.run, run.content_hash
    from runs
    join store.run using (run_id)
    where runs.dataset = $dataset and runs.tags[$tag] = $topics
"""
_LISTS = """
    select query_id as qid, doc_id as docno, score, rank - 1 as rank
    from prediction_versions
    where dataset = $dataset and run = $run and is_current
    order by query_id, rank
"""


class Kept(Mapping[str, Any]):
    """The three arguments of `pt.Experiment` that keep runs: `save_dir`, `save_mode`, `save_format`.

    The folder lasts as long as this object. It has one small file for each run that the warehouse
    holds for these topics; PyTerrier reads the run where there is a file, and else computes it.
    """

    def __init__(self, wh: Warehouse, dataset: str, topics: str, tags: Mapping[str, str]) -> None:
        self._wh = wh
        self._dataset = dataset
        self._topics = topics
        self._tags = {**tags, TAG: topics}
        self._folder = tempfile.TemporaryDirectory(prefix="warehouse-")
        self._arguments: dict[str, Any] = {
            "save_dir": self._folder.name,
            "save_mode": "reuse",
            "save_format": (self._read, self._write),
        }

    def offer(self) -> None:
        """Let PyTerrier read the runs that the warehouse holds for these topics."""
        for run, content in self._current().items():
            # no experiment has a system of another name: it would be no file
            if os.sep not in run:
                (Path(self._folder.name) / f"{run}{_SUFFIX}").write_text(content, encoding="utf-8")

    def __getitem__(self, key: str) -> Any:
        return self._arguments[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arguments)

    def __len__(self) -> int:
        return len(self._arguments)

    def _current(self) -> dict[str, str]:
        """Return the hash of the content of each run that is current and was kept for the topics."""
        asked = {"dataset": self._dataset, "tag": TAG, "topics": self._topics}
        with self._wh.file.read() as con:
            return dict(con.execute(_CURRENT, asked).fetchall())

    def _read(self, file: IO[bytes]) -> Any:
        """Return the frame of a run: qid, docno, score and rank, from 0 as in PyTerrier."""
        run, content = _run_of(file), file.read().decode()
        if self._current().get(run) != content:
            raise ConflictError(
                f"{run}: another run has taken its place in the warehouse since this experiment began: "
                "call kept_runs again"
            )
        with self._wh.file.read() as con:
            return con.execute(_LISTS, {"dataset": self._dataset, "run": run}).df()

    def _write(self, frame: Any, file: IO[bytes]) -> None:
        """Load the results of a system as a run, in the place of one for other topics."""
        run = _run_of(file)
        try:
            if missing := [name for name in _COLUMNS if name not in frame.columns]:
                raise UsageError(
                    f"{run}: is no ranking: its results lack {', '.join(missing)} "
                    f"(they have: {', '.join(map(str, frame.columns))})"
                )
            self._wh.ingest_run(
                self._dataset, frame[list(_COLUMNS)], name=run, system=run, tags=self._tags,
                replace=True,
            )  # fmt: skip
            file.write(self._current()[run].encode())
        except WarehouseError:
            # an empty file would be read the next time
            Path(file.name).unlink()
            raise


def kept_runs(
    db: str | os.PathLike[str] | Warehouse,
    dataset: str,
    topics: Any,
    *,
    tags: Mapping[str, str] | None = None,
    reuse: bool = True,
) -> Kept:
    """Return arguments for `pt.Experiment` that keep its runs in a warehouse: `**kept_runs(…)`.

    `topics` is the frame that the experiment gets. A run is named after its system (`names=`), and has
    the tag `topics` with a hash of this frame, whatever the order of its rows and columns. The next
    experiment with these topics reads the run instead of computing it, with the same scores; with
    other topics, it computes the run again, which becomes a new version. With `reuse` false every run
    is computed. What has changed in a system is not seen: give it another name. Raises UsageError.
    """
    wh = db if isinstance(db, Warehouse) else Warehouse(db)
    wh.init()
    kept = Kept(wh, dataset, digest(topics), tags or {})
    if reuse:
        kept.offer()
    return kept


def digest(topics: Any) -> str:
    """Return a hash of a frame of topics, whatever the order of its rows and columns.

    >>> import pandas as pd
    >>> one = pd.DataFrame({"qid": ["1", "2"], "query": ["a", "b"]})
    >>> digest(one) == digest(one[["query", "qid"]][::-1]), digest(one) == digest(one[:1])
    (True, False)
    """
    if "qid" not in getattr(topics, "columns", ()):
        raise UsageError(
            "topics: is a data frame of pandas with a column qid, as the experiment gets"
        )
    rows = sorted(
        json.dumps(row, sort_keys=True, default=_plain) for row in topics.to_dict("records")
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Return an array or a number of NumPy as Python's own; of anything else, what it looks like."""
    return value.tolist() if hasattr(value, "tolist") else repr(value)


def _run_of(file: IO[bytes]) -> str:
    return Path(file.name).name.removesuffix(_SUFFIX)
