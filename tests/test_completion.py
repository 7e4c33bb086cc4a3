"""Names that the shell completes."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warehouse.cli import completion
from warehouse.metrics import protocols
from warehouse.warehouse import Warehouse

# What the shells run: their own functions, which call the command.
BASH = """
eval "$(warehouse --show-completion bash)"
complete_words() {
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _warehouse_completion warehouse
    printf '%s|' "${COMPREPLY[@]}"; echo
}
complete_words warehouse leaderboard -d d
complete_words warehouse queries rr_v2
complete_words warehouse history --system R
"""
ZSH = """
words=(warehouse queries rr_v2)
_TYPER_COMPLETE_ARGS="${words[*]}" _WAREHOUSE_COMPLETE=complete_zsh warehouse
"""


def context(**params: Any) -> Any:
    return SimpleNamespace(params=params)


def test_names_are_those_of_the_database(demo_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = context(db=demo_file)
    assert completion.datasets(here, "d") == ["dl19"]
    assert completion.datasets(here, "x") == []
    in_dataset = context(db=demo_file, dataset="dl19")
    assert completion.runs(in_dataset, "bm25") == ["bm25", "bm25_rm3"]
    assert completion.systems(in_dataset, "R") == ["RankGPT 3.5", "RankVicuna"]
    metrics = completion.metrics(in_dataset, "")
    assert metrics[:2] == ["AP(rel=2)", "P(rel=2)@10"]  # those with values come first
    assert {"AP", "nDCG", "RBP"} <= {*metrics}
    assert completion.protocols(here, "trec_eval_9") == ["trec_eval_9", "trec_eval_9_prefs"]
    assert {*completion.protocols(here, "")} == {*protocols.catalogue()}
    # bash takes what it is given as a part of the line
    monkeypatch.setenv("_WAREHOUSE_COMPLETE", "complete_bash")
    assert completion.systems(in_dataset, "RankG") == [r"RankGPT\ 3.5"]
    assert completion.metrics(in_dataset, "AP")[0] == r"AP\(rel=2\)"


def test_slices_are_completed(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"a": 1, "b": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one")
    wh.evaluate("tiny", metrics="RR", slices="amount = num_relevant")
    assert completion.slices(context(db=wh.path), "a") == ["amount"]


def test_where_anything_is_wrong_nothing_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "no.duckdb").write_text("this is no database")
    for name in ("no.duckdb", "absent.duckdb"):
        here = context(db=tmp_path / name)
        for complete in (completion.datasets, completion.runs, completion.slices):
            assert complete(here, "") == []
    assert not (tmp_path / "absent.duckdb").exists()
    assert completion.metrics(context(db=tmp_path / "absent.duckdb"), "nDC") == ["nDCG", "nDCGrel"]


@pytest.mark.slow
def test_bash_completes_names(demo_file: Path, program, tmp_path: Path) -> None:
    done = program.shell(BASH, tmp_path, {"WAREHOUSE_DB": str(demo_file)})
    assert done.stdout.splitlines() == [
        "dl19|", "rr_v2aug_bm25|rr_v2aug_splade|", r"RankGPT\ 3.5|RankVicuna|",
    ], done.stderr  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_names(demo_file: Path, program, tmp_path: Path) -> None:
    (tmp_path / "try.zsh").write_text(ZSH)
    done = program.shell("zsh -f try.zsh", tmp_path, {"WAREHOUSE_DB": str(demo_file)})
    assert "rr_v2aug_splade" in done.stdout, done.stderr
