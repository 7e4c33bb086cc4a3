"""trec_eval's own test suite: its files in, its output out, of either release."""

from __future__ import annotations

import math

import pytest
from conformance import (
    PROTOCOLS,
    SUITE,
    TEXTS,
    ask,
    check_printed,
    check_queries,
    parsed,
    suite_file,
)
from projects import invoked
from shared_cases import needs_cases

from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse

pytestmark = needs_cases


PARAMETERS = (
    "iprec_at_recall..10,.20,.25,.75,.50 P.5,7,3 recall.20,2000 Rprec_mult.5.0,0.2,0.35 "
    "utility.2,-1,0,0 11pt_avg..25,.5,.75 ndcg.1=3,2=9,4=4.5 ndcg_cut.10,20,23.4 success.2,5,20"
)


def test_all_trec_has_every_label_that_trec_eval_prints():
    """`all_trec` gives the labels of `-m all_trec` in trec_eval's order, of either release."""
    for version, protocol in PROTOCOLS.items():
        theirs = [label for label, _ in parsed(version, "out.test.a") if label != "runid"]
        rules = protocols.get(protocol).defaults()
        ours = [one.trec_name for one in notation.request("all_trec", defaults=rules)]
        assert ours == theirs


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize(
    ("version", "expected", "names", "options", "qrels", "run"),
    [
        (version, *rest)
        for version in PROTOCOLS
        for rest in [
            ("out.test", "official", {}, "qrels.test", "results.test"),
            ("out.test.a", "all_trec", {}, "qrels.test", "results.test"),
            ("out.test.aq", "all_trec", {}, "qrels.test", "results.test"),
            ("out.test.aqc", "all_trec", {"complete": True}, "qrels.test", "results.trunc"),
            (
                "out.test.aqcM", "all_trec", {"complete": True, "depth": 100},
                "qrels.test", "results.trunc",
            ),
            ("out.test.aql", "all_trec", {"level": 2}, "qrels.rel_level", "results.test"),
            ("out.test.meas_params", PARAMETERS, {}, "qrels.test", "results.test"),
        ]
    ]
    + [
        # comment lines are read by trec_eval 10 only
        ("10.0", "out.test", "official", {}, "qrels.test.with-comments", "results.test"),
        ("10.0", "out.comment.test", "official", {}, "qrels.comment.test", "results.comment.test"),
    ],
)  # fmt: skip
def test_upstream(
    version: str, expected: str, names: str, options: dict[str, int], qrels: str, run: str
) -> None:
    """trec_eval's `make quicktest`; -Z is below, -R in test_preferences."""
    golden = parsed(version, expected)
    ours = ask(suite_file(qrels), suite_file(run), PROTOCOLS[version], names.split(), **options)
    labels = {label for label, _ in ours.values}
    assert labels <= {label for label, _ in golden}
    assert labels == {label for label, _ in golden if not label.startswith(TEXTS)}
    mine = {key: text for key, text in golden.items() if key[0] in labels}
    assert len(mine) > 20
    check_printed(ours, mine, f"{version} {expected}")
    per_query = {key: text for key, text in mine.items() if key[1] != "all"}
    check_queries(ours, per_query, f"{version} {expected}")


ZSCORES = {"9.0.8": "zscores_file.9.0.8", "10.0": "zscores_file"}


@pytest.mark.sample(4)
@pytest.mark.core
@pytest.mark.parametrize("version", list(PROTOCOLS))
@pytest.mark.parametrize(
    ("expected", "arguments"),
    [
        ("out.test.aq", "qrels.test results.test all_trec -q"),
        ("out.test.aqZ", "qrels.test results.test all_trec -q -Z {zscores}"),
    ],
)
def test_whole_output(version: str, expected: str, arguments: str) -> None:
    """`warehouse score -f trec` prints trec_eval's lines to the letter; its other calls are those of
    `trec-eval`.
    """
    zscores = suite_file(ZSCORES[version])
    qrels, run, *rest = arguments.format(zscores=zscores).split()
    asked = [str(suite_file(qrels)), str(suite_file(run)), *rest, "-f", "trec"]
    result = invoked("score", *asked, "--protocol", PROTOCOLS[version])
    assert result.exit_code == 0, result.output
    theirs = (SUITE / "upstream_golden" / version / expected).read_text(encoding="utf-8")
    assert result.stdout.splitlines() == theirs.splitlines()


def test_rbp_normalises_where_trec_eval_10_is_undefined() -> None:
    """trec_eval 10's rbp takes the range of the grades from uninitialised variables.

    Its output for graded judgments depends on the compiler, 0.13 or 0.19 on this example. The name
    stands here for what it says it does: 3 and 1 of a highest grade of 3. What NIST published in
    out.test.aql (grades to 4) agrees.
    """
    scores = Warehouse.score({"q": {"a": 3, "b": 1}}, {"q": {"a": 2.0, "b": 1.0}}, "rbp")
    (value,) = scores.means().values()
    assert value is not None
    assert math.isclose(value, 0.1 * (1 + 0.9 / 3), rel_tol=1e-12)
