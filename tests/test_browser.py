"""The pages in Chromium, from files and from a server: drawn, usable by keys alone, and accessible."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from extended import FOLDER
from test_report import METRIC_KEYS, RUN_KEYS, RUNS, SCRIPT, Site, site  # noqa: F401

from warehouse.report.pages import contents
from warehouse.report.pages.keys import keys
from warehouse.store.database import Resources
from warehouse.store.file import WarehouseFile
from warehouse.warehouse import Warehouse

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
)
pytestmark = pytest.mark.slow

ONE = f"runs/{RUN_KEYS[SCRIPT]}.html"
# A page of each kind, what is chosen on it, and a text that its scripts have to draw.
PAGES = {
    "index.html": "Newest runs",
    "tiny/index.html": "Board of tiny",
    "tiny/index.html#sort=3+ascending&groups=off&text=bm25": "2 of 5 shown",
    f"tiny/{ONE}": "Why these numbers",
    "tiny/queries/index.html": "From lowest to highest",
    f"tiny/queries/q1.html#lists=bm25+{RUN_KEYS[SCRIPT]}": "<i>d</i>",
    f"tiny/compare.html#metric={METRIC_KEYS['RR']}&base=bm25&run={RUN_KEYS[SCRIPT]}": "95% interval",
    f"tiny/history.html#metric={METRIC_KEYS['RR']}": "RR over time",
    f"rich/slices.html#show=0-{keys(['AP'])['AP']}": "AP by kind",
    "rich/agreement.html#show=rbo_ext": "rank-biased overlap",
    **({"rich/collection.html": "Judgments by grade"} if (FOLDER / "collections").is_dir() else {}),
    "rich/judge-next.html": "Download as CSV",
    "rich/fusion.html": "Gain over it",
    "rich/curves.html": "A line for each run",
    "metrics/index.html": "The catalogue",
    f"metrics/{METRIC_KEYS['RR']}.html": "create or replace temp",
    "reference/protocols.html": "trec_eval_9",
    "reference/schema.html": "score_versions",
}
LIVE = {
    "tiny/": "Board of tiny",
    "tiny/?sort=RR&metric=RR&metric=P@2": "P@2 ↑",
    f"tiny/{ONE}?metric=P@2": "Why these numbers",
    "tiny/compare.html": "95% interval",
    "rich/history.html": "over time",
    "sql?sql=from+runs": "Link to this statement",
    "reference/schema.html": "slice_scores",
    "nothing.html": "Not found",
}


@dataclass
class Tab:
    """A page of the browser, and what went wrong on it since it was last asked."""

    page: Any
    origin: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        """Show a page anew, and return it."""
        self.page.goto("about:blank")
        self.page.goto(self.origin + path)
        return self.page

    def text(self) -> str:
        return str(self.page.inner_text("body"))

    def keys(self, *pressed: str) -> None:
        for key in pressed:
            self.page.keyboard.press(key)

    def stops(self) -> list[str]:
        """Return what each press of Tab comes to, from the top of the page to its end.

        Each is seen to be there: in the window, with a line around it.
        """
        found: list[str] = []
        self.page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
        for _ in range(400):
            self.keys("Tab")
            name, wrong = self.page.evaluate(FOCUSED)
            if not name or name in found[:1]:  # the end, or the top again
                return found
            found.append(name)
            assert not wrong, (self.page.url, name, wrong)
        raise AssertionError(f"{self.page.url}: the keys do not come to an end")


# The name of an element, with a number of its own.
NAMED = """const all = [...document.querySelectorAll("*")];
  const named = (it) =>
    `${all.indexOf(it)} ${it.tagName} ${it.name ?? ""} ${it.textContent.trim().slice(0, 30)}`;"""
# The element with the focus, and what cannot be seen of it.
FOCUSED = f"""() => {{
  const it = document.activeElement;
  if (it === document.body || it === document.documentElement) return ["", ""];
  {NAMED}
  const style = getComputedStyle(it), box = it.getBoundingClientRect();
  const isInside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  const hasLine = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  return [named(it), !isInside ? "outside of the window" : !hasLine ? "no line around it" : ""];
}}"""
# What can be used on a page, and has to be among the stops.
USABLE = f"""() => {{
  {NAMED}
  const used = "a[href], button:not([disabled]), input:not([type=hidden]), select, textarea, summary, "
    + "[tabindex='0']";
  return all.filter((it) => it.matches(used) && !it.closest("noscript")
    && it.checkVisibility({{ visibilityProperty: true }})).map(named);
}}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    with playwright.sync_playwright() as play:
        words = ["--no-sandbox", "--disable-gpu", "--disable-quic"]
        shown = play.chromium.launch(executable_path=found, args=words)
        yield shown
        shown.close()


