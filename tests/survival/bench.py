"""A folder to begin with, the process that does operations in copies of it, and what they leave."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
from operations import OLDER, OPERATIONS

from tests.survival.outcome import Outcome, check_sentence
from warehouse.extensions.lake import collect
from warehouse.sql_text import templates
from warehouse.sql_text.quoting import literal
from warehouse.store import database
from warehouse.warehouse import Warehouse

_HERE = Path(__file__).parent
_FILES = ("w.duckdb", "new.duckdb", "replica.duckdb", "team.duckdb", *OLDER)
Contents = dict[str, Any]


class Bench:
    """A folder to begin with, and the process that does operations in copies of it.

    `preloaded` is a library for that process.
    """

    def __init__(self, folder: Path, preloaded: Path | None = None) -> None:
        self.folder, self.base, self.place = folder, folder / "base", folder / "try"
        paths = [str(Path(templates.__file__).parents[2]), str(_HERE.parent), str(_HERE)]
        more = {"PYTHONDONTWRITEBYTECODE": "1"}  # whose failures Python does not mind
        if preloaded is not None:
            more["LD_PRELOAD"] = str(preloaded)
        self.server = subprocess.Popen(
            [sys.executable, str(_HERE / "operation_server.py")],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.con = database.memory()
        self.checks = "\nunion all\n".join(
            f"(\n{templates.render(f'checks/{name}')}\n)"
            for name in templates.names_in("checks")
            if name.startswith("stored_")
        )
        self.place.mkdir()
        done = self.do("begin")
        assert done["error"] is None, done
        self.place.rename(self.base)  # copies are in the same place: paths of files are stored
        self._of_base: Contents = {}
        self._of_base = self.before = self.contents(self.base)

    def close(self) -> None:
        """End the process."""
        self.con.close()
        self.server.stdin.close()
        self.server.wait(timeout=30)

    @contextlib.contextmanager
    def copy(self) -> Iterator[Path]:
        """Copy the folder."""
        shutil.copytree(self.base, self.place)
        try:
            yield self.place
        finally:
            shutil.rmtree(self.place)

    def do(self, name: str, nth: int = 0, mode: int = 0, kill: object = None) -> dict[str, Any]:
        """Do an operation in the copy, and return what the process tells of it."""
        request = {"folder": str(self.place), "name": name, "nth": nth, "mode": mode, "kill": kill}
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        found: dict[str, Any] = json.loads(self.server.stdout.readline())
        return found

    def contents(self, folder: Path, *, checked: bool = True) -> Contents:
        """Return what the files of a folder hold, without times; None for those not there.

        Files that are `checked` have no impossible rows, or that is an error.
        """
        found: Contents = {name: self._file(folder, name, checked) for name in _FILES}
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
        found["lake"] = self._lake(folder)
        return found

    def _file(self, folder: Path, name: str, checked: bool) -> Contents | None:
        path, log = folder / name, folder / f"{name}.wal"
        if not path.exists():
            return None
        first = self.base / name
        is_known = bool(self._of_base) and first.exists() and not log.exists()
        if is_known and filecmp.cmp(path, first, shallow=False):
            found: Contents = self._of_base[name]
            return found
        return self._database(path, checked)

    def _database(self, path: Path, checked: bool) -> Contents:
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
            # a collected file has no predictions; what is newer has other tables
            has_runs = found.get("store.prediction_by_text", (0, 0))[1]
            if checked and has_runs and "store.note" not in found:
                self.con.execute("set search_path = 'memory.main,opened.store,opened.main'")
                problems = self.con.execute(self.checks).fetchall()
                assert not problems, problems
        finally:
            self.con.execute("use memory")
            self.con.execute("detach opened")
        return found

    def _lake(self, folder: Path) -> Contents | None:
        """Return what is collected from the lake, if there is one."""
        if not (folder / "lake").exists():
            return None
        if self._of_base and _names(folder / "lake") == _names(self.base / "lake"):
            found: Contents = self._of_base["lake"]
            return found
        probe = self.folder / "probe.duckdb"
        probe.unlink(missing_ok=True)
        collect(Warehouse(probe), folder / "lake")
        return self._database(probe, checked=False)

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

    def check(self, name: str, done: dict[str, Any], after: Contents, outcome: Outcome) -> None:
        """Check what an operation left that failed or was killed, and do it again."""
        if done["error"] is not None:
            kind, text = done["error"]
            assert kind == "refused", text
            check_sentence(text)
        # what is as before or after needs no checks
        has_steps = OPERATIONS[name].has_steps
        try:
            found = self.contents(self.place, checked=has_steps)
        except duckdb.Error as error:
            if "does not match stored checksum" not in str(error):
                raise
            kind, text = self.do(name)["error"]
            assert (kind, "is damaged or cut short" in text) == ("refused", True), text
            outcome.add("torn", name)
            return
        is_after = found == after
        if done["error"] is None and not done["killed"]:
            assert is_after, f"not as it said: {_differing(found, after)}"
        elif not has_steps:
            # a new file may be without tables, which the next init makes
            made = [self.before | {"new.duckdb": {}}] if name == "init" else []
            assert is_after or found in [self.before, *made], (
                f"neither as before ({_differing(found, self.before)}) "
                f"nor as after ({_differing(found, after)})"
            )
        outcome.add("killed" if done["killed"] else "refused" if done["error"] else "done", name)
        again = self.do(name)
        if again["error"] is not None:  # it had been done, and cannot be done twice
            kind, text = again["error"]
            assert (kind, is_after) == ("refused", True), text
        now = self.contents(self.place, checked=False)
        # what can be done twice may leave more than once, such as a comparison
        assert is_after or now == after, f"the next one does not mend it: {_differing(now, after)}"
        left = [path.name for path in self.place.iterdir() if ".part" in path.name]
        left += [path.name for path in self.place.iterdir() if "queue" in path.name]
        assert not left, left


def _varies(column: str, kind: str) -> bool:
    """Whether a column has times, or is a checksum that takes them in."""
    return "TIMESTAMP" in kind or column in ("checksum", "total")


def _names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def _differing(found: Contents, expected: Contents) -> str:
    """Name what differs."""
    differing = []
    for name in expected:
        one, other = found[name] or {}, expected[name] or {}
        differing += [f"{name} {t}" for t in {**one, **other} if one.get(t) != other.get(t)]
    return ", ".join(differing) or "nothing"
