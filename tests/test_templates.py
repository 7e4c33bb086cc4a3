"""Every template holds to the rules of the house, and rendered text is kept for a few of them.

After a wanted change of a template, renew the kept text: `PYTHONPATH=. python tests/test_templates.py`
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import duckdb
import extended
import jinja2
import pytest
from oracles_preferences import METRICS as OF_PREFERENCES
from oracles_recsys import METRICS as OF_RECOMMENDERS
from oracles_sources import METRICS as OF_THE_SOURCES
from peered import PEERED
from rows import insert
from test_metric_properties import METRICS as OF_THE_PEERS
from test_metric_properties import collection

from warehouse.errors import UsageError, WarehouseError
from warehouse.evaluate.chain import chain, fingerprint_of, matched_sql, relation
from warehouse.evaluate.plan import Plan, plan
from warehouse.metrics import catalogue, checks, notation, protocols
from warehouse.metrics.aggregates import AGGREGATES
from warehouse.metrics.catalogue import MetricTemplate
from warehouse.metrics.protocols import Protocol
from warehouse.metrics.template import parts
from warehouse.sql_text import functions, relations, templates
from warehouse.store import database
from warehouse.warehouse import Warehouse

FOR_REVIEW = Path(__file__).parent / "for_review" / "sql"
WEIGHED = ("AP(aggregate=weighted, weight=relevant)", "RR(aggregate=weighted, weight=count)")
METRICS = list(
    dict.fromkeys(
        [
            *OF_THE_PEERS,
            *OF_THE_SOURCES,
            *PEERED,
            *OF_PREFERENCES,
            *OF_RECOMMENDERS,
            *(name for module in extended.oracles() for name in module.METRICS),
            *WEIGHED,
        ]
    )
)
KEPT = ("nDCG@10",)
METRIC_FILES = templates.names_in("metrics")
RELATIONS = templates.names_in("relations")
PROTOCOL_VARIABLES = relations.PROTOCOL_VARIABLES
HOSTILE = "x'; drop table store.run; --"
SCOPE = {
    "scope_run": "run_id integer",
    "scope_judgment": "query_id varchar, doc_id varchar, relevance integer",
    "scope_ranking": "run_id integer, query_id varchar, num_ret bigint, whole_num_ret bigint",
    "scope_prediction": "run_id integer, query_id varchar, doc_id varchar, score double, "
    "position bigint, lower_is_better boolean",
    "scope_iteration": "query_id varchar, doc_id varchar, iteration varchar, relevance integer",
    "scope_preference": "query_id varchar, judgment_group varchar, judgment_subgroup varchar, "
    "doc_id varchar, level double",
    "scope_document": "doc_id varchar",
    "scope_query": "query_id varchar",
    "scope_training": "query_id varchar, doc_id varchar, relevance integer",
    "scope_attribute": "doc_id varchar, attribute varchar, position integer, text varchar, "
    "number double",
    "scope_query_attribute": "query_id varchar, attribute varchar, position integer, "
    "text varchar, number double",
    "scope_assignment": "run_id integer, query_id varchar, judge varchar, nugget_id varchar, "
    "importance varchar, weight double, part varchar, assignment varchar",
    "scope_citation": "run_id integer, query_id varchar, judge varchar, sentence integer, "
    "doc_id varchar, support varchar",
    "scope_part": "doc_id varchar",
    "scope_hit": "run_id integer, query_id varchar, doc_id varchar, relevance integer, rank bigint, "
    "rel_so_far bigint, nonrel_so_far bigint, whole_rank bigint",
    "list_place": "run_id integer, query_id varchar, first_position bigint, is_together boolean",
    "list_step": "position bigint, step varchar",
}


def rules() -> Iterator[Protocol]:
    """Return protocols that take every value of every rule, and of those of lists every combination."""
    orders = itertools.product(("doc_desc", "doc_asc", "input"), ("double", "single"))
    lists = [(None, False, False), (None, True, False), (3, False, False)]
    lists += [(3, True, False), (3, True, True)]
    looked_at = itertools.product(("judged", "both", "run"), lists)
    for (ties, precision), (queries, cut) in zip(itertools.cycle(orders), looked_at, strict=False):
        yield Protocol("any", "", ties, precision, queries, True, *cut)


def where(folder: str, name: str) -> str:
    return f"sql/{folder}/{name}{templates.SUFFIX}"


def text(folder: str, name: str) -> str:
    return templates.source(f"{folder}/{name}")


# --------------------------------------------------------------------------- parameters and reads


@pytest.mark.parametrize("name", METRIC_FILES)
def test_declared_parameters_are_used_parameters(name: str) -> None:
    found = catalogue.catalogue()[name]
    types = {p.name: p.type for p in found.parameters}
    # that parameters are settled sensibly is checked whenever a header is read
    checks.check_body(found, found.body, types)


def test_one_parameter_of_a_relation_has_one_type() -> None:
    asked = {v for name in RELATIONS for v in relations.variables(name)}
    asked -= relations.EVALUATION_VARIABLES
    types = {
        (p.name, p.type)
        for found in catalogue.catalogue().values()
        for p in found.parameters
        if p.name in asked
    }
    assert len(types) == len(dict(types))


def test_what_relations_ask_a_protocol_for() -> None:
    assert set(protocols.get("default").variables()) == set(PROTOCOL_VARIABLES)


def test_words_that_stand_for_no_metric() -> None:
    assert set(checks.RESERVED) == {*notation.TREC_SETS, "relstring"}


def test_a_protocols_rule_hides_no_parameter() -> None:
    """A relation is given both by name; but for `judged_only`, which both may set, none is in both."""
    names = {p.name for found in catalogue.catalogue().values() for p in found.parameters}
    assert names & PROTOCOL_VARIABLES == {"judged_only"}


@pytest.mark.parametrize("name", RELATIONS)
def test_relation_header(name: str) -> None:
    relation = relations.get(name)
    assert relation.summary
    assert relation.grain
    assert set(relation.reads) <= set(RELATIONS)
    assert set(relation.params) <= relations.variables(name)
    assert relations.variables(name) <= relations.EVALUATION_VARIABLES | {
        p.name for found in catalogue.catalogue().values() for p in found.parameters
    }


HIT = "run_id integer, query_id varchar, doc_id varchar, relevance integer, rank bigint"
STUBS = SCOPE | {
    "ranked": "run_id integer, query_id varchar, doc_id varchar, score double, position bigint, "
    "rank bigint",
    "lists": "run_id integer, query_id varchar, doc_id varchar, score double, position bigint, "
    "relevance integer, in_part boolean, rank bigint",
    "matched": HIT,
    "counted": HIT,
    "placed": HIT,
    "oriented": SCOPE["scope_prediction"],
    "predicted": SCOPE["scope_prediction"],
    "gains": "run_id integer, query_id varchar, doc_id varchar, rank bigint, gain double, "
    "gain_so_far double, chance double",
    "retrieved": HIT + ", rel_so_far bigint, nonrel_so_far bigint",
    "rankings": "run_id integer, query_id varchar, num_ret bigint",
    "ideal": "query_id varchar, relevance integer, ideal_rank bigint",
    "ideal_gains": "query_id varchar, relevance integer, ideal_rank bigint",
    "ideal_totals": "query_id varchar, ideal_rank bigint, gain integer, ideal_gain double, "
    "ideal_cost double, ideal_dcg double",
    "gained_hits": "run_id integer, query_id varchar, rank bigint, gain double, found_so_far double, "
    "gain_so_far double, dcg double, num_gain bigint, ideal_gain double, ideal_cost double, "
    "ideal_dcg double",
    "highest_relevance": "query_id varchar, highest integer",
    "relevant_queries": "query_id varchar",
    "documents": "doc_id varchar",
    "all_documents": "doc_id varchar",
    "members": "doc_id varchar",
    "relevant_documents": "doc_id varchar",
    "relevant_judgments": "query_id varchar, doc_id varchar",
    "all_rankings": "run_id integer, query_id varchar",
    "catalogue_size": "num_documents bigint",
    "examples": "query_id varchar, doc_id varchar",
    "frequencies": "doc_id varchar, frequency bigint",
    "training_size": "num_queries bigint, num_documents bigint, num_examples bigint",
    "described": SCOPE["scope_attribute"],
    "traits": SCOPE["scope_query_attribute"],
    "features": "doc_id varchar, feature varchar",
    "feature_blocks": "doc_id varchar, size bigint, block bigint, members bit",
    "propensities": "doc_id varchar, worth double",
    "worths": "query_id varchar, worth double, worth_rank bigint, num_rel bigint",
    "top": "run_id integer, query_id varchar, doc_id varchar, rank bigint, relevance integer, "
    "in_part boolean",
    "top_frequencies": "run_id integer, query_id varchar, doc_id varchar, rank bigint, "
    "relevance integer, frequency bigint",
    "scored": "run_id integer, query_id varchar, doc_id varchar, rank bigint, score double, "
    "relevance integer",
    "worth_hits": "run_id integer, query_id varchar, rank bigint, is_rel boolean, num_rel bigint, "
    "worth double",
    "pairs": "run_id integer, query_id varchar, doc_id varchar, other_id varchar",
    "iteration_hits": "run_id integer, query_id varchar, iteration varchar, num_rel bigint, "
    "doc_id varchar, rank bigint, is_rel boolean, own_rank bigint, rel_so_far bigint",
    "pooled": "query_id varchar, doc_id varchar, stratum varchar, relevance double",
    "strata": "query_id varchar, stratum varchar, num_pooled bigint, num_sampled bigint, "
    "num_rel bigint, weight double",
    "stratum_hits": "run_id integer, query_id varchar, doc_id varchar, rank bigint, "
    "relevance double, is_rel boolean, stratum varchar, weight double, is_own boolean, "
    "pooled_above bigint, sampled_above bigint, rel_above bigint",
    "sampled_grades": "query_id varchar, relevance double, number double",
    "novelty_gains": "run_id integer, query_id varchar, doc_id varchar, rank bigint, gain double, "
    "num_subtopics bigint",
    "novelty_ideal": "query_id varchar, ideal_rank bigint, gain double",
    "preference_classes": "query_id varchar, doc_id varchar, class bigint",
    "preferred_classes": "query_id varchar, judgment_group varchar, better bigint, worse bigint, "
    "worse_is_rel boolean",
    "preference_groups": "query_id varchar, judgment_group varchar, num_rel bigint, "
    "num_nonrel bigint, is_divided boolean, num_groups bigint",
    "class_orders": "run_id integer, query_id varchar, ahead bigint, behind bigint, pairs bigint",
    "preference_pairs": "run_id integer, query_id varchar, judgment_group varchar, better bigint, "
    "worse bigint, worse_is_rel boolean, kept_ret bigint, kept_imp bigint, possible_ret bigint, "
    "possible_imp bigint, possible bigint",
    "group_documents": "run_id integer, query_id varchar, judgment_group varchar, doc_id varchar, "
    "is_rel boolean, class bigint, rank bigint, place bigint, num_ahead bigint, rel_ahead bigint",
    "curves": "run_id integer, query_id varchar, list_id varchar, num_rel bigint, num_best bigint, "
    "num_lists bigint, rank bigint, is_rel boolean, place bigint, rel_so_far bigint, "
    "nonrel_above double",
    "tie_groups": "run_id integer, query_id varchar, first_rank bigint, last_rank bigint, gain double",
    "tie_counts": "run_id integer, query_id varchar, num_ret bigint, num_rel bigint, "
    "first_rank bigint, last_rank bigint, rel_tied bigint, rel_above bigint",
    "assignments": "run_id integer, query_id varchar, nugget_id varchar, importance varchar, "
    "weight double, part varchar, alone varchar, assignment varchar",
    "citations": "run_id integer, query_id varchar, sentence integer, doc_id varchar, support varchar",
    "hits": HIT + ", is_rel boolean, rel_so_far bigint, nonrel_so_far bigint, "
    "pooled_so_far bigint, num_ret bigint, num_rel bigint, num_nonrel bigint, num_judged bigint",
}


@cache
def stubbed() -> duckdb.DuckDBPyConnection:
    """Return a connection with an empty table for each relation."""
    con = database.memory()
    for table, columns in STUBS.items():
        con.execute(f"create table {table} ({columns})")
    return con


@cache
def tables_of(sql: str) -> set[str]:
    """Return the tables that a query reads: those that DuckDB's parser names and that are no CTE.

    (`get_table_names` fails on a join `using` a column of a CTE.) The query must run on the stubs.
    """
    names: set[str] = set()
    steps: set[str] = set()

    def walk(node: object) -> None:
        if isinstance(node, list):
            for child in node:
                walk(child)
        elif isinstance(node, dict):
            if node.get("type") == "BASE_TABLE":
                names.add(node["table_name"])
            for step in (node.get("cte_map") or {}).get("map", []):
                steps.add(step["key"])
            for child in node.values():
                walk(child)

    con = stubbed()
    assert con.execute(sql).fetchall() == []
    tree = json.loads(con.execute("select json_serialize_sql($1)", [sql]).fetchall()[0][0])
    assert not tree["error"]
    walk(tree)
    return names - steps


@pytest.mark.parametrize("name", RELATIONS)
def test_what_a_relation_reads_is_what_it_says(name: str) -> None:
    source = text("relations", name)
    head = templates.header(source, where("relations", name)).record
    template = templates.compiled(templates.body(source))
    reads: set[str] = set()
    for rule, given, ties in itertools.product(rules(), (None, 5), ("rank", "average")):
        values = {
            **rule.variables(), "rel": 1, "min_rel": 0, "max_rel": 3, "cutoff": given,
            "gains": None, "alpha": 0.5, "A": 0.5, "B": 1.5, "dcg": "log2",
            "aggregate": "pooled", "ties": ties, "sliced": given is not None,
            "scope": "part" if ties == "rank" else "global",
            "weight": "count" if given else "relevant", "attribute": given and "genre",
            "frequency": given and "count", "instances": given, "sparse": given is not None,
            "catalogue": None, "judge": given and "j", "tied": given is None,
            "numbered": ties == "rank",
            **{r: r for r in head["reads"]},
        }  # fmt: skip
        noted: dict[str, None] = {}
        in_scope = {table: templates.Mention(table, noted) for table in relations.SCOPE}
        read = tables_of(template.render(**values, **in_scope))
        assert read & set(relations.SCOPE) == set(noted)
        reads |= read
    assert reads - set(SCOPE) == set(head["reads"])


def test_what_is_read_is_seen() -> None:
    sql = "with a as (select * from hits join ideal using (query_id)) select * from a, scope_run"
    assert tables_of(sql) == {"hits", "ideal", "scope_run"}


@cache
def metrics_by_name() -> dict[str, list[notation.Metric]]:
    made: dict[str, list[notation.Metric]] = {}
    for metric in notation.parse(*METRICS):
        made.setdefault(metric.name, []).append(metric)
    return made


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", METRIC_FILES)
def test_what_a_metric_reads_is_what_it_says(name: str) -> None:
    assert name in metrics_by_name(), "add it to METRICS in the module that has its twin"
    for metric in metrics_by_name()[name]:
        # the parameter no_relevant reads these, too
        known = {*metric.definition.reads, "relevant_queries"}
        assert tables_of(own_sql(metric)) <= known, str(metric)


def own_sql(metric: notation.Metric) -> str:
    """Return the SQL of a metric over the stubs of relations."""
    work = _Bare(protocols.get("default"))
    return chain(work, [metric]).without(work.tables).rows(metric)


class _Bare(Plan):
    """A plan whose relations have their names alone, as the stubs do."""

    def table(self, relation: relations.Relation, params: Mapping[str, object]) -> str:
        made = super().table(relation, params)
        self.read[relation.name], self.tables[relation.name] = self.read[made], self.tables[made]
        return relation.name


@extended.needs("answers")
def test_names_that_differ_in_case_alone_stay_apart() -> None:
    """DuckDB would take one table or column for the other, and give the values of the wrong judge."""
    names = [f"{name}(judge={judge})" for name in ("NuggetScore", "CitationF") for judge in "Aa"]
    work = plan(notation.parse(*names), protocols.get("default"))
    found = chain(work, work.queries)
    for steps in (work.tables, found.steps):
        assert len({name.lower() for name in steps}) == len(steps)
    assert len({(s.lower(), c.lower()) for s, c in found.values.values()}) == 4


@pytest.mark.parametrize("name", ["a b", "1) as x, (select 1", "Best", ""])
def test_names_in_an_expression_are_plain_words(name: str) -> None:
    source = text("metrics", "Cover")
    for given in (f"value(hits, {name!r})", f"value(hits) %}}{{% call fact(hits, {name!r})"):
        ends = "{% endcall %}" * given.count("hits")
        found = define(f"{source[: source.index('*/') + 2]}{{% call {given} %}}1{ends}")
        values = tuple((p.name, p.default) for p in found.parameters)
        with pytest.raises(WarehouseError, match="no name of a column"):
            Plan(protocols.get("default")).add(notation.Metric(found, "Mine", values))


# --------------------------------------------------------------------------- rows and columns


@pytest.fixture
def scope() -> Iterator[duckdb.DuckDBPyConnection]:
    """Return a connection with random judgments and three runs in scope; one run is silent."""
    rng = random.Random(3)
    qrels, first = collection(rng)
    _, second = collection(rng)
    with database.memory() as con:
        for table, columns in SCOPE.items():
            con.execute(f"create table {table} ({columns})")
        con.execute("insert into scope_run values (1), (2), (3)")
        judged = [(q, d, g) for q, grades in qrels.items() for d, g in grades.items()]
        insert(con, "scope_judgment", judged)
        con.execute(
            "insert into scope_iteration select query_id, doc_id, 'i' || n, (relevance + n) % 4 "
            "from scope_judgment, range(3) as iteration (n) where hash(doc_id, n) % 3 > 0"
        )
        con.execute(
            "insert into scope_preference select query_id, 'g' || n, 's' || hash(doc_id) % n, doc_id, "
            "greatest(relevance, 0) from scope_judgment, range(1, 4) as judgment_group (n)"
        )
        listed = [
            (number, q, d, s, place, number == 2)
            for number, run in ((1, first), (2, second))
            for q, found in run.items()
            for place, (d, s) in enumerate(found.items())
        ]
        insert(con, "scope_prediction", listed)
        con.execute("insert into scope_training select query_id, doc_id, 1 from scope_judgment")
        con.execute("insert into scope_document select distinct doc_id from scope_judgment")
        con.execute("insert into scope_query select distinct query_id from scope_judgment")
        con.execute(
            "insert into scope_attribute select distinct doc_id, unnest(['genre', 'count']), 1, '2', 2 "
            "from scope_judgment"
        )
        con.execute(
            "insert into scope_query_attribute select distinct query_id, 'count', 1, '2', 2 "
            "from scope_judgment"
        )
        con.execute(
            "insert into scope_assignment select run_id, query_id, null, 'n' || n, "
            "['vital', 'okay'][n], n, 'p' || (n % 2), ['support', 'contradict', 'not_support'][n] "
            "from (select distinct run_id, query_id from scope_prediction), range(1, 4) as nugget (n)"
        )
        con.execute(
            "insert into scope_citation select run_id, query_id, null, n, 'd' || n, 'support' "
            "from (select distinct run_id, query_id from scope_prediction), range(1, 4) as cited (n)"
        )
        con.execute(
            "insert into scope_ranking select run_id, query_id, count(*), count(*) "
            "from scope_prediction group by all"
        )
        yield con


def doubled(con: duckdb.DuckDBPyConnection, sql: str, grain: list[str]) -> int:
    keys = ", ".join(grain)
    return con.execute(
        f"select count(*) from (select {keys} from ({sql}) group by {keys} having count(*) > 1)"
    ).fetchall()[0][0]


def relation_of(table: str) -> str:
    """Return the relation that a table was made from: its name, and then the parameters'."""
    return max((name for name in RELATIONS if table.startswith(name)), key=len)


