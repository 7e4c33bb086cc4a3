"""Shared fixtures: a warehouse in a temporary folder, the demo made once, the command."""

from __future__ import annotations

import fcntl
import gc
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import duckdb
import pytest
import quick
from hypothesis import settings
from projects import BEST, QRELS, RUN, SETTINGS, Answer, Folder, invoked
from syncs import BAD, BETTER, Project, gated

import warehouse
from warehouse import cli
from warehouse.config import project, system_memory
from warehouse.metrics import catalogue
from warehouse.store import database, schema
from warehouse.warehouse import Warehouse

PACKAGE = Path(warehouse.__file__).parent
migrate = schema.ensure


def pytest_configure(config: pytest.Config) -> None:
    """Give properties fewer examples in the quick run; `quick.examples` reads the profile."""
    settings.register_profile("quick", max_examples=quick.QUICK)
    if quick.is_quick(config):
        settings.load_profile("quick")
    if quick.is_quick(config) and config.option.basetemp is None and quick.has_memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(quick.MEMORY))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of the run: importing them, and their peers, takes a while."""
    return True if quick.has_no_test(collection_path, config) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what `sample` leaves out of the quick run as slow, and what it leaves out of CI as long."""
    seen: Counter[tuple[Path, str]] = Counter()
    left_out: list[pytest.Item] = []
    for item in items:
        test = (item.path, item.originalname)
        sample = item.get_closest_marker("sample")
        if sample is not None:
            quickly, *rest = sample.args
            if seen[test] % quickly:
                item.add_marker("long" if any(seen[test] % slow for slow in rest) else "slow")
        elif quick.is_core(config) and seen[test] % quick.CORE and not quick.is_chosen(item):
            left_out.append(item)
        seen[test] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


def pytest_collection_finish() -> None:
    """Let no search for garbage look through the modules and the tests again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Name the reasons for which tests were skipped, but for those that are expected."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = [] if reporter is None else reporter.stats.get("skipped", [])
    for reason in quick.unexpected(str(report.longrepr[2]) for report in skipped):
        reporter.write_line(f"skipped unexpectedly: {reason}", red=True)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the metrics that a test registers."""
    monkeypatch.setattr(catalogue, "_functions", {})
    monkeypatch.setattr(project.registered, "folders", [])
    project.registered.count += 1
    yield
    project.registered.count += 1


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what the program notes for its user out of the developer's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the developer's database, settings, terminal width and browser out of the tests."""
    monkeypatch.delenv("WAREHOUSE_DB", raising=False)
    monkeypatch.delenv("WAREHOUSE_CONFIG", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("BROWSER", "true")
    # short programs spend most of their time on compiling
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session", autouse=True)
def _copied_schema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make new warehouse files by copying an empty one, which is made once for all tests.

    Tests of the schema use the fixture `migrated`; separate processes make their files themselves.
    """
    empty = tmp_path_factory.mktemp("empty") / "empty.duckdb"

    def ensure(path: Path, **options: object) -> bool:
        if path.exists() or not path.parent.is_dir():
            return migrate(path, **options)
        if not empty.exists():
            migrate(empty)
        shutil.copyfile(empty, path)
        return True

    with mock.patch.object(schema, "ensure", ensure):
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    """Run DuckDB in one thread where a test does not say how many, as a test of threads does.

    The processes of the tests share the processors: a statement over a few rows takes less time than
    handing it to other threads, which wait for their turn. Separate processes have all threads.
    """

    def start() -> duckdb.DuckDBPyConnection:
        if system_memory.room() is not None:
            return started()
        return duckdb.connect(":memory:", config={"threads": 1})

    started = database.start
    with mock.patch.object(database, "start", start):
        yield


@pytest.fixture
def migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make and upgrade warehouse files as the program does."""
    monkeypatch.setattr(schema, "ensure", migrate)


@pytest.fixture
def wh(tmp_path: Path) -> Warehouse:
    """Return a warehouse whose file does not exist yet."""
    return Warehouse(tmp_path / "warehouse.duckdb")


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection of its own to the database in memory that the program shares.

    Starting one takes longer than most of these tests.
    """
    with database.scratch(database.Resources()) as connection:
        yield connection
        made = connection.execute("select table_name from duckdb_tables() where not temporary")
        for (name,) in made.fetchall():
            connection.execute(f'drop table memory.main."{name}"')


@pytest.fixture
def unasked_port() -> Iterator[int]:
    """Return a port that listens on this machine; a request to it fails the test."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server.getsockname()[1]
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file and returns its path."""

    def write(content: str | bytes, name: str = "file.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Prepared = Callable[[Path, Callable[[Warehouse], object]], Warehouse]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Return a warehouse filled by a function, which runs once for all tests."""
    filled: dict[Callable[[Warehouse], object], Path] = {}

    def copy(path: Path, fill: Callable[[Warehouse], object]) -> Warehouse:
        if fill not in filled:
            filled[fill] = tmp_path_factory.mktemp("prepared") / "warehouse.duckdb"
            fill(Warehouse(filled[fill]))
        shutil.copyfile(filled[fill], path)
        return Warehouse(path)

    return copy


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Return a function that runs the command in this process, exit codes and all."""

    def call(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["warehouse", *arguments])
        capsys.readouterr()
        code = 0
        try:
            cli.run()
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return Answer(code, out, err)

    return call


CALLS = """
import contextlib, io, json, shlex, sys
sys.path.insert(0, sys.argv[1])
from warehouse import cli
answers = []
for line in sys.argv[2:]:
    sys.argv = ["warehouse", *shlex.split(line)]
    code, out, err = 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.run()
        except SystemExit as end:
            code = end.code or 0
    answers.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(answers))
