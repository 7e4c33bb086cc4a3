"""Pictures of curves: made, the same twice, with every run named, and legible for everybody."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from test_curves import run

from warehouse.errors import UsageError
from warehouse.report import pictures
from warehouse.warehouse import Warehouse

pytest.importorskip("matplotlib")
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


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("format", ["svg", "png", "pdf", "html"])
def test_the_same_picture_twice(format: str, tmp_path: Path, demo_db: str) -> None:
    one, other = tmp_path / f"one.{format}", tmp_path / f"other.{format}"
    drawn("ROC", one, demo_db)
    drawn("ROC", other, demo_db)
    assert one.read_bytes() == other.read_bytes()
    assert b"Date" not in one.read_bytes()


@pytest.mark.parametrize("name", ["ROC", "PrecisionRecall", "11pt", "recall@k", "P@10", "k@recall"])
def test_a_drawing_says_what_it_shows(name: str, tmp_path: Path, demo_db: str) -> None:
    path = tmp_path / "curve.svg"
    drawn(name, path, demo_db)
    trace = Warehouse(demo_db).curve("dl19", name, runs=RUNS)
    said = texts(ET.parse(path).getroot())
    assert f"{trace.curve.title}: dl19" in said
    assert {trace.curve.x.name, trace.curve.y.name} <= set(said)
    whole = " ".join(said)
    for words in (str(trace.metric), "43 judged queries", "protocol default", *RUNS):
        assert words in whole
    for area in trace.areas.values():
        assert f"AUC {area:.3f}" in whole


def test_the_curve_of_a_query(tmp_path: Path, demo_db: str) -> None:
    path = tmp_path / "curve.svg"
    drawn("PrecisionRecall", path, demo_db, "--query", "443396")
    said = texts(ET.parse(path).getroot())
    assert "PrecisionRecall, query 443396; protocol default" in said
    assert any(re.fullmatch(r"bm25  AP 0\.\d{3}", text) for text in said)


def test_a_page_needs_nothing_else(tmp_path: Path, demo_db: str) -> None:
    path = tmp_path / "curve.html"
    drawn("k@recall", path, demo_db)
    page = path.read_text()
    assert not re.search(r"<script|<link|<img|@import|url\((?!#)|href=\"(?!#)", page)
    assert page.count("<details>") == 1
    assert page.count("<tr>") == 1 + 3 * 11
    assert "<th>documents needed</th><th>queries</th>" in page
    assert "<summary>33 points</summary>" in page
    svg = page[page.index("<svg") : page.index("</svg>") + 6]
    assert "bm25" in " ".join(texts(ET.fromstring(svg)))


@pytest.mark.slow
def test_hostile_names_are_text(wh: Warehouse, tmp_path: Path) -> None:
    name, dataset = "<b>$x_1$\n&\"'é" + "x" * 60, r"<d>$\foo$ C:\data"
    wh.ingest_qrels(dataset, {"q": {"a": 1, "b": 0}})
    wh.ingest_run(dataset, {"q": {"a": 2.0, "b": 1.0}}, name=name)
    for format in pictures.FORMATS:
        path = tmp_path / f"curve.{format}"
        pictures.draw(wh.curve(dataset, "ROC"), [name], path, format)
    said = " ".join(texts(ET.parse(tmp_path / "curve.svg").getroot()))
    assert name[:15].replace("\n", " ") in said  # in one line
    assert dataset in said
    page = (tmp_path / "curve.html").read_text()
    assert "<b>" not in page
    assert "<d>" not in page


@pytest.mark.slow
def test_signs_that_the_font_has_not(wh: Warehouse, tmp_path: Path) -> None:
    """A picture of pixels lacks them, and the command says so; in SVG the text is there."""
    wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
    wh.ingest_run("tiny", {"q": {"a": 2.0, "b": 1.0}}, name="漢")
    for format in ("png", "svg"):
        arguments = ["-d", "tiny", "-o", str(tmp_path / f"curve.{format}"), "--db", str(wh.path)]
        told = subprocess.run(
            [sys.executable, "-m", "warehouse", "curve", "ROC", *arguments],
            capture_output=True, encoding="utf-8", check=True, env=os.environ | {"PYTHONUTF8": "1"},
        ).stderr  # fmt: skip
        warned = [line for line in told.splitlines() if "Glyph" in line]
        assert len(warned) == (format == "png"), told
        assert all(line.startswith("warning: Glyph 28450 ") for line in warned)
        assert "pictures.py" not in told
    said = " ".join(texts(ET.parse(tmp_path / "curve.svg").getroot()))
    assert "漢  AUC 1.000" in said


def test_more_runs_than_a_picture_has_room_for(demo_db, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(pictures, "MOST_LINES", 4)
    path = tmp_path / "curve.svg"
    said = drawn("ROC", path, demo_db, runs=())
    assert "the picture has the best 4 of 9 runs; choose others with --run" in said
    found = Warehouse(demo_db).curve("dl19", "ROC")
    shown = " ".join(texts(ET.parse(path).getroot()))
    assert [one for one in found.runs if f"{one}  AUC" in shown] == sorted(found.best(4))
    assert found.best(9) == sorted(found.areas, key=found.areas.get, reverse=True)
    # those that are named are all drawn
    assert "the best" not in drawn("ROC", path, demo_db, runs=tuple(found.runs))


def test_no_two_lines_look_alike() -> None:
    looks = [pictures._line_style(number) for number in range(28)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 28
    # without colours
    shapes = {(str(look["linestyle"]), look["marker"]) for look in looks[: pictures.MOST_LINES]}
    assert len(shapes) == pictures.MOST_LINES


@pytest.mark.parametrize(
    "wanted", [[1.0] * 12, [0.0] * 5, [0.5, 0.51, 0.52, 0.1], [0.9, 0.1], [0.2] * 30, []]
)
def test_labels_keep_apart(wanted: list[float]) -> None:
    places = pictures.spread_labels(wanted, 0.05, list(range(len(wanted))))
    ordered = sorted(places, reverse=True)
    assert all(above - below > 0.05 - 1e-9 for above, below in pairwise(ordered))
    if len(wanted) <= 20:
        assert all(-1e-9 <= place <= 1 + 1e-9 for place in places)


def test_nothing_to_draw(wh: Warehouse, tmp_path: Path) -> None:
    wh.ingest_qrels("d", {"q": {"a": 0}})
    wh.ingest_run("d", {"q": {"a": 1.0}}, name="r")
    result = run("curve", "ROC", "-d", "d", "-o", str(tmp_path / "x.svg"), "--db", str(wh.path))
    assert isinstance(result.exception, UsageError)
    assert "ROC: there is nothing to draw" in str(result.exception)
    assert not (tmp_path / "x.svg").exists()


def test_without_the_extra(demo_db: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)
    result = run("curve", "ROC", "-d", "dl19", "-o", str(tmp_path / "x.svg"), "--db", demo_db)
    assert isinstance(result.exception, UsageError)
    assert "[plot]'" in str(result.exception)
    points = run("curve", "ROC", "-d", "dl19", "-r", "bm25", "-f", "csv", "--db", demo_db)
    assert points.exit_code == 0


def test_matplotlib_is_loaded_for_pictures_only(demo_db: str, tmp_path: Path, program) -> None:
    code = (
        "import sys\nfrom warehouse.warehouse import Warehouse\nfrom warehouse.report import pictures\n"
        f"Warehouse({demo_db!r}).curve('dl19', 'ROC')\n"
        "sys.exit('matplotlib' in sys.modules)\n"
    )
    process = program.python(code, cwd=tmp_path)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, out + errors


def test_a_folder_is_no_file(demo_db: str, tmp_path: Path) -> None:
    result = run(
        "curve", "ROC", "-d", "dl19", "-f", "svg", "-o", str(tmp_path), "--db", demo_db
    )  # fmt: skip
    assert isinstance(result.exception, UsageError)
    assert "is a directory" in str(result.exception)