@pytest.mark.sample(5, 2)
@pytest.mark.parametrize("rule", list(rules())[::3], ids=str)
def test_grains_are_unique_and_metrics_give_one_row_per_query(
    scope: duckdb.DuckDBPyConnection, rule: Protocol
) -> None:
    seen = {
        name: relation(name, rule)
        for name in ("oriented", "predicted", "ranked", "matched", "counted", "retrieved")
    }
    seen["placed"] = matched_sql(rule, "placed", sparse=True)
    # what is written into its readers, with and without its parameters
    for name, given in itertools.product(
        ("examples", "described", "features", "traits"), (None, "genre")
    ):
        params = {"attribute": given}
        seen[f"{name}_{given}"] = relation(name, rule, params)
    # and what only some metrics or only parts of the documents read
    params = {"rel": 1, "cutoff": 3, "catalogue": None}
    for name in (
        "all_documents", "all_rankings", "members", "relevant_documents", "first_ranked",
        "highest_relevance", "catalogue_size", "relevant_judgments",
    ):  # fmt: skip
        seen[name] = relation(name, rule, params)
    scope.execute(f"insert into scope_hit select *, rank from ({seen['matched']})")
    work = plan(notation.parse(*METRICS), rule)
    work.table(relations.get("graded_lists"), params)
    for table, sql in work.tables.items():
        scope.execute(f'create table "{table}" as {sql}')
        name = relation_of(table)
        seen[table] = sql
        grain = templates.header(text("relations", name), name).record["grain"]
        assert doubled(scope, f'from "{table}"', grain) == 0, table
        if table != "pairs_cutoff_1":  # one document makes no pair
            assert scope.execute(f'select count(*) from "{table}"').fetchall()[0][0] > 0, table
    assert {relation_of(t) for t in seen} == set(RELATIONS)
    for table in sorted(set(seen) - set(work.tables)):
        name = relation_of(table)
        grain = templates.header(text("relations", name), name).record["grain"]
        assert doubled(scope, seen[table], grain) == 0, table
    keys = scope.execute("select run_id, query_id from rankings order by all").fetchall()
    assert keys
    # of answers, those that were assessed count as well
    with_answers = {
        kind: sorted({*keys, *scope.execute(
            f"select run_id, query_id from {table} where judge is null"
        ).fetchall()})
        for kind, table in (("assignments", "scope_assignment"), ("citations", "scope_citation"))
    }  # fmt: skip
    # metrics that differ only in how their queries are put together are one query
    computed: dict[str, tuple[list[str], list[tuple[int, str | None]]]] = {}
    for metric, values in work.queries.items():
        if repr(values) not in computed:
            sql = chain(work, [metric]).without(work.tables).rows(metric)
            found = scope.execute(f"from ({sql}) order by run_id, query_id nulls first")
            columns = [column[0] for column in found.description]
            computed[repr(values)] = columns, [row[:2] for row in found.fetchall()]
        columns, rows = computed[repr(values)]
        assert columns == ["run_id", "query_id", "value"], str(metric)
        if metric.aggregate == "pooled":
            whole = [row for row in rows if row[1] is None]
            assert whole == [(run_id, None) for run_id in sorted({row[0] for row in keys})]
            rows = [row for row in rows if row[1] is not None]
        counted = next((with_answers[n] for n in work.needs_of(metric) if n in with_answers), keys)
        assert rows == counted, f"{metric}: not one row for each query that counts"


