"""Loading a whole folder: which file is what, and what happens to each."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse.errors import UsageError
from warehouse.ingest.folder import look_into
from warehouse.warehouse import Warehouse

FILES = {
    "truth.csv": "query_id,doc_id,relevance\nq1,a,2\nq1,b,0\n",
    "runs/one.run": "q1 Q0 a 1 2.5 one\nq1 Q0 b 2 1.5 one\n",
    "runs/two.jsonl": '{"query_id": "q1", "doc_id": "b", "score": 0.5}\n',
    "runs/.hidden.run": "q1 Q0 a 1 2.5 hidden\n",
    "README.md": "These are the runs of today.\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with qrels, two runs, a hidden file and a text."""
    for name, text in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "data"


@pytest.mark.slow
def test_a_folder_is_loaded_and_evaluated(folder: Path, run, tmp_path: Path) -> None:
    """One has the relevant document first, two does not have it: RR is 1 and 0."""
    db = str(tmp_path / "w.duckdb")
    answer = run("ingest", str(folder), "-d", "mine", "-m", "RR,P@1", "--db", db)
    assert answer.code == 0, answer.err
    said = answer.err.splitlines()
    assert said[0] == f"qrels: {folder / 'truth.csv'}"
    assert said[1] == f"2 runs: {folder / 'runs/one.run'}, {folder / 'runs/two.jsonl'}"
    left = f"left alone, neither qrels nor runs: {folder / 'README.md'}; it says why: "
    assert said[2] == f"{left}warehouse ingest run {folder / 'README.md'} -d mine --db {db}"
    assert said[-1] == f"see: warehouse leaderboard -d mine --db {db}"
    board = Warehouse(db).leaderboard()
    assert [(row.run, row.RR, row["P@1"]) for row in board] == [
        ("one", 1.0, 1.0),
        ("two", 0.0, 0.0),
    ]
    # again, without a dataset: it is the only one
    answer = run("ingest", str(folder), "--db", db)
    assert "one: unchanged (2 predictions, 1 query)" in answer.err
    assert "loaded into mine, the only dataset" in answer.err


@pytest.mark.slow
def test_a_file_that_fails_does_not_stop_the_others(folder: Path, run, tmp_path: Path) -> None:
    """The second file of this name would be the same run."""
    (folder / "more").mkdir()
    (folder / "more" / "one.run").write_text("q1 Q0 b 1 2.5 one\n")
    db = str(tmp_path / "w.duckdb")
    answer = run("ingest", str(folder), "-d", "mine", "--db", db)
    assert answer.code == 2
    assert sorted(row.run for row in Warehouse(db).runs()) == ["one", "two"]


def test_folders_that_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "other.qrels").write_text("q1 0 a 1\n")
    with expect_refusal(f"{folder} … truth.csv … warehouse ingest qrels"):
        look_into(folder, "mine")
    (tmp_path / "empty").mkdir()
    (tmp_path / "emty.txt").write_text("")
    for name, near in (("empty", ""), ("emty", "; did you mean empty?")):
        with pytest.raises(UsageError, match=f"{tmp_path / name}: .*{near}"):
            look_into(tmp_path / name, "mine")


@pytest.mark.slow
def test_a_folder_of_a_run_that_cannot_be_read(folder: Path, run, tmp_path: Path) -> None:
    """Its second system is beyond the lines that say which kind it is; options go with one file."""
    for name in ("one.run", "two.jsonl"):
        (folder / "runs" / name).unlink()
    lines = [f"q1 Q0 d{n} {n} {-n} {'AB'[n // 9000]}\n" for n in range(9001)]
    (folder / "runs/two.run").write_text("".join(lines))
    answer = run("ingest", str(folder), "-d", "mine", "--db", str(tmp_path / "w.duckdb"))
    alone = f"options go with: warehouse ingest run {folder / 'runs/two.run'} -d mine"
    assert ("--where" in answer.err, alone in answer.err) == (True, True)
    assert "leaderboard" not in answer.err  # without a run there is none
    missing = run("ingest", f"{tmp_path}/dat", "-d", "mine")
    assert missing.err == f"warehouse: {tmp_path}/dat: no such folder; did you mean data?\n"


def test_what_could_be_both_is_told_apart_by_its_name(tmp_path: Path) -> None:
    for name in ("qrels.json", "tasb.json"):
        (tmp_path / name).write_text('{"q1": {"a": 2, "b": 1}}')
    (tmp_path / "w.duckdb").write_bytes(bytes(64))
    found = look_into(tmp_path, "mine")
    assert found.qrels == tmp_path / "qrels.json"
    assert found.runs == (tmp_path / "tasb.json",)
    assert found.others == (tmp_path / "w.duckdb",)


