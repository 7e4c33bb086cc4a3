"""`warehouse sync`: what it takes in, what it leaves alone, what it computes, what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from projects import command, stored
from syncs import BETTER, QRELS, RUN, Project

from warehouse.errors import DatabaseError, InputError, UsageError
from warehouse.readers.batches import Group
from warehouse.sync import loading, sources
from warehouse.warehouse import Warehouse


def test_the_first_sync_makes_all_and_the_second_nothing(synced: Project) -> None:
    code, out, err = command("sync")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "tiny: qrels loaded from qrels.txt (3 judgments, 2 queries)",
        "tiny: run one loaded from runs/bm25/one.run (3 predictions, 2 queries)",
        "tiny: computed 1 value for 1 run",
    ]
    # (1/2 + 1) / 2
    assert synced.warehouse.leaderboard("tiny").fetchall() == [(1, "one", "bm25", 0.75, 2, 2)]
    content = (synced.path / "w.duckdb").read_bytes()
    assert command("sync") == (0, "", "")
    assert (synced.path / "w.duckdb").read_bytes() == content


@pytest.mark.slow
def test_a_sync_without_work_takes_no_lock(synced: Project) -> None:
    synced.sync()
    code = "import duckdb, sys; c = duckdb.connect(sys.argv[1], read_only=True); print(); input()"
    reader = subprocess.Popen(
        [sys.executable, "-c", code, "w.duckdb"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    reader.stdout.readline()
    try:
        assert Warehouse(lock_timeout=0).sync().events == ()
    finally:
        reader.communicate(b"\n")


@pytest.mark.slow
def test_other_content_is_a_new_version(synced: Project) -> None:
    synced.sync()
    synced.write("runs/bm25/one.run", BETTER, age=60)
    synced.write("qrels.txt", QRELS + "q3 0 a 1\n", age=60)
    code, out, _ = command("sync")
    assert (code, out.splitlines()) == (
        0,
        [
            "tiny: qrels replaced as version 2 from qrels.txt (4 judgments, 3 queries)",
            "tiny: run one replaced as version 2 from runs/bm25/one.run (2 predictions, 2 queries)",
            "tiny: computed 1 value for 1 run",
        ],
    )
    assert synced.runs() == [("one", 1, "bm25"), ("one", 2, "bm25")]
    # (1 + 1 + 0) / 3: nothing of q3 is in the run
    assert synced.warehouse.leaderboard("tiny").fetchall()[0][3] == 2 / 3
    assert synced.told() == []


@pytest.mark.slow
def test_a_file_that_is_gone_leaves_its_run(synced: Project) -> None:
    synced.sync()
    file = synced.path / "runs/bm25/one.run"
    file.rename(synced.path / "kept")
    assert synced.told() == []
    assert len(synced.runs()) == 1
    (synced.path / "kept").rename(file)
    assert synced.told() == []
    # at another place it is the same run
    (synced.path / "runs/bm25/one.run").rename(synced.path / "runs/bm25/one.run.txt")
    synced.settings('{name}.run*"', '{name}.run.txt"')
    assert synced.told() == [("unchanged", "runs/bm25/one.run.txt")]


@pytest.mark.slow
def test_a_file_that_is_asked_for_again_counts_again(synced: Project) -> None:
    synced.write("other/bm25/one.run", BETTER)
    synced.write("fewer.txt", "q1 0 a 1\n")
    changes = (('"qrels.txt"', '"fewer.txt"'), ('"runs/', '"other/'))
    synced.sync()
    for old, new in changes:
        synced.settings(old, new)
    assert synced.told() == [
        ("replaced", "fewer.txt"), ("replaced", "other/bm25/one.run"), ("computed", None),
    ]  # fmt: skip
    for old, new in changes:
        synced.settings(new, old)
    assert synced.told() == [
        ("replaced", "qrels.txt"), ("replaced", "runs/bm25/one.run"), ("computed", None),
    ]  # fmt: skip
    assert synced.warehouse.leaderboard("tiny").fetchall()[0][3] == 0.75
    # a copy with the same content takes no file's place
    synced.write("other/bm25/one.run", RUN)
    synced.settings(*changes[1])
    assert synced.told() == [("unchanged", "other/bm25/one.run")]
    synced.settings(*changes[1][::-1])
    assert synced.told() == []
    # one with the same content and another description does
    synced.write("third/dense/one.run", RUN)
    synced.settings('"runs/', '"third/')
    assert synced.told() == [("replaced", "third/dense/one.run"), ("computed", None)]
    synced.settings('"third/', '"runs/')
    assert synced.told() == [("replaced", "runs/bm25/one.run"), ("computed", None)]
    assert synced.runs()[-1] == ("one", 5, "bm25")


@pytest.mark.slow
def test_what_is_known_of_a_file_is_of_one_dataset_and_kind(synced: Project) -> None:
    """Nothing is read again: neither what is declared twice, nor namesakes in other datasets."""
    synced.settings("[[runs]]", '''
        [datasets.other]
        qrels = "qrels.txt"
        training = "qrels.txt"
        [[runs]]
        files = "other/{name}.run"
        dataset = "other"
        [[runs]]''')  # fmt: skip
    synced.write("other/one.run", BETTER)
    assert [status for status, _ in synced.told()] == ["loaded"] * 5 + ["computed"] * 2
    assert synced.told() == []


@pytest.mark.slow
def test_a_file_that_goes_while_a_sync_runs_is_no_error(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = synced.write("runs/bm25/two.run", BETTER)
    read = Group.read

    def late(group, con):
        gone.unlink(missing_ok=True)
        return read(group, con)

    monkeypatch.setattr(Group, "read", late)
    assert synced.told() == [
        ("loaded", "qrels.txt"),
        ("loaded", "runs/bm25/one.run"),
        ("computed", None),
    ]


@pytest.mark.slow
def test_a_young_file_is_looked_at_twice(synced: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 1:
            synced.write("runs/bm25/new.run", RUN, age=0)

    synced.settings('"0.2s"', '"60s"')
    synced.sync()
    monkeypatch.setattr(sources.time, "sleep", sleep)
    synced.write("runs/bm25/new.run", RUN[:20], age=0)
    code, out, err = command("sync")
    assert (code, err) == (0, "")
    assert out == "tiny: runs/bm25/new.run is still being written, left for the next time\n"
    assert command("sync")[1].startswith("tiny: run new loaded from runs/bm25/new.run (3 pred")
    assert slept == [60, 60]
    # a side-car is a part of the file
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nsidecar = true')
    synced.write("runs/bm25/new.run", RUN)
    synced.write("runs/bm25/new.run.json", "{}", age=0)
    assert (command("sync")[0], slept) == (0, [60, 60, 60])


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("fails", [False, True])
def test_a_file_that_changes_while_it_is_read_is_left(
    synced: Project, monkeypatch: pytest.MonkeyPatch, counts, fails: bool
) -> None:
    synced.sync()
    before = counts(synced.path / "w.duckdb")
    synced.write("runs/bm25/new.run", RUN)
    load = loading.stage_run

    def slow(connection, path, *arguments, **options):
        done = load(connection, path, *arguments, **options)
        synced.write("runs/bm25/new.run", BETTER)
        if fails:
            raise InputError(f"{path}: line 3: what a half-written line has")
        return done

    with monkeypatch.context() as patch:
        patch.setattr(loading, "stage_run", slow)
        assert synced.told() == [("waiting", "runs/bm25/new.run")]
    assert counts(synced.path / "w.duckdb") == before
    assert synced.told() == [("loaded", "runs/bm25/new.run"), ("computed", None)]


@pytest.mark.slow
def test_runs_that_are_read_at_once_are_one_transaction(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.sync()
    for name in ("a", "b", "c", "d"):
        synced.write(f"runs/bm25/{name}.run", RUN)
    one_by_one: list[str] = []
    load = loading.load

    def counted(file, source, also, opened=None):
        one_by_one.append(source.name)
        return load(file, source, also, opened)

    monkeypatch.setattr(loading, "load", counted)
    assert [status for status, _ in synced.told()] == ["loaded"] * 4 + ["computed"]
    assert one_by_one == []
    for name in ("a", "b"):
        synced.write(f"runs/bm25/{name}.run", BETTER)
    synced.write("runs/bm25/c.run", "q1 Q0 a 1 nan tag\n")
    assert [status for status, _ in synced.told()] == ["replaced"] * 2 + ["failed", "computed"]
    assert one_by_one == ["a", "b", "c"]
    assert synced.told() == [("failed", "runs/bm25/c.run")]


@pytest.mark.slow
def test_what_another_sync_has_taken_in_meanwhile_is_left(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other, which does not see b, comes between a look at what is known and a transaction."""
    settled, others = sources.settled, []
    synced.write("runs/bm25/a.run", RUN)
    written = synced.write("runs/bm25/b.run", RUN)

    def late(ready, seconds):
        if not others:
            others.append(None)
            hidden = written.rename(synced.path / "b")
            others[:] = synced.told()
            hidden.rename(written)
        return settled(ready, seconds)

    monkeypatch.setattr(sources, "settled", late)
    assert synced.told() == [("loaded", "runs/bm25/b.run"), ("computed", None)]
    assert [status for status, _ in others] == ["loaded"] * 3 + ["computed"]
    assert synced.told() == []


