"""A bundle: written from a warehouse, computed again from its own files, compared to the last bit."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hostile_sql import SECRET
from projects import command

from tests.refusals import expect_refusal
from warehouse.errors import InputError
from warehouse.sync.run_description import read_sidecar
from warehouse.warehouse import Warehouse

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"d": 1}, "q3": {"e": 0}}
START = dt.datetime(2026, 9, 1, 12, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    wh = Warehouse(folder / "w.duckdb")
    wh.ingest_qrels("tiny", QRELS, label="pooled")
    wh.ingest_run(
        "tiny", {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"x": 1.0}}, name="first/éa", run_at=START,
        system="bm25", tags={"k1": "0.9", "actor.team": "ours", "method.automatic": "true"},
    )  # fmt: skip
    wh.ingest_run("tiny", {"q2": {"d": 0.1, "x": 0.7}}, name="distances", lower_is_better=True)
    wh.evaluate("tiny", metrics="RR AP nDCG@2")
    wh.evaluate("tiny", metrics="RR", protocol="trec_eval_9")
    made = wh.export(folder / "bundle", "tiny")
    # two runs, three metrics, three judged queries
    assert (made.num_runs, made.num_metrics, made.num_values) == (2, 3, 18)
    return folder


@pytest.fixture
def bundle(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written / "bundle", tmp_path / "bundle"))


def test_what_is_in_it(bundle: Path) -> None:
    """By hand: the first run has a relevant document of q1 at rank 2; the other d of q2 at rank 1."""
    board = (bundle / "board.csv").read_text(encoding="utf-8").splitlines()
    values = {tuple(line.split(",")[:2]): float(line.split(",")[2]) for line in board[1:]}
    assert values["first/éa", "RR"] == (1 / 2 + 0 + 0) / 3
    assert values["distances", "RR"] == (0 + 1 + 0) / 3
    rows = (bundle / "query_values.csv").read_text(encoding="utf-8").splitlines()
    assert "first/éa,q1,RR,0.5" in rows
    manifest = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    assert [run["name"] for run in manifest["runs"]] == ["distances", "first/éa"]
    assert manifest["protocol"]["name"] == "default"
    for one in manifest["metrics"]:
        assert f"-- {one['metric']}" in (bundle / one["sql"]).read_text(encoding="utf-8")
    statement = json.loads((bundle / "statement.json").read_text(encoding="utf-8"))
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    files = {path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if path.is_file()}
    assert {one["name"] for one in statement["subject"]} == files - {"statement.json"}
    for one in statement["subject"]:
        content = (bundle / one["name"]).read_bytes()
        assert one["digest"] == {"sha256": hashlib.sha256(content).hexdigest()}


def test_what_is_known_of_a_run_is_ir_metadata(bundle: Path) -> None:
    pytest.importorskip("yaml")
    said = read_sidecar(bundle / "ir_metadata" / "002.yml")
    assert (said.system, said.time) == ("bm25", START)
    expected = {
        "data.test collection.name": "tiny", "method.tags.k1": "0.9", "actor.team": "ours",
        "method.automatic": "true",
    }  # fmt: skip
    assert said.tags.items() >= expected.items()


def test_it_is_computed_again(bundle: Path, written: Path, tmp_path: Path) -> None:
    found = Warehouse.verify_bundle(bundle)
    assert (found.is_good, found.fetchall()) == (True, [])
    assert "computed again: 24 values" in found.notes
    code, _, told = command("verify", str(bundle))
    assert (code, "equal: every file" in told) == (0, True)
    wh = Warehouse(written / "w.duckdb")
    wh.export(tmp_path / "trec", "tiny", protocol="trec_eval_9", with_data=False)
    assert not (tmp_path / "trec" / "data").exists()
    with expect_refusal("trec … --data FOLDER"):
        Warehouse.verify_bundle(tmp_path / "trec")
    assert Warehouse.verify_bundle(tmp_path / "trec", bundle).is_good


def _edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(bundle: Path) -> None:
        text = (bundle / name).read_text(encoding="utf-8")
        assert old in text
        (bundle / name).write_text(text.replace(old, new), encoding="utf-8")

    return change


def _swap_runs(bundle: Path) -> None:
    one, other = (bundle / f"data/runs/00{n}.parquet" for n in (1, 2))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("change", "differing", "problem"),
    [
        (_edit("query_values.csv", "q1,RR,0.5", "q1,RR,0.2"), [("first/éa", "RR", "q1")], "_values"),
        (_edit("board.csv", "distances,RR,", "distances,nDCG@3,"), 2, "board.csv"),
        (_swap_runs, 18, "data/runs/001.parquet"),
        (_edit("README.md", "tiny", "tidy"), 0, "README.md"),
        (lambda bundle: (bundle / "more.txt").touch(), 0, "more.txt"),
        (_edit("manifest.json", '"ties": "doc_desc"', '"ties": "doc_asc"'), 0, "other rules"),
    ],
    ids=["value", "row", "runs", "text", "file", "rules"],
)  # fmt: skip
def test_what_has_changed(
    bundle: Path, change: Callable[[Path], None], differing: int | list[object], problem: str
) -> None:
    change(bundle)
    found = Warehouse.verify_bundle(bundle)
    rows = [(row.run, row.metric, row.query_id) for row in found]
    if isinstance(differing, list):
        assert rows == differing
    elif problem.endswith(".parquet"):
        assert rows
    else:
        assert len(rows) == differing
    assert not found.is_good
    assert any(problem in text for text in found.problems)
    if problem == "README.md":
        assert command("verify", str(bundle))[0] == 1


def test_what_is_no_bundle(written: Path, bundle: Path, tmp_path: Path) -> None:
    wh = Warehouse(written / "w.duckdb")
    with expect_refusal("manifest.json … is it a bundle?", InputError):
        Warehouse.verify_bundle(tmp_path)
    with expect_refusal("is there already"):
        wh.export(bundle, "tiny")
    _edit("manifest.json", '"file": "data/qrels.parquet"', '"file": "../qrels.parquet"')(bundle)
    with expect_refusal("lies outside", InputError):
        Warehouse.verify_bundle(bundle)
    code, _, told = command("verify", str(bundle), "--all")
    assert (code, "--all" in told) == (2, True)
    (tmp_path / "liked.txt").write_text("q g s a 1\nq g s b 0\n")
    wh.ingest_qrels("liked", tmp_path / "liked.txt", format="prefs")
    wh.ingest_run("liked", {"q": {"a": 2.0, "b": 1.0}}, name="first")
    wh.evaluate("liked", metrics="prefs_simp")
    with expect_refusal("PrefSimple … preferences … -m"):
        wh.export(tmp_path / "other", "liked")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bundle", "liked.txt"]


@pytest.mark.slow
def test_a_training_set_attributes_and_iterations_are_in_it(tmp_path: Path) -> None:
    """Each kind of value, and a training query without an example, which counts in propensities."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("films", {"ann": {"up": 1, "jaws": 1}, "bob": {"up": 1}})
    wh.ingest_run(
        "films", {"ann": {"jaws": 0.9, "heat": 0.8, "up": 0.5}, "bob": {"up": 0.3}}, name="knn"
    )
    wh.ingest_training("films", {"ann": {"heat": 1, "up": 1}, "eve": {"up": 1}, "joe": {}})
    table = tmp_path / "films.jsonl"
    table.write_text(
        '{"doc_id": "up", "genres": ["Family", "Fun"], "at": [0.5, 1.0], "group": "a", "seen": true}\n'
        '{"doc_id": "jaws", "genres": ["Horror"], "at": [0.25, 0.125], "group": "b"}\n'
        '{"doc_id": "heat", "genres": [], "at": [1, 0.75], "group": "007"}\n'
    )
    wh.ingest_attributes("films", table, of="docs")
    wh.evaluate(
        metrics="PSP@2 MIUF@2 Coverage@2 ILD(attribute=genres)@2 Entropy(attribute=group)@2 "
        "Entropy(attribute=seen)@2 RR"
    )
    wh.export(tmp_path / "bundle", "films")
    found = Warehouse.verify_bundle(tmp_path / "bundle")
    assert (found.is_good, found.problems, found.fetchall()) == (True, (), [])
    data = {path.name for path in (tmp_path / "bundle" / "data").glob("*.parquet")}
    assert data == {"qrels.parquet", "training.parquet", "attributes_of_documents.parquet"}
    wh.ingest_qrels(
        "subtopics",
        [
            {"query_id": "q", "doc_id": d, "relevance": 1, "iteration": i}
            for d, i in ("a1", "a2", "b1")
        ],
        iterations=True,
    )
    wh.ingest_run("subtopics", {"q": {"a": 2.0, "c": 1.5, "b": 1.0}}, name="first")
    wh.evaluate("subtopics", metrics="alpha_nDCG@3 RR")
    wh.export(tmp_path / "other", "subtopics")
    found = Warehouse.verify_bundle(tmp_path / "other")
    assert (found.is_good, found.problems, found.fetchall()) == (True, (), [])
    # another training set gives other values
    path = tmp_path / "bundle" / "data" / "training.parquet"
    whole = duckdb.read_parquet(str(path))
    assert whole.filter("query_id = 'joe'").fetchall() == [("joe", None, None)]
    duckdb.from_arrow(whole.filter("query_id <> 'joe'").to_arrow_table()).write_parquet(str(path))
    found = Warehouse.verify_bundle(tmp_path / "bundle")
    assert any("training.parquet" in text for text in found.problems)
    assert {row.metric for row in found} == {"PSP@2", "MIUF@2"}


