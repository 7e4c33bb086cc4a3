"""Tests of the whole house, which a core without extensions does not have, and cases of extensions."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import warehouse

FOLDER = Path(warehouse.__file__).parent / "extensions"
needs_extensions = pytest.mark.skipif(not FOLDER.is_dir(), reason="a core without extensions")


def extension(name: str) -> ModuleType:
    """Return an extension; without it, the test is skipped."""
    return pytest.importorskip(
        f"warehouse.extensions.{name}", reason=f"without the extension {name}"
    )


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that needs one extension."""
    return pytest.mark.skipif(not (FOLDER / name).is_dir(), reason=f"without the extension {name}")


def case_files() -> dict[str, Path]:
    """Return the cases worked by hand, by their metrics: ours, then the extensions'."""
    here = Path(__file__).parent
    paths = [*here.glob("cases/metrics/*.toml"), *here.glob("extensions/*/cases/*.toml")]
    return {path.stem: path for path in paths}


def oracles() -> list[ModuleType]:
    """Return the modules of the extensions' tests with twins of metrics."""
    found = []
    for path in sorted(Path(__file__).parent.glob("extensions/*/oracles*.py")):
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        found.append(module_from_spec(spec))
        spec.loader.exec_module(found[-1])
    return found


def assess(wh: Any, dataset: str, rows: list[dict[str, Any]], run: str, **judge: str) -> None:
    """Load the nuggets, assignments and citations of a run's answers, if an extension can."""
    if (FOLDER / "answers").is_dir():
        answers = extension("answers")
        answers.ingest_nuggets(wh, dataset, rows)
        answers.ingest_assignments(wh, dataset, rows, name=run, **judge)
        answers.ingest_citations(wh, dataset, rows, name=run, **judge)
