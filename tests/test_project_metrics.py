"""A project's own metrics: what they may be, and what is said of those that are wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import jinja2
import pytest
from projects import BEST, QRELS, SETTINGS, SUMMED, UNKNOWN, WORTH, Folder, command, score, stored
from refusals import tells

from warehouse.config import project
from warehouse.errors import DefinitionError, UsageError, WarehouseError
from warehouse.evaluate import stored_runs
from warehouse.metrics import catalogue, notation, protocols
from warehouse.sql_text import relations, templates
from warehouse.warehouse import Warehouse


def test_a_metric_works_like_the_built_in_ones(here: Folder, loaded: Warehouse) -> None:
    assert score("Best@2", "Best@3", "best@1") == {"Best@2": 0.5, "Best@3": 1.5, "Best@1": 0.0}
    assert loaded.evaluate(metrics="Best@2 RR").computed == 4
    assert loaded.evaluate(metrics="Best@2 RR").computed == 0
    board = loaded.leaderboard("tiny", metrics=["Best@2", "RR"]).fetchall()
    assert [row[:5] for row in board] == [(1, "two", None, 2.5, 1.0), (2, "one", None, 0.5, 0.25)]
    rows = loaded.queries("tiny", "one", metrics="Best@2").fetchall()
    assert [row[:2] for row in rows] == [("q1", 1.0), ("q2", 0.0)]
    code, out, _ = command("metrics", "-f", "csv")
    assert code == 0
    origins = {line.split(",")[0]: "project" in line for line in out.splitlines()[1:]}
    assert [name for name, own in origins.items() if own] == ["Best@k"]
    code, out, _ = command("metrics", "show", "Best")
    assert code == 0
    assert "formulas/Best.sql.j2, of this project" in out
    assert "max(relevance) filter (where is_rel and within(rank, 10)) as value" in out


def test_a_metric_that_extends(here: Folder) -> None:
    here.metric(SUMMED, "Summed")
    here.metric(SUMMED.replace('"P"', '"Best"'), "AllBest")
    assert score("Summed@2", "P@2", "AllBest@3") == {"Summed@2": 0.5, "P@2": 0.25, "AllBest@3": 3.0}


def test_a_last_semicolon_does_no_harm(here: Folder) -> None:
    here.metric(BEST.rstrip() + ";\n")
    assert score("Best@2") == {"Best@2": 0.5}


def test_parameters_of_every_type_and_names_with_them(here: Folder) -> None:
    here.metric(WORTH, "Worth")
    # q1: b (0), a (1), c (3, worth 10): 11, twice; q2 nothing
    assert score("Worth@3", "Worth(levels=[1])@3") == {"Worth@3": 11.0, "Worth(levels=[1])@3": 5.5}
    # a is worth 5, c 3: 8 in q1
    assert score("worth.1=5") == {"Worth(gains={1:5}, levels=[1])@3": 4.0}
    # a is worth 4, twice
    assert score("worthy.2") == {"Worth(gains={1:4})@2": 4.0}
    assert score("Worth(norm=retrieved)@3") == {"P(norm=retrieved)@3": 1 / 3}
    here.write("warehouse.toml", SETTINGS + "params.Worth.gains = { 1 = 5 }\n")
    metrics = notation.parse("Worth@2", defaults=protocols.get("top2").defaults())
    assert list(map(str, metrics)) == ["Worth(gains={1:5})@2"]
    code, out, _ = command("protocols", "show", "default", "top2", "-f", "csv")
    assert code == 0
    assert "Worth,≠,,gains={1:5}" in out.splitlines()
    assert command("metrics", "show", "worth.1=5")[0] == 0


@pytest.mark.slow
def test_the_whole_lists_are_read_in_batches(
    here: Folder, loaded: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here.metric(UNKNOWN, "Unknown")
    over_all = "union all select run_id, null, count(*) from {{ lists }} group by run_id\n"
    here.metric(UNKNOWN.replace('"mean"', '"pooled"') + over_all, "Listed")
    monkeypatch.setattr(stored_runs, "BATCH_LISTED", 1)
    assert score("Unknown", "Unknown(judged_only=True)") == {
        "Unknown": 0.5,
        "Unknown(judged_only=True)": 0.0,
    }
    assert loaded.evaluate(metrics="Unknown Listed Best@2").computed == 6
    board = loaded.leaderboard("tiny", metrics="Unknown Listed").fetchall()
    assert [row[1:5] for row in board] == [("two", None, 0.0, 2.0), ("one", None, 0.5, 4.0)]


def test_judged_documents_only_and_both_at_once(here: Folder) -> None:
    run = {"q1": {"z": 4.0, "b": 3.0, "a": 2.0}}
    found = Warehouse.score(QRELS, run, "Best@2 Best(judged_only=True)@2").means()
    # z is not judged: with it the first two have the grades - and 0, without it 0 and 1
    assert found == {"Best@2": 0.0, "Best(judged_only=True)@2": 0.5}


def test_a_protocol_of_the_order_of_the_source(here: Folder) -> None:
    here.write("warehouse.toml", SETTINGS.replace("depth = 2", 'ties = "input"'))
    run = {"q1": {"a": 1.0, "b": 1.0}}
    found = {
        p: Warehouse.score(QRELS, run, "Best@1", protocol=p).means() for p in ("default", "top2")
    }
    assert found == {"default": {"Best@1": 0.0}, "top2": {"Best@1": 0.5}}


def test_a_metric_that_was_read_is_taken(here: Folder, loaded: Warehouse) -> None:
    (best,) = notation.parse("Best@2")
    assert loaded.evaluate(metrics=[best]).computed == 2
    assert loaded.leaderboard("tiny", metrics=[best]).columns[3] == "Best@2"


@pytest.mark.slow
def test_an_edit_is_seen_by_the_next_call(here: Folder, loaded: Warehouse) -> None:
    assert loaded.evaluate(metrics="Best@2").computed == 2
    here.metric(BEST.replace("max(relevance)", "2 * max(relevance)"))
    assert score("Best@2") == {"Best@2": 1.0}
    done = loaded.evaluate(metrics="Best@2")
    assert (done.computed, done.stale) == (2, 2)
    here.metric(BEST.replace("max(relevance)", "2 * max(relevance)").replace("Best grade", "Best"))
    assert catalogue.catalogue()["Best"].title == "Best"
    assert loaded.evaluate(metrics="Best@2").computed == 0
    here.metric(SUMMED, "Summed")
    assert score("Summed@2") == {"Summed@2": 0.5}
    here.write("warehouse.toml", "")
    with pytest.raises(UsageError, match=r"Best@\d: no such metric"):
        score("Best@2")


def test_two_folders_in_turn(here: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    shutil.copytree(here.path, other)
    (other / "formulas/Best.sql.j2").write_text(BEST.replace("max(", "3 * max("), encoding="utf-8")
    for folder, value in ((other, 1.5), (here.path, 0.5), (other, 1.5)):
        monkeypatch.chdir(folder)
        assert score("Best@2") == {"Best@2": value}


def test_what_editors_leave_behind_is_no_metric(here: Folder) -> None:
    (here.path / "formulas/.#Best.sql.j2").symlink_to("nowhere")
    here.write("formulas/Best.sql.j2~", "x")
    here.write("formulas/notes.md", "x")
    assert score("Best@2") == {"Best@2": 0.5}


@pytest.mark.parametrize("ending", ["sql", "j2"])
def test_a_file_with_another_ending_is_told_of(here: Folder, ending: str) -> None:
    here.write(f"formulas/Worst.{ending}", BEST)
    told = rf"Worst@2: no such metric; formulas/Worst.{ending}: a metric's file ends in \.sql\.j2"
    with pytest.raises(UsageError, match=told):
        score("Worst@2")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("direction", "direktion", "direktion … direction"),
        ("title = ", "x = ", "unknown key 'x'; known are title,"),
        ("undefined = 0\n", "", "the key 'undefined' is missing"),
        ("[0, 3]", '"0 to 3"', "range … a list"),
        ("[0, 3]", "[0]", "line 7: 'range' lists 2 values, not 1"),
        ("[0, 3]", "[3, 0]", "range is [lowest, highest]"),
        ("undefined = 0", "undefined = true", "write a number or a string"),
        ('"max of', 'max of', "line 4: the header is not TOML: Invalid value"),
        ('["hits"]', '["hit"]', "reads … hit … hits"),
        ('["hits"]', '["hits", "ideal"]', "reads ideal, but the SQL does not: write {{ ideal }}"),
        ('["hits"]', "[]", "the SQL reads hits: add it to reads"),
        ('["hits"]', "[1]", "reads: item 1 has the wrong type: a whole number; write a string"),
        ("{{ cutoff }}", "{{ cutof }}", "cutof … cutoff"),
        ("{{ cutoff }}", "{{ has_gian(1) }}", "has_gian … has_gain"),
        ("and within(rank, {{ cutoff }})", "{{ within(cutoff) }}",
         "'within', which is not declared; it is a function of the SQL: write within(...) without"),
        (" and within(rank, {{ cutoff }})", "",
         "parameter cutoff: declared, but the SQL does not use it"),
        ("param.rel", "param.level", "reads hits, which asks for a parameter 'rel'"),
        ('"integer", default = 1', '"number", default = 1.0', "hits asks for one of type grade"),
        ('"integer", default = 1', '"integr", default = 1', "param.rel: type is one of integer,"),
        ("default = 1", "default = 1.5", "param.rel.default: rel is a whole number, not 1.5"),
        ("default = 1", 'default = "1"', "param.rel.default: write 1, not '1'"),
        ("default = 1", "default = 0", "rel is at least 1, not 0"),
        ("required = true", "required = true, default = 3", "is required and has a default"),
        ("required = true", "at_most = { k = 9 }", "at_most: 'k' needs nothing"),
        ("required = true", 'at_most = { k = "9" }', "cutoff.at_most … k … a number"),
        ("required = true", 'excludes = { k = { rel = "1" } }', "excludes: no choice 'k'"),
        ("required = true", 'above = "rell"', "above … rell … rel"),
        ("required = true", 'required = "yes"', "required … true or false"),
        ("required", "requird", "param.cutoff … requird … required"),
        ("param.rel = {", 'param.above = { type = "boolean", summary = "x" }\nparam.rel = {',
         "parameter above: the name of a macro; choose another"),
        ("undefined = 0", 'undefined = 0\nat = "cut"', "at … cut … cutoff"),
        ("undefined = 0", 'undefined = 0\nnames.me = "B"', "me … a list"),
        ("undefined = 0", 'undefined = 0\nnames.me = [{ cutoff = 3 }]',
         "a table has a name and parameters"),
        ("undefined = 0", 'undefined = 0\nnames.me = [{ name = "B", cutoff = 0 }]',
         "cutoff is at least 1"),
        ("undefined = 0", 'undefined = 0\nnames.me = [{ name = "B", usual = { cut = 2 } }]',
         "names.me.B … cut … cutoff"),
        ("undefined = 0", 'undefined = 0\nnames.me = [{ name = "B", usual = 2 }]',
         "names.me … usual"),
        ("undefined = 0", 'undefined = 0\nnames.me = ["ndcg_cut"]',
         "the name ndcg_cut is taken by nDCG"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.parm = "cutoff"',
         "parm … param"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.param = "cut"',
         "cut … cutoff"),
        ("undefined = 0", 'undefined = 0\nranx.best.fraction = "cut"',
         "cut … cutoff"),
        ("undefined = 0", 'undefined = 0\nextends = "Pp"',
         "Pp … PSP"),
        ("required = true", 'replaces = ["rell"]', "replaces … rell … rel"),
        ("required = true", "replaces = [1]", "replaces … item 1"),
        ("default = 1", "default = [1]", "param.rel.default … a list"),
        ("param.rel", 'param.l = { type = "levels", default = 1, summary = "x" }\nparam.rel',
         "param.l.default … l=[0.25,0.5] … 1"),
        ("param.rel", 'param.l = { type = "levels", default = [1, 1], summary = "x" }\nparam.rel',
         "param.l.default: l: a number is there twice"),
        ("param.rel", 'param.g = { type = "gains", default = { x = 1 }, summary = "x" }\nparam.rel',
         "param.g.default: g: a grade is a number, not x"),
        ("undefined = 0", 'undefined = 0\nnames.ranx = [{ name = "B", cutoff = 3 }]',
         "names … ranx … a string"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.format = "{a}"',
         "trec_eval.best: format is {} or as {:.2f}, not '{a}'"),
        ("undefined = 0", "undefined = nan", "undefined is a finite number or 'null'"),
        ("required = true", 'choices = ["1", "5"]',
         "param.cutoff: choices are of the type choice, not of integer"),
        ("*/", "", "the header has no end: */; a template opens with /* TOML */"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.numbers = ["cut"]',
         "trec_eval.best … numbers … cut … cutoff"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best = { numbers = ["rel"], param = "cutoff" }',
         "lists numbers or a param"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.named = ["rel"]', "named: stand among gains"),
        ("undefined = 0", 'undefined = 0\ntrec_eval.best.given.cutoff = 0',
         "trec_eval.best.given: cutoff is at least 1"),
        ("undefined = 0", 'undefined = 0\nranx.best = { param = "cutoff", values = [0] }',
         "ranx.best.values: cutoff is at least 1"),
        ("undefined = 0", "undefined = 0\nranx.best.values = [1]", "values: of no parameter"),
        ("undefined = 0", "undefined = 0\nother.x = 1", "other … x"),
        ("undefined = 0", 'undefined = 0\nother.rel = "P"', "other.rel: is a parameter here"),
        ("undefined = 0", 'undefined = 0\nother.x.y = "nDGC"',
         "other.x … nDGC … nDCG"),
        ("undefined = 0", 'undefined = 0\nother.x = "P"', "other.x: P: no parameter 'x'"),
        ("{{ hits }}", "{{ hits }", "line 15: unexpected '}'"),
        ("/*", "", "no header"),
    ],
)  # fmt: skip
def test_a_wrong_file_gets_one_line(here: Folder, old: str, new: str, words: str) -> None:
    assert old in BEST
    here.metric(BEST.replace(old, new, 1))
    with pytest.raises(DefinitionError) as caught:
        score("Best")
    message = str(caught.value)
    assert message.startswith("formulas/Best.sql.j2: ")
    assert tells(message, words)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("AP", "the name AP is taken by AP"),
        ("ap", "the name ap is taken by AP"),
        ("map", "the name map is taken by AP"),
        ("ndcg_burges", "the name ndcg_burges is taken by nDCG"),
        ("official", "the name official is taken by the notation"),
        ("Place", "tables of values have a column place; choose another name"),
        ("my-best", "letters, digits and _"),
        ("Best.v2", "letters, digits and _"),
    ],
)
def test_a_name_that_is_taken_is_refused(here: Folder, name: str, words: str) -> None:
    here.metric(BEST, name)
    told = str(catalogue.broken()[name])
    assert told.startswith(f"formulas/{name}.sql.j2: ")
    assert words in told


def test_other_ways_to_be_no_metric(here: Folder) -> None:
    here.metric(BEST[: BEST.index("*/") + 2])
    with pytest.raises(DefinitionError, match=r"formulas/Best.sql.j2: no SQL below the header"):
        score("Best")
    (here.path / "formulas/Best.sql.j2").write_bytes(b"/* \xff */")
    with pytest.raises(DefinitionError, match=r"formulas/Best.sql.j2: not UTF-8 text"):
        score("Best")


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("max(relevance)", "max(relevnce)", "in: select run_id, query_id, max(relevnce)"),
        ("max(relevance)", "max(relevance", "is not one SELECT: syntax error"),
        ("max(relevance)", "max(doc_id)", "gives a value of type VARCHAR; make it a number"),
        ("max(relevance)", "max('nan'::double)", "a value that is no finite number for query q1"),
        ("max(relevance)", "{{ cutoff + 'a' }}", "the template formulas/Best.sql.j2 fails: "),
        ("max(relevance)", "{{ cutoff.__class__ }}", "unsafe"),
        ("max(relevance)", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion depth"),
        ("max(relevance)", "{{ hits._plan }}", "unsafe"),
        ("as value", "as worth", "exactly run_id, query_id, value"),
        ("as value", "as value, 1 as more", "columns run_id, query_id, value, more; it must"),
        ("by run_id, query_id", "by run_id, query_id, doc_id", "3 rows for query q1"),
        ("from {{ hits }}", "from {{ hits }} where doc_id is not null", "no row for query q2"),
        ("from {{ hits }}", "from {{ hits }} where false", "no row for query q1"),
        (
            "select run_id, query_id",
            "select run_id, query_id || 'x' as query_id",
            "no row for query",
        ),
        ("select run_id", "select 1; select run_id", "is 2 statements, not one SELECT"),
    ],
)
def test_sql_that_fails_is_named(
    here: Folder, loaded: Warehouse, counts: Callable[[Path], dict[str, int]],
    old: str, new: str, words: str,
) -> None:  # fmt: skip
    assert old in BEST
    here.metric(BEST.replace(old, new, 1))
    before = counts(loaded.path)
    for compute in (lambda: score("Best@2"), lambda: loaded.evaluate(metrics=["AP", "Best@2"])):
        with pytest.raises(WarehouseError) as caught:
            compute()
        assert str(caught.value).startswith("Best@2: the ")
        assert "formulas/Best.sql.j2" in str(caught.value)
        assert words in str(caught.value)
    assert counts(loaded.path) == before


def test_tables_of_the_file_are_no_relations(here: Folder, loaded: Warehouse) -> None:
    """Their rows are of all datasets and versions; a step of the SQL may have the name of one."""
    here.metric(
        BEST.replace("from {{ hits }}", "from {{ hits }} semi join judgments using (doc_id)")
    )
    told = (
        r"Best@2: the SQL of formulas/Best.sql.j2 reads judgments, which is none of its relations"
    )
    with pytest.raises(WarehouseError, match=told):
        loaded.evaluate(metrics="Best@2")
    step = "with judgments as (from {{ hits }}) select run_id, query_id,"
    named = BEST.replace("from {{ hits }}", "from judgments")
    here.metric(named.replace("select run_id, query_id,", step))
    assert loaded.evaluate(metrics="Best@2").computed == 2


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("select 1 as run_id); copy (select 1) to 'x'; select * from (select 2", "is not one SELECT"),
        ("select 1; copy (select 1) to 'x'", "is not one SELECT"),
        ("copy (select 1) to 'x'", "is not one SELECT"),
        ("from {{ hits }} where doc_id > (from read_text('x'))", "calls read_text()"),
        ("select * from read_csv('x')", "calls read_csv()"),
        ("select * from query('select 1')", "calls query()"),
        ("select * from duckdb_settings()", "calls duckdb_settings()"),
        ("select current_setting('threads')", "calls current_setting()"),
        ("select json_serialize_plan('from read_csv(''x'')')", "calls json_serialize_plan()"),
        ("select random()", "calls random()"),
        ("select nextval('x')", "calls nextval()"),
        ("select pg_catalog.version()", "calls version()"),
        ("from 'x.csv'", "reads x.csv, which is none of its relations"),
        ("from store.judgment", "reads judgment, which is none"),
        ("from memory.main.x", "reads x, which is none"),
        ("with a as (from a) from a", "reads a, which is none"),
        ("with a as (from judgments), judgments as (select 1) from a", "reads judgments, which is none"),
        (
            "from 'x.csv' where exists (with \"x.csv\" as (select 1) from \"x.csv\")",
            "reads x.csv, which is none",
        ),
        ("from {{ hits }} at (version => 3)", "at another time"),
        ("select doc_id::inet from {{ hits }}", "names a type inet"),
        ("select doc_id collate de from {{ hits }}", "holds a collation"),
        ("select $x from {{ hits }}", "holds a placeholder"),
        ("from (describe select 1)", "holds describe or summarize"),
        ("from (show databases)", "is not one SELECT|holds describe|calls"),
    ],
)  # fmt: skip
def test_sql_that_reaches_outside_is_refused(here: Folder, sql: str, words: str) -> None:
    """It is refused before anything is bound; no file is made, none is read."""
    here.write("x", "secret")
    (here.path / "x").chmod(0o400)
    before = sorted(path.name for path in here.path.iterdir())
    here.metric(BEST[: BEST.index("*/") + 3] + sql + " -- {{ hits }} {{ cutoff }}")
    with pytest.raises(WarehouseError) as caught:
        score("Best@2")
    told = str(caught.value)
    assert told.startswith("Best@2: the SQL of formulas/Best.sql.j2 "), told
    assert any(word in told for word in words.split("|")), told
    assert "secret" not in told
    assert sorted(path.name for path in here.path.iterdir()) == before


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("choice", "1)::double as weight from scope_judgment); copy (select 1) to 'x'; select (1"),
        ("choice", "(select count(*) from read_text('x'))"),
        ("attribute", "1; drop table store.run; select 1"),
    ],
)
def test_a_parameter_cannot_change_a_relation(
    here: Folder, loaded: Warehouse, kind: str, value: str
) -> None:
    """The relation of weights takes `rel` from any metric, and here it is a text."""
    choices = f', choices = ["{value}"]' if kind == "choice" else ""
    param = f'param.rel = {{ type = "{kind}", default = "{value}"{choices}, summary = "x" }}'
    head = BEST[: BEST.index("param.rel")].replace('["hits"]', '["rankings"]')
    sql = "select run_id, query_id, 1 as value from {{ rankings }} -- {{ rel }}"
    here.metric(f"{head}{param}\n*/\n{sql}\n", "Odd")
    with pytest.raises(WarehouseError, match="Could not convert string"):
        loaded.evaluate(metrics="Odd(aggregate=weighted, weight=relevant)")
    assert not (here.path / "x").exists()
    assert stored(loaded, "select count(*) from store.run") == [(2,)]


@pytest.mark.parametrize("name", templates.names_in("relations"))
def test_relations_quote_what_a_metric_can_give_them(name: str) -> None:
    """A variable that is not the template's own, and no number, passes through a filter or a macro."""
    body = relations.get(name).body
    declared = relations.inherited_params(name)
    numbers = {key for key, spec in declared.items() if spec["type"] in ("integer", "number")}
    tables = {*relations.get(name).reads, *relations.SCOPE}
    given = templates.variables(body) - tables - numbers
    written = [
        part.name
        for output in templates.environment().parse(body).find_all(jinja2.nodes.Output)
        for part in output.nodes
        if isinstance(part, jinja2.nodes.Name)
    ]
    assert given.isdisjoint(written)