def test_a_grain_that_is_not_unique_is_seen(scope: duckdb.DuckDBPyConnection) -> None:
    assert doubled(scope, "select * from scope_judgment", ["query_id"]) > 0


# --------------------------------------------------------------------------- how SQL is written


@pytest.mark.parametrize("name", METRIC_FILES)
def test_no_bare_division(name: str) -> None:
    """Every division goes through the function `ratio`, so that undefined is null.

    Nothing is ordered but in a sum and in a window, which has a name.
    """
    body = catalogue.catalogue()[name].body
    assert "/" not in body
    window = r"\w+ as \([^()]*\)"
    named = rf"over \w+|\bwindow\s+{window}(?:,\s+{window})*|sum\((?:[^()]|\([^()]*\))*\)"
    assert "order by" not in re.sub(named, "", body, flags=re.DOTALL)


def test_nothing_over_a_window_has_a_filter() -> None:
    """DuckDB's count with a filter takes a time that grows with the square of the window's length."""
    filtered = re.compile(r"filter\s*\((?:[^()]|\([^()]*\))*\)(?:\{%[^%]*%\})?\s*over\b")
    assert filtered.search("count(*) filter (where (a or b)) over down_the_list")
    assert [name for name, text in texts().items() if filtered.search(text)] == []


def test_no_cross_join_with_a_list() -> None:
    """A list of levels is unnested in the select.

    DuckDB 2.0.0 may fail inside where a cross join has more rows than some part of a join before it:
    "dict-surviving cache: global dictionary column changed identity".
    """

    def crossed(text: str) -> bool:
        listed = re.findall(r"(\w+) as \(\s*select unnest\(", text)
        sides = "|".join([r"\(\s*select unnest\(", *(rf"{name}\b" for name in listed)])
        return re.search(rf"cross join (?:{sides})", text) is not None

    assert crossed("from a cross join (select unnest([1, 2]) as level)")
    assert crossed(
        "with level as (\n    select unnest([1, 2]) as n\n) from a\n    cross join level\n"
    )
    assert not crossed("with a as (select unnest([1, 2]) as level) from a cross join b")
    read = ("metrics/", "curves/", "relations/")
    assert [name for name, text in texts().items() if name.startswith(read) and crossed(text)] == []


