"""Extensions: what a package outside this one adds, and what is said of one that does not work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from projects import BEST
from test_manual import DOCS, blocks, commands

from warehouse import Warehouse, extending
from warehouse.errors import UsageError
from warehouse.metrics import catalogue

PAGE = DOCS / "how-to" / "extend.md"
# A fusion method and a protocol, which the manual's package does not have.
MORE = """\
from pathlib import Path
from warehouse.extending import Extension
EXTENSION = Extension(
    summary="More.", api=1, sql=Path(__file__).parent / "sql",
    protocols={"top1": {"extends": "default", "summary": "The first document.", "depth": 1}},
)
"""
LOWEST = """\
/*
title = "Lowest score"
summary = "The lowest score of a document."
formula = "min(s)"
reference = "made up"
needs = []
scores = true
*/
select query_id, doc_id, min(score) as score from entry group by query_id, doc_id
"""


def files() -> dict[str, str]:
    """Return the files of the package that the manual builds, by their paths in it."""
    found = {}
    for block in blocks(PAGE, "console"):
        for command in commands(*block):
            first, *lines = command.text.splitlines()
            if first.startswith("cat > music/"):
                path = first.split()[2].removeprefix("music/")
                found[path] = "\n".join(lines[:-1]) + "\n"
    return found


def install(folder: Path, name: str, target: str, sources: dict[str, str]) -> None:
    """Put modules into a folder, with the metadata that names their extension."""
    for path, text in sources.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{extending.GROUP}]\n{name} = {target}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of packages, which programs that are started from here search."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\n")
    (tmp_path / "mine.playlist").write_text("q1|x|3\nq1|a|2\n")
    (tmp_path / "mine.run").write_text("q1 Q0 x 1 3 mine\nq1 Q0 a 2 2 mine\n")
    return folder


def test_a_package_adds_metrics_names_formats_commands_and_pages(
    packages: Path, tmp_path: Path, program
) -> None:
    install(packages, "music", "warehouse_music:EXTENSION", files())
    score = "score qrels.txt mine.playlist best_song BestSong@2 Skipped -f csv"
    found = program.calls(
        score, "ingest qrels qrels.txt -d d", "ingest run mine.playlist", "evaluate -m BestSong@2",
        "songs", "extensions -f csv", "help all", "report site", cwd=tmp_path,
    )  # fmt: skip
    assert [(line, one) for line, one in found.items() if one.code] == []
    # x is not judged; a, with grade 2, is at rank 2
    assert found[score].out.splitlines()[1:] == ["BestSong@1,0.0", "BestSong@2,2.0", "Skipped,1.0"]
    assert found["songs"].out == "1\n"
    assert "music,music 1.0,metrics BestSong; " in found["extensions -f csv"].out
    assert "songs" in found["help all"].out
    assert "left out" not in "".join(one.err for one in found.values())
    page = (tmp_path / "site/d/songs.html").read_text()
    # the run `mine` has two documents
    assert re.search(r'<th scope="row">mine</th><td class="num">2</td>', page)
    assert 'href="../d/songs.html"' in (tmp_path / "site/d/index.html").read_text()


def test_a_page_that_fails_is_one_warning_and_the_others_are_written(
    packages: Path, tmp_path: Path, program
) -> None:
    source = """\
from warehouse.extending import Extension
from warehouse.report.pages.added import DatasetPage
FAILS = DatasetPage("fails", "Fails", lambda contents: 1 / 0)
TAKEN = DatasetPage("curves", "Curves", lambda contents: None)
TWICE = DatasetPage("fails", "Twice", lambda contents: None)
EMPTY = DatasetPage("empty", "Empty", lambda contents: None)
NONE = "no page"
EXTENSION = Extension(summary="Bad.", api=1, pages=[
    "bad:FAILS", "bad:TAKEN", "bad:TWICE", "bad:EMPTY", "bad:NONE", "bad:GONE"])
