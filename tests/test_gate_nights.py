"""Nights of a team with gates: bad runs, acceptance, other judgments, lost files, and who is told."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from projects import command
from refusals import expect_refusal
from shared_cases import CASES, needs_cases
from syncs import BAD, BETTER, QRELS, RUN, Project, gated

from warehouse.store import clock
from warehouse.sync import gates
from warehouse.sync.declarations import Declarations
from warehouse.warehouse import Warehouse

# RR of q1 and q2: `one` has (1/2 + 1) / 2, BETTER (1 + 1) / 2 and BAD (1/2 + 0) / 2.


def other(text: str, word: str) -> str:
    """Return a run with the same values and other content."""
    return text + f"q1 Q0 {word} 9 -1 t\n"


def states(project: Project) -> dict[str, tuple[str, str | None]]:
    """Return the verdict that counts of each run, with its reference."""
    return {row.run: (row.verdict, row.reference) for row in project.warehouse.gates()}


@pytest.fixture
def team(synced: Project) -> Project:
    """Return a project with one good run, and a gate that lets no drop pass."""
    gated(synced, "")
    synced.settings("[evaluate]", 'on_fire = "cat >> told.json; echo >> told.json"\n[evaluate]')
    assert synced.sync().exit_code == 0
    return synced


def told(project: Project) -> list[dict[str, Any]]:
    """Return what `on_fire` was given, call by call."""
    file = project.path / "told.json"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.slow
def test_verdicts_are_of_the_present_judgments(team: Project) -> None:
    """Under wrong judgments a bad run was good and a good one red; with the right ones, all are judged
    again in the order of loading, the references too."""
    swapped = QRELS.replace("q1 0 a 1\nq1 0 b 0", "q1 0 a 0\nq1 0 b 1")
    team.write("qrels.txt", swapped, age=1800)
    team.write("runs/bm25/two.run", BETTER, age=1700)
    team.write("runs/bm25/zwei.run", other(RUN, "z"), age=1600)
    assert team.sync().exit_code == 1
    # b is relevant: `one` and `zwei` have it first, and `two` has (0 + 1) / 2
    assert states(team) == {
        "one": ("unchecked", None), "two": ("worse", "one"), "zwei": ("good", "one"),
    }  # fmt: skip
    team.write("qrels.txt", QRELS, age=60)
    assert team.sync().exit_code == 1
    assert states(team) == {
        "one": ("unchecked", None), "two": ("good", "one"), "zwei": ("worse", "two"),
    }  # fmt: skip
    assert command("sync")[1].count("\n") == 1  # nothing is checked again
    _, out, _ = command("gates", "log", "two", "-f", "csv")
    rows = [dict(zip(out.splitlines()[0].split(","), line.split(","), strict=True))
            for line in out.splitlines()[1:]]  # fmt: skip
    assert [(row["verdict"], row["changes"]) for row in rows] == [
        ("worse", ""),
        ("good", "new qrels"),
    ]


@pytest.mark.slow
def test_two_bad_nights_and_an_acceptance(team: Project) -> None:
    team.write("runs/bm25/two.run", BAD, age=1800)
    assert team.sync().exit_code == 1
    team.write("runs/bm25/three.run", other(BAD, "y"), age=1700)
    assert team.sync().exit_code == 1
    assert states(team) == {
        "one": ("unchecked", None), "two": ("worse", "one"), "three": ("worse", "one"),
    }  # fmt: skip
    team.warehouse.accept("tiny", "three", why="a smaller index")
    team.write("runs/bm25/four.run", other(BAD, "x1"), age=1600)
    assert team.sync().exit_code == 1  # `two` is red still
    assert states(team)["four"] == ("good", "three")
    assert states(team)["three"] == ("accepted", "one")
    # all are checked again, and the accepted run is the reference as before
    team.write("qrels.txt", QRELS + "q1 0 x 0\n", age=60)
    assert team.sync().exit_code == 1
    assert states(team)["four"] == ("good", "three")
    row = next(row for row in team.warehouse.gates() if row.run == "three")
    assert "@" in row.accepted_by
    # a forgotten run is red no longer, and the next is compared with what is there
    for run in ("two", "three", "four"):
        team.warehouse.forget("tiny", run)
    team.write("runs/bm25/five.run", other(BAD, "x2"), age=1500)
    assert team.sync().exit_code == 1
    assert states(team)["five"] == ("worse", "one")


@pytest.mark.slow
def test_other_limits_are_another_state(team: Project) -> None:
    team.write("runs/bm25/two.run", BAD, age=1800)
    assert team.sync().exit_code == 1
    team.settings("strict = true", "strict = true\nmax_drop = 0.9")
    done = team.sync()
    assert (done.exit_code, states(team)["two"][0]) == (0, "good")
    (remark,) = [text for text in done.remarks if "its gate was" in text]
    assert "any drop, against last; it is now: a drop of more than 0.9, against last" in remark
    assert not [text for text in team.sync().remarks if "its gate was" in text]
    # without any gate, nothing is red; a gate that comes back checks all again
    team.settings("max_drop = 0.9", "max_drop = 0.1")
    assert team.sync().exit_code == 1
    text = (team.path / "warehouse.toml").read_text()
    team.write("warehouse.toml", text[: text.index("[[gates]]")])
    assert team.sync().exit_code == 0
    team.write("warehouse.toml", text)
    assert team.sync().exit_code == 1
    assert states(team)["two"] == ("worse", "one")


@pytest.mark.slow
def test_a_baseline_stays(team: Project) -> None:
    """Two small drops are good beside the last run, and the second is worse beside the baseline."""
    team.settings("strict = true", 'strict = true\nmax_drop = 0.3\nagainst = "baseline"')
    done = team.sync()
    assert states(team)["one"] == ("unchecked", None)
    assert "has no baseline" in "".join(event.text for event in done.events)
    team.write("runs/bm25/top.run", BETTER, age=1900)
    team.sync()
    team.warehouse.baseline("top", "tiny", why="the release")
    team.write("runs/bm25/two.run", other(RUN, "z"), age=1800)  # 3/4 after 1
    assert team.sync().exit_code == 0
    team.write("runs/bm25/three.run", BAD, age=1700)  # 1/4
    assert team.sync().exit_code == 1
    assert (states(team)["two"], states(team)["three"]) == (("good", "top"), ("worse", "top"))
    with expect_refusal("three: is red"):
        team.warehouse.baseline("three", "tiny", why="no")
    with expect_refusal("twoo … two"):
        team.warehouse.baseline("twoo", "tiny", why="no")
    assert command("gates", "baseline", "two", "--why", "the bar is lower") == (
        0,
        "",
        "baseline: two\n",
    )
    team.write("runs/bm25/four.run", other(RUN, "y"), age=1600)
    team.sync()
    assert states(team)["four"] == ("good", "two")


@pytest.mark.slow
def test_a_lost_database_is_no_good_run(team: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    team.settings("[evaluate]", 'unchecked = "fail"\n[evaluate]')
    (team.path / "w.duckdb").unlink()
    done = team.sync()
    assert done.exit_code == 1
    assert "as the database was made new in this sync" in "".join(
        event.text for event in done.events
    )
    team.settings('unchecked = "fail"', "")
    # in CI, a run that nothing can be said of fails, unless the file says otherwise
    assert command("check")[0] == 0
    code, out, _ = command("check", "--format", "github")
    assert (code, out.count("::warning")) == (1, 1)
    team.settings("[evaluate]", 'unchecked = "pass"\n[evaluate]')
    assert command("check", "--format", "github")[0] == 0


def test_a_dataset_that_has_got_no_run_is_late(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q": {"a": 1}})
    wh.ingest_run("else", {"q": {"a": 1.0}}, name="one")
    asked = Declarations(Path(), 0, max_ages={"tiny": 3600.0, "else": 3600.0})
    with wh.file.read() as con:
        late = gates.late(con, asked, dt.datetime.now(dt.UTC))
    assert late == [("tiny", "tiny: late: no new run yet, and max_age is 1h")]


@pytest.mark.slow
def test_one_alert_a_night(team: Project) -> None:
    """It has the red run, the broken file and that no run came, and comes again when one changes."""
    team.write("runs/bm25/two.run", BAD, age=1800)
    broken = team.write("runs/bm25/broken.run", "q1 Q0 a 1 2 t\nq1 Q0\n", age=1700)
    assert team.sync().exit_code == 2
    assert team.sync().exit_code == 2
    (call,) = told(team)
    assert [one["verdict"] for one in call["verdicts"]] == ["worse", "failed"]
    assert call["text"].splitlines() == [one["text"].splitlines()[0] for one in call["verdicts"]]
    broken.unlink()
    team.settings("strict = true", 'strict = true\nmax_age = "30ms"')
    time.sleep(0.05)
    done = team.sync()
    assert [event.status for event in done.events if event.exit_code] == ["late", "red"]
    assert [one["verdict"] for one in told(team)[1]["verdicts"]] == ["worse", "late"]
    team.settings("30ms", "26h")
    team.warehouse.accept("tiny", why="x")
    assert team.sync().exit_code == 0
    assert len(told(team)) == 2  # nothing is wrong, and nobody is told
    team.write("runs/bm25/three.run", "q1 Q0 x 1 1 t\n", age=1600)
    team.sync()
    assert len(told(team)) == 3


@pytest.mark.slow
def test_syncs_at_once_call_it_once(team: Project) -> None:
    """The second waits for the first, which may read the file, and finds that it was called."""
    team.settings('"cat >> told.json;', '"sleep 1; cat >> told.json;')
    team.write("runs/bm25/two.run", BAD, age=1800)
    (team.path / "warehouse.toml").rename(team.path / "nightly.toml")
    words = [sys.executable, "-m", "warehouse", "sync", "--config", "nightly.toml"]
    both = [subprocess.Popen(words, cwd=team.path) for _ in range(2)]
    assert [process.wait(60) for process in both] == [1, 1]
    assert len(told(team)) == 1


@pytest.mark.slow
def test_a_source_that_is_gone_is_an_alert(team: Project) -> None:
    """A folder that is not mounted, from which runs were loaded, is no night without news."""
    (team.path / "runs").rename(team.path / "away")
    for _ in range(2):
        done = team.sync()
        assert (done.exit_code, [event.status for event in done.events]) == (2, ["failed"])
    ((one,),) = [call["verdicts"] for call in told(team)]
    assert one["text"].startswith("warehouse.toml: runs 1: no folder ")
    (team.path / "away").rename(team.path / "runs")
    assert team.sync().exit_code == 0
    (team.path / "qrels.txt").unlink()
    assert team.sync().exit_code == 2
    assert told(team)[1]["text"] == "qrels.txt: no such file"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the clock says")
def test_a_renamed_run_and_a_clock_that_goes_back(
    team: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order is that of loading; a run that is renamed keeps its verdict and is a reference."""
    team.write("runs/bm25/two.run", BETTER, age=1800)
    assert team.sync().exit_code == 0
    now = dt.datetime.now(dt.UTC) - dt.timedelta(days=365)
    monkeypatch.setattr(clock, "_system_time", lambda: now)
    (team.path / "runs/bm25/two.run").rename(team.path / "runs/bm25/deux.run")
    assert team.sync().exit_code == 0
    team.write("runs/bm25/three.run", BAD, age=86_400 * 365)
    assert team.sync().exit_code == 1
    assert states(team)["three"] == ("worse", "deux")