def texts() -> dict[str, str]:
    """Return the text of every template, by its path in the folder `sql`, without comments."""
    return {
        path.relative_to(folder).as_posix(): re.sub(
            r"\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for folder in templates.folders(ours=True)
        for path in folder.rglob("*" + templates.SUFFIX)
    }


def sums_without_order(sql: str) -> list[str]:
    """Return the sums and means in a query that leave open in which order they add.

    A sum of whole numbers is the same in any: `bit_count` is the one that we add up.
    """
    rows = stubbed().execute("select json_serialize_sql($1)", [sql]).fetchall()
    tree = json.loads(rows[0][0])
    assert not tree["error"], sql
    loose: list[str] = []

    def walk(node: object) -> None:
        if isinstance(node, list):
            for child in node:
                walk(child)
        elif isinstance(node, dict):
            if node.get("function_name") in ("sum", "avg", "mean", "fsum", "product"):
                running = node.get("orders")  # of a window
                orders = running or (node.get("order_bys") or {}).get("orders")
                given = node.get("arguments") or node.get("children")  # in DuckDB 1.5
                added = (given[0].get("expression") or given[0]) if given else node  # of a window
                whole = added.get("function_name") == "bit_count"
                loose.extend([] if orders or whole else [node["function_name"]])
            for child in node.values():
                walk(child)

    walk(tree)
    return loose


def test_sums_are_ordered() -> None:
    """A sum of floating-point numbers in no stated order moves with the number of threads."""
    assert sums_without_order("select sum(x), sum(x order by y), avg(y) from t") == ["sum", "avg"]
    assert sums_without_order("select sum(bit_count(x)), sum(bit_count(x) / 2) from t") == ["sum"]
    windows = "select sum(x) over a, sum(x) over b from t window a as (order by y), b as ()"
    assert sums_without_order(windows) == ["sum"]
    work = plan(notation.parse(*METRICS), protocols.get("default"))
    for metric in work.queries:
        sql = chain(work, [metric]).without(work.tables).rows(metric)
        assert sums_without_order(sql) == [], str(metric)
    insert = templates.render("statements/scores", part=None, numbers=[0], aggregates=AGGREGATES)
    assert sums_without_order(insert[insert.index("with") :]) == []


FILES = sorted(
    path for folder in templates.folders(ours=True) for path in folder.rglob("*" + templates.SUFFIX)
)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_keywords_are_in_lower_case(path: Path) -> None:
    body = templates.body(path.read_text(encoding="utf-8"))
    bare = re.sub(r"\{#.*?#\}|/\*.*?\*/|--[^\n]*|'[^']*'|\{%.*?%\}", " ", body, flags=re.DOTALL)
    words = (
        "select|from|where|group|order|by|join|left|with|as|on|and|or|not|null|case|when|then|end"
    )
    shouted = re.findall(rf"\b(?:{words.upper()})\b", bare)
    assert not shouted
    assert "\t" not in body


# --------------------------------------------------------------------------- strictness and quoting


def test_every_template_is_asked_for() -> None:
    """Those that are no part of a catalogue stand by name in the package or in another template."""
    catalogues = {
        "metrics",
        "curves",
        "fusion",
        "normalisations",
        "relations",
        "macros",
        "composed",
        "holes",
    }
    package = Path(templates.__file__).parents[1]
    files = [*package.rglob("*.py"), *FILES]
    words = {
        word
        for path in files
        for word in re.findall(r"[\"'/](\w+)(?:\.sql\.j2)?[\"']", path.read_text(encoding="utf-8"))
    }
    there = {
        path.name.removesuffix(templates.SUFFIX)
        for path in files
        if path.suffix == ".j2"
        and path.parent.name not in catalogues
        # all checks of what is stored are made, whichever there are
        and not path.name.startswith("stored_")
    }
    assert there - words == set(), "nothing renders it: delete it"
    named = {
        (path.name, name)
        for path in files
        for name in re.findall(r'render\(\s*"([\w/]+)"', path.read_text(encoding="utf-8"))
    }
    paths = {path.as_posix().rpartition("/sql/")[2] for path in files}
    assert {one for one in named if f"{one[1]}{templates.SUFFIX}" not in paths} == set()


def test_an_unknown_variable_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError, match="nope"):
        templates.environment().from_string("select {{ nope }}").render()
    with pytest.raises(WarehouseError, match=r"sql/analyses/scored\.sql\.j2: .* is undefined"):
        templates.render("analyses/scored")