"""
    install(packages, "bad", "bad:EXTENSION", {"bad.py": source})
    report = "report site"
    found = program.calls(
        "ingest qrels qrels.txt -d d", "ingest run mine.run", "evaluate -m RR", report, cwd=tmp_path,
    )  # fmt: skip
    assert [(line, one) for line, one in found.items() if one.code] == []
    for reason in (
        "page fails: ZeroDivisionError: division by zero", "page curves: the name is taken",
        "page fails: the name is taken", "page empty: TypeError: its function returns NoneType",
        "'no page': is no DatasetPage with a name in small letters", "bad:GONE: AttributeError: ",
    ):  # fmt: skip
        assert found[report].err.count(f"extension bad: left out: {reason}") == 1
    page = (tmp_path / "site/d/fails.html").read_text()
    assert "The extension bad could not make this page." in page


def test_a_package_adds_fusion_methods_and_protocols(
    packages: Path, tmp_path: Path, program
) -> None:
    sources = {"more/__init__.py": MORE, "more/sql/fusion/lowest.sql.j2": LOWEST}
    install(packages, "more", "more:EXTENSION", sources)
    (tmp_path / "other.run").write_text("q1 Q0 a 1 5 other\nq1 Q0 x 2 1 other\n")
    board = "leaderboard -m RR --protocol top1 -f csv"
    found = program.calls(
        "ingest qrels qrels.txt -d d", "ingest run mine.run other.run",
        "fuse mine other --method lowest --normalise none --name both", board, cwd=tmp_path,
    )  # fmt: skip
    assert [(line, one) for line, one in found.items() if one.code] == []
    # fused, a has 2 and x has 1; in the run `mine`, a is second, and the protocol reads one document
    rows = [line.split(",") for line in found[board].out.splitlines()]
    at = rows[0].index("RR")
    values = {row[1]: row[at] for row in rows[1:]}
    assert values == {"both": "1.0", "other": "1.0", "mine": "0.0"}


# Each is wrong in another way, and says so in one line.
BROKEN = {
    "no module": ({}, "ModuleNotFoundError: No module named 'bad'"),
    "raises": ({"bad.py": "1 / 0"}, "bad 1.0: ZeroDivisionError: division by zero"),
    "exits": ({"bad.py": "raise SystemExit(3)"}, "bad 1.0: SystemExit: 3"),
    "no extension": ({"bad.py": "EXTENSION = 1"}, "the entry point names no Extension"),
    "another API": ("api=2", "is for API 2, and this program has 1"),
    "no version": ("sql=None", "missing 1 required keyword-only argument: 'api'"),
    "no folder": ("sql='sql'", "ValueError: sql: no folder 'sql'"),
    "type": ("names=['hit']", "TypeError: names: is no dict"),
    "format": ("formats=['bad:Lost']", "bad:Lost: AttributeError: "),
    "functions": ("functions=['lost']", "lost: ModuleNotFoundError: "),
    "command": ("commands={'songs': 'lost.songs'}", "command songs: ModuleNotFoundError: "),
    "taken": ("commands={'score': 'lost'}", "command score: the name is taken"),
    "no command": ("commands={'json': 'json'}", "command json: AttributeError: "),
    "protocol": ("protocols={'p': {'dept': 1}}", "unknown key 'dept'"),
    "name": ("names={'liked': 'nDGC@10'}", "names: liked: nDGC@10 is not the name of one metric"),
}


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.sample(4)
def test_one_that_does_not_work_is_one_warning(
    kind: str, packages: Path, tmp_path: Path, program
) -> None:
    sources, reason = BROKEN[kind]
    if isinstance(sources, str):
        sources = sources if "sql=None" in sources or "api" in sources else f"api=1, {sources}"
        text = "from warehouse.extending import Extension\n"
        sources = {"bad.py": f"{text}EXTENSION = Extension(summary='Bad.', {sources})\n"}
    install(packages, "bad", "bad:EXTENSION", sources)
    score, listed = "score qrels.txt mine.run RR liked -f csv", "extensions -f csv"
    found = program.calls(score, "protocols", "runs --help", "--help", listed, cwd=tmp_path)
    said = "".join(one.err for one in found.values())
    assert said.count("extension bad: left out: ") == 1
    assert reason in said
    assert reason in found[listed].out.replace('""', '"')
    assert {line: one.code for line, one in found.items() if one.code} == {score: 2}
    assert "liked: no such metric" in found[score].err


def test_nothing_is_loaded_from_the_current_folder_or_one_that_all_can_write(
    packages: Path, program
) -> None:
    install(packages, "bad", "bad:EXTENSION", {"bad.py": "print('run')"})
    listed = "extensions -f csv"
    known = program.calls(listed, cwd=packages.parent)[listed]
    assert "bad" in known.out
    here = program.calls(listed, cwd=packages)[listed]
    packages.chmod(0o777)
    written = program.calls(listed, cwd=packages.parent)[listed]
    for found in (here, written):
        assert (found.code, found.err) == (0, "")
        assert "bad" not in found.out


@pytest.mark.usefixtures("registered")
def test_a_folder_of_metrics_named_in_code_is_known_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "formulas"
    folder.mkdir()
    (folder / "Best.sql.j2").write_text(BEST)
    monkeypatch.chdir(tmp_path)
    wh = Warehouse("w.duckdb", metrics="formulas")
    monkeypatch.chdir("/")
    wh.ingest_qrels("d", {"q1": {"a": 2}})
    wh.ingest_run("d", {"q1": {"x": 3.0, "a": 2.0}}, name="mine")
    assert wh.evaluate(metrics="Best@1 Best@2").computed == 2
    assert wh.leaderboard(metrics="Best@2").fetchall()[0][3] == 2.0
    assert Warehouse.score({"q": {"a": 1}}, {"q": {"a": 1}}, "Best@1").means() == {"Best@1": 1.0}
    other = tmp_path / "other"
    other.mkdir()
    (other / "Best.sql.j2").write_text(BEST)
    Warehouse("w.duckdb", metrics=other)
    (problem,) = catalogue.broken().values()
    assert "Best.sql.j2 has a metric of that name" in str(problem)
    with pytest.raises(UsageError, match="metrics: no folder"):
        Warehouse("w.duckdb", metrics="lost")
