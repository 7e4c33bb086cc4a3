"""Shared parts of the tests of killed processes: steps, their effects on files, and checks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import next_revision
from kill_server import DATASET, METRICS

from warehouse.sql_text import templates
from warehouse.store import database
from warehouse.warehouse import Warehouse

QUERIES = 40
SETTINGS = f"""\
database = "w.duckdb"
settle = 0

[datasets.{DATASET}]
qrels = "qrels.txt"
metrics = {json.dumps(METRICS.split())}

[[runs]]
files = "runs/{{name}}.run"
dataset = "{DATASET}"
"""
# The imports of the processes, from those of this one for the same work.
NEEDED = {"_duckdb", "alembic", "duckdb", "duckdb_sqlalchemy", "jinja2", "sqlalchemy", "warehouse"}
Rows = list[tuple[Any, ...]]

# The number of rows of everything, by version of each run.
BOARD = """
select name, version, num_predictions,
    (select count(*) from store.prediction as p where p.run_id = run.run_id),
    (select count(*) from store.ranking as r where r.run_id = run.run_id),
    (select count(*) from store.hit as h where h.run_id = run.run_id),
    (select count(*) from store.evaluation as e where e.run_id = run.run_id),
    (select count(*) from store.score join store.evaluation as e using (evaluation_id)
     where e.run_id = run.run_id),
    (select count(*) from store.query_score join store.evaluation as e using (evaluation_id)
     where e.run_id = run.run_id)
from store.run
order by all
"""


@dataclass(frozen=True, order=True)
class Run:
    """A version of a run; every content has its own serial number and number of lines."""

    name: str
    version: int
    serial: int
    evaluated: bool = False

    @property
    def shown(self) -> tuple[Any, ...]:
        """Return its row of BOARD."""
        lines = 5 * QUERIES + self.serial
        # of five documents per query, two are judged, with numbers or letters as ids
        hits = QUERIES * 2 if self.evaluated else 0
        values = (2, 2, 2 * QUERIES) if self.evaluated else (0, 0, 0)
        return (self.name, self.version, lines, lines, QUERIES, hits, *values)


@dataclass(frozen=True)
class State:
    """What the files hold: the warehouse's runs, the replica's, and the state of the others."""

    runs: tuple[Run, ...] = ()
    replica: tuple[Run, ...] = ()
    migrated: bool = False
    created: bool = False

    @property
    def shown(self) -> tuple[Any, ...]:
        boards = ([run.shown for run in sorted(runs)] for runs in (self.runs, self.replica))
        return (*boards, self.migrated, self.created)

    def newest(self, name: str) -> Run | None:
        return max((run for run in self.runs if run.name == name), default=None)

    def pending(self) -> list[Run]:
        """Return the current runs without values."""
        return [r for r in self.runs if r == self.newest(r.name) and not r.evaluated]

    def loaded(self, name: str, serial: int) -> State:
        newest = self.newest(name)
        if newest is not None and newest.serial == serial:
            return self
        run = Run(name, 1 if newest is None else newest.version + 1, serial)
        return replace(self, runs=(*self.runs, run))

    def all_evaluated(self) -> State:
        due = self.pending()
        runs = tuple(replace(run, evaluated=run.evaluated or run in due) for run in self.runs)
        return replace(self, runs=runs)


@dataclass(frozen=True)
class Step:
    """A step, the words for the process that does it, and its effect on the files."""

    kind: str
    words: tuple[str, ...]
    after: Callable[[State], State]


def content(serial: int) -> list[str]:
    """Return a run's lines: both judged documents of each query, and as many others as its number."""
    numbered = serial % 2 == 0
    lines = []
    for query in range(QUERIES):
        docs = [f"{d + 1}" if numbered else f"d{d + 1}" for d in range(5)]
        turned = docs[serial % 5 :] + docs[: serial % 5]
        lines += [f"q{query} Q0 {doc} 0 {-rank} t" for rank, doc in enumerate(turned)]
    more = (f"{1000 + n}" if numbered else f"x{n}" for n in range(serial))
    return lines + [f"q0 Q0 {doc} 0 {-100 - n} t" for n, doc in enumerate(more)]