@pytest.fixture(scope="module")
def opened(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Return a function that opens tabs; what they ask of elsewhere, or complain of, is kept."""
    contexts = []

    def make(origin: str, **options: Any) -> Tab:
        context = browser.new_context(
            **{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        )
        contexts.append(context)
        tab = Tab(context.new_page(), origin)
        tab.page.set_default_timeout(10_000)
        own = (origin, "about:", "data:", "blob:")
        tab.page.on("console", lambda said: tab.wrong.append(said.text))
        tab.page.on("pageerror", lambda error: tab.wrong.append(str(error)))
        tab.page.on(
            "request",
            lambda asked: None if asked.url.startswith(own) else tab.wrong.append(asked.url),
        )
        return tab

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def files(opened: Callable[..., Tab], site: Site) -> Tab:  # noqa: F811
    return opened(f"{site.folder.as_uri()}/")


@dataclass
class Served:
    """A server in this process, and when its last change was."""

    origin: str
    warehouse: Warehouse


@pytest.fixture(scope="module")
def served(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:  # noqa: F811
    folder = tmp_path_factory.mktemp("served")
    path = Path(shutil.copy(site.warehouse.path, folder / "tiny.duckdb"))
    _make_older(path)
    with serving(path) as found:
        yield found


@contextmanager
def serving(path: Path) -> Iterator[Served]:
    """Serve a database until the block ends."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra web is not installed")
    pytest.importorskip("starlette", reason="the extra web is not installed")
    from warehouse.extensions.server import application, console, replicas

    own = path.parent / "own"
    own.mkdir()
    found = replicas.Replicas(WarehouseFile(path), own, Resources(threads=1), 3)
    run_sql = console.Console()
    listening = application.bound("127.0.0.1", 0)
    app = application.application(found, run_sql, None)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}/", Warehouse(path))
    server.should_exit = True
    thread.join(20)
    run_sql.close()
    listening.close()


def _make_older(path: Path) -> None:
    """Let some of what is stored be of earlier days, so that there are days to choose."""
    import duckdb

    times = {
        "dataset": "created_at", "qrels": "ingested_at", "attribute_set": "ingested_at",
        "slice": "made_at", "evaluation": "evaluated_at", "run": "ingested_at",
    }  # fmt: skip
    with duckdb.connect(path) as con:
        for table, column in times.items():
            some = "where run_id <= 3" if table == "run" else ""
            con.execute(f"update store.{table} set {column} = {column} - interval 2 day {some}")


@pytest.fixture(scope="module")
def live(opened: Callable[..., Tab], served: Served) -> Tab:
    return opened(served.origin)


