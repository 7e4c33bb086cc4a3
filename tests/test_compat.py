"""`warehouse.compat` against the programs that it stands in for."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conformance import PROTOCOLS, SUITE, suite_file
from peers import peer, random_collection
from projects import command
from shared_cases import needs_cases
from test_golden_suite import ZSCORES

from tests.refusals import expect_refusal
from warehouse.compat import pytrec_eval as ours
from warehouse.errors import InputError

# Read when numba is imported: compiling ranx takes a minute.
os.environ["NUMBA_DISABLE_JIT"] = "1"
pytestmark = pytest.mark.slow


def test_pytrec_eval_gives_the_same_keys_and_values() -> None:
    """On random data with ties and gaps, and empty rankings; every measure, each also with numbers."""
    theirs = peer("pytrec_eval")
    assert set(ours.supported_measures) == set(theirs.supported_measures)
    known = {name: set(theirs.supported_nicknames[name]) for name in ours.supported_nicknames}
    assert known == ours.supported_nicknames
    for seed, (level, judged_only) in enumerate([(1, False), (2, True)]):
        qrels, run = random_collection(seed, queries=25)
        run |= {query: {} for query in random.Random(seed).sample(sorted(qrels), 3)}
        run["all"] = qrels["all"] = {"a": 1, "b": 2}  # a query may be called so
        qrels["judges nothing"] = {}
        names = {
            "all_trec",
            "P_7",
            "ndcg_cut.3,20",
            "set_F.2.0",
            "11pt_avg.0.25,0.5",
            "relstring.5",
        }
        how = {"relevance_level": level, "judged_docs_only_flag": judged_only}
        expected = theirs.RelevanceEvaluator(qrels, names, **how).evaluate(run)
        found = ours.RelevanceEvaluator(qrels, names, **how).evaluate(run)
        assert list(found) == list(expected)
        for query, values in expected.items():
            assert found[query].keys() == values.keys()
            for key, value in values.items():
                # 0 divided by 0, where a ranking is empty
                wanted = 0.0 if math.isnan(value) else value
                assert math.isclose(found[query][key], wanted, abs_tol=1e-9), (query, key)
                assert type(found[query][key]) is type(value)


def test_pytrec_eval_refuses_what_is_no_run() -> None:
    with pytest.raises(TypeError, match=r"'q', 'a': the relevance 0\.5 is no whole number"):
        ours.RelevanceEvaluator({"q": {"a": 0.5}}, {"map"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="unsupported measure ndgc; did you mean ndcg"):
        ours.RelevanceEvaluator({"q": {"a": 1}}, {"ndgc"})
    evaluator = ours.RelevanceEvaluator({"q": {"a": 1}}, {"map"})
    with pytest.raises(TypeError, match="1: is a query id, a string"):
        evaluator.evaluate({1: {"a": 1.0}})  # type: ignore[dict-item]
    with expect_refusal("not a finite number", InputError):
        evaluator.evaluate({"q": {"a": math.nan}})
    assert evaluator.evaluate({"q": {"a": 1.0}}) == {"q": {"map": 1.0}}
    with expect_refusal("line 2 … a … twice … q", InputError):
        ours.parse_run(["q Q0 a 1 2.5 x\n", "q Q0 a 2 2.5 x\n"])
    with expect_refusal("line 1 … 3 fields, not 4", InputError):
        ours.parse_qrel(["q 0 a\n"])


METRICS = [
    "hits@3", "hits", "hit_rate@2", "precision@5", "precision", "recall@4", "recall", "f1@5", "f1",
    "r-precision", "mrr", "mrr@2", "map", "map@3", "dcg@4", "dcg", "ndcg", "ndcg@5", "ndcg@3-l2",
    "dcg_burges@4", "ndcg_burges@4", "ndcg_burges", "rbp.80", "map@100-l2", "bpref",
]  # fmt: skip


def test_ranx_gives_the_same_values_and_tests() -> None:
    """Of each query and over all, beside means, deviations and p; scores without ties."""
    ranx = peer("ranx")
    from warehouse.compat import ranx as here

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
    from warehouse.compat import ranx as here

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


COMMANDS = [
    (version, *line.split("\t"))
    for version in PROTOCOLS
    for line in (SUITE / "commands.tsv").read_text(encoding="utf-8").splitlines()[1:]
    if version == "10.0" or "comment" not in line  # which 9 does not know
] if SUITE.exists() else []  # fmt: skip


@needs_cases
@pytest.mark.sample(3, 3)
@pytest.mark.parametrize(("version", "expected", "options", "qrels", "run"), COMMANDS)
def test_trec_eval_prints_the_same_bytes(
    version: str, expected: str, options: str, qrels: str, run: str
) -> None:
    """The commands of trec_eval's `make quicktest`, of either release."""
    words = options.replace("zscores_file", str(suite_file(ZSCORES[version]))).split()
    files = (str(suite_file(qrels)), str(suite_file(run)))
    release = version.partition(".")[0]
    code, printed, problem = command("trec-eval", "--release", release, *words, *files)
    assert code == 0, problem
    assert printed == (SUITE / "upstream_golden" / version / expected).read_text(encoding="utf-8")


