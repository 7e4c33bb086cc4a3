"""The core without extensions: its tests are green in a copy that has none, or lacks one of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from extended import FOLDER, needs_extensions

CHECKOUT = Path(__file__).resolve().parents[1]
NAMES = sorted(path.name for path in FOLDER.glob("*/") if (path / "__init__.py").exists())
PARTS = ("warehouse", "sql", "migrations", "tests", "docs")
# Tests of what an extension adds to: formats, commands, metrics, engines, values, pages, a server.
TELLING = [
    f"tests/test_{name}.py"
    for name in (
        "budget", "effects", "engines", "evaluate", "foreign_schema", "fuse", "imported_scores",
        "layers", "notation", "readers_files", "readers_registry", "readers_trec", "report", "schema",
        "scorer", "sync", "templates",
    )
]  # fmt: skip

pytestmark = [
    needs_extensions,
    pytest.mark.skipif(
        not (CHECKOUT / "pyproject.toml").exists(), reason="the tests do not run from a checkout"
    ),
]


def copy_without(names: list[str], folder: Path) -> None:
    """Copy the checkout without the code and tests of extensions, and without what they share."""
    ignored = shutil.ignore_patterns("__pycache__", "_build", ".venv")
    for part in PARTS:
        shutil.copytree(CHECKOUT / part, folder / part, ignore=ignored)
    for path in CHECKOUT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder)
    for parts in ("warehouse/extensions", "tests/extensions"):
        for name in names:
            shutil.rmtree(folder / parts / name, ignore_errors=True)
        if names == NAMES:
            shutil.rmtree(folder / parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [NAMES, *(pytest.param([name], marks=pytest.mark.long, id=name) for name in NAMES)]
)
def test_the_rest_works_without(names: list[str], tmp_path: Path) -> None:
    copy_without(names, tmp_path)
    telling = [name for name in TELLING if (tmp_path / name).exists()]
    words = ["-q", "-n", "2", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "temp")]
    if names != NAMES:
        telling.append("tests/extensions")
    script = (
        "import sys; sys.path.insert(0, ''); import pytest, warehouse; "
        f"assert warehouse.__file__.startswith({str(tmp_path)!r}); sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words, *telling],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