@pytest.mark.slow
def test_a_place_that_alpha_was_spent_on_stays_spent(wh: Warehouse, tmp_path: Path) -> None:
    """Copies of a run share one place, and neither forgetting runs nor other limits frees it."""
    from warehouse.analyze.regressions import Gate, Limits

    def night(name: str, rank: int, alpha: float = 0.2, word: str = "x") -> None:
        run = {q: {f"{word}{rank}": 2.0, "a": 1.0} for q in queries}
        wh.ingest_run("tiny", run, name=name)
        wh.evaluate(metrics="RR")
        limits = Limits(alpha=alpha, sequential=True, spend=True)
        gate = Gate("tiny", "RR", "system", "base", limits, "default")
        with wh.file.transaction() as con:
            found = [one for _, one in gates.check(con, gates.find(con, [gate], "new"))]
            gates.keep(con, [gate], [one for one in found if isinstance(one, gates.Verdict)], ())

    def places() -> list[tuple[int, float]]:
        with wh.file.read() as con:
            return con.execute(
                "select place, round(alpha, 6) from gate_place order by 1"
            ).fetchall()

    queries = [f"q{n}" for n in range(20)]
    wh.ingest_qrels("tiny", {q: {"a": 1} for q in queries})
    wh.ingest_run("tiny", {q: {"a": 1.0} for q in queries}, name="base")
    wh.evaluate(metrics="RR")
    for name in ("n1", "n2", "n3"):
        night(name, 1)
    assert places() == [(1, 0.1)]  # 0.2 / (1 * 2)
    for name in ("n1", "n2", "n3"):
        wh.forget("tiny", name)
    night("n4", 2)
    assert places() == [(1, 0.1), (2, round(0.2 / 6, 6))]
    night("n5", 3, alpha=0.3)
    assert places()[2] == (3, round(0.3 / 12, 6))


