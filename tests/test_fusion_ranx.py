"""Merged lists against those that ranx makes of the same runs, score by score."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from fusions import Lists, loaded, merged, recipe
from golden_peers import make_fusion as peer

GOLDEN = json.loads(
    (Path(__file__).parent / "golden_peers" / "fusion.json").read_text(encoding="utf-8")
)
PARAMS = {
    "gmnz": "gmnz(gamma=0.5)",
    "probfuse": f"probfuse(segments={peer.SEGMENTS})",
    "slidefuse": f"slidefuse(w={peer.WINDOW})",
}


def written(method: str) -> str:
    return PARAMS.get(method, method)


def weights(method: str) -> tuple[float, ...] | None:
    if method == "w_condorcet":
        return peer.VOTES
    return peer.WEIGHTS if method in peer.WEIGHTED else None


def same(ours: Lists, theirs: Lists) -> None:
    assert {q: set(docs) for q, docs in ours.items()} == {
        q: set(docs) for q, docs in theirs.items()
    }
    for query, docs in theirs.items():
        assert ours[query] == pytest.approx(docs, rel=1e-9, abs=1e-9), query


@pytest.fixture(scope="module")
def few() -> Iterator[duckdb.DuckDBPyConnection]:
    with loaded(GOLDEN["few"], GOLDEN["qrels"]).file.read() as con:
        yield con


@pytest.mark.sample(8, 4)
@pytest.mark.parametrize(("method", "norm"), peer.works())
def test_fused_as_ranx(few: duckdb.DuckDBPyConnection, method: str, norm: str | None) -> None:
    """Every method with every normalisation, each run having documents of its own."""
    found = recipe(few, peer.FEW, written(method), norm or "none", weights(method))
    same(merged(few, found), GOLDEN["fused"][f"{method} {norm}"])


@pytest.mark.parametrize("method", ["condorcet", "w_condorcet"])
def test_condorcet_as_ranx(method: str) -> None:
    """Where all runs rank the same documents and most runs decide each pair without a cycle."""
    with loaded(GOLDEN["same"]).file.read() as con:
        ours = merged(con, recipe(con, peer.SAME, method, None, weights(method)))
    decided = 0
    for query, docs in ours.items():
        if len(set(docs.values())) == len(docs):
            decided += 1
            assert docs == GOLDEN["condorcet"][method][query]
    assert decided >= 2