def test_trec_eval_gives_its_exit_codes(tmp_path: Path) -> None:
    """Those that trec_eval 9.0.8 gave for the same calls; its words are not repeated."""
    files = {
        "qrels": "q 0 a 1\nq 0 b 0\n",
        "run": "q Q0 a 1 2.0 tag\nq Q0 b 2 1.0 tag\n",
        "twice": "q Q0 a 1 2.0 tag\nq Q0 a 2 1.0 tag\n",
        "short": "q Q0 a\n",
        "others": "p Q0 a 1 2.0 tag\n",
        "empty": "",
        "blank": "\n\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for code, words in (
        (0, "-m map -n qrels run"), (0, "-v"), (0, "-h"), (0, "--measure=map qrels run -q"),
        (1, "qrels"), (1, "-x qrels run"), (1, "-m nothing qrels run"), (1, "-m P. qrels run"),
        (1, "-l qrels run"), (2, "-m P.5,5 qrels run"), (2, "-m ndcg.x qrels run"),
        (2, "qrels missing"), (2, "missing run"), (2, "qrels short"), (2, "short run"),
        (2, "-R other qrels run"), (2, "-T other qrels run"), (4, "qrels twice"),
        (7, "qrels others"), (255, "-Z missing qrels run"), (7, "-c qrels others"),
        (2, "qrels empty"), (2, "-c qrels empty"), (7, "-c qrels blank"),
    ):  # fmt: skip
        given = [
            str(tmp_path / word) if word in {*files, "missing"} else word for word in words.split()
        ]
        found, printed, problem = command("trec-eval", *given)
        assert found == code, (words, problem)
        assert bool(printed) == (code == 0 and words not in ("-m map -n qrels run", "-v"))
    # trec_eval 10.0 with -c scores judged queries that the results do not have
    zeros = "num_q                 \tall\t1\nmap                   \tall\t0.0000\n"
    for code, run, expected in ((0, "others", zeros), (0, "blank", zeros), (2, "empty", "")):
        given = ("--release", "10", "-c", "-m", "num_q", "-m", "map", "qrels", run)
        found, printed, _ = command(
            "trec-eval", *(str(tmp_path / word) if word in files else word for word in given)
        )
        assert (found, printed) == (code, expected)


def test_ir_measures_gets_the_same_values_from_our_provider() -> None:
    """For every measure that it has, on data without equal scores; and metrics that it has not."""
    theirs = peer("ir_measures")
    from test_peers_ir_measures import CWL_EVAL, IN_PYTHON, JUDGED_ONLY, PYTREC_EVAL

    from warehouse.compat.ir_measures import WarehouseProvider, install, measure, provider

    qrels, run = random_collection(8, queries=25, ties=False, grades=(0, 1, 2, 3))
    names = [
        name
        for name in (*PYTREC_EVAL, *IN_PYTHON, *JUDGED_ONLY)
        if "judged_only" not in name or "@" in name
    ]
    # cwl_eval passes over what is not retrieved, and counts undefined queries in its own way
    measures = [theirs.parse_measure(name) for name in (*names, *CWL_EVAL[:1])]
    silent = qrels.keys() - run.keys()
    found = provider.calc(measures, qrels, run)
    # one by one: asked together, theirs has another NumRet in some orders of a set
    expected = [theirs.calc([one], qrels, run) for one in measures]
    aggregated = {key: value for each in expected for key, value in each.aggregated.items()}
    assert found.aggregated.keys() == aggregated.keys()
    for one, value in aggregated.items():
        if one.NAME != "NumRel":
            assert math.isclose(found.aggregated[one], value, abs_tol=1e-9), one
    values = {(row.query_id, row.measure): row.value for each in expected for row in each.per_query}
    assert {(row.query_id, row.measure) for row in found.per_query} == values.keys()
    for row in found.per_query:
        if row.query_id not in silent:
            value = values[row.query_id, row.measure]
            assert math.isclose(row.value, value, abs_tol=1e-9), row

    lrap, pooled = measure("LRAP"), measure("PSP@5")
    assert not theirs.DefaultPipeline.supports(lrap)
    install()
    try:
        both = theirs.calc_aggregate(
            [lrap, theirs.P @ 5], {"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}
        )
        assert both == {lrap: 0.5, theirs.P @ 5: 0.2}
        with expect_refusal("PSP@5 … training set"):
            provider.calc_aggregate([pooled, lrap], qrels, run)
        with expect_refusal("PSP@5 … pooled"):  # where other providers take part
            pooled.aggregator()
    finally:
        theirs.DefaultPipeline.providers.remove(provider)
    trained = WarehouseProvider(training={"t": {"a": 1}, "u": {"a": 1, "b": 1}})
    (value,) = trained.calc_aggregate(
        [measure("PSP@1")], {"q": {"a": 1}}, {"q": {"a": 2.0}}
    ).values()
    assert value == 1.0
    with expect_refusal("nDGC@5 … nDCG@5"):
        measure("nDGC@5")