@needs_cases
@pytest.mark.parametrize(
    ("runs", "queries", "drop_at"),
    [
        pytest.param(12, 50, 11, marks=pytest.mark.slow),
        pytest.param(400, 50, 399, marks=pytest.mark.long),
    ],
)
def test_the_gate_of_the_readme_can_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int, queries: int, drop_at: int
) -> None:
    """Runs of equal quality are red as seldom as it says, and the last one, a collapse, is."""
    text = (Path(__file__).parents[1] / "README.md").read_text()
    gate = re.search(r"> \[\[gates\]\]\n(?:> \w+ = .*\n)+", text)
    assert gate is not None
    program = CASES / "gates" / "equal_quality.py"
    words = [runs, queries, 7, drop_at, 0.8]
    subprocess.run([sys.executable, program, tmp_path, *map(str, words)], check=True)
    (tmp_path / "warehouse.toml").write_text(
        'database = "w.duckdb"\nsettle = 0\n[datasets.dl19]\nqrels = "qrels.txt"\n'
        '[[runs]]\nfiles = "runs/{name}.run"\ndataset = "dl19"\n' + gate[0].replace("> ", "")
    )
    monkeypatch.chdir(tmp_path)
    assert Warehouse().sync().exit_code == 1
    red = {row.run for row in Warehouse().gates(red=True)}
    last = f"same_{drop_at:05d}"
    assert last in red
    # red runs follow each other: see `gates.md`
    error = 1.6 * math.sqrt(0.05 * 0.95 / runs)
    assert len(red - {last}) / runs <= 0.05 + 3 * error


@pytest.mark.slow
def test_two_projects_on_one_database_leave_each_other_s_gates_alone(team: Project) -> None:
    text = (team.path / "warehouse.toml").read_text()
    team.write("other.toml", text.replace("strict = true", "min = 0.5"))
    team.write("runs/bm25/two.run", BAD, age=1800)
    for config in (None, "other.toml", None, "other.toml"):
        done = team.warehouse.sync(config)
        assert (done.exit_code, done.remarks) == (1, ())
    assert [row.limits for row in team.warehouse.gates(red=True)] == [
        "a value below 0.5", "any drop",
    ]  # fmt: skip
