"""Worked by hand: `cases/metrics/<Metric>.toml` holds small rankings and the arithmetic of the values.

For the metrics of an extension the file is in `extensions/<Extension>/cases`.

A case has `qrels` and `run` by query: "doc:grade ..." and "doc doc ..." (best first) or "doc=score ...".
Judgments by iteration are "doc/iteration:grade ...", preferences are in `prefs` in place of `qrels`, as
"group/subgroup/doc:level ...".
A case may have a training set by query, "doc doc:grade ...", and attributes by name and document: a
number, a text, or a list of texts.
A case may have `answers` by query, judged without a name: "id=importance/weight/part:assignment ..."
for nuggets, where importance is v or o; and `cited`, "sentence/doc:support ...", or the sentence alone
if it cites nothing. Assignments and supports are s, p, n or c. Their runs are stored and evaluated.
`expected` maps a metric to its value for the only query, or to values by query and for all of them. A
value is an expression over whole numbers with + - * /, log2, ln and sqrt, worked out exactly as far as
it goes, or "null".
"""

from __future__ import annotations

import ast
import math
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracles
import pytest
from extended import case_files, extension
from peered import PEERED
from twins import twins_in

from warehouse.errors import UsageError
from warehouse.metrics import notation
from warehouse.metrics.aggregates import AGGREGATE
from warehouse.metrics.catalogue import catalogue
from warehouse.sql_text import templates
from warehouse.warehouse import Warehouse

FILES = case_files()
OPTIONS = ("protocol", "level", "depth", "judged_only", "complete")
FUNCTIONS = {"log2": math.log2, "ln": math.log, "sqrt": math.sqrt}
Number = Fraction | float


def value(text: str) -> Number:
    """Work out an expression; only whole numbers, + - * /, log2, ln and sqrt are understood.

    >>> value("(1/2 + 2/4 + 3/5) / 3")
    Fraction(8, 15)
    """
    return _value(ast.parse(text, mode="eval").body)


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int(number)):
            return Fraction(number)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left), _value(right)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return FUNCTIONS[name](_value(argument))
    raise ValueError(f"not understood: {ast.unparse(node)}")


