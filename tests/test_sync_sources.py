"""What `warehouse sync` knows of a file: from its path, a side-car, a commit; and what else it loads."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import os
import subprocess
import time
from pathlib import Path

import duckdb
import pytest
from projects import command
from syncs import BAD, BETTER, QRELS, RUN, SETTINGS, Project

from warehouse.sync import sources
from warehouse.warehouse import Warehouse


def described(synced: Project) -> dict[str, tuple]:
    rows = synced.warehouse.query("select run, system, tags, run_at from runs").fetchall()
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
def test_path_and_file_say_what_a_run_is(synced: Project) -> None:
    synced.settings("runs/{system}/{name}.run*", "runs/{system}/{time}/{name}-{fold}.run")
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\ntags = { of = "{name}", n = 3 }')
    synced.write("runs/dense/2026-09-01/x-2.run", RUN)
    synced.sync()
    tags = {"fold": "2", "of": "x", "n": "3"}
    assert described(synced) == {"x": ("dense", tags, dt.datetime(2026, 9, 1, tzinfo=dt.UTC))}
    synced.write("runs/dense/today/x-3.run", RUN)
    (event,) = synced.sync().events
    assert event.text.startswith("runs/dense/today/x-3.run: time 'today': write it as 2026-09-01")


@pytest.mark.slow
def test_what_only_one_of_the_patterns_has_counts_for_its_files(synced: Project) -> None:
    synced.settings(
        'files = "runs/{system}/{name}.run*"',
        'files = ["runs/{system}/{time}/{name}-{fold}.run", "old/*.run", "odd/x{name}y.run"]',
    )
    synced.write("runs/dense/2026-09-01/x-2.run", RUN)
    plain = synced.write("old/plain.run", RUN)
    odd = synced.write("odd/xody.run", RUN)
    synced.sync()

    def changed(file: Path) -> dt.datetime:
        return dt.datetime.fromtimestamp(file.stat().st_mtime, dt.UTC)

    found = described(synced)
    assert found.pop("x") == ("dense", {"fold": "2"}, dt.datetime(2026, 9, 1, tzinfo=dt.UTC))
    assert {name: (system, tags) for name, (system, tags, _) in found.items()} == {
        "plain": (None, None), "od": (None, None),
    }  # fmt: skip
    for name, file in (("plain", plain), ("od", odd)):
        assert abs(found[name][2] - changed(file)) < dt.timedelta(milliseconds=1)
    assert synced.told() == []


@pytest.mark.slow
def test_the_time_of_a_run_is_its_files(synced: Project) -> None:
    synced.sync()
    file = synced.path / "runs/bm25/one.run"
    (at,) = [row[2] for row in described(synced).values()]
    assert abs(at.timestamp() - file.stat().st_mtime) < 1e-5
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\ntime = "now"')
    synced.write("runs/bm25/two.run", RUN)
    synced.sync()
    assert time.time() - described(synced)["two"][2].timestamp() < 60


@pytest.mark.slow
def test_a_side_car_says_what_a_run_is(synced: Project) -> None:
    synced.settings(
        'dataset = "tiny"', 'dataset = "tiny"\nsidecar = true\ntags = { a = "1", b = "2" }'
    )
    synced.write("runs/bm25/one.run.json", json.dumps({
        "name": "first", "system": "BM25", "time": "2026-09-01T12:00+02:00",
        "tags": {"b": 3, "stem": True},
    }))  # fmt: skip
    assert synced.told()[1:] == [("loaded", "runs/bm25/one.run"), ("computed", None)]
    when = dt.datetime(2026, 9, 1, 10, tzinfo=dt.UTC)
    assert described(synced) == {"first": ("BM25", {"a": "1", "b": "3", "stem": "true"}, when)}
    assert synced.told() == []
    # what it says no more is not so any more
    synced.write("runs/bm25/one.run.json", '{"name": "first", "system": "BM25"}')
    assert synced.told() == [("replaced", "runs/bm25/one.run"), ("computed", None)]
    assert described(synced)["first"][1] == {"a": "1", "b": "2"}
    synced.write("runs/bm25/one.run.json", '{"name": "first", "time": "2026-09-02"}')
    assert synced.told() == [("replaced", "runs/bm25/one.run"), ("computed", None)]
    assert described(synced)["first"][0] == "bm25"
    # a run that is compressed afterwards keeps its side-car
    synced.write("runs/bm25/one.run.gz", gzip.compress(RUN.encode()))
    (synced.path / "runs/bm25/one.run").unlink()
    assert synced.told() == [("unchanged", "runs/bm25/one.run.gz")]
    synced.write("runs/bm25/one.run.gz.json", "{}")
    (failed,) = synced.sync().events
    assert failed.text.endswith("one.run.gz: has 2 side-cars: one.run.gz.json, one.run.json")


def hold_wrong_side_cars(synced: Project, kind: str, wrong: list[tuple[str, str]]) -> None:
    """Sync runs of which each has a wrong side-car: each is told of, and none stops the one without."""
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nsidecar = true')
    for number, (text, _) in enumerate(wrong):
        synced.write(f"runs/bm25/{number}.run", RUN)
        synced.write(f"runs/bm25/{number}.run.{kind}", text)
    done = synced.sync()
    failed = {event.file: event.text for event in done.events if event.status == "failed"}
    assert failed.keys() == {f"runs/bm25/{number}.run" for number in range(len(wrong))}
    for number, (text, words) in enumerate(wrong):
        told = failed[f"runs/bm25/{number}.run"]
        assert told.startswith(f"runs/bm25/{number}.run.{kind}: "), text[:80]
        assert words in told, text[:80]
    assert (synced.runs("name"), done.exit_code) == ([("one",)], 2)


@pytest.mark.slow
def test_without_side_cars_a_file_of_their_name_is_a_run(synced: Project) -> None:
    synced.settings('{system}/{name}.run*"', '{system}/*"')
    synced.write("runs/bm25/one.run.json", '{"q1": {"a": 1}}')
    synced.sync()
    assert sorted(synced.runs("name, num_predictions")) == [("one", 3), ("one.run", 1)]


@pytest.mark.slow
def test_wrong_side_cars(synced: Project) -> None:
    wrong = [
        ('{"systm": "x"}', "unknown key 'systm'; did you mean system?"),
        ('{"tags": ["x"]}', "'tags' has the wrong type: a list; write a table"),
        ('{"tags": {"x": []}}', "tags: 'x' has the wrong type: a list"),
        ("[]", "holds no object with the keys name, system, time, tags"),
        ('{"time": "noon"}', "time 'noon': write it as 2026-09-01"),
        (
            '{"time": 20260901}',
            "'time' has the wrong type: a whole number; write a string or a date",
        ),
        ('{"time": null}', "'time' has the wrong type: null; write a string or a date"),
        ('{"time": true}', "'time' has the wrong type: true or false; write a string or a date"),
        ('{"time": ["x"]}', "'time' has the wrong type: a list; write a string or a date"),
        ('{"name": null}', "'name' has the wrong type: null; write a string"),
        ('{"tags": {"x": "\\ud800"}}', "holds text that is not valid Unicode: '\\ud800'"),
        ('{"tags": ' + "[" * 100_000, "is nested too deeply"),
        ("{", "not JSON: "),
    ]
    hold_wrong_side_cars(synced, "json", wrong)


@pytest.mark.sample(4, 2)
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"name": " "}', "runs/bm25/one.run: the name of the run is empty"),
        ('{"tags": {"": "x"}}', "runs/bm25/one.run: tag '': the key is empty"),
    ],
)
@pytest.mark.parametrize("others", [0, 2])
def test_an_empty_name(synced: Project, text: str, words: str, others: int) -> None:
    """Also where the run is read at once with others."""
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nsidecar = true')
    synced.write("runs/bm25/one.run.json", text)
    for number in range(others):
        synced.write(f"runs/bm25/{number}.run", RUN)
    assert [e.text for e in synced.sync().events if e.status == "failed"] == [words]
    assert synced.runs("name") == [(str(number),) for number in range(others)]


def git(folder: Path, *words: str, when: str = "2026-09-01T00:00:00Z") -> None:
    settings = {
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words],
        cwd=folder, env=os.environ | settings, check=True, capture_output=True,
    )  # fmt: skip


@pytest.mark.slow
def test_a_commit_says_when(synced: Project) -> None:
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\ntime = "git"')
    git(synced.path, "init")
    assert "has changes that are not committed: commit them" in synced.sync().events[1].text
    git(synced.path, "add", "runs")
    git(synced.path, "commit", "-m", "x")
    synced.write("other.txt", "x")
    git(synced.path, "add", "other.txt")
    git(synced.path, "commit", "-m", "y", when="2026-10-01T00:00:00Z")
    assert synced.told() == [("loaded", "runs/bm25/one.run"), ("computed", None)]
    first = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=synced.path, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert described(synced) == {
        "one": ("bm25", {"commit": first}, dt.datetime(2026, 9, 1, tzinfo=dt.UTC))
    }
    # a checkout has other times, and the content decides
    synced.write("runs/bm25/one.run", RUN, age=10)
    assert synced.told() == [("unchanged", "runs/bm25/one.run")]
    # in a shallow clone every file seems to be of the last commit
    git(synced.path, "clone", "--depth", "1", f"file://{synced.path}", "clone")
    clone = synced.path / "clone"
    synced.write("clone/warehouse.toml", SETTINGS.replace("dataset =", 'time = "git"\ndataset ='))
    synced.write("clone/qrels.txt", QRELS)
    done = Warehouse(synced.path / "clone.duckdb").sync(clone / "warehouse.toml")
    assert "is not in this shallow clone: git fetch --unshallow" in done.events[1].text


@pytest.mark.slow
def test_training_and_attributes(synced: Project) -> None:
    synced.settings('qrels = "qrels.txt"', 'qrels = "qrels.txt"\ntraining = "seen.txt"\n'
                  'metrics = ["Unseen@1"]\nslices = ["kind"]\n'
                  '[[datasets.tiny.attributes]]\nfile = "kinds.csv"\nof = "queries"')  # fmt: skip
    synced.write("seen.txt", "q1 0 b 1\n")
    synced.write("kinds.csv", "query_id,kind\nq1,x\nq2,y\n")
    code, out, err = command("sync")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:3] == [
        "tiny: training set loaded from seen.txt (1 example, 1 query)",
        "tiny: attributes kinds of queries loaded from kinds.csv (2 values)",
    ]
    assert command("sync") == (0, "", "")
    synced.write("kinds.csv", "query_id,kind\nq1,x\nq2,x\n", age=9)
    assert synced.told() == [("replaced", "kinds.csv"), ("computed", None)]
    assert synced.told() == []


@pytest.mark.slow
def test_global_judgments_follow_the_runs(synced: Project) -> None:
    synced.settings('qrels = "qrels.txt"', 'qrels = { file = "links.txt", global = true }')
    synced.write("links.txt", "a\nc\n")
    (synced.path / "runs/bm25/one.run").rename(synced.path / "one.run")
    assert synced.told() == []
    (synced.path / "one.run").rename(synced.path / "runs/bm25/one.run")
    assert synced.told() == [
        ("loaded", "runs/bm25/one.run"),
        ("loaded", "links.txt"),
        ("computed", None),
    ]
    assert synced.told() == []
    assert not synced.warehouse.sync(dry_run=True).events
    synced.write("runs/bm25/two.run", "q9 Q0 a 1 1 t\n")
    assert synced.told() == [
        ("loaded", "runs/bm25/two.run"),
        ("replaced", "links.txt"),
        ("computed", None),
    ]
    assert synced.told() == []
    # nor does a query stay that only a forgotten run had, although it was not the newest
    synced.write("runs/bm25/last.run", "q1 Q0 a 1 1 t\n")
    assert synced.told()[1:] == [("unchanged", "links.txt"), ("computed", None)]
    synced.warehouse.forget("tiny", "two", reason="tried")
    assert synced.told() == [("replaced", "links.txt"), ("computed", None)]
    assert synced.told() == []
    synced.settings("global = true", 'global = true, normalise = "upper(doc_id)"')
    assert synced.told() == [("replaced", "links.txt"), ("computed", None)]
    synced.settings("global = true", 'global = true, queries = "queries.txt"')
    synced.write("queries.txt", "q1\n")
    assert synced.told() == [("replaced", "links.txt"), ("computed", None)]
    assert synced.told() == []
    synced.write("queries.txt", "q1\nq2\n")
    assert synced.told() == [("replaced", "links.txt"), ("computed", None)]
    # with queries of their own they do not follow the runs any more
    synced.write("runs/bm25/three.run", "q1 Q0 a 1 1 t\n")
    assert synced.told() == [("loaded", "runs/bm25/three.run"), ("computed", None)]


@pytest.mark.slow
def test_what_is_said_of_a_source_counts_as_its_content(synced: Project) -> None:
    synced.sync()
    synced.settings('dataset = "tiny"', 'dataset = "tiny"\nlower_is_better = true')
    assert synced.told() == [("replaced", "runs/bm25/one.run"), ("computed", None)]
    # 1 at last: a has the lower score
    assert synced.warehouse.leaderboard("tiny").fetchall()[0][3] == 1.0
    synced.settings('["RR"]', '["RR", "P@1"]')
    assert synced.told() == [("computed", None)]


@pytest.mark.slow
def test_several_protocols_and_formats(synced: Project) -> None:
    pytest.importorskip("pyarrow")
    synced.settings('metrics = ["RR"]', 'metrics = ["RR"]\nprotocols = ["default", "trec_eval_9"]')
    synced.write("warehouse.toml", (synced.path / "warehouse.toml").read_text() + (
        '[[runs]]\nfiles = "saved/{name}.json"\ndataset = "tiny"\n[[runs]]\nfiles = "saved/*.parquet"\n'
        'dataset = "tiny"\ncolumns = { query_id = "q_id" }\n'))  # fmt: skip
    synced.write("saved/ranx.json", '{"q1": {"a": 1.5, "b": 1.0}, "q2": {"c": 1.0}}')
    duckdb.sql("select 'q1' as q_id, 'a' as doc_id, 0.5::double as score").write_parquet(
        str(synced.path / "saved/frame.parquet")
    )
    os.utime(synced.path / "saved/frame.parquet", (0, 0))
    synced.write("saved/packed.json", b"\x04\x22\x4d\x18 and so on")
    events = synced.sync().events
    failed = [event.text for event in events if event.status == "failed"]
    assert failed == [
        "saved/packed.json: is LZ4, which is not read: save it as JSON, or unpack it: lz4 -d"
    ]
    assert sorted(row[0] for row in synced.runs()) == ["frame", "one", "ranx"]
    assert [e.details["protocol"] for e in events if e.status == "computed"] == [
        "default",
        "trec_eval_9",
    ]


@pytest.mark.slow
def test_each_source_of_runs_is_read_in_its_own_way(synced: Project) -> None:
    """Files of two sources could be read at once, in one way."""
    text = (synced.path / "warehouse.toml").read_text()
    for name, how in (("first", ""), ("second", 'columns.score = "other"\n')):
        text += f'[[runs]]\nfiles = "{name}/*.csv"\ndataset = "tiny"\n{how}'
        synced.write(f"{name}/{name}.csv", "query_id,doc_id,score,other\nq1,a,1,2\n")
    synced.write("warehouse.toml", text)
    synced.sync()
    scores = synced.warehouse.query(
        "select run.name, score from store.prediction join store.run using (run_id) "
        "where run.name <> 'one'"
    )
    assert sorted(scores.fetchall()) == [("first", 1.0), ("second", 2.0)]


@pytest.mark.slow
def test_what_was_taken_in_is_remembered(synced: Project) -> None:
    synced.sync()
    rows = synced.warehouse.query(
        "select kind, path, s.name, size, s.source_sha256 = sha256(content), r.name "
        "from store.source_file s left join store.run r using (run_id) "
        "join (select $path as path, $text as content) using (path)",
        path=str(synced.path / "runs/bm25/one.run"),
        text=RUN,
    ).fetchall()
    assert rows == [("run", str(synced.path / "runs/bm25/one.run"), "one", len(RUN), True, "one")]


def test_which_files_are_settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old ones, and young ones that do not change in the time of a second look."""
    found = []
    for name, age in (("old", 90), ("quiet", 30), ("busy", 30)):
        file = tmp_path / name
        file.write_text(RUN)
        os.utime(file, (time.time() - age,) * 2)
        found.append(sources.Source("run", file, "tiny", name, 0, 0, 0, "{}", {}).look())
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        with (tmp_path / "busy").open("a") as busy:
            busy.write(RUN)

    monkeypatch.setattr(sources.time, "sleep", sleep)
    ready, others = sources.settled(found, 60)
    assert [one.name for one in ready] == ["old", "quiet"]
    assert [one.name for one in others] == ["busy"]
    assert sources.settled(found[:1], 60) == (found[:1], [])
    assert waits == [60]


def test_one_file_of_two_datasets_is_remembered_for_each(synced: Project) -> None:
    more = '\n[datasets.also]\nqrels = "qrels.txt"\n'
    for dataset in ("also", "tiny"):
        more += f'\n[[runs]]\nfiles = "both/{{name}}.run"\ndataset = "{dataset}"\n'
    synced.settings("\n[[runs]]", more + "\n[[runs]]")
    synced.write("both/shared.run", BETTER)
    synced.sync()
    assert synced.told() == []
    synced.write("both/shared.run", BAD)
    told = [event.status for event in synced.sync().events]
    assert told.count("replaced") == 2
    assert synced.told() == []
