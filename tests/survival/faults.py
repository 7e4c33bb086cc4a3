"""Faults of the disk at every write of every operation: the file is as before or as after.

Each operation is done once whole, which counts its writes, and then again and again on a copy of the
same folder, with one fault at one of its writes. It is then done again without one, which must lead to
where it would have led at once. Times are not compared.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fault_server import OPERATIONS, fill, run

from tests.survival.outcome import Outcome, check_sentence
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import literal
from warehouse.store import database
from warehouse.warehouse import Warehouse

MODES = {1: "killed at it", 2: "killed within it", 3: "disk full from there on", 4: "it fails"}
_HERE = Path(__file__).parent
Contents = dict[str, Any]


def compiler() -> str | None:
    """Return the C compiler, without which there are no faults."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class Bench:
    """A folder to begin with, and the process that does operations in copies of it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.base = folder, folder / "base"
        self.base.mkdir()
        fill(Warehouse(self.base / "w.duckdb"))
        for seed, name in enumerate("abc", start=8):
            lines = (
                f"{query} Q0 {doc} 0 {score} t\n"
                for query, docs in run(seed).items()
                for doc, score in docs.items()
            )
            (self.base / f"{name}.run").write_text("".join(lines))
        library = folder / "faults.so"
        command = [str(compiler()), "-shared", "-fPIC", "-O1", "-o", str(library)]
        subprocess.run([*command, str(_HERE / "faults.c"), "-ldl"], check=True)
        paths = [str(Path(templates.__file__).parents[2]), str(_HERE.parent)]
        self.server = subprocess.Popen(
            [sys.executable, str(_HERE / "fault_server.py")],
            env=os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": os.pathsep.join(paths)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.con = database.memory()
        self.checks = "\nunion all\n".join(
            f"(\n{templates.render(f'checks/{name}')}\n)"
            for name in templates.names_in("checks")
            if name.startswith("stored_")
        )

    def close(self) -> None:
        self.con.close()
        self.server.stdin.close()
        self.server.wait(timeout=30)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        place = self.folder / "try"
        shutil.copytree(self.base, place)
        try:
            yield place
        finally:
            shutil.rmtree(place)

    def do(self, folder: Path, name: str, nth: int = 0, mode: int = 0) -> dict[str, Any]:
        request = {"folder": str(folder), "name": name, "nth": nth, "mode": mode}
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        found: dict[str, Any] = json.loads(self.server.stdout.readline())
        return found

    def contents(self, folder: Path) -> Contents:
        """Return what the files of a folder hold, without times; None for those not there."""
        found: Contents = {}
        for name in ("w.duckdb", "new.duckdb", "replica.duckdb"):
            there = (folder / name).exists()
            found[name] = self._database(folder / name) if there else None
        manifest = folder / "replica" / "manifest.json"
        found["replica"] = None
        if manifest.exists():
            relations = json.loads(manifest.read_text())["relations"]
            found["replica"] = self._hashes(
                [
                    (f"'{manifest.parent / about['file']}'", column["name"], column["type"])
                    for about in relations.values()
                    for column in about["columns"]
                ]
            )
        return found

    def _database(self, path: Path) -> Contents:
        self.con.execute(f"attach '{path}' as opened (read_only)")
        try:
            columns = self.con.execute(
                "select schema_name || '.' || table_name, column_name, data_type "
                "from duckdb_columns() where database_name = 'opened' and not internal "
                "and (schema_name, table_name) in (select (schema_name, table_name) "
                "from duckdb_tables() where database_name = 'opened') order by table_name, column_index"
            ).fetchall()
            self.con.execute("use opened")
            found = self._hashes(columns)
            if "store.run" in found and "store.note" not in found:  # else a newer program's
                self.con.execute("set search_path = 'memory.main,opened.store,opened.main'")
                problems = self.con.execute(self.checks).fetchall()
                assert not problems, problems
        finally:
            self.con.execute("use memory")
            self.con.execute("detach opened")
        return found

    def _hashes(self, columns: list[tuple[str, str, str]]) -> Contents:
        """Return the columns of each relation, its number of rows and a hash of what is no time."""
        by_table: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in columns:
            by_table.setdefault(table, []).append((column, kind))
        hashes = []
        for table, members in by_table.items():
            named = [f'"{column}"' for column, kind in members if not _varies(column, kind)]
            each = f"hash({', '.join(named)})" if named else "0"
            hashes.append(f"select {literal(table)}, count(*), sum({each}) from {table}")
        rows = self.con.execute(" union all ".join(hashes)).fetchall() if hashes else []
        return {table: (by_table[table], number, total) for table, number, total in rows}


def _varies(column: str, kind: str) -> bool:
    """Whether a column has times, or is about them."""
    return "TIMESTAMP" in kind or column == "checksum"


def survive(count: int, seed: int) -> Outcome:
    """Let so many faults happen, chosen by chance if there are more, and check what is left."""
    outcome = Outcome("faults of the disk")
    if compiler() is None:
        outcome.notes.append("no C compiler is there, so no library can be preloaded")
        return outcome
    with tempfile.TemporaryDirectory(prefix="survival-") as folder:
        bench = Bench(Path(folder))
        try:
            _survive(bench, outcome, count, random.Random(seed))
        finally:
            bench.close()
    return outcome


def _survive(bench: Bench, outcome: Outcome, count: int, dice: random.Random) -> None:
    before, after, cases = bench.contents(bench.base), {}, []
    for name in OPERATIONS:
        with bench.copy() as folder:
            done = bench.do(folder, name)
            assert done["error"] is None, (name, done)
            after[name] = bench.contents(folder)
        outcome.sizes[name] = done["writes"]
        cases += [(name, nth + 1, mode) for nth in range(done["writes"]) for mode in MODES]
    chosen = cases if count >= len(cases) else dice.sample(cases, count)
    outcome.notes.append(
        f"{len(OPERATIONS)} operations with {sum(outcome.sizes.values()):,} writes, "
        f"{len(cases):,} possible faults"
    )
    for name, nth, mode in sorted(chosen):
        with bench.copy() as folder, outcome.case(f"{name}, write {nth}, {MODES[mode]}"):
            done = bench.do(folder, name, nth, mode)
            found = bench.contents(folder)
            allowed = [before, after[name]]
            if name == "init":  # a file without tables, which the next init fills
                allowed.append(before | {"new.duckdb": {}})
            if done["error"] is not None:
                kind, text = done["error"]
                assert kind == "refused", text
                check_sentence(text)
            elif not done["killed"]:
                allowed = [after[name]]
            assert found in allowed, "neither as before nor as after"
            outcome.add("killed" if done["killed"] else "refused" if done["error"] else "done")
            again = bench.do(folder, name)
            if again["error"] is not None:  # it had been done, and cannot be done twice
                kind, text = again["error"]
                assert (kind, found == after[name]) == ("refused", True), text
            now = bench.contents(folder)
            assert now == after[name] or found == after[name], "the next one does not mend it"
            leftovers = [p.name for p in folder.iterdir() if ".part" in p.name or "queue" in p.name]
            assert not leftovers, leftovers