def test_every_page_is_drawn_from_files(files: Tab, site: Site) -> None:  # noqa: F811
    for path, wanted in PAGES.items():
        page = files.open(path)
        if "data-chart" in site.pages[path.partition("#")[0]].source:
            # points, bars or lines, drawn without a script or a style that the policy forbids
            marks = "svg :is(.mark-symbol, .mark-rect, .mark-line) path"
            page.wait_for_selector(f"figure:visible {marks}", state="attached")
        assert wanted in files.text(), path
        assert "alert(1)" not in files.text().replace(SCRIPT, ""), path
        assert files.wrong == [], path
    seen = {path.partition("#")[0] for path in PAGES}
    for name in site.pages:
        if name not in seen:
            files.open(name)
            assert files.wrong == [], name
    (row,) = (
        row
        for row in site.warehouse.compare("tiny", RUNS, "RR", all_pairs=True, judged=False)
        if {row.base, row.run} == {"bm25", SCRIPT}
    )
    sign = 1 if row.run == SCRIPT else -1
    files.open(next(path for path in PAGES if "compare" in path))
    assert f"Difference\n{sign * row.difference:+.4f}" in files.text()
    assert f"{row.losses if sign < 0 else row.wins} / {row.ties} / " in files.text()


def test_every_page_is_drawn_from_a_server(live: Tab) -> None:
    for path, wanted in LIVE.items():
        live.open(path)
        assert wanted in live.text(), path
        expected = ["404"] if path == "nothing.html" else []
        assert [re.search(r"\d{3}", said)[0] for said in live.wrong] == expected, path  # type: ignore[index]
        live.wrong.clear()
    page = live.open("sql?sql=select+metric,value+from+leaderboard+where+run='bm25'")
    page.press("#statement", "Control+Enter")
    page.wait_for_selector("#rows tbody tr")
    assert "rows in" in page.inner_text("#sql-status")
    page.wait_for_selector("figure[data-chart=sql] .mark-rect path")
    assert page.locator("figure[data-chart=sql] .mark-rect path").count() > 2
    assert live.wrong == []


def _violations(tab: Tab, rules: str) -> list[Any]:
    """Return what axe finds wrong on the page, by all its rules or by some."""
    given = os.environ.get("AXE", "node_modules/axe-core/axe.min.js")
    if not Path(given).is_file():
        pytest.skip("axe is not there (npm install --no-save axe-core, or AXE=…/axe.min.js)")
    tab.page.evaluate(Path(given).read_text(encoding="utf-8"))
    found = tab.page.evaluate(f"axe.run({rules}).then((said) => JSON.stringify(said.violations))")
    return [(one["id"], one["nodes"][0]["html"]) for one in json.loads(found)]


@pytest.mark.parametrize(
    ("look", "rules"), [("light", ""), ("dark", "{runOnly: ['color-contrast']}"), ("narrow", None)]
)
def test_pages_are_accessible_and_as_wide_as_the_window(
    opened: Callable[..., Tab],
    site: Site,  # noqa: F811
    served: Served,
    look: str,
    rules: str | None,
) -> None:
    options: dict[str, Any] = {
        "bypass_csp": True,  # axe is a script from elsewhere
        "color_scheme": "dark" if look == "dark" else "light",
        "viewport": {"width": 360 if look == "narrow" else 1280, "height": 800},
    }
    doors = ((f"{site.folder.as_uri()}/", PAGES), (served.origin, LIVE))
    for origin, pages in doors:
        tab = opened(origin, **options)
        for path in pages:
            tab.open(path)
            width = tab.page.evaluate("document.documentElement.scrollWidth")
            assert width <= options["viewport"]["width"], path
            assert rules is None or _violations(tab, rules) == [], path


def test_keys_alone_reach_everything(files: Tab, live: Tab) -> None:
    for tab, paths in ((files, [*PAGES][:10:2] + [*PAGES][9:12]), (live, [*[*LIVE][:4:3], "sql"])):
        for path in paths:
            page = tab.open(path)
            stops = tab.stops()
            assert stops[0].endswith("Skip to the content")
            assert len(set(stops)) == len(stops), path
            assert set(page.evaluate(USABLE)) <= set(stops), path


