"""Charts of curves and histories: what they show, that it can be told apart, and the same file twice."""

from __future__ import annotations

import datetime as dt
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest
from projects import command
from test_curves import run

from warehouse.analyze.history import Timeline
from warehouse.errors import UsageError
from warehouse.report import charts, pictures
from warehouse.report.result import VEGA_LITE
from warehouse.store import database
from warehouse.warehouse import Warehouse

RUNS = ("bm25", "tasb", "rr_gpt35_bm25")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def demo_db(demo_file: Path, tmp_path_factory) -> str:
    """Return a copy of the demo in which these curves are kept already."""
    path = tmp_path_factory.mktemp("pictures") / "demo.duckdb"
    path.write_bytes(demo_file.read_bytes())
    for name in ("ROC", "RankByRecall"):
        Warehouse(path).curve("dl19", name)
    return str(path)


def drawn(name: str, path: Path, db: str, *arguments: str, runs: tuple[str, ...] = RUNS) -> str:
    chosen = [word for one in runs for word in ("--run", one)]
    result = run("curve", name, "-d", "dl19", *chosen, *arguments, "-o", str(path), "--db", db)
    assert result.exit_code == 0, result.output
    assert f"wrote {path}" in result.stderr
    return result.stderr


def texts(svg: ET.Element) -> list[str]:
    return ["".join(node.itertext()) for node in svg.iter(f"{SVG}text")]


def said(spec: Mapping[str, Any]) -> list[str]:
    """Return all texts of a specification: titles, names of axes, and values that are shown."""
    found = [spec["title"]["text"], " ".join(spec["title"]["subtitle"])]
    for layer in spec["layer"]:
        encoding = layer["encoding"]
        found += [encoding[axis]["title"] for axis in "xy" if "title" in encoding[axis]]
        if "text" in encoding:
            found += [row[encoding["text"]["field"]] for row in layer["data"]["values"]]
    return found


def marks(spec: Mapping[str, Any], **wanted: object) -> Iterator[Mapping[str, Any]]:
    """Yield the layers whose mark has these properties."""
    for layer in spec["layer"]:
        if wanted.items() <= layer["mark"].items():
            yield layer


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["ROC", "PrecisionRecall", "11pt", "recall@k", "P@10", "k@recall"])
def test_a_curve_says_what_it_shows(name: str, demo_db: str) -> None:
    found = Warehouse(demo_db).curve("dl19", name, runs=RUNS)
    told = said(found.chart)
    assert f"{found.details.curve.title}: dl19" in told
    assert {found.details.curve.x.name, found.details.curve.y.name} <= set(told)
    whole = " ".join(told)
    for words in (str(found.metric), "43 judged queries", "protocol default", *RUNS):
        assert words in whole
    for one, area in found.areas.items():
        assert f"{one}, AUC {area:.3f}" in told
    ranks = found.details.curve.x.name == "rank"
    (line,) = marks(found.chart, type="line", strokeWidth=1.8)
    assert line["encoding"]["x"]["axis"] == ({"tickMinStep": 1, "format": ",d"} if ranks else {})
    assert [len(line["data"]["values"]), len(found)] == (
        [len(found) + 3, len(found)] if name == "PrecisionRecall" else [len(found)] * 2
    )