class Folder:
    """A project's folder, the process that does steps in it, and the expected contents."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.serial = 0
        self.files: dict[str, int] = {}
        (path / "runs").mkdir(parents=True)
        (path / "warehouse.toml").write_text(SETTINGS)
        judged = ("{q} 0 {d}1 1\n", "{q} 0 {d}2 2\n", "{q} 0 {d}9999 0\n")
        (path / "qrels.txt").write_text(
            "".join(
                line.format(q=f"q{query}", d=kind)
                for query in range(QUERIES)
                for kind in ("", "d")
                for line in judged
            )
        )
        self.server = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "kill_server.py")],
            cwd=path,
            env=os.environ | {"PYTHONPATH": str(Path(templates.__file__).parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.con = database.memory()
        self.warehouse = Warehouse(path / "w.duckdb")
        self.warehouse.ingest_qrels(DATASET, path / "qrels.txt")
        self.state = State()
        for name in ("first", "second", "third"):
            step = self.ingest(name)
            self.warehouse.ingest_run(DATASET, path / step.words[1], name=name)
            self.state = step.after(self.state)
        self.warehouse.evaluate(DATASET, metrics=METRICS)
        self.state = self.state.all_evaluated()
        self.warehouse.publish(path / "replica.duckdb")
        self.state = replace(self.state, replica=self.state.runs)
        self._old_files()
        self.checks = "\nunion all\n".join(
            f"(\n{templates.render(f'checks/{name}')}\n)"
            for name in templates.names_in("checks")
            if name.startswith("stored_")
        )
        self.ask(
            [], None, load=sorted(name for name in sys.modules if name.split(".")[0] in NEEDED)
        )

    def _old_files(self) -> None:
        """Keep a file that a newer program is to migrate, its contents and those of a new file."""
        self.old = self.path / "kept-old.duckdb"
        shutil.copyfile(self.warehouse.path, self.old)
        migrated, fresh = self.path / "kept-migrated.duckdb", self.path / "kept-new.duckdb"
        shutil.copyfile(self.old, migrated)
        Warehouse(fresh).init()
        with next_revision.installed(self.path / "migrations"):
            Warehouse(migrated).init()
        self.snapshots = {False: self.snapshot(self.old), True: self.snapshot(migrated)}
        self.fresh = self.snapshot(fresh)
        shutil.copyfile(self.old, self.path / "old.duckdb")

    # ------------------------------------------------------------------ steps

    def _written(self, name: str) -> tuple[str, int]:
        """Write a new file of a run, or replace one; return its path and its number."""
        self.serial += 1
        path = Path("runs") / f"{name}.run"
        part = self.path / "runs" / "part"
        part.write_text("\n".join(content(self.serial)) + "\n")
        part.replace(self.path / path)
        self.files[name] = self.serial
        return str(path), self.serial

    def ingest(self, name: str) -> Step:
        path, serial = self._written(name)
        return Step("ingest", ("ingest", path, name), lambda state: state.loaded(name, serial))

    def replace(self, name: str) -> Step:
        path, serial = self._written(name)
        return Step("replace", ("replace", path, name), lambda state: state.loaded(name, serial))

    def step(self, kind: str) -> Step:
        """Return a step of a kind, with everything that it needs."""
        if kind == "ingest":
            return self.ingest(f"r{self.serial:04}")
        if kind == "replace":
            names = sorted({run.name for run in self.state.runs})
            return self.replace(names[self.serial % len(names)])
        after: dict[str, Callable[[State], State]] = {
            "evaluate": State.all_evaluated,
            "publish": lambda state: replace(state, replica=state.runs),
            "migrate": lambda state: replace(state, migrated=True),
            "create": lambda state: replace(state, created=True),
        }
        if kind == "migrate" and self.state.migrated:
            self._remove("old.duckdb")
            shutil.copyfile(self.old, self.path / "old.duckdb")
            self.state = replace(self.state, migrated=False)
        if kind == "create" and self.state.created:
            self._remove("new.duckdb")
            self.state = replace(self.state, created=False)
        return Step(kind, (kind,), after[kind])

    def _remove(self, name: str) -> None:
        for path in self.path.glob(f"{name}*"):
            path.unlink()

    def ask(
        self,
        steps: list[Step],
        kill: tuple[int, str, int, float] | None,
        load: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Let a process do some steps, killed on the way or not, and return its output."""
        server = self.server
        request = {"steps": [step.words for step in steps], "kill": kill, "load": load}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        assert not answer["failed"], steps
        return answer

    def close(self) -> None:
        self.con.close()
        self.server.stdin.close()
        self.server.wait(timeout=30)

    # ------------------------------------------------------------------ what is there

    @contextmanager
    def opened(self, name: str | Path) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a file without waiting for a lock, and without writing."""
        self.con.execute(f"attach '{self.path / name}' as opened (read_only)")
        self.con.execute("use opened")
        yield self.con
        self.con.execute("use memory")
        self.con.execute("detach opened")

    def snapshot(self, name: str | Path) -> dict[str, Rows]:
        """Return the columns of all tables and views of a file, and a hash of each table's rows."""
        with self.opened(name) as con:
            columns = con.execute(
                "select table_name, column_name, data_type, comment from duckdb_columns() "
                "where database_name = 'opened' order by all"
            ).fetchall()
            tables = con.execute(
                "select table_name from duckdb_tables() where database_name = 'opened'"
            ).fetchall()
            hashes = [
                f"select '{table}', count(*), sum(hash(one)) from store.\"{table}\" as one"
                for (table,) in tables
            ]
            rows = (
                con.execute(" union all ".join(hashes) + " order by all").fetchall()
                if hashes
                else []
            )
        return {"columns": columns, "rows": rows} if columns else {}

    def found(self, kinds: Collection[str]) -> tuple[Any, ...]:
        """Return what the files hold, as `State.shown`; impossible contents are an error.

        The older and the new file are checked if `kinds` has steps that change them.
        """
        with self.opened("w.duckdb") as con:
            board = con.execute(BOARD).fetchall()
            con.execute("set search_path = 'memory.main,opened.store,opened.main'")
            assert con.execute(self.checks).fetchall() == []
        with self.opened("replica.duckdb") as con:
            replica = con.execute(BOARD).fetchall()
            assert con.execute("select count(*) from store.publication").fetchall() == [(1,)]
        migrated, created = self.state.migrated, self.state.created
        if "migrate" in kinds:
            old = self.snapshot("old.duckdb")
            assert old in self.snapshots.values()
            migrated = old == self.snapshots[True]
        if "create" in kinds:
            fresh = self.snapshot("new.duckdb") if (self.path / "new.duckdb").exists() else {}
            assert fresh in ({}, self.fresh)
            created = fresh == self.fresh
        return board, replica, migrated, created

    def sync(self) -> None:
        """Sync: all files are loaded and evaluated, and a second sync finds nothing to do."""
        config = self.path / "warehouse.toml"
        assert self.warehouse.sync(config).exit_code == 0
        for name, serial in self.files.items():
            self.state = self.state.loaded(name, serial)
        self.state = self.state.all_evaluated()
        assert self.found(()) == self.state.shown
        assert self.warehouse.sync(config).events == ()
