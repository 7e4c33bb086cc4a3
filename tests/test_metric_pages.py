"""The catalogue of metrics as a list and as pages: `warehouse metrics` and `metrics show`."""

from __future__ import annotations

import pytest

from warehouse.analyze import metric_pages as pages
from warehouse.catalogue import catalogue
from warehouse.errors import UsageError
from warehouse.report import formats


def listed(name: str) -> dict[str, str]:
    found = pages.metrics()
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    return next(row for row in rows if row["metric"].partition("@")[0].rstrip("[") == name)


def test_the_list_fits_a_terminal_of_80_columns() -> None:
    text = formats.text(pages.metrics_for_people("table"), "table")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) == len(catalogue()) + 2


def test_names_elsewhere_come_from_every_header() -> None:
    assert listed("AP")["elsewhere"] == (
        "ir_measures AP, MAP; ranx map; sklearn average_precision_score; trec_eval map, map_cut_k"
    )
    assert "roerei ooprecision" in listed("P")["elsewhere"]
    assert "ranx rbp.p" in listed("RBP")["elsewhere"]
    assert "trec_eval set_F[_x]" in listed("SetF")["elsewhere"]
    everything = " ".join(str(row) for row in pages.metrics().fetchall())
    for found in catalogue().values():
        for known in (*found.names, *found.ranx_names, *found.trec_names):
            assert known.name in everything


def test_what_may_be_left_out_stands_in_brackets() -> None:
    assert listed("nDCG")["metric"] == "nDCG[@k]"
    assert listed("P")["metric"] == "P@k"
    assert listed("SetF")["parameters"] == "rel=1, beta=1.0, [x], aggregate=mean"
    assert listed("BPM")["parameters"] == "T=1.0, min_rel=0, max_rel"
    assert listed("AUC")["undefined"] == "null"
    assert listed("NumQ")["undefined"] == "1"


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_metric_has_a_page_with_sql(name: str) -> None:
    found = catalogue()[name]
    page = pages.describe(name)
    told = " ".join(page.split())
    for text in (found.title, found.formula, found.reference, found.summary):
        assert " ".join(text.split()) in told
    for p in found.parameters:
        assert f"{p.name}: " in page
    assert f"SQL of {name}" in page
    assert page.rstrip().endswith(";")


@pytest.mark.parametrize(
    ("name", "settled"),
    [
        ("nDCG@10", "nDCG@10"),
        ("P@5", "P@5"),  # the cutoff that was asked for, not that of the example
        ("P", "P@10"),
        ("IPrec", "IPrec@0.5"),
        ("BPM", "BPM(max_rel=3)@10"),
        ("map_cut_5", "AP@5"),
        ("oocover", "Cover@100"),
        ("AP(rel=2, norm=hits)", "AP(rel=2, norm=hits)"),
    ],
)
def test_a_page_is_of_the_metric_as_written(name: str, settled: str) -> None:
    assert f"SQL of {settled} under protocol default" in pages.describe(name)


def test_a_page_says_what_names_and_bounds_mean() -> None:
    page = pages.describe("P@5")
    assert "roerei       ooprecision (cutoff=100, norm=retrieved)" in page
    assert "@cutoff: integer; required; at least 1" in page
    assert "no_relevant: number; default 0.0; at least 0; at most 1" in page
    assert "norm: one of k, retrieved; default k" in page
    assert "gets null: no part of the mean" in pages.describe("AUC")
    assert "gets 1\n" in pages.describe("Cover", protocol="roerei")


def test_several_pages_and_all_wrong_names_at_once() -> None:
    both = pages.describe("AP", "RR", "map")
    assert both.count("SQL of ") == 2
    with pytest.raises(UsageError) as raised:
        pages.describe("ndgc@10", "AP", "RR(reel=2)", "official", "relstring")
    lines = str(raised.value).splitlines()
    assert lines[0] == "ndgc@10: no such metric; did you mean nDCG?"
    assert lines[1] == "RR(reel=2): RR has no parameter 'reel'; did you mean rel?"
    assert lines[2].startswith("official: a set of metrics")
    assert lines[3].startswith("relstring: no metric")


def test_a_long_name_of_a_peer_stands_apart() -> None:
    assert "  label_ranking nDCG_at_k_by_decile (dcg=binary)" in pages.describe("nDCG").splitlines()
