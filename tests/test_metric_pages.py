"""The catalogue of metrics as a list and as pages: `warehouse metrics` and `metrics show`."""

from __future__ import annotations

import re

import pytest
from extended import assess
from refusals import tells

from warehouse.analyze import metric_catalogue as pages
from warehouse.analyze import protocol_catalogue as tables
from warehouse.config import project
from warehouse.errors import UsageError
from warehouse.evaluate.compose import compose
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import parse, parse_one
from warehouse.metrics.template import Template
from warehouse.report import formats
from warehouse.warehouse import Warehouse


def listed(name: str) -> dict[str, str]:
    found = pages.metrics()
    rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
    return next(row for row in rows if row["metric"].partition("@")[0].rstrip("[") == name)


def test_names_elsewhere_come_from_every_header() -> None:
    elsewhere = str(listed("AP")["elsewhere"])
    assert elsewhere.startswith(
        "ir_measures AP, MAP; ml_metrics apk, mapk; notes average_precision"
    )
    assert elsewhere.endswith("sklearn average_precision_score; trec_eval map, map_cut_k")
    assert "roerei ooprecision" in listed("P")["elsewhere"]
    assert "ranx rbp.p" in listed("RBP")["elsewhere"]
    assert "trec_eval set_F[_x]" in listed("SetF")["elsewhere"]
    everything = " ".join(str(row) for row in pages.metrics().fetchall())
    for found in catalogue().values():
        for known in (*found.names, *found.ranx_names, *found.trec_names):
            assert known.name in everything


@pytest.mark.slow
def test_what_may_be_left_out_stands_in_brackets() -> None:
    assert listed("nDCG")["metric"] == "nDCG[@k]"
    assert listed("P")["metric"] == "P@k"
    assert listed("SetF")["parameters"] == "rel=1, beta=1.0, squared=True, [x], aggregate=mean"
    assert listed("BPM")["parameters"] == "T=1.0, min_rel=0, max_rel"
    assert listed("AUC")["undefined"] == "null"
    assert listed("NumQ")["undefined"] == "1"


@pytest.mark.sample(4, 2)
@pytest.mark.parametrize("name", list(catalogue()))
def test_every_metric_has_a_page_with_sql(name: str) -> None:
    found = catalogue()[name]
    page = pages.describe(name)
    told = " ".join(page.split())
    for text in (found.title, found.formula, found.reference, found.summary):
        assert " ".join(text.split()) in told
    for p in found.parameters:
        assert f"{p.name}: " in page
    head, _, _ = page.partition(f"SQL of {name}")
    assert head != page
    assert max(map(len, head.splitlines())) <= 80
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
    told = " ".join(page.split())
    assert "roerei ooprecision (cutoff=100, norm=retrieved), 100Precision" in told
    assert "label_ranking p_at_k (norm=retrieved), p_at_k_by_decile (norm=retrieved)" in told
    assert "@cutoff: integer; required; at least 1" in page
    assert "no_relevant: number or skip; optional" in page
    assert "norm: one of k, retrieved; default k" in page
    assert "counts as null: left out of the mean" in pages.describe("AUC")
    assert "counts as 1\n" in pages.describe("Cover", protocol="roerei")


# One query as usual, and those that metrics may have no value for.
QRELS = {
    "usual": {"a": 1, "b": 0, "c": 2},
    "nothing relevant": {"a": 0},
    "silent": {"a": 1, "b": 0},
    "silent, nothing relevant": {"b": 0},
    "nothing but relevant": {"a": 1, "c": 1},
}
RUN = {
    "usual": {"b": 3.0, "a": 2.0, "x": 1.0},
    "nothing relevant": {"a": 2.0, "b": 1.0},
    "nothing but relevant": {"a": 1.0},
}
TRAINING = {"usual": {"b": 1}, "another": {"a": 1, "x": 1}}
GENRES = {doc: {"genre": ["war", doc]} for doc in "abcx"}


# The answer to one query is assessed.
ANSWER = [
    {"query_id": "usual", "text": "a fact", "importance": "vital", "part": "x"}
    | {"assignment": "support", "sentence": 1, "doc_id": "a", "support": "support"}
]


def catalogue_of_answers() -> list[str]:
    """Return the metrics of what judges say of answers, which only stored runs have."""
    return [
        name for name, one in catalogue().items() if {*one.reads} & {"assignments", "citations"}
    ]


def text_of(found: Template) -> str:
    """Return a metric with what it needs."""
    example = {"attribute": "genre", "number": "0.5", "integer": "3", "grade": "3"}
    given = [f"{p.name}={example[p.type]}" for p in found.parameters if p.required]
    return f"{found.name}({', '.join(given)})"