@pytest.mark.slow
def test_a_file_that_is_renamed_into_place_is_taken_at_once(synced: Project) -> None:
    synced.settings('"0.2s"', '"1h"')
    synced.sync()
    written = synced.write("runs/bm25/.new.run.part", BETTER, age=4000)
    assert synced.told() == []
    written.rename(synced.path / "runs/bm25/new.run")
    assert synced.told() == [("loaded", "runs/bm25/new.run"), ("computed", None)]


@pytest.mark.slow
def test_a_bad_file_stops_no_other_and_is_tried_again(synced: Project) -> None:
    synced.write("runs/bm25/bad.run", "q1 Q0 a 1 x t\n")
    code, out, err = command("sync")
    assert code == 2
    assert [line.split("(")[0] for line in out.splitlines()] == [
        "tiny: qrels loaded from qrels.txt ",
        "tiny: run one loaded from runs/bm25/one.run ",
        "tiny: computed 1 value for 1 run",
    ]
    assert err.startswith("warehouse: runs/bm25/bad.run: ")
    assert str(synced.path) not in err
    assert command("sync")[:2] == (2, "")
    done = json.loads(command("sync", "--json")[1])
    assert (done["changed"], done["exit_code"]) == (False, 2)
    (event,) = done["events"]
    assert (event["status"], event["file"]) == ("failed", "runs/bm25/bad.run")
    # the cause may lie outside the file
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nnormalise = "doc_id ||"')
    assert {event.status for event in synced.sync().events} == {"failed"}
    synced.settings('\nnormalise = "doc_id ||"', "")
    synced.write("runs/bm25/bad.run", BETTER, age=30)
    assert ("loaded", "runs/bm25/bad.run") in synced.told()
    assert command("sync") == (0, "", "")