def test_the_filters_quote() -> None:
    made = templates.environment().from_string("select {{ a | literal }} as {{ b | ident }}")
    with duckdb.connect() as con:
        for value in (HOSTILE, "a'b\"c", "", "%{{ 1 }}", "é\n;", 0.1, -3, 2**40, True, None):
            rows = con.sql(made.render(a=value, b=HOSTILE + '"'))
            assert rows.columns == [HOSTILE + '"']
            assert rows.fetchall() == [(value,)]
        assert con.sql(made.render(a=0.7, b="x")).types == ["DOUBLE"]


def test_hostile_names_come_back_as_data(tmp_path: Path) -> None:
    qrels = {HOSTILE: {HOSTILE: 1, "b": 0}, '"; --': {"a''": 2}}
    run = {HOSTILE: {"b": 2.0, HOSTILE: 1.0}, '"; --': {"a''": 1.0}}
    rows = Warehouse.score(qrels, run, "RR").relation.fetchall()
    assert rows == [('"; --', "RR", 1.0), (HOSTILE, "RR", 0.5), ("all", "RR", 0.75)]

    path = tmp_path / f"{HOSTILE}.run"
    path.write_text("q\tQ0\t';--\t1\t2\t';drop\nq Q0 b 2 1 ';drop\n", encoding="utf-8")
    scores = Warehouse.score({"q": {"b": 1}}, path, "RR")
    assert scores.means() == {"RR": 0.5}
    assert scores.read[0].staged.tag == "';drop"

    wh = Warehouse(tmp_path / "hostile.duckdb")
    wh.ingest_qrels(HOSTILE, qrels)
    wh.ingest_run(HOSTILE, run, name=HOSTILE, tags={HOSTILE: HOSTILE})
    wh.evaluate(metrics="RR")
    ((_, name, _, value, *_),) = wh.leaderboard(HOSTILE).fetchall()
    assert (name, value) == (HOSTILE, 0.75)
    assert [row[0] for row in wh.queries(HOSTILE, HOSTILE).fetchall()] == ['"; --', HOSTILE]


