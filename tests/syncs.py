"""Shared parts of the tests of `sync`: a project's folder with qrels and a run."""

from __future__ import annotations

import os
import time
from pathlib import Path

from projects import stored

from warehouse.sync.events import Synced
from warehouse.warehouse import Warehouse

SETTINGS = """\
database = "w.duckdb"
settle = "0.2s"

[evaluate]
metrics = ["RR"]

[datasets.tiny]
qrels = "qrels.txt"

[[runs]]
files = "runs/{system}/{name}.run*"
dataset = "tiny"
"""
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n"
# RR of q1 is 1/2: b before a; of q2 1
RUN = "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 c 1 1 t\n"
BETTER = "q1 Q0 a 1 2 t\nq2 Q0 c 1 1 t\n"
# RR of q2 is 0
BAD = RUN.replace("q2 Q0 c", "q2 Q0 x")
GATE = '\n[[gates]]\ndataset = "tiny"\nmetric = "RR"\nstrict = true\n'
Told = list[tuple[str, str | None]]


class Project:
    """A project's folder: its files are an hour old unless said otherwise."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("warehouse.toml", SETTINGS)
        self.write("qrels.txt", QRELS)
        self.write("runs/bm25/one.run", RUN)

    def write(self, name: str, content: str | bytes, age: float = 3600) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        when = time.time() - age
        os.utime(file, (when, when))
        return file

    def settings(self, old: str, new: str) -> None:
        text = (self.path / "warehouse.toml").read_text()
        assert old in text
        self.write("warehouse.toml", text.replace(old, new))

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse()

    def sync(self) -> Synced:
        return self.warehouse.sync()

    def told(self) -> Told:
        return [(event.status, event.file) for event in self.sync().events]

    def runs(self, columns: str = "name, version, system") -> list[tuple]:
        return stored(self.warehouse, f"select {columns} from store.run order by run_id")


def gated(project: Project, *gates: str) -> None:
    """Add gates of RR, with more keys, to the project's file."""
    text = (project.path / "warehouse.toml").read_text()
    project.write("warehouse.toml", text + "".join(GATE + gate for gate in gates))
