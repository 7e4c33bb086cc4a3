"""A project's own metrics and protocols: `warehouse.toml` and the files that it names."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from projects import BEST, SETTINGS, Folder, command, score
from refusals import tells

from warehouse.config import project
from warehouse.config.settings import database_path
from warehouse.errors import DefinitionError, UsageError
from warehouse.evaluate.chain import fingerprint_of
from warehouse.evaluate.plan import plan
from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse


def test_the_nearest_file_above_counts(here: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    below = here.path / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert database_path() == here.path / "results.duckdb"
    assert score("Best@2") == {"Best@2": 0.5}
    (here.path / "a" / "warehouse.toml").write_text("", encoding="utf-8")
    assert database_path() == Path("warehouse.duckdb")
    with pytest.raises(UsageError, match=r"Best@\d: no such metric"):
        score("Best@2")


def test_a_variable_names_the_file(
    here: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert project.current() == project.Project()
    monkeypatch.setenv("WAREHOUSE_CONFIG", "project/warehouse.toml")
    assert project.current().database == here.path / "results.duckdb"
    assert score("Best@2") == {"Best@2": 0.5}
    monkeypatch.setenv("WAREHOUSE_CONFIG", os.devnull)
    assert project.current().database is None
    for wrong, words in (("nowhere.toml", "no such file"), ("project", "a folder")):
        monkeypatch.setenv("WAREHOUSE_CONFIG", wrong)
        with pytest.raises(DefinitionError, match=f"WAREHOUSE_CONFIG: {wrong}: {words}"):
            project.current()


def test_what_is_said_for_the_database_goes_before_the_file(
    here: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.write("warehouse.toml", "not toml")
    assert database_path("given.duckdb") == Path("given.duckdb")
    monkeypatch.setenv("WAREHOUSE_DB", "named.duckdb")
    assert database_path() == Path("named.duckdb")
    monkeypatch.setenv("WAREHOUSE_DB", " ")
    with pytest.raises(
        UsageError, match="the name of the database is blank: see --db and WAREHOUSE"
    ):
        database_path()


@pytest.mark.parametrize("name", ["warehouse.toml", "pyproject.toml"])
def test_a_file_of_another_user_is_refused_until_it_is_trusted(
    here: Folder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It is found in the folder or above it; one that is named is trusted, as the caller's own is."""
    if name == "pyproject.toml":
        (here.path / "warehouse.toml").unlink()
        here.write(name, '[tool.warehouse]\ndatabase = "results.duckdb"\n')
    below = here.path / "a"
    below.mkdir()
    monkeypatch.chdir(below)
    caller = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: caller + 1)
    code, out, err = command("runs")
    assert (code, out) == (2, "")
    assert err.startswith(f"{here.path / name}: it or its folder belongs to another user")
    assert f"export WAREHOUSE_TRUST={here.path}; to go without: export WAREHOUSE_CONFIG=" in err
    for trusted in (str(here.path), "*", os.pathsep.join(["/elsewhere", f"{here.path}/"])):
        monkeypatch.setenv("WAREHOUSE_TRUST", trusted)
        assert database_path() == here.path / "results.duckdb"
    for trusted in ("", str(below), str(here.path.parent)):
        monkeypatch.setenv("WAREHOUSE_TRUST", trusted)
        with pytest.raises(DefinitionError, match="belongs to another user"):
            database_path()
    monkeypatch.setenv("WAREHOUSE_CONFIG", str(here.path / name))
    assert database_path() == here.path / "results.duckdb"
    monkeypatch.setenv("WAREHOUSE_CONFIG", os.devnull)
    assert database_path() == Path("warehouse.duckdb")


def test_a_file_in_the_folder_of_another_user_is_refused(
    here: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project, "is_own", lambda found: not stat.S_ISDIR(found.st_mode))
    with pytest.raises(DefinitionError, match="belongs to another user"):
        database_path()


