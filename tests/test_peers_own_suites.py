"""The peers' own test suites, with the import changed to `warehouse.compat`."""

from __future__ import annotations

import math
import random
from pathlib import Path
from types import ModuleType

import pytest
from conformance import SUITE
from peers import peer, random_collection
from shared_cases import needs_cases

from tests.refusals import expect_refusal
from warehouse.compat import pytrec_eval as ours
from warehouse.errors import InputError

pytestmark = pytest.mark.slow

SUITES = Path(__file__).parent / "peer_suites"


def load(path: Path, changes: dict[str, str]) -> ModuleType:
    """Run a suite's file after some changes of its text, each of which must be in it."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{path}: has no {old!r}"
        text = text.replace(old, new)
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


# --------------------------------------------------------------------------- pytrec_eval

_suite = load(
    SUITES / "pytrec_eval" / "pytrec_eval_tests.py",
    {"import pytrec_eval\n": "from warehouse.compat import pytrec_eval\n"},
)
TestPytrecEval = _suite.PyTrecEvalUnitTest


@needs_cases
@pytest.mark.parametrize("case", _suite.TRADITIONAL_TREC_EVAL_TEST_CASES, ids=lambda case: case[2])
def test_pytrec_eval_on_the_files_of_trec_eval(
    case: tuple[str, str, str, dict[str, int]], tmp_path: Path
) -> None:
    run, qrels, expected, options = case
    for name, folder in ((run, "data"), (qrels, "data"), (expected, "upstream_golden/9.0.8")):
        (tmp_path / name).symlink_to(SUITE / folder / name)
    _suite.TREC_EVAL_TEST_DIR = str(tmp_path)
    testcase = _suite.PyTrecEvalIntegrationTest()
    _suite.generate_traditional_test(run, qrels, expected, **options)(testcase)


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