def doctored(bundle: Path, sql: str) -> None:
    """Change the judgments, and every digest with them, as somebody would who wants to hide it."""
    path = bundle / "data" / "qrels.parquet"
    with duckdb.connect() as con:
        con.execute(f"create table judged as from '{path}'")
        con.execute(sql)
        con.execute(f"copy judged to '{path}' (format parquet)")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    for name in ("manifest.json", "statement.json"):
        file = next(iter(bundle.rglob(name)), None)
        if file is None:
            continue
        text = json.loads(file.read_text(encoding="utf-8"))
        for one in text.get("subject", []):
            if one["name"] == "data/qrels.parquet":
                one["digest"]["sha256"] = digest
        if "data" in text:
            text["data"]["data/qrels.parquet"] = digest
        file.write_text(json.dumps(text), encoding="utf-8")


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("update judged set relevance = 7 where query_id = 'q3'", "other rows"),
        ("insert into judged values ('q4', 'z', 0, '0')", "other numbers"),
    ],
)
def test_other_judgments_do_not_pass_under_the_hash_of_the_first(
    bundle: Path, sql: str, told: str
) -> None:
    doctored(bundle, sql)
    found = Warehouse.verify_bundle(bundle)
    assert any(f"the judgments: has {told}" in problem for problem in found.problems)


