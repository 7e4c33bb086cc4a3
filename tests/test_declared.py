"""What a project's file declares: what is read of it, what is refused, and where each value is from."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import msgspec
import pytest
from projects import Folder, command
from refusals import tells

from warehouse.analyze.regressions import Limits
from warehouse.cli.commands.init import STARTER
from warehouse.config import project
from warehouse.config.project_file import (
    Attributes,
    Dataset,
    Gate,
    ProjectFile,
    Protocol,
    Qrels,
    Runs,
    Training,
)  # fmt: skip
from warehouse.errors import DefinitionError, UsageError
from warehouse.sync import declarations
from warehouse.sync.declarations import read_declarations
from warehouse.sync.patterns import Pattern

WHOLE = """\
database = "w.duckdb"
settle = "500ms"

[evaluate]
metrics = ["nDCG@10", "AP"]

[datasets.films]
metrics = ["P@5"]
protocols = ["default", "trec_eval_9"]
slices = ["size = quantiles(num_relevant, 2)"]

[datasets.films.qrels]
file = "ratings.csv"
columns = { query_id = "user" }
iterations = false

[[datasets.films.attributes]]
file = "movies.csv"
of = "docs"
split = { genres = "|" }

[datasets.other]
qrels = "other.txt"
training = "seen.txt"

[[runs]]
files = ["runs/{system}/{name}.run", "old/{name}_{system}.run.gz"]
dataset = "films"
name = "{system}-{name}"
tags = { stage = "first", fold = 2 }

[[gates]]
dataset = "films"
metric = "ndcg_cut_10"
max_drop = 0.01
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    made = Folder(tmp_path / "p")
    made.write("warehouse.toml", WHOLE)
    monkeypatch.chdir(made.path)
    return made


def test_the_queries_of_judgments_are_watched(folder: Folder) -> None:
    text = 'qrels = { file = "other.txt", global = true, queries = "far/queries.txt" }\n'
    queries = folder.write("far/queries.txt", "q1\n")
    folder.write(
        "warehouse.toml", WHOLE.replace('qrels = "other.txt"\n', text + "protocols = []\n")
    )
    assert queries in read_declarations().watched
    assert read_declarations().concerns(queries)
    # an empty list of protocols names none: the usual ones count
    assert read_declarations().datasets["other"].evaluation.protocols == ("default",)


