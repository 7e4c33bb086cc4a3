"""The pages of `warehouse report`: their numbers are the commands', their links lead somewhere."""

from __future__ import annotations

import errno
import json
import re
import shutil
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from warehouse.analyze import board_intervals
from warehouse.analyze.regressions import Gate, Limits
from warehouse.errors import WarehouseError, visible
from warehouse.report import pictures
from warehouse.report.pages import contents, rendering
from warehouse.report.pages.keys import keys
from warehouse.report.pages.site import folder_of
from warehouse.sync import gates
from warehouse.warehouse import Warehouse

SCRIPT = "<script>alert(1)</script>"
RUNS = ("bm25", "BM25", SCRIPT, "../up")
METRICS = ("nDCG@3", "RR", "NumRelRet")
EMPTY = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "path", "rect", "wbr"}


def _fill(wh: Warehouse) -> None:
    queries = [f"q{number}" for number in range(5)] + ["q&<b>6</b>", "q\u202e7"]
    wh.ingest_qrels("tiny", {query: {"a": 2, "b": 1.5, "c": 0, "<i>d</i>": 3} for query in queries})
    lists = ("abc", "cab", "cba", "xab")
    for run, documents in zip(RUNS, lists, strict=True):
        found = {
            query: {
                document: 9.0 - place
                for place, document in enumerate([*documents, "<i>d</i>"][number % 3 :])
            }
            for number, query in enumerate(queries)
        }
        wh.ingest_run("tiny", found, name=run, system=f"system of {run}", tags={"kind": SCRIPT})
    wh.ingest_run("tiny", {"q0": {"a": 1.0}}, name="not evaluated")
    wh.evaluate("tiny", metrics=METRICS, runs=RUNS)
    wh.evaluate("tiny", metrics="AP", runs=RUNS, protocol="trec_eval_9")
    wh.ingest_qrels("empty <b>", {"q": {"a": 1}})
    fill_rich(wh)


def fill_rich(wh: Warehouse) -> None:
    """Fill a dataset with slices, curves, a merged run, gates and unjudged documents."""
    wh.ingest_qrels("rich", {f"q{n}": {"a": 1, "b": 2} for n in range(4)})
    kinds = {f"q{n}": {"kind": "<i>odd</i>" if n % 2 else "even"} for n in range(4)}
    wh.ingest_attributes("rich", kinds, of="queries", name="kinds")
    for name, lists in (("one", ("xab", "bxa", "ya", "ab")), (SCRIPT, ("ax", "b", "by", "a"))):
        found = {f"q{n}": {d: 9.0 - p for p, d in enumerate(of)} for n, of in enumerate(lists)}
        wh.ingest_run("rich", found, name=name, system="S")
    graded = [
        {"run": "one", "query_id": f"q{n}", "metric": "<i>tone</i>", "value": n / 4}
        for n in range(4)
    ]
    wh.ingest_scores("rich", graded, judge="<b>Ann</b>")
    wh.fuse("rich", ["one", SCRIPT], "wsum", name="both", weights=[0.25, 0.75])
    wh.evaluate("rich", metrics=["nDCG@3", "AP"], slices="kind")
    wh.curve("rich", "PrecisionByRank@3", store=True)
    gate = Gate("rich", "AP", "system", "best", Limits(0.0, strict=True, min=0.95), "default")
    with wh.file.transaction() as con:
        checked = gates.check(con, gates.find(con, [gate], "newest"))
        gates.keep(con, [gate], [v for _, v in checked if isinstance(v, gates.Verdict)], ())