@pytest.mark.parametrize("text", ["__import__('os')", "2**3", "x", "1.5", "log2(2, 3)", "'a'"])
def test_only_arithmetic_is_understood(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        value(text)


def read(name: str) -> list[dict[str, Any]]:
    """Return the cases of a metric, none where it has no file."""
    return tomllib.loads(FILES[name].read_text(encoding="utf-8"))["case"] if name in FILES else []


def judged(case: dict[str, Any]) -> dict[str, list[tuple[str, float]]]:
    """Return what is judged of each query: a document with where it was judged, and the grade."""
    return {
        query: [(name, float(grade)) for name, _, grade in (w.partition(":") for w in text.split())]
        for query, text in (case.get("qrels") or case["prefs"]).items()
    }


def qrels(case: dict[str, Any], folder: Path) -> tuple[object, dict[str, Any]]:
    """Return the judgments of a case as Warehouse.score takes them, and the options to read them."""
    grades = judged(case)
    by_iteration = any("/" in name for found in grades.values() for name, _ in found)
    if not by_iteration:
        return {query: dict(found) for query, found in grades.items()}, {}
    path = folder / "qrels.txt"
    lines = []
    for query, found in grades.items():
        for name, grade in found:
            *place, last = name.split("/")
            fields = [*place, last] if "prefs" in case else [last, *place]
            lines.append(" ".join([query, *fields, f"{grade:g}"]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path, {"qrels_format": "prefs"} if "prefs" in case else {"iterations": True}


def run(case: dict[str, Any]) -> dict[str, dict[str, float]]:
    made: dict[str, dict[str, float]] = {}
    for query, text in case["run"].items():
        words = text.split()
        made[query] = {
            word.partition("=")[0]: float(word.partition("=")[2] or len(words) - number)
            for number, word in enumerate(words)
        }
    return made


def training(case: dict[str, Any]) -> dict[str, dict[str, int]] | None:
    """Read the training set; a document without a grade has 1."""
    given = case.get("training")
    if given is None:
        return None
    return {
        query: {doc: int(grade or 1) for doc, _, grade in (w.partition(":") for w in text.split())}
        for query, text in given.items()
    }


def attributes(case: dict[str, Any]) -> list[dict[str, dict[str, Any]]]:
    """Read the attributes, one table for each."""
    return [
        {doc: {name: value} for doc, value in values.items()}
        for name, values in case.get("attributes", {}).items()
    ]


WORDS = {"s": "support", "p": "partial_support", "n": "not_support", "c": "contradict"}
IMPORTANCE = {"v": "vital", "o": "okay"}


def answers(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Read the nuggets of queries with their assignments to the answer of the run."""
    rows = []
    for query, text in case.get("answers", {}).items():
        for word in text.split():
            said, _, assignment = word.partition(":")
            name, _, rest = said.partition("=")
            fields = rest.split("/")
            importance, weight, part = fields + ["1", ""][len(fields) - 1 :]
            row = {"query_id": query, "nugget_id": name, "importance": IMPORTANCE[importance]}
            row |= {"weight": float(weight), "assignment": WORDS.get(assignment)}
            rows.append(row | ({"part": part} if part else {}))
    return rows


def citations(case: dict[str, Any]) -> list[dict[str, Any]]:
    """Read the citations of the run's answers."""
    rows = []
    for query, text in case.get("cited", {}).items():
        for word in text.split():
            place, _, support = word.partition(":")
            sentence, _, doc = place.partition("/")
            row: dict[str, Any] = {"query_id": query, "sentence": int(sentence)}
            rows.append(row | ({"doc_id": doc, "support": WORDS[support]} if doc else {}))
    return rows


def stored(case: dict[str, Any], metrics: list[str], folder: Path) -> dict[tuple[str, str], Any]:
    """Return the stored values of a case with assessed answers, by metric and query."""
    wh = Warehouse(folder / "case.duckdb")
    wh.ingest_qrels("case", qrels(case, folder)[0])
    wh.ingest_run("case", run(case), name="run")
    load = extension("answers")
    if rows := answers(case):
        load.ingest_nuggets(wh, "case", rows)
        if assigned := [row for row in rows if row["assignment"]]:
            load.ingest_assignments(wh, "case", assigned, name="run")
    if rows := citations(case):
        load.ingest_citations(wh, "case", rows, name="run")
    wh.evaluate("case", metrics=metrics)
    found = wh.query("select metric, query_id, value from query_scores").fetchall()
    found += [
        (metric, "all", value)
        for metric, value in wh.query("select metric, value from scores").fetchall()
    ]
    return {(metric, query): value for metric, query, value in found}


def expected(case: dict[str, Any]) -> dict[tuple[str, str], Number | None]:
    made: dict[tuple[str, str], Number | None] = {}
    for metric, given in case["expected"].items():
        texts = given
        if isinstance(given, str):
            query, *more = judged(case)
            assert not more, f'{metric}: with several queries, write {{ {query} = "…", all = "…" }}'
            texts = {query: given, "all": given}
        for query, text in texts.items():
            made[metric, query] = None if text == "null" else value(text)
    return made


# One case of each metric tells whether an older DuckDB computes its template; quick is it alone. CI has
# every third case more, and all of a metric without a twin.
PEERS = {metric.name for metric in notation.parse(*PEERED)} - twins_in(oracles)
ALL = [
    pytest.param(
        name, number, id=f"{name}-{number}",
        marks=pytest.mark.core if number == 1
        else pytest.mark.slow if number % 3 == 2 or name in PEERS
        else pytest.mark.long,
    )
    for name in catalogue()
    for number in range(1, len(read(name)) + 1)
]  # fmt: skip


@pytest.mark.parametrize(("name", "number"), ALL)
def test_case(name: str, number: int, tmp_path: Path) -> None:
    case = read(name)[number - 1]
    keys = {"why", "qrels", "prefs", "run", "training", "attributes", "expected", *OPTIONS}
    keys |= {"answers", "cited"}
    assert set(case) <= keys
    wanted = expected(case)
    assert wanted
    metrics = list(case["expected"])
    assert all(metric.startswith(name) for metric in metrics)
    options = {key: case[key] for key in OPTIONS if key in case}
    if "answers" in case or "cited" in case:
        canonical = dict(zip(metrics, map(str, notation.parse(*metrics)), strict=True))
        ours = stored(case, metrics, tmp_path)
    else:
        source, how = qrels(case, tmp_path)
        scores = Warehouse.score(
            source, run(case), metrics,
            training=training(case), attributes=attributes(case), **how, **options,
        )  # fmt: skip
        canonical = {
            metric: str(one.metric) for metric, one in zip(metrics, scores.requested, strict=True)
        }
        ours = {(metric, query): found for query, metric, found in scores.relation.fetchall()}
    for (metric, query), exact in wanted.items():
        found = ours[canonical[metric], query]
        if exact is None or found is None:
            assert found is exact, f"{metric} of {query}: {found}; {case['why']}"
            continue
        assert math.isclose(found, float(exact), rel_tol=1e-12, abs_tol=0), (
            f"{metric} of {query}: {found}, worked out {exact} = {float(exact)}; {case['why']}"
        )
    answered = {query for _, query in ours}
    assert {query for _, query in wanted} <= answered


def test_every_metric_has_its_cases_and_the_other_way_round() -> None:
    worked = set(FILES)
    metrics = set(templates.names_in("metrics"))
    assert metrics - worked == set(), "work some cases by hand in tests/cases/metrics/NAME.toml"
    assert worked - metrics == set(), "a case of no metric"


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_parameter_is_worked(name: str) -> None:
    """Every parameter takes another value than its default, a choice every one of its values."""
    seen: dict[str, set[object]] = {}
    for case in read(name):
        for metric in notation.parse(*case["expected"]):
            for key, chosen in metric.params.items():
                seen.setdefault(key, set()).add(chosen)
    for parameter in catalogue()[name].parameters:
        if parameter.inherited:
            continue
        missing = f"work a case of {name} with other values of {parameter.name}"
        values = seen.get(parameter.name, set())
        if parameter.name == AGGREGATE:
            # of the ways that every metric has, those are worked that are the template's own
            own = {"pooled", parameter.default} & set(parameter.choices)
            assert own <= values, missing
        elif parameter.choices:
            assert values == set(parameter.choices), missing
        else:
            assert values - {parameter.default}, missing


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_hard_query_is_worked(name: str) -> None:
    """Nothing relevant, no answer, equal scores, a grade below 0: every metric says what it does."""
    kinds = set()
    for case in read(name):
        answers = run(case)
        for query, found in judged(case).items():
            grades = [grade for _, grade in found]
            if max(grades) < 1:
                kinds.add("nothing relevant")
            if min(grades) < 0:
                kinds.add("a grade below 0")
            if query not in answers:
                kinds.add("no answer")
            scores = list(answers.get(query, {}).values())
            if len(set(scores)) < len(scores):
                kinds.add("equal scores")
    hard = {"nothing relevant", "a grade below 0", "no answer", "equal scores"}
    assert kinds == hard, f"work cases of {name} with: {', '.join(sorted(hard - kinds))}"


@pytest.mark.core
@pytest.mark.parametrize("name", ["DCG", "nDCG", "IdealDCG"])
def test_a_gain_that_no_number_holds_is_refused(name: str) -> None:
    metric = f"{name}(dcg=exp-log2)"
    run = {"q": {"a": 2.0, "b": 1.0}}
    found = Warehouse.score({"q": {"a": 1000}}, run, metric).means()
    assert math.isfinite(found[metric])
    for grade in (
        1001,
        1023,
        2**31 - 1,
    ):  # 2^1024 is more than a double holds, as are two of 2^1023
        with pytest.raises(UsageError, match=r"^a relevance above 1000"):
            Warehouse.score({"q": {"a": grade, "b": grade}}, run, metric)