def test_keys_alone_work_the_controls(
    files: Tab,
    live: Tab,
    site: Site,  # noqa: F811
) -> None:
    page = files.open("tiny/index.html")
    files.keys("Tab")
    assert page.locator(".skip").evaluate("it => it.getBoundingClientRect().left >= 0")
    files.keys("Enter", "Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")
    page.focus(
        "th[data-key='rr'] button" if "rr" in METRIC_KEYS.values() else "th:nth-child(4) button"
    )
    files.keys("Enter")
    assert page.locator("th[aria-sort]").count() == 1
    assert "sort=3" in page.url
    page.focus("details.copy summary")
    files.keys("Enter")
    assert page.locator("details.copy pre").first.is_visible()
    page = files.open("tiny/queries/q1.html")
    before = page.locator("#side section").count()
    page.focus("#query-values input:not(:checked)")
    files.keys("Space")
    assert page.locator("#side section").count() == before + 1
    page = files.open("tiny/compare.html")
    page.focus("select[name=metric]")
    files.keys("ArrowDown")
    assert f"metric={METRIC_KEYS['RR']}" in page.url
    page.wait_for_selector("#verdict:has-text('RR of')")
    page.focus("select[name=add]")
    for _ in RUNS:
        files.keys("Tab", "Enter", "Shift+Tab", "ArrowDown")
    rows = page.locator("#against tbody tr")
    pairs = site.warehouse.compare("tiny", RUNS, "RR", all_pairs=True, judged=False)
    base = page.locator("select[name=base] option:checked").inner_text()
    differences = {row.run: row.difference for row in pairs if row.base == base}
    differences |= {row.base: -row.difference for row in pairs if row.run == base}
    assert {
        row.locator("th").inner_text(): row.locator("td").nth(1).inner_text() for row in rows.all()
    } == {run: f"{one:+.4f}" if one else "0.0000" for run, one in differences.items()}
    address = page.url
    files.open(address.removeprefix(files.origin))
    assert rows.count() == 3
    page.focus("#against button[aria-pressed=false]")
    files.keys("Enter")
    assert rows.count() == 3
    page.focus("#against button[aria-label^=Remove]")
    files.keys("Enter")
    assert rows.count() == 2
    page.focus("button[name=swap]")
    runs = page.input_value("select[name=base]"), page.input_value("select[name=run]")
    files.keys("Enter")
    assert (page.input_value("select[name=run]"), page.input_value("select[name=base]")) == runs
    assert files.wrong == []
    # the slider over the days
    page = live.open("tiny/")
    page.focus("input[type=range]")
    assert page.get_attribute("input[type=range]", "aria-valuetext") == "now"
    with page.expect_navigation():
        live.keys("ArrowLeft")
    assert "as_of=" in page.url
    assert "As of" in page.inner_text("main")
    assert live.wrong == []


def test_back_and_forward_and_links_show_the_same(files: Tab, live: Tab) -> None:
    page = files.open("tiny/index.html")
    page.click("th:nth-child(4) button")
    page.fill("input[name=text]", "bm25")
    order, address = page.locator("#board tbody th:visible").all_inner_texts(), page.url
    page.click("#board tbody th:visible a")
    page.go_back()
    assert (page.locator("#board tbody th:visible").all_inner_texts(), page.url) == (order, address)
    page.go_forward()
    assert "Why these numbers" in files.text()
    files.open(address.removeprefix(files.origin))
    assert page.locator("#board tbody th:visible").all_inner_texts() == order

    page = live.open("tiny/")

    def leads(act: Callable[..., object], *words: object, **options: object) -> None:
        """Do what leads to another page, and wait until its scripts have run."""
        with page.expect_navigation():
            act(*words, **options)

    leads(page.click, "th >> text=RR")
    by_metric = page.url
    leads(page.select_option, "select[name=system]", "system of bm25")
    assert "system=" in page.url
    assert page.locator("#board tbody tr").count() == 1
    page.go_back()
    assert page.url == by_metric
    page.go_back()
    assert page.url == live.origin + "tiny/"
    page.go_forward()
    assert page.get_attribute("th:has-text('RR')", "aria-sort") == "descending"
    leads(page.select_option, "select[name=as_of]", index=2)
    assert "as_of=" in page.url
    leads(page.click, "#board tbody th a")
    assert "as_of=" in page.url
    assert "As of" in live.text()
    leads(page.select_option, "select[name=as_of]", "")
    assert "as_of" not in page.url
    assert "Why these numbers" in live.text()
    assert (files.wrong, live.wrong) == ([], [])