@pytest.fixture(scope="module")
def without_a_value(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float | None]]:
    """Return what the queries that a metric has no value for count as, by the metric.

    Those are the ones that count as something else under a protocol that says so.
    """
    config = tmp_path_factory.mktemp("project") / "warehouse.toml"
    said = [f"{name} = -7" for name in catalogue()]
    head = '[protocols.told]\nextends = "default"\nsummary = "-7 in place of no value."\n'
    config.write_text("\n".join([head, "[protocols.told.undefined]", *said]), encoding="utf-8")
    answers = catalogue_of_answers()
    names = [text_of(found) for name, found in catalogue().items() if name not in answers]
    wh = Warehouse(config.with_name("warehouse.duckdb"))
    wh.ingest_qrels("stored", QRELS)
    wh.ingest_run("stored", RUN, name="run")
    assess(wh, "stored", ANSWER, "run")

    def values(protocol: str) -> dict[tuple[str, str], float | None]:
        scores = Warehouse.score(
            QRELS, RUN, names, protocol=protocol, training=TRAINING, attributes=[GENRES]
        )
        rows = scores.relation.fetchall()
        wh.evaluate("stored", metrics=list(answers), protocol=protocol)
        rows += wh.query(
            "select query_id, metric, value from query_scores where protocol = $1", {"1": protocol}
        ).fetchall()
        return {(parse_one(metric).metric.name, query): value for query, metric, value in rows}

    with project.using(config):
        usual, told = values("default"), values("told")
    found: dict[str, dict[str, float | None]] = {name: {} for name in catalogue()}
    for (name, query), value in told.items():
        if value == -7 and query in QRELS:
            found[name][query] = usual[name, query]
    return found


@pytest.mark.slow
@pytest.mark.sample(4, 4)
@pytest.mark.parametrize("name", list(catalogue()))
def test_a_page_says_what_a_query_without_a_value_counts_as(
    name: str, without_a_value: dict[str, dict[str, float | None]]
) -> None:
    said = re.search(r"a query without a value counts as (null|[\d.]+)", pages.describe(name))
    assert said is not None
    counts = None if said[1] == "null" else float(said[1])
    assert without_a_value[name] == dict.fromkeys(without_a_value[name], counts)


def test_which_queries_have_no_value(without_a_value: dict[str, dict[str, float | None]]) -> None:
    """Metrics that ask for no relevance have one for a query that nothing is relevant for."""
    for name in ("NumRet", "Judged", "Volume", "Utility", "Coverage"):
        assert "nothing relevant" not in without_a_value[name]
    for name in ("AP", "R", "nDCG"):
        assert "nothing relevant" in without_a_value[name]
    assert set(without_a_value["MIUF"]) == {"silent", "silent, nothing relevant"}


def test_several_pages_and_all_wrong_names_at_once() -> None:
    both = pages.describe("AP", "RR", "map")
    assert both.count("SQL of ") == 2
    with pytest.raises(UsageError) as raised:
        pages.describe("ndgc@10", "AP", "RR(reel=2)", "official", "relstring")
    lines = str(raised.value).splitlines()
    assert tells(lines[0], "ndgc@10 … nDCG@10")
    assert tells(lines[1], "RR(reel=2) … rel")
    assert lines[2].startswith("official: a set of metrics")
    assert lines[3].startswith("relstring: not a metric")


def script_or_refusal(text: str) -> str:
    """Return the SQL of a metric, or why it is refused."""
    try:
        found = parse(text)
    except UsageError as error:
        return str(error)
    return compose(found, protocols.get("default"))


def test_the_list_fits_a_terminal_of_80_columns() -> None:
    text = formats.text(pages.metrics_for_people("table"), "table")
    assert max(map(len, text.splitlines())) <= 80
    assert len(text.splitlines()) == len(catalogue()) + 2


def test_the_table_of_protocols_has_the_first_sentences() -> None:
    text = formats.text(tables.protocols_for_people("table"), "table")
    assert max(map(len, text.splitlines())) <= 132
    shown = {row[0]: row[2] for row in tables.protocols_for_people("table").fetchall()}
    whole = {row[0]: row[2] for row in tables.protocols_for_people("json").fetchall()}
    assert shown["default"] == whole["default"]
    assert shown["ranx"] == "ranx: double scores; every judged query counts, missing ones as 0."
    assert whole["ranx"].startswith(f"{shown['ranx']} ranx leaves the order")


@pytest.mark.parametrize(
    "name", [n for n, found in catalogue().items() if found.parameter("cutoff")]
)
def test_no_list_is_as_long_as_a_cutoff_without_bounds(name: str) -> None:
    """A list of k terms is made in memory, however short the rankings are: such a k has a bound."""
    found = catalogue()[name]
    needed = text_of(found).partition("(")[2].rstrip(")").replace("cutoff=3", "cutoff=1000000000")
    needed = needed if found.parameter("cutoff").required else f"{needed}, cutoff=1000000000"
    choices = [f", {p.name}={c}" for p in found.parameters for c in p.choices if c != "weighted"]
    for choice in ["", *choices]:
        told = script_or_refusal(f"{name}({(needed + choice).strip(', ')})")
        assert "cutoff is at most" in told or "from" in told
        assert not re.search(r"(range|discounts|reciprocals)\([^()]*1000000000", told)


def test_a_long_name_of_a_peer_stands_apart() -> None:
    assert "  sentence_transformers cosine_ndcg" in pages.describe("nDCG")
