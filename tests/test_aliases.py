"""Names of a project's own for metrics, in warehouse.toml, and the metrics shown by default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from projects import command
from refusals import expect_refusal

from warehouse.errors import DefinitionError
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}}
ONE = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}
FILE = """\
database = "w.duckdb"
[aliases]
first = "P@1"
shallow = "nDCG(dcg=exp-log2)@3"
{more}
"""


def one_run(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", QRELS)
    wh.ingest_run("tiny", ONE, name="one")
    wh.evaluate(metrics="RR")


@pytest.fixture
def tiny(
    tmp_path: Path, prepared: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch
) -> Warehouse:
    """Return a warehouse with values of RR, in the current folder with a project's file."""
    wh = prepared(tmp_path / "w.duckdb", one_run)
    monkeypatch.chdir(tmp_path)
    Path("warehouse.toml").write_text(FILE.format(more=""))
    return wh


@pytest.mark.slow
def test_an_alias_is_a_metric_and_heads_its_column(tiny: Warehouse) -> None:
    """P@1 of one is (0 + 1) / 2."""
    code, out, told = command("leaderboard", "-m", "first,RR", "--names")
    assert (code, out.split()[:6]) == (0, ["#", "run", "first", "↑", "RR", "↑"])
    assert out.splitlines()[2].split() == ["1", "one", "0.5000", "0.7500"]
    assert told.splitlines()[-1] == "first: P@1"
    assert command("leaderboard", "-m", "first", "-f", "csv")[1].startswith("place,run,system,P@1,")
    assert command("queries", "one", "-m", "first")[1].split()[:2] == ["query", "first"]
    assert " first " in command("history", "-m", "first")[1]
    assert tiny.explain("tiny", "one", "q2", "first").value == 1.0
    assert tiny.leaderboard("tiny", metrics="RR", sort="first").metrics.keys() == {"RR", "P@1"}
    # evaluated, it is stored by its own name, and headed by the other where nobody asks
    assert tiny.evaluate(metrics="first").details == [("tiny", "one", "P@1", "missing")]
    assert command("leaderboard")[1].split()[:6] == ["#", "run", "RR", "↑", "first", "↑"]
    with expect_refusal("shalow … shallow"):
        tiny.leaderboard(metrics="shalow")


def test_a_wrong_alias_is_an_error_where_it_is_asked_for(tiny: Warehouse) -> None:
    for name, meant, words in (
        ("AP", "P@1", "warehouse.toml: line 5: aliases.AP … a metric's own name"),
        ("x", "nDGC@1", "line 5: aliases.x … nDCG@1"), ("x", "P.5,10", "line 5 … several"),
    ):  # fmt: skip
        Path("warehouse.toml").write_text(FILE.format(more=f'{name} = "{meant}"'))
        with expect_refusal(words, DefinitionError):
            tiny.leaderboard(metrics=name)
        assert list(tiny.leaderboard(metrics="RR").metrics) == ["RR"]


@pytest.mark.slow
def test_by_default_the_metrics_of_the_project_are_shown(tiny: Warehouse) -> None:
    """Those of the dataset before those of all; in another database, what is stored there."""
    more = '[evaluate]\nmetrics = ["first", "NumRet"]\n'
    Path("warehouse.toml").write_text(FILE.format(more=more))
    board = tiny.leaderboard()
    assert (list(board.metrics), board.labels["P@1"]) == (["P@1", "NumRet"], "first")
    assert tiny.queries("tiny", "one").columns[1:3] == ["P@1", "NumRet"]
    assert (tiny.history().metric, tiny.explain("tiny", "one", "q1").metric) == ("P@1", "P@1")
    more += '[datasets.tiny]\nqrels = "qrels.txt"\nmetrics = ["Success@2"]\n'
    Path("warehouse.toml").write_text(FILE.format(more=more))
    assert list(tiny.leaderboard().metrics) == ["Success@2"]
    Path("warehouse.toml").write_text(FILE.format(more=more).replace("w.duckdb", "other.duckdb"))
    assert list(tiny.leaderboard().metrics) == ["RR"]