@pytest.mark.parametrize(
    "name", [HOSTILE, "AP(rel=1;drop)", "P@5'--", "IPrec@0.1)", "AP(norm='x')"]
)
def test_hostile_metrics_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        Warehouse.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, name)


# --------------------------------------------------------------------------- wrong headers


def define(source: str) -> MetricTemplate:
    return catalogue._metric("Mine", *parts(source, "sql/metrics/Mine.sql.j2"))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'direction = "higher"',
            'direktion = "higher"',
            ["'direktion'", "did you mean direction?"],
        ),
        ('direction = "higher"\n', "", ["'direction'", "missing"]),
        ('direction = "higher"', 'direction = "up"', ["direction", "higher, lower, none"]),
        ('aggregate = "mean"', 'aggregate = "weighted"', ["aggregate", "mean, geometric_mean"]),
        ("undefined = 0", 'undefined = "nothing"', ["undefined", "'null'"]),
        ("range = [0, 1]", 'range = "0 to 1"', ["'range'", "type"]),
        ("required = true", "required = true\nminimum = 1", ["cutoff", "'minimum'", "mean min?"]),
        ('type = "choice"', 'type = "int"', ["norm", "integer, number, grade, choice, boolean"]),
        ('title = "Precision"', 'title = "Precision', ["not TOML"]),
        (
            '{ name = "ooprecision", cutoff',
            '{ name = "ooprecision", cutof',
            ["ooprecision", "cutoff?"],
        ),
        (
            "[param.aggregate]",
            '[param.aggregate]\ndefault = "pooled"\nchoices = ["pooled"]',
            ["aggregate", "its default comes from the header"],
        ),
        (
            "[param.aggregate]",
            '[param.aggregate]\nchoices = ["mean", "sum"]',
            ["to add the choice pooled"],
        ),
        (
            "[names]",
            '[param.weight]\ntype = "number"\nsummary = "x"\n[names]',
            ["param.weight", "choose another"],
        ),
        ('params = ["rel", ', 'params = ["rell", ', ["no parameter 'rell' is shared", "mean rel?"]),
        ("[param.norm]", "[param.norme]", ["'norm' is shared; or declare it: [param.norm]"]),
        ("/*", "", ["no header"]),
    ],
)
def test_a_wrong_header_is_refused(old: str, new: str, words: list[str]) -> None:
    source = text("metrics", "P")
    assert old in source
    define(source)
    with pytest.raises(WarehouseError) as caught:
        define(source.replace(old, new, 1))
    message = str(caught.value)
    assert message.startswith("sql/metrics/Mine.sql.j2: ")
    for word in words:
        assert word in message