def test_a_folder_that_is_gone_has_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert project.current() == project.Project()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("metrics =", "metrcs =", "metrcs … metrics"),
        ("metrics =", "folder =", "unknown key 'folder'; known are database, metrics, settle,"),
        ('"formulas"', "3", "metrics … a string"),
        ('"formulas"', '["AP"]', "write a string, the folder of your own ones; [evaluate] says which"),
        ("metrics =", "qrels =", "unknown key 'qrels'; it stands in [datasets.NAME]"),
        ('"formulas"', '" "', "'metrics' is blank"),
        ('"formulas"', "formulas", "line 2: not TOML: Invalid value"),
        ("depth = 2", "depth = 2\n[protocols", "line 8: not TOML: "),
        ('"formulas"', '"formula"', "metrics … formula … formulas"),
        ('"formulas"', '"elsewhere"', "metrics: no folder elsewhere; make it"),
        ("[protocols.top2]", "[protocol.top2]", "protocol … protocols"),
        ("depth = 2", "dept = 2", "protocols.top2 … dept … depth"),
        ("depth = 2", 'depth = "2"', "protocols.top2 … depth … a whole number"),
        ("depth = 2", "depth = true", "depth … a whole number"),
        ("depth = 2", "depth = 0", "protocols.top2: depth is at least 1, not 0"),
        ("depth = 2", 'ties = "doc_dsc"', "doc_dsc … doc_desc"),
        ("depth = 2", "lacks = [1]", "protocols.top2.lacks … item 1"),
        ("depth = 2", 'names = "ranks"', "ranks … ranx"),
        ("depth = 2", 'names = "else"', "names for metrics; those are beir, elliot, ir_measures, label"),
        ("depth = 2", "params.P.rell = 2", "params.P … rell … rel"),
        ("depth = 2", "params.P.rel = 0", "params.P: rel is at least 0.001, not 0"),
        ("depth = 2", "params.IAP.levels = 3", "params.IAP: levels is written as in levels=[0.25,0.5]"),
        ("depth = 2", "params.P = 3", "protocols.top2.params … P … a table"),
        ("depth = 2", "params.Bst.rel = 2", "params … Bst … Best"),
        ("depth = 2", "params.P.cutoff = {}", "params.P: cutoff is of the type integer, not a table"),
        ("depth = 2", "params.AP.aggregate = []", "aggregate is of the type choice, not a list"),
        ("depth = 2", 'undefined.AP = "nul"', "undefined: AP is a number or 'null', not 'nul'"),
        ("depth = 2", "undefined.AP = true", "undefined … AP"),
        ('"default"', '"defalt"', "defalt … default"),
        ('"default"', '"top2"', "extends 'top2', which extends it"),
        ('"default"', "3", "extends … a string"),
        ('extends = "default"\n', "", "the key 'ties' is missing; or extend one that has it"),
        ('summary = "The first two documents."\n', "", "the key 'summary' is missing"),
        ("protocols.top2", "protocols.Default", "protocols.Default: the name is taken"),
        ("protocols.top2", "protocols.rule", "protocols.rule: the name is taken"),
        ("protocols.top2", 'protocols."top 2"', "a name has letters, digits"),
    ],
)  # fmt: skip
def test_a_wrong_setting_gets_one_line(here: Folder, old: str, new: str, words: str) -> None:
    assert old in SETTINGS
    here.write("warehouse.toml", SETTINGS.replace(old, new, 1))
    with pytest.raises(DefinitionError) as caught:
        score("AP")
    message = str(caught.value)
    assert message.startswith("warehouse.toml: ")
    assert tells(message, words)
    assert "\n" not in message


def test_a_value_that_is_no_table_is_no_protocol(here: Folder) -> None:
    here.write("warehouse.toml", 'protocols = { top2 = "default" }')
    with pytest.raises(DefinitionError, match=r"'top2' has .* write a table: \[protocols.top2\]"):
        score("AP")


def test_a_protocol_takes_from_another_what_it_does_not_say(here: Folder) -> None:
    here.write(
        "warehouse.toml",
        '[protocols.mine]\nextends = "roerei"\nsummary = "x"\nparams.P.no_relevant = 0.5\n'
        "undefined.AP = 1\n"
        '[protocols.deeper]\nextends = "mine"\nsummary = "y"\ndepth = 7\n',
    )
    roerei, mine, deeper = (protocols.get(name) for name in ("roerei", "mine", "deeper"))
    assert mine.params == {**roerei.params, "P": {"norm": "retrieved", "no_relevant": 0.5}}
    assert mine.undefined == {"Cover": 1, "AP": 1}
    assert (mine.summary, mine.queries, mine.depth) == ("x", roerei.queries, None)
    assert (deeper.params, deeper.depth, deeper.summary) == (mine.params, 7, "y")
    assert protocols.get("roerei") == roerei


@pytest.mark.slow
def test_a_protocol_is_evaluated_and_shown(here: Folder, loaded: Warehouse) -> None:
    # only the first two documents of q1 count: the third, of grade 3, is not seen
    assert score("Best@3", protocol="top2") == {"Best@3": 0.5}
    loaded.evaluate(metrics="Best@3")
    loaded.evaluate(metrics="Best@3", protocol="top2")
    boards = {p: loaded.leaderboard("tiny", protocol=p).fetchall() for p in ("default", "top2")}
    assert {p: {row[1]: row[3] for row in rows} for p, rows in boards.items()} == {
        "default": {"one": 1.5, "two": 2.5},
        "top2": {"one": 0.5, "two": 2.5},
    }
    code, out, _ = command("protocols", "-f", "csv")
    assert (code, out.splitlines()[-1]) == (0, "top2,project,The first two documents.")


def test_protocols_side_by_side(here: Folder) -> None:
    words = ("trec_eval_9", "trec_eval_10", "default", "top2")
    code, out, _ = command("protocols", "show", *words, "-f", "csv")
    lines = out.splitlines()
    assert (code, lines[0]) == (0, "rule,differs,trec_eval_9,trec_eval_10,default,top2")
    assert "ties,,doc_desc,doc_desc,doc_desc,doc_desc" in lines
    assert "score_precision,≠,single,double,double,double" in lines
    assert "depth,≠,all,all,all,2" in lines
    assert "IPrec,≠,needed=trec_eval_9,needed=trec_eval_10,," in lines
    assert 'lacks,≠,"rbp, rbp_resid, unj",,,' in lines


