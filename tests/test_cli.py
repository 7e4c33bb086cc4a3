"""The command line: its examples, its exit codes, its words, and what goes where."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
import typer
from clusters import needs_spark
from lakes import needs_lake
from projects import Answer, invoked, words_of
from refusals import tells

from warehouse.cli import application
from warehouse.errors import LockedError, WarehouseError
from warehouse.store import database
from warehouse.warehouse import Warehouse

Counts = Callable[[Path], dict[str, int]]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two small files, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n")
    Path("one.run").write_text("q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\nq2 Q0 c 1 1 t\n")
    Path("two.run").write_text("q1 Q0 a 1 2 t\nq1 Q0 b 2 1 t\n")
    return tmp_path


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an evaluated warehouse, made once."""
    wh = Warehouse(tmp_path_factory.mktemp("small") / "small.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}, "q2": {"c": 1.0}}, name="one")
    wh.ingest_run("tiny", {"q1": {"a": 2.0, "b": 1.0}}, name="two")
    wh.evaluate(metrics="RR AP")
    return wh.path


@pytest.fixture
def small(here: Path, small_file: Path) -> Warehouse:
    """Return an evaluated warehouse at the default place of that folder."""
    return Warehouse(shutil.copy(small_file, here / "warehouse.duckdb"))


# --------------------------------------------------------------------------- help and examples


def leaves(command: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, object]]:
    """Give every command that does something, with its full name."""
    inner = getattr(command, "commands", None)
    if inner is None or getattr(command, "invoke_without_command", False):
        yield " ".join(path), command
    for name, child in (inner or {}).items():
        yield from leaves(child, (*path, name))


MODULES = application.modules()
EXAMPLES = application.examples()
COMMANDS = dict(leaves(typer.main.get_command(application.application())))
ALL_EXAMPLES = [(name, line) for name, lines in EXAMPLES.items() for line in lines]
# They need a lake that was pushed into.
LAKE = ("lake optimize", "lake versions")
# The quick run has the first of each command, but not of those that wait for MLflow or a server.
WAITS = ("ingest mlflow", "serve")
RUN_EXAMPLES = [
    pytest.param(
        name, line, id=line,
        marks=[
            *([] if line == EXAMPLES[name][0] and name not in WAITS else [pytest.mark.slow]),
            *([pytest.mark.long] if line in EXAMPLES[name][2::2] else []),
            *([needs_spark] if "spark" in line else []),
            *([needs_lake] if "--lake" in line or name in LAKE else []),
        ],
    )
    for name, line in ALL_EXAMPLES
]  # fmt: skip


def test_every_command_has_examples_and_the_other_way_round() -> None:
    assert set(COMMANDS) == set(EXAMPLES)
    assert all(EXAMPLES.values())
    for name, line in ALL_EXAMPLES:
        assert f"warehouse {name}" in line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_ends_with_its_examples(name: str) -> None:
    found = invoked(*name.split(), "--help")
    assert found.exit_code == 0
    assert COMMANDS[name].help.strip().split("\n")[0].endswith(".")
    head, _, tail = found.output.partition("Examples:\n")
    assert [line.strip() for line in tail.strip().splitlines()] == list(EXAMPLES[name])
    assert "Options:" in head
    same = invoked(*name.split(), "-h")
    assert same.output == found.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_and_argument_has_help(name: str) -> None:
    for parameter in COMMANDS[name].params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name}"


PROJECT = """\
database = "warehouse.duckdb"
unchecked = "warn"
[datasets.dl19]
qrels = "qrels.txt"
metrics = ["AP"]
[[runs]]
files = "runs/*.run.gz"
dataset = "dl19"
[[gates]]
dataset = "dl19"
metric = "AP"
max_drop = 1
"""


def fill_mlflow(line: str, folder: Path, empty: Path) -> None:
    """Make the tracking store that a line names, with one finished run."""
    from mlflow.tracking import MlflowClient

    shutil.copy(empty, folder / "mlflow.db")
    uri = line.split()[3].replace("sqlite:///", f"sqlite:///{folder}/")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        client = MlflowClient(uri if ":" in uri else str(folder / uri))
        experiment = client.create_experiment("ranking", (folder / "kept").as_uri())
        run = client.create_run(experiment, run_name="first")
        client.log_artifact(run.info.run_id, str(folder / "links.run"), "runs")
        client.set_terminated(run.info.run_id)


