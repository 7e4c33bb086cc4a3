"""The command that adds an extra, for each way to install; and what works without any extra."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from extended import needs

from warehouse.config import installation
from warehouse.warehouse import Warehouse


class Installed:
    """A stand-in for what an installer wrote down about a copy."""

    def __init__(self, came_from: object) -> None:
        self.text = None if came_from is None else json.dumps(came_from)

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


CHECKOUT = {"url": "file:///home/ann/my%20checkout", "dir_info": {}}


def test_a_checkout_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Installed:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.distribution", absent)
    checkout = Path(installation.__file__).parents[2]
    assert f"-e '{checkout}[plot]'" in installation.adding("plot")


_WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "numpy", "pandas", "pyarrow"):
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Blocked())
from warehouse import errors
from warehouse.extensions.collections import reproduce
from warehouse.warehouse import Warehouse

wh = Warehouse(sys.argv[1])
for test in ("t", "sign", "randomisation", "tukey"):
    for interval in ("t", "bootstrap"):
        for row in wh.compare("dl19", ("bm25", "tasb", "ada2"), "AP(rel=2)", test=test,
                              interval=interval, resamples=200, all_pairs=True):
            assert row.low < row.difference < row.high and 0 <= row.p <= 1, row
assert wh.leaderboard("dl19", metrics="nDCG@10", ci=True, ties=True).columns[1] == "group"
assert not wh.check("dl19", "nDCG@10", run="bm25", against="tasb", alpha=0.05).is_good
repeated = reproduce(wh, "dl19", "tasb", "bm25", metrics="nDCG@10")
assert [row.p < 0.05 for row in repeated] == [True]
assert wh.side_by_side("dl19", "bm25", "tasb", "nDCG@10", queries=1)
for runs, words in ((("bm25", "tasb"), "needs SciPy: "), (("bm25", "tas"), "tasb")):
    try:
        wh.compare("dl19", runs, "AP(rel=2)", test="wilcoxon")
    except errors.UsageError as error:
        assert words in str(error), error
    else:
        raise AssertionError("Wilcoxon's test is SciPy's")
"""


@needs("collections")
@pytest.mark.slow
def test_all_but_wilcoxon_works_without_scipy(demo: Warehouse) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT, str(demo.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


WHEEL = {"url": "file:///tmp/ranking_warehouse-0.1.0-py3-none-any.whl", "archive_info": {}}


GIT = {"url": "https://git.example.org/w.git", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}


EDITABLE = {"url": "file:///home/ann/checkout", "dir_info": {"editable": True}}


@pytest.mark.parametrize(
    ("came_from", "target"),
    [
        (CHECKOUT, "'/home/ann/my checkout[stats]'"),
        (EDITABLE, "-e '/home/ann/checkout[stats]'"),
        (
            WHEEL,
            "'ranking-warehouse[stats] @ file:///tmp/ranking_warehouse-0.1.0-py3-none-any.whl'",
        ),
        (GIT, "'ranking-warehouse[stats] @ git+https://git.example.org/w.git@c0ffee'"),
        (None, "'ranking-warehouse[stats]'"),
    ],
)
def test_the_command_names_the_source_and_the_installer(
    came_from: object, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed(came_from))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    known = {"pip": str(tmp_path / "bin" / "pip")}
    monkeypatch.setattr(installation.shutil, "which", known.get)
    monkeypatch.setattr(installation, "find_spec", lambda name: name)
    assert installation.adding("stats") == f"pip install {target}"
    # pip of another environment is first on the path
    known["pip"] = "/usr/bin/pip"
    assert installation.adding("stats") == f"{sys.executable} -m pip install {target}"
    # made by `uv venv`, without pip
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    known["uv"] = "/usr/bin/uv"
    found = installation.adding("stats")
    assert found == f"uv pip install --python {sys.executable} {target}"
    for mark, command in (
        ("uv-receipt.toml", "uv tool install --force"), ("pipx_metadata.json", "pipx install --force"),
    ):  # fmt: skip
        (tmp_path / mark).touch()
        assert installation.adding("stats") == f"{command} {target}"