@pytest.mark.slow
def test_a_changed_protocol_makes_stale_only_what_it_changes(
    here: Folder, loaded: Warehouse
) -> None:
    def due() -> tuple[int, int]:
        done = loaded.evaluate(metrics="Best@3 NumRel", protocol="top2")
        return done.computed, done.stale

    assert due() == (4, 0)
    here.write("warehouse.toml", SETTINGS.replace("The first two documents.", "Another sentence."))
    assert due() == (0, 0)
    here.write("warehouse.toml", SETTINGS.replace("depth = 2", "depth = 2\nlist_silent = false"))
    assert due() == (0, 0)
    here.write("warehouse.toml", SETTINGS.replace("depth = 2", "depth = 1"))
    computed, stale = due()
    assert computed == stale > 0
    assert loaded.leaderboard("tiny", metrics="Best@3", protocol="top2").fetchall()[1][3] == 0.0


def test_equal_protocols_share_values_in_fingerprint_and_not_in_name(
    here: Folder, loaded: Warehouse
) -> None:
    here.write("warehouse.toml", SETTINGS + SETTINGS[SETTINGS.index("[") :].replace("top2", "two"))
    metrics = notation.parse("Best@3")
    prints = [fingerprint_of(plan(metrics, protocols.get(p)), metrics[0]) for p in ("top2", "two")]
    assert prints[0] == prints[1]
    loaded.evaluate(metrics="Best@3", protocol="top2")
    assert list(loaded.leaderboard("tiny", protocol="two").metrics) == [
        "nDCG@10",
        "AP",
        "P@10",
        "RR",
    ]


@pytest.mark.slow
def test_values_of_a_metric_that_is_gone_are_shown(here: Folder, loaded: Warehouse) -> None:
    low = BEST.replace('"higher"', '"lower"')
    here.metric(low)
    loaded.evaluate(metrics="Best@2 RR")
    before = loaded.leaderboard("tiny").fetchall()
    # the arrow is that of the order, which is of the stored direction until the values are made anew
    here.metric(BEST)
    assert "Best@2 ↓" in command("leaderboard", "-d", "tiny")[1]
    (here.path / "formulas/Best.sql.j2").unlink()
    # lower is better, as was stored
    assert [row[1] for row in before] == ["one", "two"]
    assert loaded.leaderboard("tiny").fetchall() == before
    assert loaded.leaderboard("tiny", metrics="RR", sort="Best@2").fetchall()[0][1] == "one"
    assert loaded.queries("tiny", "one", metrics=["Best@2"], worst=1).fetchall()[0][:2] == ("q1", 1)
    for words in (("leaderboard", "-m", "Best@2", "-m", "RR"), ("queries", "one", "-m", "Best@2")):
        code, out, err = command(*words, "-d", "tiny")
        assert code == 0
        assert "Best@2" in out
        gone = "no longer defined, so these are the stored values: Best@2"
        assert err.splitlines() == [
            *(
                ["mean over queries; 2 of 2 judged queries answered by every run"]
                if words[0] == "leaderboard"
                else []
            ),
            gone,
        ]
        assert ("Best@2 ↓" in out) == (words[0] == "leaderboard")
    with pytest.raises(UsageError, match=r"Best@\d: no such metric"):
        loaded.leaderboard("tiny", metrics=["Best@3"])
    with pytest.raises(UsageError, match=r"Best@\d: no such metric"):
        loaded.evaluate(metrics="Best@2")


@pytest.mark.slow
def test_values_of_a_protocol_that_is_gone_are_shown(here: Folder, loaded: Warehouse) -> None:
    here.write("warehouse.toml", SETTINGS + 'ties = "doc_asc"\n')
    loaded.evaluate(metrics="Best@3")
    loaded.evaluate(metrics="Best@3", protocol="top2")
    board = loaded.leaderboard("tiny", protocol="top2").fetchall()
    rows = loaded.queries("tiny", "one", protocol="top2").fetchall()
    here.write("warehouse.toml", SETTINGS[: SETTINGS.index("[")])
    assert loaded.leaderboard("tiny", protocol="top2").fetchall() == board
    assert loaded.queries("tiny", "one", protocol="top2").fetchall() == rows
    code, out, err = command("leaderboard", "-d", "tiny", "--protocol", "top2")
    assert code == 0
    assert "Best@3" in out
    assert err.splitlines() == [
        "mean over queries; 2 of 2 judged queries answered by every run",
        "no longer defined, so these are the stored values: protocol top2",
    ]
    with pytest.raises(UsageError, match="top2: no such protocol"):
        loaded.evaluate(metrics="Best@3", protocol="top2")
    with pytest.raises(UsageError, match="top3: no such protocol"):
        loaded.leaderboard("tiny", protocol="top3")