def test_what_is_declared(folder: Folder) -> None:
    found = read_declarations()
    assert (found.settle, found.folder) == (0.5, folder.path)
    films, other = found.datasets["films"], found.datasets["other"]
    assert [(g.kind, g.file.name) for g in films.grounds] == [
        ("qrels", "ratings.csv"),
        ("docs", "movies.csv"),
    ]
    assert films.grounds[0].options == {"columns": {"query_id": "user"}, "iterations": False}
    assert [g.kind for g in other.grounds] == ["qrels", "training"]
    assert films.evaluation.metrics == ("P@5",)
    assert films.evaluation.protocols == ("default", "trec_eval_9")
    assert other.evaluation.metrics == ("nDCG@10", "AP")
    (runs,) = found.runs
    assert (runs.dataset, runs.name, runs.system, runs.time) == (
        "films", "{system}-{name}", "{system}", "file",
    )  # fmt: skip
    assert runs.tags == {"stage": "first", "fold": "2"}
    assert found.gates == (
        declarations.Gate("films", "nDCG@10", "system", "last", Limits(0.01), "default"),
    )
    # a limit of 0 lets no drop pass; what is listed twice counts once, by whatever name
    twice = WHOLE.replace('"ndcg_cut_10"', '["ndcg_cut_10", "nDCG@10"]')
    folder.write("warehouse.toml", twice.replace("0.01", "0").replace('["P@5"', '["P@5", "P@5"'))
    assert read_declarations().gates == (
        declarations.Gate("films", "nDCG@10", "system", "last", Limits(0), "default"),
    )
    assert read_declarations().datasets["films"].evaluation.metrics == ("P@5",)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("settle", "setle", "setle … settle"),
        ('"500ms"', '"soon"', "settle: 'soon': write a time as in 2s"),
        ('"500ms"', "-1", "settle: -1: seconds are 0 or more, up to a day (86400)"),
        ('"500ms"', "1e300", "settle: 1e+300: seconds are 0 or more, up to a day"),
        ('"500ms"', '"24.1h"', "settle: 24.1h: seconds are 0 or more, up to a day"),
        ('"500ms"', "true", "'settle' has the wrong type: true or false; write a string or a"),
        ("[evaluate]", "[evaluat]", "evaluat … evaluate"),
        ('metrics = ["nDCG@10", "AP"]', 'metric = ["AP"]', "evaluate … metric … metrics"),
        ('metrics = ["nDCG@10", "AP"]', 'metrics = "AP"', "evaluate … metrics … a list"),
        ('["nDCG@10", "AP"]', '["nDGC@10"]', "evaluate … metrics … nDGC@10 … nDCG@10"),
        ('["nDCG@10", "AP"]', "[1]", "evaluate.metrics … item 1 … a string"),
        ('"trec_eval_9"', '"trec_eval9"', "films … protocols … trec_eval9 … trec_eval_9"),
        ('[datasets.other]\nqrels = "other.txt"\ntraining = "seen.txt"', "[datasets]\nother = 3",
         "datasets … other … a table: [datasets.other]"),
        ('file = "ratings.csv"', 'fil = "x"', "films.qrels … fil … file"),
        ("[datasets.other]", '[datasets." "]', "datasets. : the name of the dataset is empty"),
        ('qrels = "other.txt"', 'qrels = " "', "datasets.other: 'qrels' is blank"),
        ('file = "ratings.csv"', "", "datasets.films.qrels: the key 'file' is missing"),
        ("{ query_id =", "{ query =", "films.qrels … query … query_id"),
        ("iterations = false", 'format = "trek"', "trek … trec"),
        ("iterations = false", 'queries = "q"', "films.qrels: 'queries' goes with global = true"),
        ('of = "docs"', 'of = "doc"', "films.attributes 1: of is one of docs, queries, not 'doc'"),
        ("[[datasets.films.attributes]]", "[datasets.films.attributes]", "attributes … a list"),
        ("[datasets.other]",
         '[[datasets.films.attributes]]\nfile = "movies.csv"\nname = "x"\nof = "docs"\n[datasets.other]',
         "films.attributes 2: file: movies.csv has another table with of = 'docs'; name a copy"),
        ('qrels = "other.txt"', "qrels = 3", "datasets.other … qrels"),
        ("[[runs]]", "[runs]", "runs … a list"),
        ('qrels = "other.txt"', 'runs = "*.run"',
         "datasets.other: unknown key 'runs'; it stands in [[runs]] with its dataset"),
        ('dataset = "films"\nname', 'dataset = "flims"\nname', "flims … films"),
        ('dataset = "films"\nname', "name", "runs 1: the key 'dataset' is missing, and no {dataset}"),
        ('"old/{name}_{system}.run.gz"]\ndataset = "films"', '"old/{dataset}_{name}_{system}.run"]',
         "runs 1: the key 'dataset' is missing, and {dataset} is not in all of the patterns"),
        ("runs/{system}/", "runs/{sys tem}/", "runs 1: files: runs/{sys tem}/{name}.run: braces"),
        ("runs/{system}/", "https://b/", "runs 1: files: https://b/{name}.run: is a URL, and of these"),
        ('"other.txt"', '"ftp://b/o.txt"', "datasets.other.qrels: ftp://b/o.txt: is a URL of a kind"),
        ("old/{name}_{system}", "old/{name}", "runs 1: name: {system} is not in all of the patterns"),
        ('name = "{system}-{name}"', 'system = "{nam}"', "system … {nam} … name"),
        ('{name}_{system}.run.gz"]', '{name}_{system}_{datset}.gz"]',
         "runs 1: files: {datset}: did you mean {dataset}?"),
        ('name = "{system}-{name}"', 'settle = "0s"',
         "runs 1: unknown key 'settle'; it stands in the lines above the first table"),
        ('name = "{system}-{name}"', 'metrics = ["AP"]', "'metrics'; it stands in [evaluate]"),
        ('name = "{system}-{name}"', 'time = "gti"', "runs 1: time is one of file, git, now"),
        ('name = "{system}-{name}"', "sidecar = 1", "runs 1 … sidecar"),
        ('stage = "first"', "stage = [1]", "runs 1 … tags … stage"),
        ('metric = "ndcg_cut_10"', 'metric = "nDGC"', "gates 1: metric: nDGC: no such metric"),
        ('metric = "ndcg_cut_10"', "", "gates 1: the key 'metric' is missing"),
        ("max_drop = 0.01", "max_drp = 1", "gates 1 … max_drp … max_drop"),
        ("max_drop = 0.01", "max_drop = -1", "gates 1: max_drop is 0 or more and finite, not -1"),
        ("max_drop = 0.01", "max_drop = nan", "gates 1: max_drop is 0 or more and finite, not nan"),
        ("max_drop = 0.01", "max_drop = inf", "gates 1: max_drop is 0 or more and finite, not inf"),
        ("max_drop = 0.01", "alpha = nan", "gates 1: alpha is above 0 and below 1, not nan"),
        ("max_drop = 0.01", "alpha = 1", "gates 1: alpha is above 0 and below 1, not 1"),
        ("max_drop = 0.01", "alpha = 0", "gates 1: alpha is above 0 and below 1, not 0"),
    ],
)  # fmt: skip
def test_what_is_wrong_gets_one_line(folder: Folder, old: str, new: str, words: str) -> None:
    assert old in WHOLE
    folder.write("warehouse.toml", WHOLE.replace(old, new, 1))
    with pytest.raises(DefinitionError) as caught:
        read_declarations()
    message = str(caught.value)
    assert message.startswith("warehouse.toml: ")
    assert tells(message, words)
    assert "\n" not in message
    code, out, err = command("sync")
    assert (code, out, err) == (2, "", message)