def interrupted_after_a_look(*_: object, **__: object) -> Iterator[set[object]]:
    """Watch as watchfiles does, until Ctrl-C comes."""
    yield set()
    raise KeyboardInterrupt


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Path:
    """Return a folder with files as the examples name them, and a database before and after."""
    folder = tmp_path_factory.mktemp("examples") / "folder"
    (folder / "runs").mkdir(parents=True)
    (folder / "qrels.txt").write_bytes(gzip.decompress((demo_data / "qrels.txt.gz").read_bytes()))
    for name in ("bm25", "tasb"):
        shutil.copy(demo_data / f"{name}.run.gz", folder / "runs")
    (folder / "ratings.csv").write_text("user,item,stars\nann,alien,5\nann,up,2\nbob,up,4\n")
    (folder / "distances.csv").write_text(
        "user,item,distance\nann,alien,0.25\nann,up,0.5\nbob,up,1.5\n"
    )
    (folder / "movies.csv").write_text(
        "movie,title,genres\n1,Alien,Horror|Sci-Fi\n2,Up,Animation\n"
    )
    (folder / "users.jsonl").write_text('{"query_id": "ann", "age": 30}\n')
    (folder / "queries.jsonl").write_text('{"query_id": "19335", "text": "anthropological"}\n')
    (folder / "collection.tsv").write_text("7067032\tA passage of the collection.\n")
    (folder / "links.txt").write_text("A\nB\n")
    (folder / "queries.txt").write_text("q1\nq2\n")
    (folder / "train.txt").write_text("19335\n47923\n")
    (folder / "links.run").write_text("q1 Q0 A 1 2 t\nq1 Q0 C 2 1 t\nq2 Q0 B 1 1 t\n")
    (folder / "sources.csv").write_text("doc_id,source\n7067032,web\n")
    (folder / "lengths.csv").write_text("query_id,length\n19335,3\n47923,6\n87181,4\n")
    (folder / "subtopics.txt").write_text("w1 1 a 1\nw1 2 a 0\nw1 2 b 2\n")
    (folder / "runs" / "web.run").write_text("w1 Q0 b 1 2 t\nw1 Q0 a 2 1 t\n")
    (folder / "prefs.txt").write_text("# who prefers what\nc1 ann 1 a 2\nc1 ann 1 b 1.5\n")
    (folder / "seen.csv").write_text("user,item\nann,alien\nbob,up\n")
    (folder / "bm25.eval").write_text("map\t19335\t0.25\nmap\t47923\t0.75\nmap\tall\t0.5\n")
    (folder / "grades.jsonl").write_text(
        '{"run": "bm25", "query_id": "19335", "metric": "nuggets", "value": 0.5}\n'
    )
    (folder / "nuggets.jsonl").write_text(
        '{"qid": "19335", "nuggets": [{"text": "a fact", "importance": "vital"}]}\n'
    )
    (folder / "rubric.json").write_text(
        '{"topic_id": "19335",\n "rubrics": [{"question_id": "19335-1", '
        '"importance": "C: Nice to Know", "short_answers": [{"answer_id": "1"}]}]}\n'
    )
    (folder / "assignments.jsonl").write_text(
        '{"qid": "19335", "run_id": "bm25", "nuggets": [{"text": "a fact", "assignment": "support"}]}\n'
    )
    (folder / "bm25.csv").write_text("topic_id,answer_id,annotation\n19335,1,contradicts\n")
    (folder / "support.jsonl").write_text(
        '{"topic_id": "19335", "run_id": "bm25", "references": ["d"], '
        '"support_eval": [{"citations": [0], "eval_scores": ["PS"]}]}\n'
    )
    (folder / "crowd.csv").write_text(
        "worker,query_id,doc_id,relevance\nw1,19335,7067032,2\nw2,19335,7067032,1\n"
    )
    wh = Warehouse(folder / "evaluated")
    wh.ingest_qrels("dl19", str(folder / "qrels.txt"))
    for path in sorted((folder / "runs").glob("*.gz")):
        wh.ingest_run("dl19", str(path))
    wh.ingest_attributes("dl19", str(folder / "sources.csv"), of="docs")
    wh.ingest_attributes("dl19", str(folder / "lengths.csv"), of="queries")
    wh.ingest_text("dl19", str(folder / "collection.tsv"), of="docs", name="corpus")
    shutil.copy(folder / "evaluated", folder / "loaded")
    wh.ingest_qrels("dl20", str(folder / "qrels.txt"))
    wh.ingest_run("dl20", str(folder / "runs" / "bm25.run.gz"))
    wh.make_deciles("dl19")
    wh.evaluate()
    wh.ingest_scores("dl19", folder / "grades.jsonl", judge="human")
    wh.ingest_nuggets("dl19", folder / "nuggets.jsonl")
    wh.evaluate("dl19", metrics="AP", slices="size = quantiles(num_relevant, 3)")
    first = {query: {"7067032": 1} for query in ("19335", "47923")}
    wh.ingest_qrels("grown", first)
    wh.ingest_qrels("grown", first | {"87452": {"7067032": 2}}, replace=True)
    wh.ingest_qrels("judged", first)
    wh.ingest_run("judged", folder / "runs" / "bm25.run.gz")
    wh.ingest_run("judged", folder / "runs" / "tasb.run.gz")
    wh.ingest_judgments("judged", {**first, "87452": {"7067032": 2}}, judge="gpt-4o", kind="llm")
    wh.ingest_judgments("judged", first, judge="ann")
    return folder