"""


@dataclass(frozen=True)
class Program:
    """The command `warehouse` of the package under test, for separate processes."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(self.folder), os.environ.get("PATH", "")])
        return os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}

    def __call__(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "warehouse"), *arguments],
            cwd=cwd,
            env=self.environment | dict(env or {}),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def shell(
        self, line: str, cwd: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a line of bash in which `warehouse` is this program; any failure in a pipe counts."""
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=cwd,
            env=self.environment | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def calls(self, *lines: str, cwd: Path, bound: str = "") -> dict[str, Answer]:
        """Run commands one after the other in one new process, whose stdout leads into a pipe.

        `bound` is put before it, such as a limit of the shell's. The process has one thread until it
        opens a database itself, so that its queries fork: in the tests' own they start an interpreter.
        """
        script = shlex.join([sys.executable, "-c", CALLS, str(PACKAGE.parent), *lines])
        done = self.shell(f"{bound} {script}", cwd)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stdout
        answers = [Answer(*answer) for answer in json.loads(done.stdout)]
        return dict(zip(lines, answers, strict=True))

    def other(self, name: str, line: str) -> None:
        """Put another command, a line of bash, beside this one."""
        script = self.folder / name
        script.write_text(f"#!/bin/bash\n{line}\n")
        script.chmod(0o755)

    def python(self, code: str, *arguments: str, cwd: Path) -> subprocess.Popen[str]:
        """Start Python on some code that can import the package; the caller ends it."""
        file = cwd / f"code-{len(list(cwd.glob('code-*.py')))}.py"
        file.write_text(code)
        return subprocess.Popen(
            [sys.executable, str(file), *arguments],
            cwd=cwd,
            env=self.environment | {"PYTHONPATH": str(PACKAGE.parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # a test run in the background inherits an ignored SIGINT
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return the command `warehouse`: a script that is first on the PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "warehouse"
    script.write_text(
        f"#!{sys.executable}\n"
        "import sys\n"
        f"sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
        "from warehouse.cli import main\n"
        "main()\n"
    )
    script.chmod(0o755)
    return Program(folder)


Once = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return a function that fills a folder once for all processes of a run, and copies it.

    The first that asks for a name makes it, others wait.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def copy(name: str, fill: Callable[[Path], object]) -> Path:
        folder, made = base / f"once-{name}", base / f"once-{name}.made"
        with (base / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                fill(folder)
                made.touch()
        return shutil.copytree(folder, tmp_path_factory.mktemp(name), dirs_exist_ok=True)

    return copy


@pytest.fixture(scope="session")
def demo_file(once: Once) -> Path:
    """Return the database of `warehouse demo`, made once; tests that write use a copy."""

    def fill(folder: Path) -> None:
        result = invoked("demo", "--db", str(folder / "demo.duckdb"))
        assert result.exit_code == 0, result.output

    return once("demo", fill) / "demo.duckdb"


@pytest.fixture
def demo(demo_file: Path, tmp_path: Path) -> Warehouse:
    """Return a copy of the demo's database."""
    return Warehouse(shutil.copy(demo_file, tmp_path / "demo.duckdb"))


@pytest.fixture(scope="session")
def demo_data() -> Path:
    """Return the folder with the demo's qrels and runs."""
    return PACKAGE / "demo"


@pytest.fixture(scope="session")
def mlflow_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty tracking store of MLflow in SQLite, made once; tests take a copy.

    MLflow makes its tables by some fifty migrations, which takes seconds.
    """
    pytest.importorskip("mlflow", reason="mlflow-skinny is not installed")
    from mlflow.tracking import MlflowClient

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    MlflowClient(tracking_uri=f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def counts() -> Callable[[Path], dict[str, int]]:
    """Return a function that counts the rows of every table of a database file."""

    def count(path: Path) -> dict[str, int]:
        with duckdb.connect(str(path), read_only=True) as con:
            tables = con.execute("select table_name from duckdb_tables() order by 1").fetchall()
            return {
                name: con.execute(f'select count(*) from store."{name}"').fetchall()[0][0]
                for (name,) in tables
            }

    return count


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return a project with one metric and one protocol; its folder is the current one."""
    made = Folder(tmp_path / "project")
    made.write("warehouse.toml", SETTINGS)
    made.metric(BEST)
    monkeypatch.chdir(made.path)
    return made


def _two_runs(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", RUN, name="one")
    wh.ingest_run("tiny", {"q1": {"c": 1.0}, "q2": {"d": 1.0}}, name="two")


@pytest.fixture
def loaded(here: Folder, prepared: Prepared) -> Warehouse:
    """Return the project's warehouse with two runs."""
    prepared(Warehouse().path, _two_runs)
    return Warehouse()


@pytest.fixture
def synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return the folder, also the current one, of a project with qrels and a run."""
    made = Project(tmp_path / "project")
    monkeypatch.chdir(made.path)
    return made


@pytest.fixture
def night(synced: Project) -> Project:
    """Return a project with gates, after the night in which a run was crippled.

    RR is 3/4 of `one`, which is there already, 1/4 of `bad`, and 1 of `good`.
    """
    synced.settings('metrics = ["RR"]', 'metrics = ["RR", "P@1"]')
    gated(synced, "max_drop = 0.1\n")
    synced.settings('metric = "RR"', 'metric = ["RR", "P@1"]')
    synced.sync()
    synced.write("runs/bm25/bad.run", BAD, age=1800)
    synced.write("runs/bm25/good.run", BETTER, age=900)
    return synced