EXTENDING = """/*
title = "Sum of precision"
summary = "Precision, added up."
formula = "a sum"
extends = "P"
aggregate = "sum"
reference = "none"
*/"""


def test_an_extension_that_aggregates_otherwise_has_no_other_choice() -> None:
    """AP may be pooled, its geometric mean not: what is asked for is one of the two."""
    aggregate = catalogue.catalogue()["GMAP"].parameter("aggregate")
    assert aggregate is not None
    assert (aggregate.default, aggregate.choices) == ("geometric_mean", ("geometric_mean",))


def test_a_metric_that_extends_another_has_its_body_and_its_parameters() -> None:
    mine, precision = define(EXTENDING), catalogue.catalogue()["P"]
    assert mine.body == precision.body
    assert [p.name for p in mine.parameters] == [p.name for p in precision.parameters]
    pairs = zip(mine.parameters, precision.parameters, strict=True)
    assert [one.name for one, other in pairs if one != other] == ["aggregate"]
    assert (mine.title, mine.aggregate) == ("Sum of precision", "sum")
    # it is no count because it is a sum
    assert (mine.counts, catalogue.catalogue()["NumRet"].counts) == (False, True)
    assert (mine.direction, mine.range) == (precision.direction, precision.range)
    # a peer's name means one metric
    assert not mine.trec_names
    assert not mine.ranx_names
    assert not mine.names


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('extends = "P"', 'extends = "Pp"', ["extends 'Pp'", "not a metric"]),
        ('extends = "P"', 'extends = "GMAP"', ["extends 'GMAP'", "itself extends another"]),
        ("*/", "*/\nselect 1", ["a body of its own"]),
    ],
)
def test_a_wrong_extension_is_refused(old: str, new: str, words: list[str]) -> None:
    with pytest.raises(WarehouseError) as caught:
        define(EXTENDING.replace(old, new, 1))
    for word in words:
        assert word in str(caught.value)


