"""z-scores: values by the means and standard deviations of a reference, as trec_eval's -Z gives them.

Its own output for its own reference is held against ours in test_golden.py.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from projects import invoked

from warehouse.errors import InputError
from warehouse.warehouse import Scores, Warehouse

# AP: q1 a z b, relevant a b: (1 + 2/3) / 2 = 5/6; q2 z c, relevant c: 1/2; q3 is not in the run: 0
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}, "q3": {"d": 1}}
RUN = {"q1": {"a": 3.0, "z": 2.0, "b": 1.0}, "q2": {"z": 2.0, "c": 1.0}}
MISSING = -1_000_000.0


def score(tmp_path: Path, lines: str, metrics: str, **options: object) -> Scores:
    file = tmp_path / "reference"
    file.write_text(lines)
    return Warehouse.score(QRELS, RUN, metrics, zscores=file, **options)


def values(scores: Scores) -> dict[str, float]:
    return {query: value for query, _, value in scores.relation.fetchall()}


def test_by_hand(tmp_path: Path) -> None:
    """q1 (5/6 - 1/3) / 1/4 = 2; q2 (1/2 - 3/4) / 1/8 = -2; q3 (0 - 1) / 2 = -1/2; mean -1/6."""
    lines = f"q1 map {1 / 3!r} 0.25\nq2\tmap 0.75 0.125\n\nq3 map 1 2\nq1 P_5 9 9\n"
    found = values(score(tmp_path, lines, "AP"))
    assert found == pytest.approx({"q1": 2.0, "q2": -2.0, "q3": -0.5, "all": -1 / 6}, rel=1e-12)


def test_without_a_reference_and_without_a_deviation(tmp_path: Path) -> None:
    """q1 has no line; q2 stands at its mean, which nothing deviates from; q3 does not."""
    found = values(score(tmp_path, "q2 map 0.5 0\nq3 map 0.5 0\n", "AP"))
    assert found == {"q1": MISSING, "q2": 0.0, "q3": MISSING, "all": 2 * MISSING / 3}


def test_counts_are_added_up_and_num_q_is_left_alone(tmp_path: Path) -> None:
    """num_ret 3, 2, 0 by mean 1 and deviation 2: 1, 1/2, -1/2, together 1."""
    lines = "".join(f"{q} num_ret 1 2\n" for q in QRELS)
    assert score(tmp_path, lines, "num_ret num_q").means() == {"NumRet": 1.0, "NumQ": 3.0}


def test_of_a_geometric_mean_the_logarithm_is_turned(tmp_path: Path) -> None:
    """ln of 5/6, 1/2 and 0.00001 (for 0) by mean 0 and deviation 2: the root of the geometric mean."""
    lines = "".join(f"{q} gm_map 0 2\n" for q in QRELS)
    (found,) = score(tmp_path, lines, "gm_map").means().values()
    assert found is not None
    assert math.isclose(found, math.sqrt((5 / 6 * 1 / 2 * 1e-5) ** (1 / 3)), rel_tol=1e-12)


def test_a_silent_query_adds_nothing_in_trec_eval_9_and_its_score_in_10(tmp_path: Path) -> None:
    """With -c, 9 divides the sum over the queries of the run by all; 10 evaluates an empty ranking."""
    lines = f"q1 map {1 / 3!r} 0.25\nq2 map 0.75 0.125\nq3 map 1 0.5\n"
    nine = score(tmp_path, lines, "map", protocol="trec_eval_9", complete=True)
    assert values(nine) == pytest.approx({"q1": 2.0, "q2": -2.0, "all": 0.0}, abs=1e-12)
    ten = score(tmp_path, lines, "map", protocol="trec_eval_10", complete=True)
    assert values(ten)["q3"] == -2.0
    assert values(ten)["all"] == pytest.approx(-2 / 3, rel=1e-12)


def test_what_is_undefined_stays_so(tmp_path: Path) -> None:
    """AUC has no pair in q3: null, and no part of the mean; its name in the file is our own."""
    found = values(score(tmp_path, "q1 AUC 0 1\nq2 AUC 1 1\nq3 AUC 1 1\n", "AUC"))
    assert found == {"q1": 0.5, "q2": -1.0, "q3": None, "all": -0.25}


def test_a_name_of_the_reference_is_the_one_that_trec_eval_prints(tmp_path: Path) -> None:
    lines = "".join(f"{q} {name} 0 1\n" for q in QRELS for name in ("ndcg_cut_5", "P_5"))
    found = score(tmp_path, lines, "nDCG@5 P.5 P(rel=2)@5")
    assert list(found.means()) == ["nDCG@5", "P@5", "P(rel=2)@5"]
    assert found.means()["P(rel=2)@5"] == MISSING
    assert found.means()["P@5"] == pytest.approx((0.4 + 0.2 + 0) / 3)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("q1 map 0.5\n", "line 1: 3 columns where there are 4"),
        ("q1 map 1 1\n\nq2 map 1 1 1\n", "line 3: 5 columns where there are 4"),
        ("q1 map x 1\n", "line 1: mean is a number, not x"),
        ("q1 map 1 inf\n", "line 1: stddev is a number, not inf"),
        ("q1 map 1 -1\n", "line 1: stddev is at least 0, not -1"),
        ("q1 map 1 1\nq1 map 2 1\n", "line 2: map of query q1 is there already: line 1"),
        ("\n\n", "no line of 'query measure mean stddev'"),
    ],
)
def test_bad_lines(tmp_path: Path, lines: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        score(tmp_path, lines, "AP")
    assert str(tmp_path / "reference") in str(raised.value)
    assert problem in str(raised.value)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("q1 0 a 1\n")
    Path("run").write_text("q1 Q0 z 1 2 t\nq1 Q0 a 2 1 t\n")
    Path("reference").write_text("q1 map 0.25 0.125\nq1 num_ret 1 2\n")
    asked = ["score", "qrels", "run", "map", "num_ret", "relstring", "num_q", "-Z", "reference"]
    result = invoked(*asked, "-q", "-f", "trec")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        f"Z{'map':<22}\tq1\t2.0000",
        f"Z{'num_ret':<22}\tq1\t0.5000",
        f"{'relstring':<22}\tq1\t'-1'",
        f"Z{'map':<22}\tall\t2.0000",
        f"Z{'num_ret':<22}\tall\t0.5000",
        f"Z{'num_q':<22}\tall\t1.0000",
    ]
    asked.remove("relstring")
    table = invoked(*asked)
    assert "0.5000" in table.stdout