@dataclass
class Page(HTMLParser):
    """What a page has: its text, links, ids, scripts, and what must not be there."""

    source: str
    text: str = ""
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    data: list[object] = field(default_factory=list)
    cells: list[list[str]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in EMPTY:
            self._open.append(tag)
        self.links += [str(given[key]) for key in ("href", "src") if key in given]
        if "id" in given:
            self.wrong += [f"id {given['id']} twice"] if given["id"] in self.ids else []
            self.ids.add(str(given["id"]))
        self.wrong += [key for key in given if key.startswith("on") or key == "style"]
        inline = tag == "script" and "src" not in given
        if tag == "style" or (inline and given.get("type") != "application/json"):
            self.wrong.append(self.get_starttag_text() or tag)
        if tag == "tr":
            self.cells.append([])
        if tag in ("td", "th") and self.cells:
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in EMPTY:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "script":
            self.data.append(json.loads(data))
            return
        self.text += data
        if {"td", "th"} & set(self._open):
            self.cells[-1][-1] += data


@dataclass
class Site:
    """A written report, with its database and its pages."""

    warehouse: Warehouse
    folder: Path
    pages: dict[str, Page]


def _write(folder: Path) -> None:
    wh = Warehouse(folder / "tiny.duckdb")
    _fill(wh)
    assert wh.report(folder / "site", depth=3).path == folder / "site" / "index.html"


@pytest.fixture(scope="module")
def site(once) -> Site:
    folder = once("report", _write)
    wh = Warehouse(folder / "tiny.duckdb")
    found = {
        path.relative_to(folder / "site").as_posix(): Page(path.read_text(encoding="utf-8"))
        for path in (folder / "site").rglob("*.html")
    }
    return Site(wh, folder / "site", found)


def _script(path: Path) -> dict[str, object]:
    text = path.read_text(encoding="utf-8")
    return json.loads(text[text.index("] = ") + 4 : -2])["data"]


RUN_KEYS, METRIC_KEYS = keys([*RUNS, "not evaluated"]), keys(METRICS)


@pytest.mark.slow
def test_every_link_leads_to_a_place_in_the_folder(site: Site) -> None:
    for name, page in site.pages.items():
        for link in page.links:
            if link == "data:,":
                continue
            parts = urlsplit(link)
            assert not parts.scheme, (name, link)
            assert not parts.netloc, (name, link)
            path = (
                (site.folder / name).parent / unquote(parts.path)
                if parts.path
                else site.folder / name
            )
            assert path.is_file(), (name, link)
            assert site.folder in path.resolve().parents
            if parts.fragment and "=" not in parts.fragment:
                there = path.resolve().relative_to(site.folder.resolve()).as_posix()
                assert parts.fragment in site.pages[there].ids, (name, link)


@pytest.mark.slow
def test_pages_keep_a_strict_policy_and_ask_no_other_machine(site: Site) -> None:
    for name, page in site.pages.items():
        assert page.wrong == [], name
        assert "default-src 'none'; style-src 'self'; script-src 'self'" in page.source, name
        assert 'lang="en"' in page.source
        assert page.source.count("<h1>") == 1
    for path in (site.folder / "assets").iterdir():
        if path.name == "vega.js":  # the policy stops its loader and its compiler
            continue
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(
            # only a server has an interface to ask: its own
            r"https?:|fetch\((?!`\.\./api/)|XMLHttpRequest|eval\(|innerHTML|@import|url\(",
            text,
        ), path


@pytest.mark.slow
def test_the_board_has_the_numbers_of_the_command(site: Site) -> None:
    """A run that is loaded and not evaluated is computed, as by the command."""
    board = site.warehouse.leaderboard("tiny", ci=True)
    assert "not evaluated" in {row.run for row in board}
    page = site.pages["tiny/index.html"]
    shown = {row[1].split("system of")[0]: row for row in page.cells[1:]}
    for row in board:
        cells = shown[row.run]
        for place, metric in enumerate(METRICS):
            value = f"{row[metric]:.0f}" if metric == "NumRelRet" else f"{row[metric]:.4f}"
            width = row[board_intervals.width_of(metric)]
            said = value if width is None else f"{value}±{width:.4f}"
            assert cells[2 + place].replace(" (best)", "") == said
    assert "computed for 1 run and not stored" in page.text
    grouped = site.warehouse.leaderboard("tiny", sort="RR", ties=True)
    first = re.findall(
        r'data-key="(rr[^"]*)" data-value="[^"]*" data-place="(\d+)" data-places="([^"]*)"',
        page.source,
    )
    assert sorted(int(place) for _, place, _ in first) == sorted(row.place for row in grouped)
    groups = [row.group for row in grouped]
    ranges = {
        str(groups.index(group) + 1)
        + (f"\u2013{groups.index(group) + groups.count(group)}" if groups.count(group) > 1 else "")
        for group in groups
    }
    assert {places for *_, places in first} == ranges
    assert board.to_csv() in page.text
    assert board.to_latex() in page.text


@pytest.mark.slow
def test_a_run_has_its_values_and_what_proves_them(site: Site) -> None:
    for run in RUNS:
        page = site.pages[f"tiny/runs/{RUN_KEYS[run]}.html"]
        (versions,) = site.warehouse.show("tiny", run)
        assert versions.content_hash in page.text
        assert "warehouse verify -d tiny" in page.text
        for row in site.warehouse.queries("tiny", run, metrics=METRICS):
            values = [f"{row[metric]:.4f}" for metric in METRICS[:2]] + [f"{row.NumRelRet:.0f}"]
            assert [visible(row.query_id), *values] in page.cells
        assert site.warehouse.explain("tiny", run, "q0", "RR").fingerprint in page.text
        rows = site.warehouse.query(
            "select value from scores "
            "where dataset = 'tiny' and run = $run and protocol = 'default'",
            run=run,
        ).fetchall()
        assert len(rows) == len(METRICS)
        assert all(repr(value) in page.text for (value,) in rows)


@pytest.mark.slow
def test_queries_have_the_lists_and_the_parts_of_explain(site: Site) -> None:
    names = [row.query_id for row in site.warehouse.queries("tiny", "bm25")]
    query_keys = keys(names)
    for before, after in pairwise(names):
        for here, there, way in ((after, before, "prev"), (before, after, "next")):
            page = site.pages[f"tiny/queries/{query_keys[here]}.html"]
            assert re.search(rf'rel="{way}" href="[^"]*{query_keys[there]}\.html"', page.source)
    for query, run in (("q0", "bm25"), ("q&<b>6</b>", SCRIPT)):
        page = site.pages[f"tiny/queries/{query_keys[query]}.html"]
        assert f"Query {visible(query)}" in page.text
        (found,) = page.data
        documents, parts = found["lists"][RUN_KEYS[run]]
        told = site.warehouse.explain("tiny", run, query, "nDCG@3", top=3)
        rows = [row for row in told if row.doc_id]
        assert [found["documents"][number] for number in documents] == [r.doc_id for r in rows]
        assert [found["grades"][number] for number in documents] == [r.relevance for r in rows]
        assert [n / 10_000 for n in parts] == pytest.approx([row.part for row in rows], abs=1e-4)


@pytest.mark.slow
def test_pairs_are_those_of_compare_in_one_family(site: Site) -> None:
    board = [row.run for row in site.warehouse.leaderboard("tiny")]
    for metric in METRICS:
        found = _script(site.folder / "tiny" / "data" / f"{METRIC_KEYS[metric]}.js")
        pairs = site.warehouse.compare("tiny", board, metric, all_pairs=True, judged=False)
        assert len(found["pairs"]) == len(pairs) == 10
        for shown, row in zip(found["pairs"], pairs, strict=True):
            assert shown[:2] == [RUN_KEYS[row.base], RUN_KEYS[row.run]]
            numbers = (row.difference, row.low, row.high)
            assert shown[2:5] == [None if one is None else round(one, 4) for one in numbers]
            assert shown[5] == (None if row.effect_size is None else round(row.effect_size, 2))
            assert shown[6:10] == [row.wins, row.ties, row.losses, row.queries]
            chances = [None if p is None else round(p, 4) for p in (row.p, row.p_adjusted)]
            assert shown[10:12] == chances


def values_of(chart: dict[str, Any], layer: str) -> list[dict[str, Any]]:
    """Return the values that a layer of a chart draws."""
    return [row for one in chart["layer"] if one["name"] == layer for row in one["data"]["values"]]


@pytest.mark.slow
def test_history_is_that_of_the_command(site: Site) -> None:
    page = site.pages["tiny/history.html"]
    for metric, found in zip(METRICS, page.data, strict=True):
        there = site.warehouse.history("tiny", metric, run=RUNS)
        rows = [row for row in there.fetchall() if row[4] is not None]
        drawn = [
            point for name in ("named", "others") for point in values_of(found, f"{name}-points")
        ]
        assert sorted((point["run"], point["y"]) for point in drawn) == sorted(
            (visible(row[1]), row[4]) for row in rows
        )
        records = [(point["x"], point["y"]) for point in values_of(found, "records")]
        assert records == [(int(row[0].timestamp() * 1000), row[4]) for row in rows if row[6]]
        assert all((site.folder / "tiny" / point["go"]).exists() for point in drawn)


@pytest.mark.slow
def test_imported_values_have_their_source_and_judge(site: Site) -> None:
    (row,) = [row for row in site.pages["rich/imported.html"].cells if row[0] == "one"]
    assert row[1:7] == ["<i>tone</i>", "0.3750", "4", "<b>Ann</b>", "<list>", "records"]
    assert "tiny/imported.html" not in site.pages


@pytest.mark.slow
def test_slices_and_agreement_are_those_of_the_commands(site: Site) -> None:
    cells = site.pages["rich/slices.html"].cells
    runs = [row.run for row in site.warehouse.leaderboard("rich")]
    for metric in ("nDCG@3", "AP"):
        found = {
            (row.run, row.part): f"{row[metric]:.4f}"
            for row in site.warehouse.leaderboard("rich", metrics=metric, slice="kind")
        }
        assert len(found) == 6
        for run in runs:
            assert [run, *(found[run, part] for part in ("<i>odd</i>", "even"))] in [
                [cell.removesuffix("4 queries") for cell in row] for row in cells
            ]
    cells = site.pages["rich/agreement.html"].cells
    for row in site.warehouse.agree("rich", depth=3):
        for measure in ("tau_ap", "tau_b", "rbo_ext"):
            place = runs.index(row.other) + 1
            wanted = "" if row[measure] is None else f"{row[measure]:.4f}"
            assert wanted in [cell[place] for cell in cells if cell[0] == row.run]
    (row,) = site.warehouse.agree("rich", of="runs", metrics=["nDCG@3", "AP"])
    assert ["nDCG@3", "·", "" if row.tau_ap is None else f"{row.tau_ap:.4f}"] in cells


@pytest.mark.slow
def test_holes_fusion_and_curves_are_those_of_the_commands(site: Site) -> None:
    holes = site.warehouse.holes("rich", depth=10, top=100)
    assert (site.folder / "rich/judge-next.csv").read_text() == holes.to_csv()
    shown = [row[:4] for row in site.pages["rich/judge-next.html"].cells]
    assert all([r.query_id, r.doc_id, str(r.runs), str(r.best_rank)] in shown for r in holes)
    runs = [row.run for row in site.warehouse.leaderboard("rich")]
    pairs = site.warehouse.compare("rich", runs, "nDCG@3", all_pairs=True, judged=False)
    for row in pairs:
        if "both" not in (row.base, row.run):
            continue
        parent, sign = (row.run, -1) if row.base == "both" else (row.base, 1)
        for name in ("rich/fusion.html", f"rich/runs/{keys(['both'])['both']}.html"):
            (line,) = (
                line for line in site.pages[name].cells if line[0] == parent and len(line) > 4
            )
            assert line[1] == ("0.2500" if parent == "one" else "0.7500")
            assert line[-2] == f"{sign * row.difference:+.4f}"
    (found,) = site.pages["rich/curves.html"].data
    rows = site.warehouse.curve("rich", "PrecisionByRank@3").fetchall()
    drawn = values_of(found, "named-lines")
    assert sorted((point["run"], point["x"], point["y"]) for point in drawn) == sorted(
        (run, x, y) for run, _, x, y, *_ in rows
    )
    assert all((site.folder / "rich" / point["go"]).exists() for point in drawn)


@pytest.mark.slow
def test_the_drawing_library_is_of_one_version_and_names_its_licences() -> None:
    assets = rendering.FOLDER / "assets"
    script = (assets / "vega.js").read_text(encoding="utf-8")
    assert script.startswith(f"/* {(assets / 'vega.txt').read_text(encoding='utf-8').rstrip()}")
    assert f'"{pictures.VEGA_LITE}.' in script


@pytest.mark.slow
def test_runs_without_a_place_are_on_the_board(
    wh: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What takes long to compute is not computed by a page."""
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    for name in ("one", "late"):
        wh.ingest_run("tiny", {"q": {"a": 1.0}}, name=name)
    wh.evaluate("tiny", metrics="RR", runs="one")
    monkeypatch.setattr(contents, "MOST_COMPUTED", 0)
    wh.report(tmp_path / "site", depth=3)
    page = Page((tmp_path / "site" / "tiny" / "index.html").read_text(encoding="utf-8"))
    assert page.cells[1:] == [["1", "one", "1.0000", "1of 1"], ["", "late", "not evaluated", ""]]
    assert "late; to compute: warehouse evaluate -d tiny" in page.text


@pytest.mark.slow
def test_the_page_of_a_run_names_the_queries_that_a_value_leaves_out(
    wh: Warehouse, tmp_path: Path
) -> None:
    wh.ingest_qrels("tiny", {q: {"a": 1, "b": 0} for q in ("q1", "q2", "q3")})
    lists = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"b": 1.0}}
    wh.ingest_run("tiny", lists, name="one")
    wh.evaluate("tiny", metrics="AUC P@1")
    wh.report(tmp_path / "site", depth=3)
    (path,) = (tmp_path / "site" / "tiny" / "runs").glob("*.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert (
        "over 1 query (3 of 3 judged queries answered); left out: 2 as undefined (q2, q3)"
        in page.text
    )
    assert page.text.count("left out") == 2


@pytest.mark.slow
def test_gates_are_on_the_first_page_and_on_that_of_the_run(site: Site) -> None:
    red = [row for row in site.warehouse.gates("rich") if row.is_red]
    assert red
    for row in red:
        line = [f"{row.run}rich", "AP", f"{row.value:.4f}"]
        since = f"{row.since:%Y-%m-%d %H:%M}"
        for name in ("index.html", f"rich/runs/{keys([row.run])[row.run]}.html"):
            cells = [cell for cell in site.pages[name].cells if "red" in cell[0]]
            assert line in [cell[1:4] for cell in cells]
            assert since in cells[0][-2]
    assert "are green" in site.pages["index.html"].text


@pytest.mark.slow
def test_names_are_text_and_every_page_is_there(site: Site, tmp_path: Path) -> None:
    home = site.pages["index.html"]
    assert "empty <b>" in home.text
    assert "warehouse evaluate -d 'empty <b>'" in home.text
    assert "not evaluated" in home.text
    assert SCRIPT in site.pages["tiny/index.html"].text
    assert SCRIPT in site.pages[f"tiny/runs/{RUN_KEYS[SCRIPT]}.html"].text
    assert "\u202e" not in "".join(page.source for page in site.pages.values())
    assert "AP" in site.pages[f"{keys(['tiny.trec_eval_9'])['tiny.trec_eval_9']}/index.html"].text
    assert "create or replace temp" in site.pages[f"metrics/{METRIC_KEYS['RR']}.html"].text
    assert {path.name for path in site.folder.parent.iterdir()} == {"site", "tiny.duckdb"}
    for path in site.folder.rglob("*"):
        assert re.fullmatch(r"[a-z0-9._-]+", path.name), path


@pytest.mark.slow
def test_grades_may_be_fractions_and_effects_infinite(site: Site) -> None:
    assert "grade 1.5" in site.pages["tiny/queries/q0.html"].text
    assert "Infinity" in rendering.script("RR", [float("inf")], "now")


def test_keys_differ_where_file_systems_do_not() -> None:
    names = [
        "bm25",
        "BM25",
        "Bm25",
        "con",
        "index",
        "",
        "..",
        "a/b",
        "a b",
        "é",
        "x" * 300,
        "\udce9",
    ]
    found = keys(names)
    assert len({key.lower() for key in found.values()}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,60}", key) for key in found.values())
    own = ["assets", "metrics", "index.html", "report.json"]  # of the report
    assert not {*own} & {*keys(own).values()}


@pytest.mark.slow
def test_no_dataset_has_the_place_of_another_file(site: Site) -> None:
    names = [name for name, *_ in site.warehouse.datasets().relation.fetchall()]
    datasets = {folder_of(name, rule) for name in names for rule in ("default", "trec_eval_9")}
    own = {path.name for path in site.folder.iterdir()} - datasets
    assert own >= {"index.html", "report.json", "assets", "metrics"}
    assert {name for name in own if keys([name])[name] == name} == set()


@pytest.mark.slow
def test_a_report_replaces_a_report_and_nothing_else(site: Site, tmp_path: Path, run) -> None:
    folder = shutil.copytree(site.folder, tmp_path / "site")
    (folder / "CNAME").write_text("example.org")
    answer = run("report", str(folder), "--db", str(site.warehouse.path), "-d", "empty <b>")
    assert answer.code == 0, answer.err
    assert f"{folder}/index.html: written" in answer.out + answer.err
    assert not (folder / "tiny" / "index.html").exists()
    assert (folder / "CNAME").read_text() == "example.org"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    answer = run("report", str(tmp_path / "mine"), "--db", str(site.warehouse.path))
    assert answer.code == 2
    assert "is not empty and not a report" in answer.err
    for words, told in (
        (["-d", "tinny"], "did you mean tiny?"),
        (["-m", "nDGC@3"], "did you mean nDCG"),
    ):
        answer = run("report", str(tmp_path / "new"), "--db", str(site.warehouse.path), *words)
        assert (answer.code, told in answer.err) == (2, True)
        assert not (tmp_path / "new").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_report_whole(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    site.warehouse.report(folder, "empty <b>")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    written = []

    def write_bytes(path: Path, content: bytes) -> None:
        written.append(path)
        with path.open("wb") as out:
            out.write(content[:5])
            if len(written) == len(before) - 1:
                raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_bytes)
    with pytest.raises(WarehouseError, match="cannot be written: No space left on device"):
        site.warehouse.report(folder, "empty <b>")
    assert len(written) == len(before) - 1 > 2
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    monkeypatch.undo()
    site.warehouse.report(folder, "empty <b>")
    assert {path for path in folder.rglob("*") if path.is_file()} == set(before)


@pytest.mark.slow
def test_a_manifest_names_no_file_outside(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (tmp_path / "thesis.tex").touch()
    (folder / "report.json").write_text(
        '{"files": ["../thesis.tex", "/etc/x", "a/../../thesis.tex"]}'
    )
    site.warehouse.report(folder, "empty <b>")
    assert (tmp_path / "thesis.tex").exists()