@pytest.mark.slow
def test_two_files_of_one_name_are_refused_but_the_first_that_came(synced: Project) -> None:
    synced.write("runs/dense/one.run", BETTER)
    events = {event.file: event for event in synced.sync().events}
    words = "would be one of dataset tiny, like runs/"
    for name in ("runs/dense/one.run", "runs/bm25/one.run"):
        assert events[name].status == "failed"
        assert words in events[name].text.replace(f"{synced.path}/", "")
    (synced.path / "runs/dense/one.run").rename(synced.path / "one.run")
    assert synced.told() == [("loaded", "runs/bm25/one.run"), ("computed", None)]
    (synced.path / "one.run").rename(synced.path / "runs/dense/one.run")
    assert synced.told() == [("failed", "runs/dense/one.run")]
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nname = "{system}/{name}"')
    assert [row[0] for row in (synced.sync(), synced.runs())[1]] == ["one", "bm25/one", "dense/one"]


def test_qrels_and_folders_that_are_not_there(synced: Project) -> None:
    synced.settings("qrels.txt", "qrels.tx")
    synced.settings("runs/{system}", "run/{system}")
    code, out, err = command("sync")
    assert (code, out) == (2, "")
    assert err.splitlines() == [
        "warehouse: qrels.tx: no such file; did you mean qrels.txt?",
        f"warning: warehouse.toml: runs 1: no folder {synced.path}/run; did you mean runs?",
    ]