def test_a_dataset_may_be_left_out_while_there_is_one(run, tmp_path: Path, put) -> None:
    db = str(tmp_path / "w.duckdb")
    qrels, one = str(put("q1 0 a 1\n", "qrels.txt")), str(put("q1 Q0 a 1 2.5 x\n", "one.run"))
    refused = run("ingest", "qrels", qrels, "--db", db)
    assert refused.code == 2
    assert run("ingest", "qrels", qrels, "-d", "mine", "--db", db).code == 0
    answer = run("ingest", "runs", one, "--db", db)
    assert (answer.code, answer.err.splitlines()[-1]) == (0, "loaded into mine, the only dataset")
    assert run("ingest", "training", qrels, "-d", "other", "--db", db).code == 0
    refused = run("ingest", "run", one, "--db", db)
    assert refused.code == 2
    assert "mine, other" in refused.err


@pytest.mark.slow
def test_a_folder_of_beir(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has d1 first, which is relevant to q1, and not to q2: RR is 1 and 0."""
    monkeypatch.chdir(tmp_path)
    query = '{"_id": "%s", "text": "%s", "metadata": {}}\n'
    files = {
        "queries.jsonl": query % ("q1", "dogs") + query % ("q2", "cats"),
        "corpus.jsonl": '{"_id": "d1", "title": "Dogs", "text": "They bark.", "metadata": {}}\n',
        "qrels/train.tsv": "query-id\tcorpus-id\tscore\nq9\td1\t1\n",
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\n",
        "bm25.run": "q1 Q0 d1 1 2.5 bm25\nq2 Q0 d1 1 1 bm25\n",
    }
    for name, text in files.items():
        path = tmp_path / "scifact" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    answer = run("ingest", "scifact", "-d", "beir", "-m", "RR", "--db", "w.duckdb")
    assert answer.code == 0, answer.err
    said = answer.err.splitlines()
    assert said[0] == "qrels: scifact/qrels/test.tsv"
    assert said[2].endswith(": scifact/qrels/train.tsv")
    how = said[3].partition("warehouse ")[2].split()
    assert run(*how).code == 0  # into the same database
    wh = Warehouse("w.duckdb")
    assert [(row.run, row.RR) for row in wh.leaderboard()] == [("bm25", 0.5)]
    found = sorted((row.of, row.attribute) for row in wh.attributes())
    assert found == [("queries", "text")]
    assert wh.query("select title, text from store.text").fetchall() == [("Dogs", "They bark.")]
    qrels = tmp_path / "scifact" / "qrels"
    (qrels / "test.tsv").rename(qrels / "dev.tsv")
    with expect_refusal("several qrels … dev.tsv … train.tsv"):
        look_into(Path("scifact"), "beir")


RATED = "userId,movieId,rating,timestamp\n"
MOVIELENS = {
    "ratings.csv": RATED + "1,a,5,1\n1,b,1,2\n1,c,4,3\n",
    "train.csv": RATED + "1,a,5,1\n1,b,1,2\n",
    "test.csv": RATED + "1,c,4,3\n",
    "movies.csv": "movieId,title,genres\na,Up,Family\n",
    "tags.csv": "userId,movieId,tag,timestamp\n1,a,fun,1\n",
    "links.csv": "movieId,imdbId,tmdbId\na,1,2\n",
    "knn.csv": "userId,movieId,score\n1,b,2\n1,c,1\n",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("left_out", "qrels", "training"),
    [
        ((), "test.csv", "train.csv"),
        (("train.csv",), "test.csv", None),
        (("train.csv", "test.csv"), "ratings.csv", None),
    ],
)
def test_a_folder_of_ratings(tmp_path: Path, left_out, qrels, training) -> None:
    """No part of the ratings is a run; c with 4 is the second document of knn, so RR is 1/2."""
    folder = tmp_path / "ml"
    folder.mkdir()
    for name, text in MOVIELENS.items():
        if name not in left_out:
            (folder / name).write_text(text)
    found = look_into(folder, "ml")
    assert found.qrels == folder / qrels
    assert found.training == (training and folder / training)
    assert found.runs == (folder / "knn.csv",)
    wh = Warehouse(tmp_path / "w.duckdb")
    done = wh.ingest_folder("ml", folder)
    assert [one.kind for one in done] == ["qrels", *(["training"] if training else []), "run"]
    if qrels == "test.csv":
        assert [row.RR for row in wh.leaderboard("ml", metrics="RR")] == [0.5]


@pytest.mark.slow
def test_bundles_and_linked_folders(folder: Path, tmp_path: Path) -> None:
    """What was exported into the folder is not loaded again, and a link is what it leads to."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_folder("mine", folder)
    wh.evaluate("mine", metrics="RR")
    wh.export(folder / "bundle", "mine", metrics="RR")
    found = look_into(folder, "mine")
    assert [path.name for path in found.runs] == ["one.run", "two.jsonl"]
    assert folder / "bundle" in found.others
    assert {one.status for one in wh.ingest_folder("mine", folder)} == {"unchanged"}
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "truth.csv").write_text(FILES["truth.csv"])
    (linked / "runs").symlink_to(folder / "runs")
    (linked / "again").symlink_to(linked)  # round and round
    assert [path.name for path in look_into(linked, "mine").runs] == ["one.run", "two.jsonl"]
    (tmp_path / "whole").symlink_to(linked)
    assert len(look_into(tmp_path / "whole", "mine").runs) == 2
