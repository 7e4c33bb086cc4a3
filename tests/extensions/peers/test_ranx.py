"""The interface of ranx against ranx."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from peers import peer, random_collection

from tests.refusals import expect_refusal
from warehouse.errors import InputError

# Read when numba is imported: compiling ranx takes a minute.
os.environ["NUMBA_DISABLE_JIT"] = "1"
pytestmark = pytest.mark.slow

METRICS = [
    "hits@3", "hits", "hit_rate@2", "precision@5", "precision", "recall@4", "recall", "f1@5", "f1",
    "r-precision", "mrr", "mrr@2", "map", "map@3", "dcg@4", "dcg", "ndcg", "ndcg@5", "ndcg@3-l2",
    "dcg_burges@4", "ndcg_burges@4", "ndcg_burges", "rbp.80", "map@100-l2", "bpref",
]  # fmt: skip


def test_ranx_gives_the_same_values_and_tests() -> None:
    """Of each query and over all, beside means, deviations and p; scores without ties."""
    ranx = peer("ranx")
    from warehouse.extensions.peers import ranx as here

    qrels, one = random_collection(5, ties=False, gaps=False, grades=(0, 1, 2, 3))
    _, two = random_collection(5, ties=False, gaps=False, grades=(0, 1, 2, 3), longest=12)
    two = {query: two[query] for query in qrels}
    for judged in qrels.values():
        # without the first, bpref is NaN in ranx; without the second, that of others is 0
        judged |= {"judged as bad": 0, "judged as good": 3}
    runs = {"one": one, "two": two}
    theirs = [ranx.Run(run, name=name) for name, run in runs.items()]
    mine = [here.Run(run, name=name) for name, run in runs.items()]
    judged_there, judged_here = ranx.Qrels(qrels), here.Qrels(qrels)
    for there, ours_ in zip(theirs, mine, strict=True):
        expected = ranx.evaluate(judged_there, there, METRICS, return_std=True)
        found = here.evaluate(judged_here, ours_, METRICS, return_std=True)
        for name in METRICS:
            for key in ("mean", "std"):
                assert math.isclose(found[name][key], expected[name][key], abs_tol=1e-9), name
            assert ours_.scores[name] == pytest.approx(there.scores[name], abs=1e-9)
    names = ["map@10", "ndcg@5"]
    report, known = (
        here.compare(judged_here, mine, names),
        ranx.compare(judged_there, theirs, names),
    )
    assert report.metrics == names
    for name in names:
        p = known.comparisons[{"one", "two"}][name]["p_value"]
        assert math.isclose(report.p_value(name, "one", "two"), p, rel_tol=1e-6)
        assert report.win_tie_loss(name, "one", "two") == known.win_tie_loss["one", "two"][name]
        for run in report.model_names:
            assert report.format_score(report.results[run][name]) == known.format_score(
                known.results[run][name]
            )
            assert report.get_superscript_for_table(run, name) == known.get_superscript_for_table(
                run, name
            )
    for how in (
        {"norm": "min-max", "method": "sum"},
        {"norm": None, "method": "rrf", "params": {"k": 10}},
        {"norm": "zmuv", "method": "wsum", "params": {"weights": (0.3, 0.7)}},
        {"norm": "rank", "method": "rbc", "params": {"phi": 0.6}},
    ):
        fused, merged = here.fuse(mine, **how), ranx.fuse(theirs, **how)
        for query in qrels:
            assert fused[query] == pytest.approx(dict(merged.run[query]), abs=1e-9), how
    # trained on some queries, and merged on others
    train, rest = dict(list(qrels.items())[::2]), list(qrels)[1::2]

    def make(side: ModuleType, queries: Iterable[str]) -> list[Any]:
        return [side.Run({q: run[q] for q in queries}, name=n) for n, run in runs.items()]

    for method in ("bayesfuse", "segfuse"):
        lists = []
        for side in (here, ranx):
            best = side.optimize_fusion(side.Qrels(train), make(side, train), method=method)
            lists.append(side.fuse(make(side, rest), method=method, params=best).run)
        for query in rest:
            assert dict(lists[0][query]) == pytest.approx(dict(lists[1][query]), abs=1e-9), method
    # equal scores may stand in another order in ranx: what each chooses is the best by its own lists
    for method in ("wsum", "rrf"):
        sides = (here, ranx)
        best = [
            side.optimize_fusion(side.Qrels(train), make(side, train), method=method, metric="map")
            for side in sides
        ]
        assert best[0].keys() == best[1].keys()
        for number, side in enumerate(sides):
            own, other = (
                side.evaluate(
                    side.Qrels(train),
                    side.fuse(make(side, train), method=method, params=params),
                    "map",
                )
                for params in (best[number], best[1 - number])
            )
            assert own >= other - 1e-9, method
    best, tried = here.optimize_fusion(
        judged_here, mine, method="rrf", metric="map", return_optimization_report=True
    )
    assert len(tried.configs) == len(tried.results) == 10
    assert f"rrf(k={best['k']})" == tried.configs[0]
    assert str(tried).splitlines()[2].split() == [tried.configs[0], f"{max(tried.results):.3f}"]


def test_ranx_refuses_what_does_not_fit(tmp_path: Path) -> None:
    from warehouse.extensions.peers import ranx as here

    qrels, run = (
        here.Qrels({"q": {"a": 1}, "r": {"a": 1}}),
        here.Run({"q": {"a": 1}, "s": {"a": 2}}),
    )
    with expect_refusal("r … s … make_comparable=True"):
        here.evaluate(qrels, run, "map")
    assert here.evaluate(qrels, run, "map", make_comparable=True) == 0.5
    assert run.run == {"q": {"a": 1.0}, "r": {}}
    with expect_refusal("ndgc@5 … nDCG@5"):
        here.evaluate(qrels, run, "ndgc@5")
    with expect_refusal("0.5 … whole number", InputError):
        here.Qrels({"q": {"a": 0.5}})
    with expect_refusal("LZ4"):
        here.Run.from_file("run.lz4")
    bad = tmp_path / "bad.trec"
    bad.write_text("q Q0 a 1 2.0 x\nq Q0 b\n", encoding="utf-8")
    with expect_refusal("bad.trec … line 2", InputError):
        here.Run.from_file(str(bad))
    with expect_refusal("bayesfuse … trained … optimize_fusion"):
        here.fuse([run, here.Run(run.run, name="other")], method="bayesfuse")
    with expect_refusal("sum … nothing to choose"):
        here.optimize_fusion(qrels, [run, run], method="sum")
    with expect_refusal("same … two runs"):
        here.compare(qrels, [here.Run(run.run, "same"), here.Run(run.run, "same")], "map")
