"""The command line: its examples, its exit codes, its words, and what goes where."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from clusters import needs_spark
from extended import FOLDER, extension
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


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_says_what_it_does_and_ends_with_its_examples(name: str) -> None:
    found = invoked(*name.split(), "--help")
    assert found.exit_code == 0
    assert COMMANDS[name].help.strip().split("\n")[0].endswith(".")
    head, _, tail = found.output.partition("Examples:\n")
    # the others are one word further: --help-all
    assert [line.strip() for line in tail.strip().splitlines()] == list(EXAMPLES[name])[:5]
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
    wh.evaluate("dl19", metrics="AP", slices="size = quantiles(num_relevant, 3)")
    first = {query: {"7067032": 1} for query in ("19335", "47923")}
    wh.ingest_qrels("grown", first)
    wh.ingest_qrels("grown", first | {"87452": {"7067032": 2}}, replace=True)
    wh.ingest_qrels("judged", first)
    wh.ingest_run("judged", folder / "runs" / "bm25.run.gz")
    wh.ingest_run("judged", folder / "runs" / "tasb.run.gz")
    if (FOLDER / "answers").is_dir():
        extension("answers").ingest_nuggets(wh, "dl19", folder / "nuggets.jsonl")
        both = {**first, "87452": {"7067032": 2}}
        extension("answers").ingest_judgments(wh, "judged", both, judge="gpt-4o", kind="llm")
        extension("answers").ingest_judgments(wh, "judged", first, judge="ann")
    return folder


@pytest.mark.sample(18, 3)
@pytest.mark.parametrize(("name", "line"), RUN_EXAMPLES)
def test_every_example_runs_as_printed(
    name: str, line: str, prepared: Path, demo_file: Path, tmp_path: Path, program,
    run: Callable[..., Answer], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """In a process of its own where the shell has a part in it."""
    ingests = name.startswith("ingest ") or name == "judgments load"
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
        from warehouse.extensions.lake import push

        push(Warehouse(folder / "warehouse.duckdb"), folder / "lake", with_runs=name == "pull")
    if name == "shell":
        program.other("harlequin", 'echo "$@"')
    words = words_of(line)
    if name == "shell" or words is None:
        if made is None:  # a process of its own would make one by the script
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
            "edit",
            "evaluate",
            "export",
            "forget",
            "fuse",
            "gates accept",
            "gates baseline",
            "judgments combine",
            "lake optimize",
            "publish",
            "pull",
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


@pytest.mark.sample(4)
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


@pytest.mark.sample(2)
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


def test_the_path_of_the_database_may_be_wrong(
    run: Callable[..., Answer], small: Warehouse
) -> None:
    Path("folder").mkdir()
    for arguments in (["init"], ["runs"], ["ingest", "run", "one.run", "-d", "x"]):
        found = run(*arguments, "--db", "folder")
        assert found.code == 2
        assert found.err.startswith("warehouse: folder: ")
        assert "sqlalche.me" not in found.err


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
    [pytest.param("2> /dev/full", marks=needs_full_disk), "2>&1 1> out | true; exit $PIPESTATUS"],
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


def test_every_command_is_found_where_it_is_said_to_be() -> None:
    """A call registers the command that it asks for alone; the list of all is what the help shows."""
    shown = typer.main.get_command(application.application()).list_commands(None)
    modules = [module.__name__.rpartition(".")[2] for module in MODULES]
    assert shown == [name.replace("_", "-") for name in modules]
    for name in shown:
        alone = typer.main.get_command(application.application([name])).list_commands(None)
        assert alone == [name]


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


@pytest.mark.slow
def test_an_empty_database_can_be_asked(run: Callable[..., Answer], here: Path, program) -> None:
    assert run("init").code == 0
    views = ("leaderboard", "predictions", "history", "qrels")
    answers = program.calls(*(f"query 'from {view}'" for view in views), cwd=here)
    for line, found in answers.items():
        assert (found.code, found.err) == (0, "no rows\n"), line
    assert run("publish", "replica.duckdb").code == 0


def test_the_environment_names_the_database(
    run: Callable[..., Answer], small: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.path.rename("elsewhere.duckdb")
    assert run("runs").code == 2
    monkeypatch.setenv("WAREHOUSE_DB", "elsewhere.duckdb")
    assert run("runs").code == 0
    assert run("runs", "--db", "absent.duckdb").code == 2


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


def test_help_has_what_most_people_need(run: Callable[..., Answer]) -> None:
    """The rest is one word further: other commands, options that few need, all examples."""
    first = {name: run(*words).out for name, words in (("", ["--help"]), ("all", ["help", "all"]))}
    for name in application.FIRST:
        assert f"\n  {name} " in first[""]
        assert f"\n  {name} " in first["all"]
    assert "\n  verify " not in first[""]
    assert "\n  verify " in first["all"]
    assert "warehouse help all" in first[""]
    shown, whole = run("help", "leaderboard").out, run("leaderboard", "--help-all").out
    assert shown == run("leaderboard", "-h").out
    for word in ("--lock-timeout", "--safe-csv", "--resamples"):
        assert (word in shown, word in whole) == (False, True)
    assert "--help-all" in shown
    assert "--help-all" not in whole
    assert len(whole.splitlines()) > len(shown.splitlines()) + 20
    assert "list[" not in whole + run("metrics", "--help-all").out
    assert "-m, --metric TEXT" in shown
    assert run("help", "ingest", "run").out == run("ingest", "run", "--help").out


def test_one_list_of_every_catalogue(run: Callable[..., Answer]) -> None:
    for name in ("metrics", "curves", "fusions", "protocols"):
        assert run("list", name, "-f", "csv").out == run(name, "-f", "csv").out
    views = run("list", "views").out
    assert views == run("schema").out
    assert all(len(line.split(maxsplit=1)) == 2 for line in views.splitlines())
    assert run("list", "views", "runs").out == run("schema", "runs").out