@pytest.mark.slow
def test_a_picture_is_the_same_twice_and_its_svg_has_its_words(
    demo_db: str, tmp_path: Path
) -> None:
    chart = Warehouse(demo_db).curve("dl19", "ROC", runs=RUNS).chart
    for format in pictures.FORMATS:
        one = pictures.picture(chart, format)
        assert one == pictures.picture(chart, format)
        assert one.startswith({"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}[format])
    # and from the command
    drawn("ROC", tmp_path / "curve.svg", demo_db)
    text = (tmp_path / "curve.svg").read_bytes()
    assert text == pictures.picture(chart, "svg")
    words = texts(ET.fromstring(text))
    assert {"Receiver operating characteristic: dl19", "false positive rate"} <= set(words)
    assert any(word.startswith("tasb, AUC 0.") for word in words)


@pytest.mark.parametrize(
    "wanted", [[1.0] * 12, [0.0] * 5, [0.5, 0.51, 0.52, 0.1], [0.9, 0.1], [0.2] * 30, []]
)
def test_labels_keep_apart(wanted: list[float]) -> None:
    places = charts.spread_labels(wanted, 0.05, list(range(len(wanted))))
    ordered = sorted(places, reverse=True)
    assert all(above - below > 0.05 - 1e-9 for above, below in pairwise(ordered))
    if len(wanted) <= 20:
        assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


BEGIN = dt.datetime(2026, 1, 5, tzinfo=dt.UTC)


def timeline(runs: int, systems: int, **facts: Any) -> Timeline:
    """Return a history of so many runs, one a day, whose values rise and fall by a fixed pattern."""
    rows, best = [], -1.0
    for number in range(runs):
        value = 0.4 + 0.4 * number / runs + 0.0131 * (number * 7 % 11)
        name = f"system{number % systems}" if systems else None
        record, best = value > best, max(best, value)
        at = BEGIN + dt.timedelta(days=number)
        rows.append((at, f"run-{number:03}", 1, name, value, best, record, None))
    con = database.start()
    con.execute(
        "create table history (run_at timestamptz, run varchar, version int, system varchar, "
        "value double, best_so_far double, is_record boolean, gain double)"
    )
    con.executemany("insert into history values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return Timeline(con.table("history"), "nDCG@10", "web", "default", "higher", 1, **facts)


def boxes(spec: Mapping[str, Any]) -> list[tuple[str, tuple[float, float, float, float]]]:
    """Return the names that vl-convert places in and beside the plot, and the room that they take.

    A sign is taken to be as wide as a digit of Helvetica, 556 thousandths of its size.
    """
    vl_convert = pytest.importorskip("vl_convert")
    found = []

    def walk(item: Mapping[str, Any]) -> None:
        if item.get("marktype") == "text" and item.get("role") == "mark":
            for text in item["items"]:
                size, wide = text["fontSize"], 0.556 * text["fontSize"] * len(text["text"])
                left = text["x"] - {"left": 0, "center": wide / 2, "right": wide}[text["align"]]
                y = text["y"] + text.get("dy", 0)
                top = y - {"top": 0, "middle": size / 2, "bottom": size}[text["baseline"]]
                if text.get("stroke") != "white":  # the halo of the same text
                    found.append((text["text"], (left, top, left + wide, top + size)))
        for inner in item.get("items", ()):
            walk(inner)

    walk(vl_convert.vegalite_to_scenegraph(spec, vl_version=pictures.VEGA_LITE)["scenegraph"])
    return found


@pytest.mark.parametrize(("runs", "systems"), [(1, 1), (12, 3), (120, 3), (120, 12), (120, 0)])
def test_a_history_has_a_line_for_each_system_and_labels_that_keep_apart(
    runs: int, systems: int
) -> None:
    spec = charts.history(timeline(runs, systems))
    lines = min(systems or runs, charts.MOST_NAMED)
    placed = boxes(spec)
    beside = [text for text, box in placed if box[0] > spec["width"]]
    assert len(beside) == len(set(beside)) == lines
    assert len(placed) > lines or not systems or runs == 1
    for (one, a), (other, b) in combinations(placed, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, f"{one} and {other} overlap"
    (line,) = marks(spec, type="line", strokeWidth=1.8)
    assert {row["line"] for row in line["data"]["values"]} == set(range(lines))
    assert sum(row["line"] == 0 for row in line["data"]["values"]) == (
        runs // systems if systems else 1
    )
    grey = list(marks(spec, type="line", color=charts._OTHER))
    others = {row["series"] for one in grey for row in one["data"]["values"]}
    assert len(others) == max(0, (systems or runs) - lines)
    told = " ".join(spec["title"]["subtitle"])
    assert ("the others are grey" in told) == bool(others)
    assert line["encoding"]["x"]["title"] == "time of the run (UTC)"
    assert line["encoding"]["y"]["title"] == "nDCG@10 (higher is better)"


def test_records_are_marked_and_failed_gates_are_red() -> None:
    found = timeline(12, 3, red=frozenset({("run-004", 1), ("run-005", 2)}))
    rows = {row[1]: row for row in found.relation.fetchall()}
    spec = charts.history(found)
    (records,) = marks(spec, shape="diamond")
    drawn = [row["y"] for row in records["data"]["values"]]
    assert drawn == [row[4] for row in rows.values() if row[6]]
    (red,) = marks(spec, color=charts.RED)
    at = int(rows["run-004"][0].timestamp() * 1000)
    assert red["data"]["values"] == [{"x": at, "y": rows["run-004"][4]}]
    told = " ".join(spec["title"]["subtitle"])
    assert "red crosses: a gate failed" in told
    assert "red" not in " ".join(charts.history(timeline(12, 3))["title"]["subtitle"])


def test_a_gate_that_fired_is_in_the_history(wh: Warehouse) -> None:
    wh.ingest_qrels("d", {"q": {"a": 1}})
    for name in ("one", "two"):
        wh.ingest_run("d", {"q": {"a": 1.0}}, name=name, run_at=BEGIN)
    wh.evaluate(metrics="RR AP")
    with duckdb.connect(str(wh.path)) as con:
        con.execute(
            "insert into store.gate_result by name select run_id, 1 as qrels_id, 'f' as fingerprint, "
            "'RR' as metric, 'default' as protocol, 'system' as grouped_by, 'best' as against, "
            "'max_drop=0' as limits, verdict, $1 + day * interval 1 day as checked_at, "
            "'0' as program_version from store.run, "
            "(values (1, 'worse'), (2, case when name = 'one' then 'good' else 'worse' end)) "
            "as t(day, verdict)",
            [BEGIN],
        )
    assert wh.history("d", "RR").red == {("two", 1)}
    assert wh.history("d", "AP").red == set()
    # one check later, and accepted after that
    with duckdb.connect(str(wh.path)) as con:
        con.execute(
            "insert into store.gate_acceptance by name select run_id, 'noise' as why, "
            "now() as accepted_at, '0' as program_version from store.run"
        )
    assert wh.history("d", "RR").red == set()


def test_times_have_dates() -> None:
    begin = int(BEGIN.timestamp() * 1000)
    hour = 3_600_000
    for hours, ticks in ((0.0001, 1), (0.001, 4), (1, 3), (24, 5), (100, 5), (900, 4), (9000, 4)):
        axis = charts._dates(begin, begin + int(hours * hour))
        assert "%Y-%m-%d" in axis["labelExpr"]
        assert len(axis["values"]) == ticks, hours
        assert len({at // 1000 for at in axis["values"]}) == ticks  # no label twice
    # the first day that there is, and the last one
    whole = charts._dates(-62_135_596_800_000, 253_402_300_799_000)["values"]
    days = [dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=at) for at in whole]
    assert [(day.year, day.month, day.day) for day in days] == [
        (2000 * n, 1, 1) for n in range(1, 5)
    ]


def test_a_notebook_gets_tables_and_charts(demo_db: str) -> None:
    wh = Warehouse(demo_db)
    for found in (wh.history("dl19", "nDCG@10"), wh.curve("dl19", "ROC", runs=RUNS)):
        bundle = found._repr_mimebundle_()
        assert set(bundle) == {"text/plain", "text/markdown", VEGA_LITE}
        # the order of JupyterLab 4: htmlRendererFactory 50, vega5-extension 57, Markdown 60, text 120
        ranks = {"text/html": 50, VEGA_LITE: 57, "text/markdown": 60, "text/plain": 120}
        assert min(bundle, key=ranks.__getitem__) == VEGA_LITE
        assert found._repr_html_() is None  # a kernel would add it to the bundle
        assert bundle["text/markdown"].startswith("| ")
        assert found.notes[0] in bundle["text/markdown"]
        assert bundle[VEGA_LITE]["$schema"].endswith("/vega-lite/v5.json")
        assert json.loads(json.dumps(bundle[VEGA_LITE])) is not None
        assert bundle["text/plain"] == repr(found)
        assert set(found._repr_mimebundle_(include={VEGA_LITE})) == {VEGA_LITE}
        assert set(found._repr_mimebundle_(exclude={VEGA_LITE})) == {"text/plain", "text/markdown"}
    board = wh.leaderboard("dl19", metrics="nDCG@10")._repr_mimebundle_()
    assert set(board) == {"text/plain", "text/html"}
    assert "<th" in board["text/html"]
    # the table of a paper: best value bold, letters raised, and its caption
    paper = wh.compare("dl19", ["bm25", "tasb"], "nDCG@10")._repr_mimebundle_()["text/html"]
    assert "<b>0.7210</b><sup>a</sup>" in paper
    assert "paired t-test" in paper


def test_nothing_to_draw(wh: Warehouse, tmp_path: Path) -> None:
    wh.ingest_qrels("d", {"q": {"a": 0}})
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="r")
    result = run("curve", "ROC", "-d", "d", "-o", str(tmp_path / "x.svg"), "--db", str(wh.path))
    assert isinstance(result.exception, UsageError)
    assert "ROC: there is nothing to draw" in str(result.exception)
    assert not (tmp_path / "x.svg").exists()
    # a notebook still gets the notes
    assert set(wh.curve("d", "ROC")._repr_mimebundle_()) == {"text/plain", "text/html"}


def test_without_the_extra(demo_db: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)
    for asked in (("curve", "ROC"), ("history", "-m", "nDCG@10")):
        code, _, told = command(
            *asked, "-d", "dl19", "-o", str(tmp_path / "x.svg"), "--db", demo_db
        )
        assert code == 2
        assert "[plot]'" in told
    points = run("curve", "ROC", "-d", "dl19", "-r", "bm25", "-f", "csv", "--db", demo_db)
    assert points.exit_code == 0


def test_vl_convert_is_loaded_for_pictures_only(demo_db: str, tmp_path: Path, program) -> None:
    code = (
        "import sys\nfrom warehouse.warehouse import Warehouse\n"
        f"Warehouse({demo_db!r}).curve('dl19', 'ROC').chart\n"
        "sys.exit('vl_convert' in sys.modules)\n"
    )
    process = program.python(code, cwd=tmp_path)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, out + errors


def test_of_many_curves_the_best_are_named(demo_db: str, monkeypatch) -> None:
    monkeypatch.setattr(charts, "MOST_NAMED", 4)
    monkeypatch.setattr(charts, "_MOST_POINTS", 10)
    found = Warehouse(demo_db).curve("dl19", "ROC")
    told = said(found.chart)
    named = [text.partition(", AUC")[0] for text in told if ", AUC" in text]
    assert named == sorted(found.best(4))
    assert "the best 4 of 9 runs have names, the others are grey" in told[1]
    assert found.best(9) == sorted(found.areas, key=found.areas.get, reverse=True)
    (grey,) = marks(found.chart, type="line", color=charts._OTHER)
    rows = grey["data"]["values"]
    assert {row["run"] for row in rows} == {*found.runs} - {*named}
    for one in {row["run"] for row in rows}:
        mine = [(row["x"], row["y"]) for row in rows if row["run"] == one]
        assert len(mine) <= 12
        assert (mine[0], mine[-1]) == ((0.0, 0.0), (1.0, 1.0))


def test_the_best_of_many_systems_are_named() -> None:
    found = timeline(120, 12)
    top = sorted(((row[4], row[3]) for row in found.relation.fetchall()), reverse=True)
    best = list(dict.fromkeys(system for _, system in top))[: charts.MOST_NAMED]
    (labels,) = marks(charts.history(found), type="text", baseline="middle")
    assert [row["label"] for row in labels["data"]["values"]] == best