@pytest.mark.slow
def test_a_folder_that_may_not_be_looked_into_is_a_problem(
    synced: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.write("runs/closed/two.run", BETTER)
    access, closed = os.access, "closed"
    monkeypatch.setattr(os, "access", lambda p, mode: Path(p).name != closed and access(p, mode))
    found = synced.sync()
    assert [(event.status, event.text) for event in found.events if event.exit_code] == [
        ("failed", "runs/closed: cannot be opened: permission denied")
    ]
    assert ("loaded", "runs/bm25/one.run") in [(e.status, e.file) for e in found.events]
    closed = "runs"
    assert command("sync") == (2, "", "warehouse: runs: cannot be opened: permission denied\n")


@pytest.mark.slow
def test_patterns_that_nothing_matches_are_told_while_there_is_no_run(synced: Project) -> None:
    (synced.path / "runs/bm25/one.run").rename(synced.path / "one")
    words = "warning: warehouse.toml: runs 1: no file matches runs/{system}/{name}.run* yet\n"
    assert command("sync")[2] == words
    (synced.path / "one").rename(synced.path / "runs/bm25/one.run")
    assert command("sync")[2] == ""
    (synced.path / "runs/bm25/one.run").unlink()
    assert command("sync") == (0, "", "")


@pytest.mark.slow
def test_a_deleted_file_is_said_once(synced: Project) -> None:
    synced.write("runs/bm25/two.run", BETTER)
    synced.sync()
    one = synced.path / "runs/bm25/one.run"
    one.unlink()
    words = (
        "tiny: run one stays, though its file runs/bm25/one.run is gone; to remove it: "
        "warehouse forget one -d tiny"
    )
    assert command("sync") == (0, f"{words}\n", "")
    assert command("sync") == (0, "", "")
    found = synced.warehouse.status("tiny").relation.project("state, what, detail").fetchall()
    assert [row[:2] for row in found] == [("orphaned", "run one")]
    assert found[0][2].startswith(f"{one} is gone since 20")
    assert synced.warehouse.verify().is_good
    synced.write("runs/bm25/one.run", RUN)
    os.utime(one, ns=(0, stored(synced.warehouse, MTIME, path=str(one))[0][0]))
    assert synced.told() == []
    assert synced.warehouse.status("tiny").num_orphaned == 0
    # all gone at once is rather a folder that is not there
    (synced.path / "runs").rename(synced.path / "away")
    assert synced.told() == [("failed", None)]
    assert synced.runs("name") == [("one",), ("two",)]


MTIME = "select mtime_ns from source_file where path = $path"


@pytest.mark.slow
def test_the_run_of_a_deleted_file_is_forgotten_if_asked(synced: Project) -> None:
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nmissing = "forget"')
    synced.write("runs/bm25/two.run", BETTER)
    synced.sync()
    (synced.path / "runs/bm25/one.run").unlink()
    told = ("tiny: run one {}forgotten: its file runs/bm25/one.run is gone\n").format
    assert command("sync", "--dry-run") == (0, told("would be "), "")
    assert command("sync") == (0, told(""), "")
    assert (synced.runs("name"), synced.told()) == ([("two",)], [])
    # it comes back with its file, unlike what somebody forgot
    synced.write("runs/bm25/one.run", RUN)
    assert synced.told() == [("loaded", "runs/bm25/one.run"), ("computed", None)]
    synced.warehouse.forget("tiny", "two")
    synced.write("runs/bm25/two.run", BETTER, age=1800)
    assert synced.told() == [("forgotten", "runs/bm25/two.run")]


@pytest.mark.slow
def test_a_renamed_file_renames_its_run(synced: Project) -> None:
    """With what was computed; another system, or other content, is another run."""
    synced.sync()
    runs = synced.path / "runs/bm25"
    before = synced.runs("run_id, version")
    (runs / "one.run").rename(runs / "first.run")
    assert command("sync") == (
        0,
        "tiny: run one, whose file is gone, renamed to first from runs/bm25/first.run "
        "(3 predictions, 2 queries)\n",
        "",
    )
    assert (synced.told(), synced.runs("run_id, version")) == ([], before)
    assert synced.runs("name") == [("first",)]
    assert synced.warehouse.verify().is_good
    # a copy is another run
    synced.write("runs/bm25/copy.run", RUN)
    assert synced.told() == [("loaded", "runs/bm25/copy.run"), ("computed", None)]
    # in another folder the system is another: it does not take over the name and the past
    (synced.path / "runs/dense").mkdir()
    (runs / "first.run").rename(synced.path / "runs/dense/second.run")
    assert ("loaded", "runs/dense/second.run") in synced.told()
    assert sorted(synced.runs()) == [
        ("copy", 1, "bm25"), ("first", 1, "bm25"), ("second", 1, "dense"),
    ]  # fmt: skip


@pytest.mark.slow
def test_content_that_changed_alone_is_found_if_asked(synced: Project) -> None:
    synced.sync()
    file = synced.path / "runs/bm25/one.run"
    times = file.stat()
    file.write_text(RUN.replace("a 2 1", "d 2 1"))
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert synced.told() == []
    assert synced.warehouse.verify(sample=5).is_good
    (problem,) = synced.warehouse.verify().problems.fetchall()
    assert problem == (
        "source_file", f"{file}: has other content than was loaded, with the same size and time", 1,
    )  # fmt: skip
    done = synced.warehouse.sync(check_content=True)
    assert [event.status for event in done.events] == ["replaced", "computed"]
    assert not synced.warehouse.sync(check_content=True).events
    assert synced.warehouse.verify().is_good


@pytest.mark.slow
def test_a_dataset_from_the_path_has_to_be_declared(synced: Project) -> None:
    synced.settings('runs/{system}/{name}.run*"\ndataset = "tiny"', '{dataset}/{name}.run"')
    synced.write("tiny/a.run", RUN)
    synced.write("tinny/a.run", RUN)
    events = {event.file: event for event in synced.sync().events}
    assert events["tiny/a.run"].status == "loaded"
    assert events["tinny/a.run"].text == (
        "tinny/a.run: dataset 'tinny' is not declared; did you mean tiny?"
    )


@pytest.mark.slow
def test_an_evaluation_that_fails_stops_no_other(synced: Project) -> None:
    synced.settings(
        '"qrels.txt"', '"qrels.txt"\nslices = ["genre"]\n[datasets.more]\nqrels = "qrels.txt"'
    )
    synced.write("warehouse.toml", (synced.path / "warehouse.toml").read_text()
               + '[[runs]]\nfiles = "runs/bm25/{name}.run"\ndataset = "more"\n')  # fmt: skip
    code, out, err = command("sync")
    assert code == 2
    assert out.splitlines()[-1] == "more: computed 1 value for 1 run"
    assert err.startswith("warehouse: tiny: evaluation: slice genre: ")


@pytest.mark.slow
def test_a_database_that_cannot_be_used_is_no_fault_of_the_files(synced: Project) -> None:
    synced.sync()
    synced.warehouse.publish("replica.duckdb")
    (synced.path / "replica.duckdb").replace(synced.path / "w.duckdb")
    synced.write("runs/bm25/two.run", BETTER)
    synced.write("runs/bm25/three.run", RUN, age=9)
    with pytest.raises(DatabaseError, match=r"^\S*w.duckdb: is a replica of "):
        synced.sync()


@pytest.mark.slow
def test_the_lock_is_waited_for_and_then_given_up(synced: Project) -> None:
    synced.sync()
    synced.write("runs/bm25/two.run", BETTER)
    code = "import duckdb, sys; c = duckdb.connect('w.duckdb'); print(); sys.stdin.read()"
    writer = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    writer.stdout.readline()
    code, out, err = command("sync", "--lock-timeout", "0.2")
    assert (code, out) == (3, "")
    assert "another process has the database open" in err
    threading.Timer(0.5, writer.communicate).start()
    assert command("sync")[0] == 0
    assert len(synced.runs()) == 2


@pytest.mark.slow
def test_a_sync_needs_a_project_and_a_database(
    synced: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced.settings('database = "w.duckdb"', "")
    code, _, err = command("sync")
    assert (code, err[:48]) == (2, "warehouse.toml: the key 'database' is missing, a")
    assert command("sync", "--db", "given.duckdb")[0] == 0
    monkeypatch.chdir(tmp_path)
    code, _, err = command("sync")
    assert code == 2
    assert "no warehouse.toml in this folder or above it" in err
    assert "warehouse init" in err
    # paths are relative to the project's file
    code, out, _ = command("sync", "--config", "project/warehouse.toml", "--db", "given.duckdb")
    assert (code, out.splitlines()[1][:45]) == (0, "tiny: run one loaded from runs/bm25/one.run (")


@pytest.mark.slow
def test_a_dry_run_says_and_does_nothing(synced: Project, counts) -> None:
    expected = ["tiny: qrels.txt would be read", "tiny: runs/bm25/one.run would be read"]
    code, out, _ = command("sync", "--dry-run")
    assert (code, out.splitlines()) == (0, expected)
    assert not (synced.path / "w.duckdb").exists()
    synced.sync()
    before = counts(synced.path / "w.duckdb")
    synced.settings('["RR"]', '["RR", "P@1"]')
    synced.write("runs/bm25/two.run", BETTER)
    code, out, _ = command("sync", "--dry-run")
    assert out.splitlines() == [
        "tiny: runs/bm25/two.run would be read",
        "tiny: would compute 1 value for 1 run",
    ]
    assert counts(synced.path / "w.duckdb") == before


@pytest.mark.slow
def test_json_says_all(synced: Project) -> None:
    code, out, err = command("sync", "--json")
    found = json.loads(out)
    assert (code, err, found["changed"], found["exit_code"]) == (0, "", True, 0)
    qrels, run, values = found["events"]
    assert qrels["details"] == {"kind": "qrels", "name": "tiny", "version": 1}
    assert (run["file"], run["details"]["kind"]) == ("runs/bm25/one.run", "run")
    assert values["details"] == {"protocol": "default", "values": 1, "stale": 0, "runs": 1}
    found = json.loads(command("sync", "--json")[1])
    assert found == {"changed": False, "exit_code": 0, "events": [], "remarks": []}


def test_the_database_of_another_file_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WAREHOUSE_DB", raising=False)
    Path("nightly.toml").write_text('database = "nightly.duckdb"\n')
    with pytest.raises(
        UsageError, match=r"its database is .*nightly.duckdb, and this is warehouse"
    ):
        Warehouse().sync("nightly.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["nightly.toml"]
    for named in ("nightly.duckdb", "other.duckdb"):
        Warehouse(named).sync("nightly.toml")
        assert Path(named).exists()
    Path("warehouse.toml").write_text('database = "nightly.duckdb"\n')
    Warehouse().sync("nightly.toml")
    Path("plain.toml").write_text("")
    Path("warehouse.toml").unlink()
    Warehouse().sync("plain.toml")


@pytest.mark.slow
def test_what_was_forgotten_stays_away_however_new_its_file_is(synced: Project) -> None:
    synced.write("runs/bm25/two.run", BETTER)
    synced.sync()
    synced.warehouse.forget("tiny", "one", reason="trained on the test set")
    synced.warehouse.forget("tiny", "two")
    assert synced.told() == []
    told = [
        "tiny: run one was forgotten (trained on the test set): runs/bm25/one.run is not loaded again; "
        "to load it: warehouse ingest run runs/bm25/one.run -d tiny",
        "tiny: run two was forgotten: runs/bm25/two.run is not loaded again; to load it: "
        "warehouse ingest run runs/bm25/two.run -d tiny",
    ]
    # both at once, and each by itself; once per reading
    for number, files in ((2, ("one", "two")), (1, ("one",))):
        for file in files:
            synced.write(f"runs/bm25/{file}.run", RUN if file == "one" else BETTER, age=10 + number)
        code, out, err = command("sync")
        assert (code, out.splitlines(), err) == (0, told[:number], "")
        assert command("sync") == (0, "", "")
        assert synced.runs() == []
    assert command("verify", "--all")[0] == 0
    # the command does what it says, and the file counts again
    assert command(*told[0].partition("warehouse ")[2].split())[0] == 0
    synced.write("runs/bm25/one.run", RUN, age=5)
    assert synced.told()[0] == ("replaced", "runs/bm25/one.run")
    assert synced.runs() == [("one", 2, None), ("one", 3, "bm25")]
    # other content is another matter
    synced.write("runs/bm25/two.run", BETTER.replace("q2 Q0 c", "q2 Q0 x"), age=5)
    assert synced.told()[0] == ("loaded", "runs/bm25/two.run")
    assert synced.runs()[-1] == ("two", 2, "bm25")


@pytest.mark.slow
def test_what_was_loaded_again_is_forgotten_no_more(synced: Project) -> None:
    """Its file may hold other content for a while, and its own again."""
    synced.sync()
    synced.warehouse.forget("tiny", "one")
    synced.warehouse.ingest_run("tiny", "runs/bm25/one.run")
    for age, content in ((60, BETTER), (50, RUN)):
        synced.write("runs/bm25/one.run", content, age=age)
        assert synced.told()[0] == ("replaced", "runs/bm25/one.run")
    assert [version for _, version, _ in synced.runs()] == [2, 3, 4]
    # forgotten once more it stays away
    synced.warehouse.forget("tiny", "one", version=4)
    synced.warehouse.forget("tiny", "one", version=2)
    synced.write("runs/bm25/one.run", RUN, age=40)
    assert synced.told() == [("forgotten", "runs/bm25/one.run")]


@pytest.mark.slow
def test_the_replica_follows_the_database(synced: Project) -> None:
    synced.settings('settle = "0.2s"', 'settle = 0\npublish = "out/replica.duckdb"')
    assert synced.told()[-1] == ("failed", "out/replica.duckdb")  # there is no such folder
    (synced.path / "out").mkdir()
    assert synced.told() == [("published", "out/replica.duckdb")]
    replica = Warehouse(synced.path / "out/replica.duckdb")
    board = replica.leaderboard().fetchall()
    assert board == synced.warehouse.leaderboard().fetchall() != []
    assert synced.told() == []
    synced.write("runs/bm25/one.run", BETTER)
    due = [event.status for event in synced.warehouse.sync(dry_run=True).events]
    assert due == ["due", "due"]
    assert [status for status, _ in synced.told()] == ["replaced", "computed", "published"]
    assert board != replica.leaderboard().fetchall() == synced.warehouse.leaderboard().fetchall()
    # what was written between two syncs
    synced.warehouse.forget("tiny", "one")
    assert synced.told() == [("published", "out/replica.duckdb")]
    # pages too
    synced.settings("settle = 0\n", 'settle = 0\nreport = "site"\n')
    assert synced.told() == [("published", "site")]
    assert synced.told() == []
    first = (synced.path / "site/index.html").read_text()
    synced.write("runs/bm25/two.run", RUN)
    assert ("published", "site") in synced.told()
    assert (synced.path / "site/index.html").read_text() != first
    (synced.path / "site/report.json").unlink()
    assert synced.told() == [("failed", "site")]
    synced.settings('report = "site"\n', "")
    other = (synced.path / "w.duckdb").read_bytes()
    synced.write("kept.duckdb", other)  # no replica
    synced.settings("out/replica", "kept")
    assert [event.exit_code for event in synced.sync().events] == [2]
    assert (synced.path / "kept.duckdb").read_bytes() == other