def test_a_long_board_is_sorted_filtered_and_paged_from_its_index(
    opened: Callable[..., Tab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = Warehouse(tmp_path / "long.duckdb")
    wh.ingest_qrels("long", {f"q{n}": {"a": 1, "b": 2} for n in range(3)})
    names = [*(f"run{n:02}" for n in range(12)), SCRIPT]
    for n, name in enumerate(names):
        lists = {f"q{q}": {d: (n * 7 + q * 3 + ord(d)) % 11 for d in "abcx"} for q in range(3)}
        wh.ingest_run("long", lists, name=name, system=f"S{n % 2}", tags={"k": str(n % 3)})
    wh.evaluate("long", metrics=["nDCG@2", "AvgRank"])
    monkeypatch.setattr(contents, "MOST_COMPARED", 5)
    monkeypatch.setattr("warehouse.report.pages.site.ROWS", 5)
    wh.report(tmp_path / "site")
    tab = opened(f"{(tmp_path / 'site').as_uri()}/")
    page = tab.open("long/index.html")

    def shown() -> list[tuple[str, str, str]]:
        rows = page.locator("#board tbody tr").all()
        cells = [[cell.text_content() for cell in row.locator("td, th").all()] for row in rows]
        return [(c[0], c[1].partition("S0")[0].partition("S1")[0], c[2][:6]) for c in cells]

    def wanted(metric: str) -> list[tuple[str, str, str]]:
        board = wh.leaderboard("long", sort=metric)
        return [(str(row.place), row.run, f"{row['nDCG@2']:.4f}") for row in board]

    assert shown() == wanted("nDCG@2")[:5]
    page.click("button[name=next]")
    assert shown() == wanted("nDCG@2")[5:10]
    page.click("th:has-text('AvgRank') button")  # lower is better: the best first
    assert shown() == wanted("AvgRank")[:5]
    page.click("button[name=next]")
    page.click("button[name=next]")
    assert shown() == wanted("AvgRank")[10:]
    address = page.url
    page.select_option("select[name=system]", "S1")
    page.fill("input[name=text]", "RUN0")
    assert "5 of 13 shown" in tab.text()
    assert {name for _, name, _ in shown()} == {f"run0{n}" for n in (1, 3, 5, 7, 9)}
    tab.open(address.removeprefix(tab.origin))
    assert shown() == wanted("AvgRank")[10:]
    page.click("#board tbody tr a >> nth=0")
    assert "Why these numbers" in tab.text()
    tab.open("long/queries/q0.html")
    assert page.locator("#query-values tbody tr").count() == 5
    # the link to a run that is not tested with the others shows it, with its own values
    best, *_, last = wh.leaderboard("long")
    tab.open(f"long/runs/{keys(names)[last.run]}.html")
    page.click("a.button")
    page.wait_for_selector("#verdict strong")
    shown_values = page.locator("#verdict strong").all_text_contents()
    difference = last["nDCG@2"] - best["nDCG@2"]
    assert shown_values == [f"{best['nDCG@2']:.4f}", f"{last['nDCG@2']:.4f}", f"{difference:+.4f}"]
    assert page.locator("select[name=run] option:checked").text_content() == last.run
    assert f"warehouse compare {best.run} {last.run}" in tab.text()
    assert tab.wrong == []


def test_a_page_that_was_open_while_a_run_arrived_shows_nothing_of_two_states(
    opened: Callable[..., Tab], tmp_path: Path
) -> None:
    """Values and texts that it loads are of another state: it is loaded again, and says so."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q": {"a": 1}, "p": {"b": 1}})
    (tmp_path / "texts.tsv").write_text("".join(f"{doc}\tText of {doc}.\n" for doc in "abcde"))
    wh.ingest_text("tiny", tmp_path / "texts.tsv", of="docs")
    wh.ingest_run("tiny", {"q": {"c": 3.0, "a": 2.0, "d": 1.0}, "p": {"b": 1.0}}, name="m")
    wh.ingest_run("tiny", {"q": {"d": 3.0, "e": 2.0, "a": 1.0}, "p": {"c": 1.0}}, name="n")
    wh.evaluate("tiny", metrics=["RR", "P@1"])
    wh.report(tmp_path / "site", with_text=True)
    tab, other = (opened(f"{(tmp_path / 'site').as_uri()}/") for _ in range(2))
    page, texts = tab.open("tiny/compare.html#base=n&run=m"), other.open("tiny/queries/q.html")
    page.wait_for_selector("#verdict strong")
    # of another state: a run that comes first on every list, and in the order of names
    wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}, "p": {"b": 1.0}}, name="a")
    wh.evaluate("tiny")
    wh.report(tmp_path / "site", with_text=True)
    page.select_option("select[name=metric]", label="P@1")
    page.wait_for_selector(".notice")
    # by hand: n has nothing relevant first; m has b first for p alone
    page.wait_for_function("document.querySelector('#verdict span')?.textContent === 'P@1 of n'")
    assert page.locator("#verdict strong").all_text_contents()[:2] == ["0.0000", "0.5000"]
    texts.click("#side li button >> nth=0")
    texts.wait_for_selector(".notice")
    for button in texts.locator("#side li button").all():
        button.click()
        assert button.locator("xpath=ancestor::li").locator(".body").text_content() == (
            f"Text of {button.text_content()}."
        )
    assert (tab.wrong, other.wrong) == ([], [])


def test_a_server_tests_a_pair_beyond_the_best_runs(
    opened: Callable[..., Tab], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of two runs that are not tested with the others has the test of the command."""
    wh = Warehouse(tmp_path / "w.duckdb")
    queries = [f"q{n}" for n in range(8)]
    wh.ingest_qrels("long", {q: {"a": 1, "b": 2} for q in queries})
    names = [f"run{n}" for n in range(7)]
    for n, name in enumerate(names):
        lists = {
            q: {d: (n * 7 + m * 3 + ord(d)) % 11 for d in "abcx"} for m, q in enumerate(queries)
        }
        wh.ingest_run("long", lists, name=name)
    wh.evaluate("long", metrics=["nDCG@2", "RR"])
    monkeypatch.setattr(contents, "MOST_COMPARED", 3)
    order = [row.run for row in wh.leaderboard("long")]
    base, run = order[0], order[-1]
    with serving(wh.path) as server:
        tab = opened(server.origin)
        page = tab.open(f"long/compare.html#base={keys(names)[base]}&run={keys(names)[run]}")
        page.wait_for_selector("#verdict :text('p / corrected')")
        (pair,) = wh.compare("long", [base, run], "nDCG@2", judged=False)
        assert page.locator("#verdict strong").all_text_contents() == [
            f"{pair.base_value:.4f}",
            f"{pair.value:.4f}",
            f"{pair.difference:+.4f}",
            f"[{pair.low:+.4f}, {pair.high:+.4f}]",
            f"{pair.wins} / {pair.ties} / {pair.losses}",
            f"{pair.effect_size:+.2f}",
            f"{pair.p:.4f} / {pair.p_adjusted:.4f}" + " *" * pair.is_significant,
        ]
        assert tab.wrong == []


def test_paper_has_the_tables_and_no_controls(files: Tab) -> None:
    page = files.open("tiny/index.html")
    page.emulate_media(media="print")
    try:
        assert not page.locator(".top, .controls, .skip").first.is_visible()
        assert page.locator("#board").is_visible()
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX")
            == "visible"
        )
    finally:
        page.emulate_media(media="screen")