def test_what_a_select_may_hold(here: Folder) -> None:
    """Steps, recursion, lists, lambdas, windows, casts and DuckDB's own functions."""
    sql = """
    with recursive below as (select 1 as n union all select n + 1 from below where n < 3),
    found as (
        select run_id, query_id, relevance, row_number() over (partition by run_id order by rank) as n,
            list_transform([relevance, 0], lambda x: x + 1)[1]::decimal(9, 2) as more
        from {{ hits }} where within(rank, {{ cutoff }})
    )
    select run_id, query_id, sum(coalesce(relevance + ratio(0, more), 0) + part) as value
    from {{ rankings }} left join found using (run_id, query_id),
    (select quantile_cont(n, 0.5) - 2 as part from below), unnest([1]) as u(one)
    group by run_id, query_id
    """
    reads = BEST.replace('["hits"]', '["hits", "rankings"]')
    here.metric(reads[: reads.index("*/") + 3] + sql)
    assert score("Best@3") == {"Best@3": 2.0}  # q1: 1 + 0 + 3, q2: 0


@pytest.mark.slow
def test_a_macro_in_the_file_takes_no_name_of_a_function(here: Folder, loaded: Warehouse) -> None:
    for schema in ("main", "store"):
        with duckdb.connect(str(loaded.path)) as con:
            for macro in ("ratio(a, b)", "total(a, b)", "within(a, b)", "sum(a)", "count(a)"):
                con.execute(f"create macro {schema}.{macro} as 7")
    loaded.evaluate(metrics="Best@2 P@2 nDCG@2")
    here.metric(BEST.replace("max(relevance)", "main.sum(relevance)"))
    assert loaded.evaluate(metrics="Best@2").computed == 2
    board = loaded.leaderboard("tiny", metrics="P@2 Best@2").fetchall()
    # two finds c, worth 3, for q1, and d, worth 2, for q2; one finds a, worth 1, for q1
    assert [row[1:5] for row in board] == [("two", None, 0.5, 2.5), ("one", None, 0.25, 0.5)]


