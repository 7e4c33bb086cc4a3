"""The wheel: what it carries, and that it works where no checkout is."""

from __future__ import annotations

import fnmatch
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHECKOUT / "pyproject.toml").exists(), reason="the tests do not run from a checkout"
    ),
]


def call(*command: object, cwd: Path) -> str:
    """Run a command that must succeed and return its stdout."""
    words = [str(word) for word in command]
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WAREHOUSE_DB")}
    done = subprocess.run(
        words, cwd=cwd, env=clean, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout, made of what the Dockerfile copies into its image."""
    folder = tmp_path_factory.mktemp("wheel")
    lines = (CHECKOUT / "docs/examples/Dockerfile").read_text(encoding="utf-8").splitlines()
    for line in lines[: lines.index("")]:
        if line.startswith("COPY "):
            *names, target = line.split()[1:]
            for name in names:
                to = folder / "source" / (target if target != "./" else name)
                to.parent.mkdir(parents=True, exist_ok=True)
                copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
                copy(CHECKOUT / name, to)
    call(
        *[sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"],
        *["--wheel-dir", folder, folder / "source"],
        cwd=folder,
    )
    (found,) = folder.glob("*.whl")
    return found


def test_the_wheel_carries_what_it_should_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    checkout = {
        path.relative_to(CHECKOUT).as_posix()
        for folder in ("warehouse", "sql", "migrations")
        for path in (CHECKOUT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    expected = {name if name.startswith("warehouse/") else f"warehouse/{name}" for name in checkout}
    inside = {name for name in names if not name.split("/")[0].endswith((".dist-info", ".data"))}
    assert inside == expected
    shared = {name.partition("/data/")[2] for name in names if name.split("/")[0].endswith(".data")}
    docs = CHECKOUT / "docs"
    assert shared == {
        path.relative_to(docs).as_posix() for path in (docs / "share").rglob("*") if path.is_file()
    }
    assert "share/man/man1/warehouse.1" in shared
    for pattern in (
        "warehouse/sql/metrics/nDCG.sql.j2",
        "warehouse/migrations/env.py",
        "warehouse/migrations/versions/0001_*.py",
        "warehouse/demo/*.run.gz",
        "warehouse/demo/qrels.txt.gz",
        "warehouse/demo/demo.toml",
        "warehouse/demo/NOTICE",
        "warehouse/metrics/protocols.toml",
        "warehouse/report/pages/templates/board.html",
        "warehouse/report/pages/assets/report.css",
        "warehouse/py.typed",
        "*.dist-info/licenses/LICENSE",
        "*.dist-info/entry_points.txt",
    ):
        assert fnmatch.filter(names, pattern), pattern
    known = (
        ".py",
        ".sql",
        ".sql.j2",
        ".toml",
        ".gz",
        "NOTICE",
        "py.typed",
        ".md",
        ".html",
        ".css",
        ".js",
        "assets/vega.txt",
    )
    assert [name for name in inside if not name.endswith(known)] == []
    assert len(names) == len(set(names))
    assert wheel.stat().st_size < 5_000_000


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the `bin` of a fresh environment into which the wheel was installed."""
    folder = tmp_path_factory.mktemp("fresh")
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    call(
        *[folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet"],
        *["--disable-pip-version-check", wheel],
        cwd=folder,
    )
    return folder / "venv" / "bin"


def test_the_demo_from_the_wheel_in_another_folder(installed: Path, tmp_path: Path) -> None:
    said = call(installed / "warehouse", "demo", cwd=tmp_path)
    assert "9 runs of dataset dl19" in said
    assert "rr_v2aug_splade" in said
    assert [path.name for path in tmp_path.iterdir()] == ["demo.duckdb"]
    lines = said.split("Try next:\n")[1].splitlines()
    proposed = [line.strip() for line in lines if line.startswith("  ")][:3]
    assert len(proposed) == 3
    for line in proposed:
        # not on the PATH: the command was called by its path, and proposes itself by it
        assert shlex.split(line)[0] == str(installed / "warehouse")
        assert call("bash", "-c", line, cwd=tmp_path).strip()


def test_the_library_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = """
import warehouse
from warehouse import Warehouse
assert warehouse.__file__.startswith(__import__("sys").prefix), warehouse.__file__
wh = Warehouse("w.duckdb")
wh.ingest_qrels("tiny", {"q": {"a": 1}})
wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="r")
wh.evaluate(metrics="RR")
print(wh.leaderboard("tiny").fetchall())
"""
    said = call(installed / "python", "-c", code, cwd=tmp_path)
    assert "[(1, 'r', None, 0.5, 1, 1)]" in said


def test_only_the_small_install_is_needed(installed: Path, tmp_path: Path) -> None:
    code = (
        "from importlib.metadata import distributions as d; print(*(x.name.lower() for x in d()))"
    )
    names = set(call(installed / "python", "-c", code, cwd=tmp_path).split())
    assert "duckdb" in names
    assert not names & {
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "scipy",
        "vl_convert_python",
        "pytest",
    }


def test_metadata_and_version(installed: Path, tmp_path: Path) -> None:
    import warehouse

    for program in (("warehouse",), ("python", "-m", "warehouse")):
        printed = call(installed / program[0], *program[1:], "--version", cwd=tmp_path)
        assert printed.split() == ["warehouse", warehouse.__version__]
    code = "from importlib.metadata import version; print(version('ranking-warehouse'))"
    assert call(installed / "python", "-c", code, cwd=tmp_path).strip() == warehouse.__version__


def test_help_is_quick(installed: Path, tmp_path: Path) -> None:
    """Help imports nothing that only the work needs; it waits until it is needed."""
    heavy = ("duckdb", "jinja2", "sqlalchemy", "alembic", "tabulate", "pandas")
    code = (
        "import sys; from warehouse.cli.application import application; application(); "
        f"print(*(m for m in {heavy} if m in sys.modules))"
    )
    assert call(installed / "python", "-c", code, cwd=tmp_path).split() == []


def test_the_class_loads_nothing_that_scoring_does_without() -> None:
    """In a process of its own; what writes, tests and draws is imported where it is used."""
    heavy = ("sqlalchemy", "alembic", "scipy", "numpy", "pandas", "vl_convert", "tabulate")
    code = f"import sys, warehouse.warehouse; print(*(m for m in {heavy} if m in sys.modules))"
    assert call(Path(sys.executable), "-c", code, cwd=Path(__file__).parents[1]).split() == []


def test_scoring_files_loads_no_network_and_no_catalogue(tmp_path: Path) -> None:
    """DuckDB loads email by itself, and typer subprocess."""
    qrels, run = tmp_path / "q.txt", tmp_path / "r.txt"
    qrels.write_text("q 0 a 1\n")
    run.write_text("q Q0 a 1 1.0 r\n")
    heavy = (
        "urllib.request", "http.client", "ssl", "sqlalchemy", "alembic", "tabulate", "wcwidth",
        "asyncio", "scipy", "numpy", "pandas", "pyarrow", "warehouse.warehouse",
    )  # fmt: skip
    code = (
        f"import sys; sys.argv[1:] = ['score', {str(qrels)!r}, {str(run)!r}, 'RR', '-f', 'csv']\n"
        "from warehouse.cli import run\n"
        "try:\n    run()\n"
        f"except SystemExit:\n    print(*(m for m in {heavy} if m in sys.modules))"
    )
    found = call(Path(sys.executable), "-c", code, cwd=Path(__file__).parents[1])
    assert found.split() == ["metric,value", "RR,1.0"]


def test_no_command_waits_for_sqlalchemy_or_pydantic(tmp_path: Path) -> None:
    """Alembic imports SQLAlchemy, for an upgrade alone, and Typer Pydantic, for values to convert."""
    (tmp_path / "q.txt").write_text("q 0 a 1\n")
    (tmp_path / "r.run").write_text("q Q0 a 1 1.0 r\n")
    code = (
        "import sys; from warehouse.cli import run\n"
        "try:\n    run()\n"
        "except SystemExit:\n    print({'sqlalchemy', 'alembic', 'pydantic'} & {*sys.modules})"
    )
    for line in ("ingest qrels q.txt -d d", "ingest run r.run", "evaluate -m RR", "status"):
        said = call(Path(sys.executable), "-c", code, *line.split(), "--db", "w", cwd=tmp_path)
        assert "set()\n" in said, line