@pytest.mark.sample(3)
@pytest.mark.parametrize(("name", "line"), RUN_EXAMPLES)
def test_every_example_runs_as_printed(
    name: str, line: str, prepared: Path, demo_file: Path, tmp_path: Path, program,
    run: Callable[..., Answer], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In a process of its own where the shell has a part in it."""
    ingests = name.startswith("ingest ")
    ingests_runs = ingests and name.removeprefix("ingest ") not in (
        "scores", "nuggets", "assignments", "citations",
    )  # fmt: skip
    made = None if ingests_runs or name in ("demo", "init", "score", "sync") else "evaluated"
    if name == "evaluate":
        made = "loaded"
    others = shutil.ignore_patterns(*{"evaluated", "loaded"} - {made})
    folder = shutil.copytree(prepared, tmp_path / "folder", ignore=others)
    if name in ("config show", "sync", "watch", "check"):
        (folder / "warehouse.toml").write_text(PROJECT)
    if name == "watch":
        watchfiles = pytest.importorskip("watchfiles")
        monkeypatch.setattr(watchfiles, "watch", interrupted_after_a_look)
    if name == "serve":
        uvicorn = pytest.importorskip("uvicorn")
        monkeypatch.setattr(uvicorn.Server, "run", lambda *_, **__: None)
        shutil.copy(folder / "evaluated", folder / "replica.duckdb")
    if name == "demo":  # it is made from nothing by the README's first command
        shutil.copy(demo_file, folder / "demo.duckdb")
    if name == "ingest mlflow":
        fill_mlflow(line, folder, request.getfixturevalue("mlflow_database"))
    if made is not None:
        (folder / made).rename(folder / "warehouse.duckdb")
    if name == "gates accept":  # a run that is red
        (folder / "warehouse.toml").write_text(PROJECT.replace("max_drop = 1", "min = 1"))
        monkeypatch.chdir(folder)
        Warehouse(folder / "warehouse.duckdb").check(new=True)
    if ("--lake" in line and name != "push") or name in LAKE:
        Warehouse(folder / "warehouse.duckdb").push(folder / "lake")
    if name == "shell":
        program.other("harlequin", 'echo "$@"')
    words = words_of(line)
    if name == "shell" or words is None:
        if made is None:  # a process of its own would make one by the migrations
            Warehouse(folder / "warehouse.duckdb").init()
        process = program.shell(line, folder)
        found = Answer(process.returncode, process.stdout, process.stderr)
    else:
        monkeypatch.chdir(folder)
        found = run(*words)
    assert found.code == (130 if name == "watch" else 0), found.err
    assert "Traceback" not in found.err
    if "-o " in line:
        assert (folder / line.rpartition("-o ")[2].split()[0]).read_bytes().strip()
    elif (
        name
        in (
            "init",
            "collect",
            "deciles make",
            "evaluate",
            "export",
            "forget",
            "fuse",
            "gates accept",
            "gates baseline",
            "judges combine",
            "lake optimize",
            "publish",
            "push",
            "report",
            "serve",
            "watch",
        )
        or ingests
    ):
        assert found.err.strip()
    else:
        assert found.out.strip()
    if ingests and "runs/*.run.gz" in line and "stage=first" in line:
        tags = Warehouse(folder / "warehouse.duckdb").query("select run, tags from runs")
        assert sorted(tags.fetchall()) == [
            ("bm25", {"stage": "first"}),
            ("tasb", {"stage": "first"}),
        ]
    if line.startswith("gzip"):
        at = Warehouse(folder / "warehouse.duckdb").query("select run, run_at::varchar from runs")
        assert at.fetchall() == [("bm25", "2026-09-01 00:00:00+00")]


def test_the_help_of_the_whole_names_every_command() -> None:
    found = invoked("--help")
    assert found.exit_code == 0
    for name in COMMANDS:
        assert name.split()[0] in found.output
    assert "warehouse demo" in found.output
    sections = re.findall(r"^(\w+):$", found.output, re.MULTILINE)
    assert sections == ["Options", *application.SECTIONS]


@pytest.mark.parametrize(
    "group", ["", *sorted({name.split()[0] for name in COMMANDS if " " in name})]
)
def test_a_list_of_commands_has_whole_sentences(
    group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    heading = "Commands" if group else application.SECTIONS[0]
    listed = invoked(*group.split(), "--help").output.split(f"{heading}:\n")[1]
    assert listed
    assert "..." not in listed.split("Examples:")[0]


@pytest.mark.parametrize(
    ("words", "completion"),
    [
        ("warehouse leader", "leaderboard"),
        ("warehouse metrics sh", "show"),
        ("warehouse ingest at", "attributes"),
        ("warehouse score --per", "--per-query"),
    ],
)
def test_the_shell_completes_words(words: str, completion: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "warehouse"],
        env=os.environ
        | {
            "_WAREHOUSE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [completion]


def test_without_arguments_it_shows_help() -> None:
    found = invoked()
    assert "Usage: warehouse" in found.output


def test_the_version() -> None:
    from warehouse import __version__

    found = invoked("--version")
    assert (found.exit_code, found.output) == (0, f"warehouse {__version__}\n")


# --------------------------------------------------------------------------- wrong words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["quer"], "'query'"),
        (["leaderbord", "-d", "tiny"], "'leaderboard'"),
        (["ingest", "qrel", "x"], "'qrels'"),
        (["metrics", "shw", "nDCG"], "'show'"),
        (["evaluate", "--metrc", "AP"], "--metric"),
        (["leaderboard", "--datset", "tiny"], "--dataset"),
        (["leaderboard", "tiny"], "(tiny); a dataset is named with -d. See: warehouse leaderboard"),
        (["leaderboard", "tiny", "x"], "unexpected extra argument(s) (tiny x)"),
        (["init", "x"], "unexpected extra argument(s) (x)"),
    ],
)
def test_wrong_commands_and_options_name_the_nearest(
    run: Callable[..., Answer], small: Warehouse, arguments: list[str], words: str
) -> None:
    found = run(*arguments)
    assert (found.code, found.out) == (2, "")
    assert words in found.err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["evaluate", "-m", "nDGC@10"], "nDGC@10 … nDCG@10"),
        (["evaluate", "-m", "P"], "P: needs a cutoff, as in P@10"),
        (["score", "qrels.txt", "one.run", "AP(rell=2)"], "has no parameter 'rell'"),
        (["score", "qrels.txt", "one.run", "./onee.run", "RR"], "./onee.run … one.run"),
        (["score", "qrels.txt", "one.run", "onee.run", "RR"], "onee.run … one.run"),
        (["score", "one.run", "qrels.txt", "RR"], "or give it to 'warehouse score' after the qrels"),
        (["score", "qrels.txt", "one.run", "*.nope", "RR"], "*.nope: no file matches"),
        (["score", "-nq", "qrels.txt", "one.run"], "-n: no such option; the values over all queries"),
        (["score", "-N", "9", "qrels.txt", "one.run"], "as in 'Utility(collection=1000)'"),
        (
            ["score", "qrels.txt", "one.run", "two.run", "-f", "trec"],
            "trec_eval's layout has room for one run",
        ),
        (["leaderboard", "-d", "tinny"], "tinny … tiny"),
        (["evaluate", "-d", "tinny"], "tinny … tiny"),
        (["runs", "-d", "tinny"], "tinny … tiny"),
        (["queries", "onne", "-d", "tiny"], "onne … one"),
        (["evaluate", "-r", "onne"], "onne … one"),
        (["evaluate", "--protocol", "trec_eval"], "trec_eval … trec_eval_10 … trec_eval_10_prefs"),
        (["evaluate", "--protocol", "trec_eval_8"], "trec_eval_8 … trec_eval_c"),
        (["leaderboard", "-d", "tiny", "-f", "latx"], "latx … latex"),
        (["score", "qrels.txt", "one.run", "-f", "trek"], "trek … trec"),
        (["query", "select 1", "-f", "jsn"], "jsn … json"),
        (["ingest", "run", "one.run", "-d", "x", "--format", "trek"], "trec"),
        (["schema", "evalution"], "evalution … store.evaluation"),
        (["metrics", "show", "nDGC"], "nDGC … nDCG"),
        (["protocols", "show", "defalt"], "defalt … default"),
        (["ingest", "run", "onee.run", "-d", "x"], "onee.run … one.run"),
        (["ingest", "run", "*.nope", "-d", "x"], "*.nope: no file matches"),
        (["ingest", "run", "one.run", "two.run", "-d", "x", "--name", "a"], "--name a: names one run"),
        (["ingest", "run", "one.run", "-d", "x", "--name-from", "header"], "is stem or tag"),
        (["ingest", "run", "one.run", "-d", "x", "--tag", "stage"], "write it as KEY=VALUE"),
        (["ingest", "run", "one.run", "-d", "x", "--at", "yesterday"], "--at yesterday: write it as"),
        (["ingest", "qrels", "one.run", "-d", "x"], "use 'warehouse ingest run'"),
        (["ingest", "run", "qrels.txt", "-d", "x"], "use 'warehouse ingest qrels'"),
        (["evaluate", "--memory-limit", "lots"], "write a size such as 512MB or 4GB"),
        (["query"], "give the SQL"),
        (["query", "select $a", "-p", "a"], "--param a: write it as KEY=VALUE"),
        (["query", "select $run", "-p", "rn=1"], "rn … run"),
        (["query", "select 1", "-p", "a=1"], "a: the SQL has no $a; it asks for nothing"),
        (["query", "select $a", "-p", "A=1", "-p", "b=1"], "the SQL has no $b; it asks for a"),
        (["query", "select $a"], "a: the SQL has $a, which is not given: -p a=VALUE"),
        (["leaderboard", "-d", "tiny", "-f", "parquet"], "needs a file: -o FILE"),
        (["leaderboard", "-d", "tiny", "-o", "no/such/file"], "no/such/file: there is no folder"),
        (["runs", "--db", "absent.duckdb"], "absent.duckdb: no such database"),
        (["runs", "--db", "qrels.txt"], "qrels.txt: not a DuckDB database"),
        (["publish", "."], ".: cannot be replaced; give it a name in this folder"),
        (["query", "select 1", "-o", ""], "is a directory"),
        (["score", "-", "-"], "only one of the files can be read from stdin"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_wrong_words_get_one_line_and_exit_code_2(
    run: Callable[..., Answer], small: Warehouse, arguments: list[str], line: str
) -> None:
    found = run(*arguments)
    assert (found.code, found.out) == (2, "")
    text = found.err.strip()
    assert tells(text, line)
    assert text.startswith("warehouse: ")
    assert "\n" not in text
    assert "sqlalche.me" not in text


def test_all_wrong_metrics_are_reported_at_once(
    run: Callable[..., Answer], small: Warehouse
) -> None:
    found = run("evaluate", "-m", "nDGC@10", "-m", "AP", "-m", "Recal@5")
    assert found.code == 2
    assert "nDGC@10: no such metric" in found.err
    assert "Recal@5: no such metric" in found.err


def test_the_path_of_the_database_may_be_wrong(
    run: Callable[..., Answer], small: Warehouse
) -> None:
    Path("folder").mkdir()
    for arguments in (["init"], ["runs"], ["ingest", "run", "one.run", "-d", "x"]):
        found = run(*arguments, "--db", "folder")
        assert found.code == 2
        assert found.err.startswith("warehouse: folder: ")
        assert "sqlalche.me" not in found.err


# --------------------------------------------------------------------------- exit codes and streams


def test_data_on_stdout_and_narration_on_stderr(run: Callable[..., Answer], here: Path) -> None:
    for arguments in (
        ["init"],
        ["ingest", "qrels", "qrels.txt", "-d", "tiny"],
        ["ingest", "run", "one.run", "-d", "tiny"],
        ["evaluate", "-m", "RR"],
        ["evaluate", "-m", "RR"],
        ["leaderboard", "-d", "tiny", "-f", "csv", "-o", "board.csv"],
    ):
        found = run(*arguments)
        assert (found.code, found.out) == (0, ""), found.err
        assert found.err.strip()
    assert run("leaderboard", "-d", "tiny", "-f", "csv").out == Path("board.csv").read_text()
    assert Path("board.csv").read_text() == (
        "place,run,system,RR,answered,judged\n1,one,,0.75,2,2\n"
    )


def test_warnings_go_to_stderr(run: Callable[..., Answer], here: Path) -> None:
    run("ingest", "qrels", "qrels.txt", "-d", "tiny")
    found = run("ingest", "run", "two.run", "-d", "tiny")
    assert (found.code, found.out) == (0, "")
    assert "warning: two: 1 of 2 judged queries" in found.err
    scored = run("score", "qrels.txt", "two.run", "RR", "-f", "csv")
    assert scored.out == "metric,value\nRR,0.5\n"
    assert "1 of 2 judged queries" in scored.err
    assert "counts as 0" in scored.err
    assert "no document of the run" not in scored.err


@pytest.mark.slow
def test_a_run_without_a_judged_document_is_told_of(run: Callable[..., Answer], here: Path) -> None:
    """What pandas writes of ids beside missing values: 10.0 for 10."""
    Path("q.csv").write_text("query_id,doc_id,relevance\n1,10,1\n")
    for name in ("ints", "reals", "others"):
        tail = "" if name == "ints" else ".0"
        Path(f"{name}.csv").write_text(f"query_id,doc_id,score\n1,10{tail},1\n1,11{tail},0\n")
    told = "no document of the run is judged for its query: are the document ids written as"
    scored = run("score", "q.csv", "ints.csv", "reals.csv", "others.csv", "RR", "-f", "csv")
    assert scored.out == "run,RR\nints,1.0\nreals,0.0\nothers,0.0\n"
    assert scored.err.startswith(f"warning: reals, others: {told}")
    run("ingest", "qrels", "q.csv", "-d", "d")
    run("ingest", "run", "ints.csv", "reals.csv", "-d", "d", "--name-from", "stem")
    assert run("evaluate", "-d", "d", "-m", "RR").err.startswith(f"warning: reals: {told}")
    assert "warning" not in run("evaluate", "-d", "d", "-m", "P@1").err  # it was told


@pytest.mark.slow
def test_several_runs_get_a_line_each(run: Callable[..., Answer], here: Path) -> None:
    one, two = (float(run("score", "qrels.txt", f"{name}.run", "RR", "-f", "csv").out.split(",")[-1])
                for name in ("one", "two"))  # fmt: skip
    found = run("score", "qrels.txt", "one.run", "two.run", "RR", "NumRet", "-f", "csv")
    assert found.out == f"run,RR,NumRet\none,{one},3.0\ntwo,{two},2.0\n"
    assert found.err.startswith("warning: two: the run has no line for 1 of 2 judged queries")
    shutil.copy("two.run", "RR")  # a name that could be both is the metric
    shutil.copy("one.run", "[ot]ne.run")  # so is a file whose name could be a pattern
    assert run("score", "qrels.txt", "[ot]ne.run", "RR", "-f", "csv").out.startswith("metric,value")
    Path("[ot]ne.run").unlink()
    globbed = run("score", "-m", "recip_rank", "qrels.txt", "*.run")  # as trec_eval has it
    assert run("score", "qrels.txt", "one.run", "two.run", "RR").out == globbed.out
    with_path = run("score", "qrels.txt", "one.run", "./RR", "RR", "-f", "csv")
    assert with_path.out == f"run,RR\none,{one}\nRR,{two}\n"
    each = run("score", "qrels.txt", "one.run", "two.run", "RR", "-q", "-f", "csv").out.splitlines()
    assert each[0] == "run,query_id,metric,value"
    assert [line.split(",")[0] for line in each[1:]] == ["one"] * 3 + ["two"] * 3


def test_the_format_does_not_depend_on_the_terminal(
    run: Callable[..., Answer], small: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = run("runs", "-f", "markdown").out
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert run("runs", "-f", "markdown").out == wide


def test_several_files_one_fails_the_others_stay(run: Callable[..., Answer], here: Path) -> None:
    Path("bad.run").write_text("q1 Q0 a 1 high t\n")
    found = run("ingest", "run", "one.run", "bad.run", "two.run", "-d", "tiny")
    assert found.code == 2
    assert "bad.run" in found.err
    assert "line 1" in found.err
    assert "2 of 3 files loaded or unchanged" in found.err
    names = Warehouse("warehouse.duckdb").query("select name from store.run order by 1").fetchall()
    assert names == [("one",), ("two",)]
    again = run("ingest", "run", "*.run", "-d", "tiny")
    assert again.code == 2
    assert again.err.count("unchanged (") == 2


def test_a_conflict_is_exit_code_2(run: Callable[..., Answer], small: Warehouse) -> None:
    found = run("ingest", "run", "two.run", "-d", "tiny", "--name", "one")
    assert found.code == 2
    assert "--replace" in found.err
    replaced = run("ingest", "run", "two.run", "-d", "tiny", "--name", "one", "--replace")
    assert replaced.code == 0
    assert "one: replaced, version 2 (2 predictions, 1 " in replaced.err


def test_wrong_sql_is_exit_code_1(small: Warehouse, program) -> None:
    told = {
        "query 'selec 1'": "selec",
        "query 'select nope from store.run'": "nope",
        "query 'from rnu'": "rnu",
        "query \"select 1/0 + 'a'::int\"": "Could not convert",
    }
    for line, found in program.calls(*told, cwd=small.path.parent).items():
        assert (found.code, found.out) == (1, ""), line
        assert found.err.startswith("warehouse: ")
        assert told[line] in found.err


def test_a_locked_database_is_exit_code_3(
    run: Callable[..., Answer], small: Warehouse, program
) -> None:
    holder = program.python(
        "import duckdb, sys; con = duckdb.connect(sys.argv[1]); print('held', flush=True); "
        "sys.stdin.readline()",
        str(small.path),
        cwd=small.path.parent,
    )
    try:
        assert holder.stdout.readline() == "held\n"
        for arguments in (
            ["ingest", "run", "one.run", "two.run", "-d", "x"],
            ["evaluate"],
            ["leaderboard", "-d", "tiny"],
            ["query", "select 1"],
        ):
            found = run(*arguments, "--lock-timeout", "0.2")
            assert (found.code, found.out) == (LockedError.exit_code, "") == (3, "")
            assert found.err.strip().count("\n") == 0
            assert "another process has the database open" in found.err
    finally:
        holder.communicate("done\n", timeout=30)


@pytest.mark.slow
def test_ctrl_c_during_a_load(tmp_path: Path, program, counts: Counts) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="first")
    before = counts(wh.path)
    ends = [f" Q0 d{n} {n} {2000 - n} t\n" for n in range(1000)]
    with (tmp_path / "big.run").open("w") as out:
        for query in range(1500):
            out.write(f"q{query}".join(["", *ends]))
    started = time.monotonic()
    process = program.python(
        "import warehouse.warehouse, warehouse.ingest\n"
        "from warehouse.cli import main\n"
        "print('ready', flush=True)\n"
        "main()\n",
        *["ingest", "run", "big.run", "-d", "tiny", "--db", "w.duckdb", "--threads", "1"],
        cwd=tmp_path,
    )
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.6)
    assert process.poll() is None, "it was over before it could be interrupted"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert "Traceback" not in err
    assert "interrupted" in err
    assert counts(wh.path) == before
    assert time.monotonic() - started < 60
    assert wh.ingest_run("tiny", {"q1": {"a": 2.0}}, name="second").status == "loaded"


@pytest.mark.long
def test_a_closed_pipe_leaves_no_traceback(tmp_path: Path, program) -> None:
    """The exit code is the one that a shell gives of a program that SIGPIPE has ended."""
    Warehouse(tmp_path / "warehouse.duckdb").init()
    many = (
        "warehouse query 'select range as i, repeat(chr(120), 100) as x from range(200000)' -f csv"
    )
    found = program.shell(f"{many} | head -1; exit $PIPESTATUS", tmp_path)
    assert (found.returncode, found.stdout, found.stderr) == (141, "i,x\n", "")
    for command in ("schema", "metrics show nDCG@10", "--help", "query 'select 1' -f json"):
        late = f"sleep 0.1; warehouse {command}"
        found = program.shell(f"{{ {late}; }} | true; exit $PIPESTATUS", tmp_path)
        assert (found.returncode, found.stderr) == (141, ""), command


needs_full_disk = pytest.mark.skipif(
    not Path("/dev/full").exists(), reason="no /dev/full, whose disk is always full, on this system"
)


@pytest.mark.slow
@needs_full_disk
def test_a_disk_that_is_full_is_told_of(tmp_path: Path, program) -> None:
    Warehouse(tmp_path / "warehouse.duckdb").init()
    for command in ("runs", "runs -f csv", "--help", "query 'select 1' -f json"):
        found = program.shell(f"warehouse {command} > /dev/full", tmp_path)
        assert found.returncode == 2
        assert found.stderr.startswith("warehouse: No space left on device\n")


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "closed",
    [
        pytest.param("2> /dev/full", marks=needs_full_disk),
        "2>&1 1> out | true; exit $PIPESTATUS",
    ],
)
def test_narration_that_is_not_heard_stops_nothing(tmp_path: Path, program, closed: str) -> None:
    """The work is done, and the exit code is the work's: it was Python's own 120, or 141."""
    Warehouse(tmp_path / "warehouse.duckdb").init()
    (tmp_path / "bad.run").write_text("q1 Q0 a 1\n")
    (tmp_path / "good.run").write_text("q1 Q0 a 1 1 t\n")
    found = program.shell(f"{{ warehouse ingest run bad.run good.run -d d; }} {closed}", tmp_path)
    assert (found.returncode, found.stderr) == (2, "")
    assert [row[1] for row in Warehouse(tmp_path / "warehouse.duckdb").runs().fetchall()] == [
        "good"
    ]
    found = program.shell(f"{{ warehouse datasets; }} {closed}", tmp_path)
    assert (found.returncode, found.stderr) == (0, "")


def test_a_small_memory_limit_says_what_to_do(run: Callable[..., Answer], small: Warehouse) -> None:
    found = run(
        "query",
        "select list(range::varchar || repeat('x', 100)) from range(3000000)",
        "--memory-limit",
        "30MB",
    )
    assert (found.code, found.out) == (1, "")
    assert "--memory-limit" in found.err


# --------------------------------------------------------------------------- demo


@pytest.fixture
def demo_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, demo_file: Path) -> Path:
    """Return a folder, in which the test runs, with the database that `warehouse demo` made."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copy(demo_file, tmp_path / "demo.duckdb"))


def test_the_demo_and_what_it_proposes(
    run: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = run("demo")
    assert first.code == 0, first.err
    assert [path.name for path in tmp_path.iterdir()] == ["demo.duckdb"]
    head, rule, *board = first.out.splitlines()
    assert head.split()[:3] == ["#", "run", "system"]
    assert set(rule) == {"-", " "}
    assert len(board) == 9
    assert "9 runs of dataset dl19; 45 values computed, 0 up to date" in first.err
    content = (tmp_path / "demo.duckdb").read_bytes()

    again = run("demo")
    assert again.out == first.out
    assert "0 values computed, 45 up to date" in again.err
    assert (tmp_path / "demo.duckdb").read_bytes() == content

    lines = first.err.split("Try next:\n")[1].splitlines()
    proposed = [line.strip() for line in lines if line.startswith("  ")]
    assert len(proposed) == 4
    for line in proposed[:3]:  # the last one is among the examples that run
        words = words_of(line)
        assert words is not None, line
        found = run(*words)
        assert found.code == 0, found.err
        assert found.out or "computed 18 values" in found.err


@pytest.mark.slow
def test_the_demo_as_files(run: Callable[..., Answer], demo_here: Path, demo_data: Path) -> None:
    """They score as the database says, and take the place of nothing."""
    found = run("demo", "--files", "data")
    assert "data/qrels.txt and data/runs: the judgments and runs as files" in found.err
    runs = sorted(path.name for path in Path("data/runs").iterdir())
    assert runs == sorted(path.name for path in demo_data.glob("*.run.gz"))
    scored = run("score", "data/qrels.txt", "data/runs/bm25.run.gz", "nDCG@10")
    assert "0.5058" in scored.out
    assert run("demo", "--files", "data").code == 0
    Path("data/qrels.txt").write_text("mine")
    demo_here.unlink()
    refused = run("demo", "--files", "data")
    assert (refused.code, refused.out) == (2, "")
    assert "data/qrels.txt: is there already with other content" in refused.err
    assert Path("data/qrels.txt").read_text() == "mine"
    assert not demo_here.exists()


@pytest.mark.slow
def test_the_demo_goes_where_it_is_told(
    run: Callable[..., Answer], tmp_path: Path, demo_here: Path
) -> None:
    demo_here.rename("my demo.duckdb")
    found = run("demo", "--db", "my demo.duckdb")
    assert found.code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["my demo.duckdb"]
    assert found.err.count("--db 'my demo.duckdb'") == 4


# --------------------------------------------------------------------------- query


@pytest.mark.slow
def test_query_answers(small: Warehouse, program) -> None:
    expected = {
        "'select $a || $b as x' -p \"a=it's\" -p 'b= = $c'": "x\nit's = $c\n",
        "'select run, value from scores where metric = $m order by 1' -p m=RR":
            "run,value\none,0.75\ntwo,0.5\n",
        "'select 1 as i where false'": "i\n",
        "'values (1), (2)'": "col0\n1\n2\n",
        "'  with a as (select 1 as i) from a ; '": "i\n1\n",
        "'select 1 as i -- the end'": "i\n1\n",
        "\"select place, run from leaderboard where metric = 'RR' order by all\"":
            "place,run\n1,one\n2,two\n",
    }  # fmt: skip
    listings = ("'show tables'", "'describe store.run'", "'summarize store.score'")
    answers = program.calls(
        *(f"query {words} -f csv" for words in (*expected, *listings)), cwd=small.path.parent
    )
    for words, found in zip((*expected, *listings), answers.values(), strict=True):
        assert found.code == 0, (words, found.err)
        if words in listings:
            assert found.out.count("\n") > 3, words
        else:
            assert found.out == expected[words], words


def test_query_from_a_file_and_stdin(
    run: Callable[..., Answer], small: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("ask.sql").write_text("select count(*) as runs\nfrom runs -- all of them\n;\n")
    assert run("query", "--file", "ask.sql", "-f", "csv").out == "runs\n2\n"
    assert run("query", "-f", "ask.sql").code == 2
    monkeypatch.setattr(sys, "stdin", io.StringIO("select 7 as n"))
    assert run("query", "-", "-f", "csv").out == "n\n7\n"
    absent = run("query", "--file", "absent.sql")
    assert (absent.code, absent.out) == (2, "")
    assert "absent.sql: cannot be read" in absent.err
    both = run("query", "select 1", "--file", "ask.sql")
    assert both.code == 2


@pytest.mark.slow
def test_an_empty_result_is_said(small: Warehouse, program) -> None:
    query = "query 'select run from runs where false'"
    found, as_json, as_lines = program.calls(
        query, f"{query} -f json", f"{query} -f jsonl", cwd=small.path.parent
    ).values()
    assert found.code == 0
    assert "no rows" in found.err
    assert found.out.split() == ["run", "-----"] or found.out.startswith("run\n")
    assert as_json.out == "[]\n"
    assert as_lines.out == ""


@pytest.mark.slow
def test_formats_hold_the_same_rows(small: Warehouse, program) -> None:
    query = "query 'select run, value from scores order by run, metric'"
    one, two, three, written = program.calls(
        f"{query} -f csv",
        f"{query} -f json",
        f"{query} -f jsonl",
        f"{query} -f parquet -o out.parquet",
        cwd=small.path.parent,
    ).values()
    as_csv = list(csv.DictReader(io.StringIO(one.out)))
    as_json = json.loads(two.out)
    as_lines = [json.loads(line) for line in three.out.splitlines()]
    assert (written.code, written.out) == (0, ""), written.err
    as_parquet = duckdb.read_parquet("out.parquet").fetchall()
    assert as_json == as_lines
    assert [(row["run"], row["value"]) for row in as_json] == as_parquet
    assert [(row["run"], float(row["value"])) for row in as_csv] == as_parquet
    assert len(as_parquet) == 4


@pytest.mark.slow
def test_a_long_table_is_cut_and_that_is_said(small: Warehouse, program) -> None:
    query = "query 'select unnest(range(1500)) as i'"
    shown = {
        query: (1002, "only the first 1,000 rows: --limit N gives more, -f csv all\n"),
        f"{query} --limit 2000": (1502, ""),
        f"{query} --limit 1500": (1502, ""),
        f"{query} --limit 3": (5, "only the first 3 rows, as --limit says\n"),
        f"{query} -f csv": (1501, ""),
        f"{query} -f csv --limit 1499": (1500, "only the first 1,499 rows, as --limit says\n"),
        f"{query} -f jsonl": (1500, ""),
    }
    into_file = f"{query} -f parquet -o some.parquet --limit 7"
    answers = program.calls(*shown, into_file, cwd=small.path.parent)
    assert "only the first 7 rows" in answers.pop(into_file).err
    assert duckdb.read_parquet("some.parquet").fetchall() == [(n,) for n in range(7)]
    for line, found in answers.items():
        assert (found.code, found.out.count("\n"), found.err) == (0, *shown[line]), line


def test_a_query_that_takes_too_long(run: Callable[..., Answer], small: Warehouse) -> None:
    endless = (
        "with recursive t as (select 1 as i union all select i + 1 from t) select max(i) from t"
    )
    found = run("query", endless, "--timeout", "0.5")
    assert (found.code, found.out) == (1, "")
    assert found.err.startswith("warehouse: took longer than 0.5 s and was stopped")


def test_an_error_shows_the_place(run: Callable[..., Answer], small: Warehouse) -> None:
    sql = "select *\nfrom leaderbord"
    found = run("query", sql)
    assert (found.code, found.out) == (1, "")
    assert 'Did you mean "leaderboard"?' in found.err
    assert "LINE 2: from leaderbord\n             ^" in found.err
    with pytest.raises(WarehouseError) as error:
        small.query(sql)
    assert str(error.value) == found.err.removeprefix("warehouse: ").strip()


@pytest.mark.slow
def test_an_error_about_a_column_says_what_there_is(
    run: Callable[..., Answer], small: Warehouse
) -> None:
    of_board = (
        "leaderboard has dataset, metric, protocol, place, run, system, value, is_evaluated, "
        "num_answered, num_judged, evaluated_at, direction, run_id"
    )
    of_score = (
        "score has evaluation_id, aggregate, value, num_queries, num_answered, num_judged, part"
    )
    quoted = "Text is written between single quotes: 'RR'"
    for sql, told in {
        "select board.valeu from leaderboard as board": [of_board],
        "select valeu from store.score": [of_score],
        "select run from Leaderboard join store.score using (valeu)": [of_board, of_score],
        'select run from leaderboard where metric = "RR"': [quoted, of_board],
        "select nothing from (values (1)) as t (i)": [],
        "select metric, run from leaderboard group by run": [],
    }.items():
        with pytest.raises(WarehouseError) as error:
            small.query(sql)
        lines = str(error.value).splitlines()
        assert [line for line in lines if " has " in line or line == quoted] == told, sql
    for end in ([], ["-o", "found.parquet"]):
        assert run("query", "select valeu from store.score", *end).err.endswith(f"\n{of_score}\n")


def test_the_schema_of_one_view(run: Callable[..., Answer], small: Warehouse) -> None:
    found = run("schema", "predictions")
    assert found.out.startswith(
        "predictions (view)\n    One row per current run, query and document"
    )
    example = found.out.splitlines()[-1].strip()
    assert example.startswith('warehouse query "select rank, doc_id')
    described, _, _ = run("schema", "history").out.partition("\n\n")
    assert max(map(len, described.splitlines())) <= 80
    every = run("schema").out
    assert found.out in every
    assert every.index("leaderboard (view)") < every.index("dataset (table)")
    wrong = run("schema", "predictons")
    assert (wrong.code, wrong.out) == (2, "")
    assert tells(wrong.err, "predictons … predictions")


def test_publish_says_where(run: Callable[..., Answer], small: Warehouse) -> None:
    nowhere = run("publish")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "say where" in nowhere.err
    both = run("publish", "replica.duckdb", "--parquet", "replica")
    assert (both.code, both.out) == (0, "")
    assert both.err.count("published, ") == 2
    taken = run("publish", str(small.path))
    assert (taken.code, taken.out) == (2, "")


def test_the_shell(
    run: Callable[..., Answer], small: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from warehouse.cli.commands import shell

    monkeypatch.setattr(shell, "_harlequin", lambda: None)
    without = run("shell", "--replica", "my replica.duckdb")
    assert (without.code, without.out) == (2, "")
    assert "[shell]'" in without.err
    assert "duckdb -readonly 'my replica.duckdb'" in without.err
    assert not Path("my replica.duckdb").exists()
    Path("stub").write_text(f"#!{sys.executable}\nimport sys\nprint(*sys.argv[1:])\nsys.exit(7)\n")
    Path("stub").chmod(0o755)
    monkeypatch.setattr(shell, "_harlequin", lambda: "./stub")
    assert run("shell", "--replica", "replica.duckdb").code == 7
    assert Path("replica.duckdb").is_file()
    assert "a replica as of now" in run("shell").err


@pytest.mark.slow
def test_an_empty_database_can_be_asked(run: Callable[..., Answer], here: Path, program) -> None:
    assert run("init").code == 0
    views = ("leaderboard", "predictions", "history", "qrels")
    answers = program.calls(*(f"query 'from {view}'" for view in views), cwd=here)
    for line, found in answers.items():
        assert (found.code, found.err) == (0, "no rows\n"), line
    assert run("publish", "replica.duckdb").code == 0


# --------------------------------------------------------------------------- the other commands


def test_the_environment_names_the_database(
    run: Callable[..., Answer], small: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.path.rename("elsewhere.duckdb")
    assert run("runs").code == 2
    monkeypatch.setenv("WAREHOUSE_DB", "elsewhere.duckdb")
    assert run("runs").code == 0
    assert run("runs", "--db", "absent.duckdb").code == 2


def test_evaluate_says_what_it_did(run: Callable[..., Answer], small: Warehouse) -> None:
    assert "nothing to do: 4 values" in run("evaluate", "-m", "RR", "-m", "AP").err
    dry = run("evaluate", "-m", "P@1", "--dry-run")
    assert dry.out == "tiny\tone\tP@1\tmissing\ntiny\ttwo\tP@1\tmissing\n"
    assert "would compute 2 values" in dry.err
    assert "computed 2 values for 2 runs" in run("evaluate", "-m", "P@1").err
    run("ingest", "run", "one.run", "-d", "bare")
    bare = run("evaluate", "-m", "P@1")
    assert bare.code == 0
    assert "bare: skipped, it has no qrels yet" in bare.err


@pytest.mark.slow
def test_boards_of_what_is_not_there_say_what_to_do(run: Callable[..., Answer], here: Path) -> None:
    run("init")
    assert "warehouse ingest run" in run("runs").err
    assert "warehouse ingest qrels" in run("datasets").err
    assert "there are no runs yet" in run("evaluate").err
    run("ingest", "qrels", "qrels.txt", "-d", "tiny")
    no_runs = run("leaderboard", "-d", "tiny")
    assert no_runs.code == 2
    assert "it has no runs yet: warehouse ingest run FILE -d tiny" in no_runs.err
    run("ingest", "run", "one.run", "-d", "tiny")
    not_evaluated = run("leaderboard", "-d", "tiny")
    assert not_evaluated.code == 0
    assert "to store: warehouse evaluate -d tiny" in not_evaluated.err
    run("ingest", "run", "one.run", "-d", "bare")
    no_qrels = run("leaderboard", "-d", "bare")
    assert "it has no qrels yet: warehouse ingest qrels FILE -d bare" in no_qrels.err


def test_a_gap_in_a_board_is_computed(run: Callable[..., Answer], small: Warehouse) -> None:
    """By hand: "three" has the one relevant document of q1 first, and nothing for q2."""
    small.ingest_run("tiny", {"q1": {"a": 1.0}}, name="three")
    small.evaluate(runs="three", metrics="RR")
    found = run("leaderboard", "-d", "tiny", "-f", "csv")
    assert found.out.splitlines()[1:] == [
        "1,one,,0.75,0.75,2,2",
        "2,three,,0.5,0.5,1,2",
        "2,two,,0.5,0.5,1,2",
    ]
    assert "not stored: AP; to store: warehouse evaluate -d tiny -m AP" in found.err


def test_a_board_has_no_gap_where_a_protocol_means_something_else(
    run: Callable[..., Answer], small: Warehouse
) -> None:
    """A column's name is canonical: IPrec@0.1 is not read again as trec_eval 9 would mean it."""
    small.evaluate(metrics="IPrec(needed=ceil)@0.1", protocol="trec_eval_9")
    found = run("leaderboard", "-d", "tiny", "--protocol", "trec_eval_9", "-f", "csv")
    assert found.out.splitlines()[0] == "place,run,system,IPrec@0.1,answered,judged"
    assert "missing" not in found.err


def test_gains_are_stored_like_any_metric(run: Callable[..., Answer], small: Warehouse) -> None:
    name = "nDCG(gains={0:-1,1:2.5})@10"
    assert "2 values" in run("evaluate", "-d", "tiny", "-m", "nDCG(gains={1: 2.5, 0: -1})@10").err
    board = run("leaderboard", "-d", "tiny", "-m", name, "-f", "csv")
    assert board.out.splitlines()[0] == f'place,run,system,"{name}",answered,judged'
    assert "missing" not in board.err
    assert "up to date" in run("evaluate", "-d", "tiny", "-m", name).err


def test_arrows_in_latex_are_latex(run: Callable[..., Answer], small: Warehouse) -> None:
    assert "RR ↑" in run("leaderboard", "-d", "tiny").out
    as_latex = run("leaderboard", "-d", "tiny", "-f", "latex").out
    # pdflatex stops at a bare arrow: "Unicode character ↑ (U+2191) not set up for use with LaTeX"
    assert "$\\uparrow$" in as_latex
    assert as_latex.isascii()


def test_queries_worst_first(run: Callable[..., Answer], small: Warehouse) -> None:
    found = run("queries", "two", "-d", "tiny", "-m", "RR", "--worst", "1", "-f", "csv")
    assert found.out == (
        "query_id,RR,retrieved,relevant_retrieved,relevant,unjudged_at_10\nq2,0.0,0,0,1,0\n"
    )


def test_score_in_the_layout_of_trec_eval(run: Callable[..., Answer], here: Path) -> None:
    # RR is recip_rank, which trec_eval prints once however often it is asked for
    found = run("score", "qrels.txt", "one.run", "recip_rank", "num_rel", "RR", "-q", "-f", "trec")
    assert found.out == (
        f"{'recip_rank':<22}\tq1\t0.5000\n"
        f"{'num_rel':<22}\tq1\t1\n"
        f"{'recip_rank':<22}\tq2\t1.0000\n"
        f"{'num_rel':<22}\tq2\t1\n"
        f"{'recip_rank':<22}\tall\t0.7500\n"
        f"{'num_rel':<22}\tall\t2\n"
    )


def test_score_reads_stdin(tmp_path: Path, program) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n")
    found = program("score", "qrels.txt", "-", "RR", "-f", "csv", cwd=tmp_path,
                    stdin="q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n")  # fmt: skip
    assert (found.returncode, found.stdout) == (0, "metric,value\nRR,0.5\n")


@pytest.mark.slow
def test_a_process_ends_with_all_written_and_nothing_left_behind(tmp_path: Path, program) -> None:
    """It ends at once, without the interpreter's own end; so does one that has nothing to score."""
    aside = tmp_path / "aside"
    aside.mkdir()
    names = [f"q{number}" for number in range(3_000)]
    (tmp_path / "qrels.txt").write_text("".join(f"{name} 0 a 1\n" for name in names))
    (tmp_path / "a.run").write_text("".join(f"{name} Q0 a 1 1 t\n" for name in names))
    env = {"PYTHONUNBUFFERED": "", "TMPDIR": str(aside)}
    found = program("score", "qrels.txt", "a.run", "RR", "-q", "-f", "csv", cwd=tmp_path, env=env)
    assert (found.returncode, found.stdout.count("\n")) == (0, 3_002)
    missing = program("score", "qrels.txt", "b.run", "RR", cwd=tmp_path, env=env)
    assert (missing.returncode, missing.stdout) == (2, "")
    assert tells(missing.stderr, "b.run … a.run")
    assert list(aside.iterdir()) == []


def test_what_is_written_last_is_written() -> None:
    code = "from warehouse import cli; cli.run = lambda: print('last', end=''); cli.main()"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parents[1], env=env,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stdout, found.stderr) == (0, "last", "")


@pytest.mark.parametrize("closed", ["", "<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_leads_nowhere(closed: str) -> None:
    """And its number goes to no file: what is printed would be written into it."""
    code = (
        "import os, sys; from warehouse import cli; cli.run = lambda: ("
        "[os.fstat(n) for n in range(3)], print('out'), print('e', file=sys.stderr)); cli.main()"
    )
    command = f"'{sys.executable}' -c \"{code}\" {closed}"
    found = subprocess.run(
        ["sh", "-c", command], cwd=Path(__file__).parents[1],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert found.returncode == 0
    assert found.stdout == ("" if " >" in f" {closed}" else "out\n")
    assert found.stderr == ("" if "2>" in closed else "e\n")


@pytest.mark.sample(3)
@pytest.mark.skipif(sys.platform == "win32", reason="this system ends processes otherwise")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_ends_it_leaves_no_temporary_files(tmp_path: Path, program, name: str) -> None:
    """A service that is stopped would else leave copies of what it reads, as large as these are."""
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    before = wh.path.read_bytes()
    aside = tmp_path / "aside"
    aside.mkdir()
    # under nohup the tests ignore SIGHUP, and what they start would ignore it too
    heeded = "" if name == "SIGINT" else f"signal.signal(signal.{name}, signal.SIG_DFL)\n"
    process = program.python(
        "import signal, tempfile\n"
        f"{heeded}"
        f"tempfile.tempdir = {str(aside)!r}\n"
        "from warehouse.cli import main\n"
        "main()\n",
        *["ingest", "run", "-", "-d", "tiny", "--name", "one", "--db", "w.duckdb"],
        cwd=tmp_path,
    )
    process.stdin.write("q1 Q0 a 1 1 t\n")
    process.stdin.flush()
    deadline = time.monotonic() + 30
    while not list(aside.rglob("file")) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(aside.rglob("file")) != []  # it copies stdin, whose end has not come
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=60)
    number = getattr(signal, name)
    assert process.returncode == (130 if name == "SIGINT" else -number)
    assert (out, err) == ("", "warehouse: interrupted; nothing of the last step was stored\n")
    assert list(aside.iterdir()) == []
    assert wh.path.read_bytes() == before


def test_what_was_put_aside_goes_with_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends at once would leave what DuckDB has spilled."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    database.close()
    con = database.scratch(database.Resources())
    ((folder,),) = con.execute("select current_setting('temp_directory')").fetchall()
    (made,) = tmp_path.iterdir()
    assert (Path(folder).parent, made.stat().st_mode & 0o777) == (made, 0o700)
    Path(folder).mkdir()
    (Path(folder) / "spilled").write_text("x")
    database.leave()
    assert list(tmp_path.iterdir()) == []


def test_what_is_opened_early_is_what_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    memory = database.memory
    monkeypatch.setattr(database, "memory", lambda *of: opened.append(1) or memory(*of))
    database.close()
    try:
        database.open_early()
        for _ in range(2):
            assert database.scratch(database.Resources()).execute("select 1").fetchall() == [(1,)]
        assert opened == [1]
    finally:
        database.close()


def test_score_of_files_that_do_not_belong_together(run: Callable[..., Answer], here: Path) -> None:
    Path("strange.run").write_text("x1 Q0 a 1 1 t\n")
    found = run("score", "qrels.txt", "strange.run")
    assert (found.code, found.out) == (2, "")
    assert "no query of the run is judged in qrels.txt" in found.err


def test_listings(run: Callable[..., Answer], small: Warehouse) -> None:
    assert run("datasets", "-f", "csv").out == (
        "dataset,qrels,kind,label,queries,judgments,training,runs,metrics\n"
        "tiny,1,judgments,,2,3,,2,2\n"
    )
    runs = list(csv.DictReader(io.StringIO(run("runs", "-d", "tiny", "-f", "csv").out)))
    assert [(row["run"], row["predictions"]) for row in runs] == [("one", "3"), ("two", "2")]
    assert "nDCG" in run("metrics").out
    assert "trec_eval_9" in run("protocols", "-f", "csv").out
    assert "reciprocal" in run("metrics", "show", "mrr").out.lower()
    assert run("metrics", "mrr").out == run("metrics", "show", "mrr").out


def test_every_command_is_found_where_it_is_said_to_be() -> None:
    """A call registers the command that it asks for alone; the list of all is what the help shows."""
    shown = typer.main.get_command(application.application()).list_commands(None)
    modules = [module.__name__.rpartition(".")[2] for module in MODULES]
    assert shown == [name.replace("_", "-") for name in modules]
    for name in shown:
        alone = typer.main.get_command(application.application(name)).list_commands(None)
        assert alone == [name]