def test_all_that_is_wrong_is_said_at_once_with_its_line(folder: Folder) -> None:
    text = WHOLE.replace("settle", "setle").replace("max_drop = 0.01", "max_drp = 1\nalpha = 2")
    folder.write("warehouse.toml", text)
    with pytest.raises(DefinitionError) as caught:
        read_declarations()
    assert str(caught.value).splitlines() == [
        "warehouse.toml: line 2: unknown key 'setle'; did you mean settle?",
        "warehouse.toml: line 35: gates 1: unknown key 'max_drp'; did you mean max_drop?",
        "warehouse.toml: line 36: gates 1: alpha is above 0 and below 1, not 2",
    ]


def test_the_schema_has_every_key() -> None:
    code, out, _ = command("config", "schema")
    assert code == 0
    tables = json.loads(out)["$defs"]
    for table in (ProjectFile, Dataset, Qrels, Attributes, Runs, Gate, Protocol):
        keys = {one.encode_name for one in msgspec.structs.fields(table)}
        assert tables[table.__name__]["properties"].keys() == keys
        assert not tables[table.__name__]["additionalProperties"]


def test_the_file_may_be_a_table_of_pyproject(folder: Folder) -> None:
    text = WHOLE.replace("[[", "[[tool.warehouse.").replace("\n[", "\n[tool.warehouse.")
    text = text.replace("[tool.warehouse.[tool.warehouse.", "[[tool.warehouse.")
    below = folder.path / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.warehouse]\n{text}")
    with project.using(below / "pyproject.toml"):
        assert read_declarations().datasets.keys() == {"films", "other"}
        assert project.current().database == below / "w.duckdb"
    (folder.path / "warehouse.toml").unlink()
    (below / "pyproject.toml").rename(folder.path / "pyproject.toml")
    assert read_declarations().datasets.keys() == {"films", "other"}
    folder.write("pyproject.toml", "[tool.warehouse]\nsetle = 1\n")
    with pytest.raises(
        DefinitionError, match=r"^pyproject.toml \[tool.warehouse\]: line 2: unknown key"
    ):
        read_declarations()