def test_a_row_of_the_board_that_is_there_twice_counts(bundle: Path) -> None:
    board = bundle / "board.csv"
    lines = board.read_text(encoding="utf-8").splitlines(keepends=True)
    board.write_text("".join([*lines, lines[-1]]), encoding="utf-8")
    problems = Warehouse.verify_bundle(bundle).problems
    assert "board.csv: has 1 value more than once" in problems


def _link(path: Path) -> None:
    target = path.with_name("elsewhere")
    path.rename(target)
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("put", [_link, _pipe])
@pytest.mark.parametrize("name", ["manifest.json", "board.csv", "data/qrels.parquet"])
def test_links_and_pipes_are_refused(bundle: Path, name: str, put: Callable[[Path], None]) -> None:
    put(bundle / name)
    assert command("verify", str(bundle))[0] == 2


@pytest.mark.parametrize(
    "key", ["protocol", "qrels", "runs", "metrics", "attributes", "dataset", "data", "has_data"]
)
@pytest.mark.parametrize("wrong", [None, 7, [7], "x"])
def test_a_malformed_manifest_is_refused(bundle: Path, key: str, wrong: object) -> None:
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    wrong = {"a": []} if key == "dataset" and wrong == "x" else wrong
    path.write_text(json.dumps(manifest | {key: wrong}), encoding="utf-8")
    code, out, told = command("verify", str(bundle))
    assert code == 2, told
    assert "manifest.json" in told
    assert "Traceback" not in out + told


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    "place",
    [
        "{secret}", "../secret.parquet", "data/../../secret.parquet", "http://127.0.0.1:{port}/a",
        "s3://bucket/a.parquet", "data/runs/*.parquet",
    ],
)  # fmt: skip
@pytest.mark.parametrize("key", ["qrels", "runs", "training", "attributes", "data", "subject"])
def test_a_manifest_that_names_another_file(
    bundle: Path, unasked_port: int, key: str, place: str
) -> None:
    """It lies outside, is none, or changes a board: no word of it is told and nobody is asked."""
    secret = bundle.with_name("secret.parquet")
    duckdb.sql(f"select '{SECRET}' as query_id, 'a' as doc_id, 1.0 as score").write_parquet(
        str(secret)
    )
    place = place.format(secret=secret, port=unasked_port)
    file = bundle / ("statement.json" if key == "subject" else "manifest.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    if key in ("qrels", "runs"):
        (content[key] if key == "qrels" else content[key][0])["file"] = place
    elif key == "subject":
        content["subject"][0]["name"] = place
    else:
        content[key] = {"training": place, "attributes": [place], "data": {place: "0"}}[key]
    file.write_text(json.dumps(content), encoding="utf-8")
    code, out, told = command("verify", str(bundle))
    assert code in ((0, 1, 2) if key == "data" else (1, 2)), told
    assert SECRET not in out + told
    assert "Traceback" not in out + told


def _key(folder: Path, name: str) -> tuple[Path, str]:
    """Make a key; return it with its line for a list of allowed signers."""
    key = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    return key, f"{name}@example.org {key.with_suffix('.pub').read_text()}"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen on this machine")
def test_a_signed_bundle_says_who_made_it(
    written: Path, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, ann_allowed = _key(tmp_path, "ann")
    _, bob_allowed = _key(tmp_path, "bob")
    allowed, bob_alone = tmp_path / "allowed", tmp_path / "bob alone"
    allowed.write_text(bob_allowed + ann_allowed)
    bob_alone.write_text(bob_allowed)
    signed, db = tmp_path / "signed", str(written / "w.duckdb")
    words = ("export", str(signed), "-d", "tiny", "-m", "RR", "--db", db)
    assert command(*words, "--sign", str(tmp_path / "no"))[0] == 2
    assert command(*words, "--sign", str(allowed))[0] == 2  # no key
    assert not signed.exists()
    assert command(*words, "--sign", str(ann))[0] == 0
    # as somebody else would check it, without this program
    subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ann@example.org",
         "-n", "ranking-warehouse-bundle", "-s", signed / "statement.json.sig"],
        input=(signed / "statement.json").read_bytes(), check=True, capture_output=True,
    )  # fmt: skip
    code, _, told = command("verify", str(signed), "--signers", str(allowed))
    assert (code, "signed by ann@example.org, ED25519 key SHA256:" in told) == (0, True)
    assert Warehouse.verify_bundle(signed).is_good
    code, _, told = command("verify", str(signed), "--signers", str(bob_alone))
    assert (code, "a key that" in told) == (1, True)
    assert Warehouse.verify_bundle(bundle, signers=allowed).problems == (
        "statement.json: is not signed",
    )
    # the signature of another bundle, and a file that changed after it was signed
    shutil.copy(signed / "statement.json.sig", bundle)
    (problem,) = Warehouse.verify_bundle(bundle, signers=allowed).problems
    assert "does not hold" in problem
    _edit("README.md", "tiny", "tidy")(signed)
    assert not Warehouse.verify_bundle(signed, signers=allowed).is_good
    with expect_refusal("no such list"):
        Warehouse.verify_bundle(signed, signers=tmp_path / "no")
    monkeypatch.setenv("PATH", str(tmp_path))
    with expect_refusal("install OpenSSH"):
        Warehouse.verify_bundle(signed, signers=allowed)