POOLED = (
    BEST.replace('"mean"', '"pooled"').rstrip()
    + "\nunion all select run_id, null, max(relevance) from {{ hits }} group by run_id\n"
)


def test_a_pooled_metric_has_one_row_for_all_queries(here: Folder) -> None:
    here.metric(POOLED)
    assert score("Best@2") == {"Best@2": 3.0}
    for text, number in ((POOLED[: POOLED.index("union")], 0), (POOLED + ", query_id", 2)):
        here.metric(text)
        with pytest.raises(WarehouseError, match=f"{number} rows without a query_id"):
            score("Best@2")


def test_a_row_too_many_is_refused(here: Folder) -> None:
    here.metric(BEST + "union all select 1, 'q9', 0\n")
    with pytest.raises(WarehouseError, match="a row for query q9, which does not count"):
        score("Best@2")


@pytest.mark.slow
def test_a_broken_metric_fails_only_what_asks_for_it(here: Folder, loaded: Warehouse) -> None:
    loaded.evaluate(metrics="AP Best@2")
    here.write("warehouse.toml", SETTINGS + "params.Best.rel = 2\n")
    here.metric("nonsense")
    here.metric(SUMMED.replace('"P"', '"Best"'), "AllBest")
    here.metric(BEST.replace("undefined = 0", 'undefined = 0\nother.x = "AllBest"'), "Other")
    here.metric(BEST.replace("undefined = 0", 'undefined = 0\nother.x = "Other"'), "Another")
    here.metric(BEST, "Good")
    assert sorted(catalogue.broken()) == ["AllBest", "Another", "Best", "Other"]
    for words in (
        ("query", "select count(*) from store.run"), ("runs",), ("datasets",), ("init",),
        ("schema", "hit"), ("metrics", "show", "AP"), ("evaluate", "-m", "AP Good@2"), ("status",),
        ("protocols",), ("leaderboard", "-d", "tiny"), ("queries", "one", "-d", "tiny"),
    ):  # fmt: skip
        assert command(*words)[0] == 0, words
    code, out, err = command("metrics")
    assert (code, "Good" in out, "AllBest" in out) == (0, True, False)
    assert "warning: left out: formulas/Best.sql.j2: no header" in err
    for words in (
        ("metrics", "show", "Best"),
        ("evaluate", "-m", "Best@2"),
        ("evaluate", "-m", "Other"),
    ):
        code, out, err = command(*words)
        assert (code, out) == (2, ""), words
        assert err.startswith(f"formulas/{words[-1].partition('@')[0]}.sql.j2: "), words
    with pytest.raises(
        UsageError, match=r"Zzz: no such metric; left out: formulas/Best.sql.j2: no h"
    ):
        score("Zzz")


@pytest.mark.slow
def test_the_files_are_looked_at_once_for_a_request(
    here: Folder, loaded: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    look = project._look
    monkeypatch.setattr(project, "_look", lambda: (looks.append(1), look())[1])
    notation.parse(*(f"{name}@{k}" for name in ("Best", "P", "ndcg") for k in range(1, 11)))
    assert len(looks) == 1
    score("Best@2", "AP", protocol="top2")
    assert len(looks) == 2
    loaded.evaluate(metrics="Best@2 AP")
    loaded.leaderboard("tiny", metrics=["AP", "Best@2"])
    assert len(looks) == 4
    loaded.leaderboard("t*", metrics="AP Best@2")
    loaded.queries("tiny", "one", metrics="AP Best@2")
    assert len(looks) == 6