@pytest.mark.parametrize(
    "text", ["[project]\nname = 'warehouse'\n", "warehouse = \n", "[tool.other]\nx = 1\n", "\xff"]
)
def test_a_pyproject_without_the_table_is_passed_over(folder: Folder, text: str) -> None:
    below = folder.path / "below"
    below.mkdir()
    (below / "pyproject.toml").write_text(text, encoding="latin-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(below)
        assert project.current().file == folder.path / "warehouse.toml"


def test_a_file_that_is_named_goes_first(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("other.toml", "settle = 7\n")
    monkeypatch.setenv("WAREHOUSE_CONFIG", "other.toml")
    assert read_declarations().settle == 7
    with project.using("warehouse.toml"):
        assert read_declarations().settle == 0.5
        with project.using(None):
            assert read_declarations().settle == 0.5
    with (
        project.using("no.toml"),
        pytest.raises(DefinitionError, match=r"^--config: no.toml: no such"),
    ):
        read_declarations()
    folder.write("pyproject.toml", "[project]\n")
    with (
        project.using("pyproject.toml"),
        pytest.raises(DefinitionError, match=r"no table \[tool.warehouse\]"),
    ):
        read_declarations()


@pytest.mark.parametrize("text", ["", "# nothing yet\n"])
def test_a_file_that_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("warehouse.toml").write_text(text)
    code, out, _ = command("config", "show", "-f", "jsonl")
    assert code == 0
    rows = [json.loads(line) for line in out.splitlines()]
    assert rows
    assert all(row["setting"] and "warehouse.toml:" not in row["origin"] for row in rows)


def test_each_value_says_where_it_comes_from(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(*words: str) -> dict[str, tuple[str, str]]:
        code, out, _ = command("config", "show", "-f", "jsonl", *words)
        assert code == 0
        rows = [json.loads(line) for line in out.splitlines()]
        return {row["setting"]: (row["value"], row["origin"]) for row in rows}

    found = shown()
    assert found["config"] == ("warehouse.toml", "nearest folder")
    assert found["database"] == ("w.duckdb", "warehouse.toml:1")
    assert found["evaluate.metrics"] == ('["nDCG@10", "AP"]', "warehouse.toml:5")
    assert found["evaluate.protocols"] == ('["default"]', "default")
    assert found["datasets.films.qrels.columns.query_id"] == ("user", "warehouse.toml:14")
    assert found["runs.1.tags.fold"] == ("2", "warehouse.toml:30")
    assert found["gates.1.max_drop"] == ("0.01", "warehouse.toml:35")
    # every line of the file that says something is shown, and no other
    lines = {int(origin.rpartition(":")[2]) for _, origin in found.values() if ":" in origin}
    said = {n for n, line in enumerate(WHOLE.splitlines(), 1) if "=" in line}
    assert lines == said
    folder.write("long.toml", '# x\nsettle = "1s"\n[evaluate]\nmetrics = [\n  "AP", # =\n]\n')
    found = shown("--config", "long.toml")
    assert found["config"] == ("long.toml", "option --config")
    assert found["evaluate.metrics"] == ('["AP"]', "long.toml:4")
    assert found["database"] == ("warehouse.duckdb", "default")
    monkeypatch.setenv("WAREHOUSE_CONFIG", "long.toml")
    monkeypatch.setenv("WAREHOUSE_DB", "named.duckdb")
    found = shown()
    assert found["config"] == ("long.toml", "environment WAREHOUSE_CONFIG")
    assert found["database"] == ("named.duckdb", "environment WAREHOUSE_DB")
    assert shown("--db", "given.duckdb")["database"] == ("given.duckdb", "option --db")


def test_init_writes_a_starter_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = command("init")
    assert (code, out) == (0, "")
    assert err.splitlines()[0].startswith("warehouse.toml: written")
    assert err.splitlines()[1] == "warehouse.duckdb: made"
    code, out, err = command("sync")
    assert (code, out, err) == (0, "", "warning: warehouse.toml: declares no dataset yet\n")
    (tmp_path / "warehouse.toml").write_text("# mine\n")
    below = tmp_path / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert command("init")[0] == 0
    assert sorted(path.name for path in below.iterdir()) == ["warehouse.duckdb"]
    assert (tmp_path / "warehouse.toml").read_text() == "# mine\n"


def test_init_with_a_database_makes_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("init", "--db", "x.duckdb")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["x.duckdb"]


@pytest.mark.usefixtures("migrated")
def test_init_with_a_wrong_limit_makes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    code, _, err = command("init", "--db", str(path), "--memory-limit", "little", "--threads", "1")
    assert (code, path.exists()) == (2, False)
    assert "memory limit 'little': write a size" in err


def test_all_that_the_starter_shows_may_be_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = STARTER.read_text(encoding="utf-8").splitlines()
    # what is commented out and looks like TOML
    said = [line.removeprefix("# ") for line in lines if line.startswith(("# [", '"'))
            or (line.startswith("# ") and " = " in line) or not line.startswith("#")]  # fmt: skip
    text = "\n".join(said)
    record = tomllib.loads(text)
    assert record.keys() == {
        "database", "metrics", "settle", "publish", "lake", "report", "on_fire", "unchecked", "evaluate",
        "datasets", "runs", "gates", "protocols",
    }  # fmt: skip
    (tmp_path / "metrics").mkdir()
    (tmp_path / "warehouse.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert read_declarations().datasets.keys() == {"mine", "films"}
    # and nothing is left out of it
    structs = (Runs, Gate, Qrels, Training, Attributes)
    shown = STARTER.read_text()
    for key in {one.encode_name for struct in structs for one in msgspec.structs.fields(struct)}:
        assert f"{key} = " in shown, key


@pytest.mark.parametrize(
    ("pattern", "path", "groups"),
    [
        ("runs/{system}/{name}.run.gz", "runs/bm25/k1.run.gz", {"system": "bm25", "name": "k1"}),
        ("runs/{system}/{name}.run.gz", "runs/bm25/x/k1.run.gz", None),
        ("{a}-{b}.run", "x-y-z.run", {"a": "x", "b": "y-z"}),
        ("{a}/{a}.run", "x/x.run", {"a": "x"}),
        ("{a}/{a}.run", "x/y.run", None),
        ("**/{name}.run", "x.run", {"name": "x"}),
        ("**/{name}.run", "a/b/x.run", {"name": "x"}),
        ("runs/**", "runs/a/b", {}),
        ("./runs/../r/*.run", "r/x.run", {}),
        ("x[!ab]?.run", "xc1.run", {}),
        ("x[!ab]?.run", "xa1.run", None),
        ("a.b/{name}", "acb/x", None),
    ],
)
def test_patterns(pattern: str, path: str, groups: dict[str, str] | None) -> None:
    assert Pattern(pattern).groups_of(path) == groups


@pytest.mark.parametrize("wrong", ["{}", "{a b}", "{name", "name}", "{1}"])
def test_braces_that_hold_no_name(wrong: str) -> None:
    with pytest.raises(UsageError, match="braces hold a name"):
        _ = Pattern(wrong).groups


def test_files_of_a_pattern(tmp_path: Path) -> None:
    for name in ("runs/b/1.run", "runs/a/2.run", "runs/a/.3.run", "runs/a/sub.run/4.run"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = list(Pattern("runs/{s}/{n}.run").files(tmp_path))
    assert found == [
        (tmp_path / "runs/a/2.run", {"s": "a", "n": "2"}),
        (tmp_path / "runs/b/1.run", {"s": "b", "n": "1"}),
    ]
    assert list(Pattern(f"{tmp_path}/runs/b/{{n}}.run").files(Path("elsewhere"))) == [
        (tmp_path / "runs/b/1.run", {"n": "1"})
    ]


@pytest.mark.parametrize(
    ("pattern", "closed"),
    [
        ("*.run", "."),
        ("{s}/{n}.run", ". runs"),
        ("runs/**/x/*.run", "runs runs/a runs/a/x"),
        ("./runs/**", "runs runs/a runs/a/x"),
        # what is named need not be listed
        ("runs/a/{n}.run", "runs/a"),
        ("other/{n}.run", ""),
    ],
)
def test_folders_that_may_not_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, closed: str
) -> None:
    (tmp_path / "runs/a/x").mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.R_OK)
    found = list(Pattern(pattern).closed(tmp_path))
    assert found == [tmp_path / name for name in closed.split()]