# --------------------------------------------------------------------------- fingerprints


def fingerprint(source: str, protocol: str = "default") -> str:
    found = define(source)
    values = tuple((p.name, 10 if p.name == "cutoff" else p.default) for p in found.parameters)
    work = Plan(protocols.get(protocol))
    return fingerprint_of(work, notation.Metric(found, "Mine", values))


def test_a_changed_sentence_keeps_the_fingerprint() -> None:
    source = text("metrics", "P")
    for old, new in (
        ("Share of the first", "The share of the first"),
        ('title = "Precision"', 'title = "Another"'),
        ("    ratio(", "    -- a remark\n    ratio( /* and\n another */\n\n"),
        ("    ratio(", "    {# a remark #}\n    ratio("),
    ):
        changed = source.replace(old, new, 1)
        assert changed != source
        assert fingerprint(changed) == fingerprint(source), new


def test_a_changed_formula_changes_the_fingerprint() -> None:
    source = text("metrics", "P")
    source = source.replace(
        "[param.aggregate]\n",
        '[param.aggregate]\ndefault = "mean"\nchoices = ["mean", "sum", "pooled"]\n',
    )
    seen = {fingerprint(source)}
    for old, new in (
        ("count(*) filter", "count(doc_id) filter"),
        ("within(rank, {{ k }})", "within(rank, {{ cutoff + 1 }})"),
        ("undefined = 0", "undefined = 1"),
        ("undefined = 0", 'undefined = "null"'),
        ('= "mean"', '= "sum"'),
    ):
        changed = source.replace(old, new)
        assert changed != source
        assert fingerprint(changed) not in seen, new
        seen.add(fingerprint(changed))
    assert fingerprint(source, "trec_eval_9") not in seen


@pytest.mark.parametrize(
    ("name", "is_called"), [("within", True), ("ratio", True), ("listed_gain", False)]
)
def test_the_fingerprint_covers_the_functions(
    monkeypatch: pytest.MonkeyPatch, name: str, is_called: bool
) -> None:
    """A changed function makes stale what calls it, and nothing else."""
    source = text("metrics", "P")
    plain = fingerprint(source)
    defined = dict(functions.definitions())
    defined[name] += " + 0"
    monkeypatch.setattr(functions, "definitions", lambda: defined)
    assert (fingerprint(source) != plain) == is_called


@pytest.mark.parametrize(
    "relation", ["hits", "rankings", "retrieved", "ranked", "predicted", "matched"]
)
def test_the_fingerprint_covers_the_relations(
    monkeypatch: pytest.MonkeyPatch, relation: str
) -> None:
    original = templates.source

    def with_change(changed: str | None) -> str:
        def source(name: str) -> str:
            found = original(name)
            if name != f"relations/{relation}" or changed is None:
                return found
            return re.sub(r"(?m)^select$", changed, found, count=1)

        monkeypatch.setattr(templates, "source", source)
        relations.get.cache_clear()
        relations.variables.cache_clear()
        return fingerprint(original("metrics/P"))

    if relation == "rankings":
        marker = "select run_id, query_id, coalesce"
        assert marker in original("relations/rankings")
    try:
        plain = with_change(None)
        assert with_change("-- a remark\nselect") == plain
        if relation == "rankings":
            monkeypatch.setattr(
                templates, "source",
                lambda name: original(name).replace("coalesce(num_ret, 0)", "coalesce(num_ret, 1)"),
            )  # fmt: skip
            relations.get.cache_clear()
            assert fingerprint(original("metrics/P")) != plain
        else:
            assert with_change("select\n    1 as one,") != plain
    finally:
        monkeypatch.undo()
        relations.get.cache_clear()
        relations.variables.cache_clear()


def test_fingerprints_differ_between_metrics_and_parameters() -> None:
    metrics = notation.parse(*METRICS)
    # Cover is recall, by the same SQL; protocols tell the two apart
    work = plan([m for m in metrics if m.name != "Cover"], protocols.get("default"))
    prints = [fingerprint_of(work, metric) for metric in list(work.queries)]
    # beta and x are two ways to the same weight; their SQL is the same where the weight is
    assert len(set(prints)) == len(prints)


# --------------------------------------------------------------------------- the text that is kept


@pytest.mark.parametrize("name", KEPT)
def test_rendered_text_is_as_kept(name: str) -> None:
    kept = (FOR_REVIEW / f"{name}.sql").read_text(encoding="utf-8")
    assert Warehouse.sql([name]) == kept, (
        "if wanted, renew: PYTHONPATH=. python tests/test_templates.py"
    )


def test_only_what_is_compared_is_kept() -> None:
    assert {path.stem for path in FOR_REVIEW.glob("*.sql")} == set(KEPT)


if __name__ == "__main__":
    FOR_REVIEW.mkdir(exist_ok=True)
    for each in KEPT:
        (FOR_REVIEW / f"{each}.sql").write_text(Warehouse.sql([each]), encoding="utf-8")
        print(f"wrote {FOR_REVIEW / each}.sql")
