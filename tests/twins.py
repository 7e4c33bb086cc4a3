"""Comparing metrics with their twins in plain Python: counting queries, order, values.

The twins themselves are functions in the files `oracles*.py`, named after their metrics. Besides the
package's protocols there are those of `cases/warehouse.toml`, for rules that no peer has.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import oracles
from extended import case_files
from oracles import Grades

from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text import relations
from warehouse.warehouse import Scores, Warehouse

OWN_PROTOCOLS = Path(__file__).parent / "cases" / "warehouse.toml"
# Every query of the run; these without queries that have no relevant documents, where that applies;
# and judged documents counted by the depth.
OF_RUN, OF_RUN_RELEVANT, JUDGED_FIRST = "of_run", "of_run_relevant", "judged_first"

Qrels = Mapping[str, Grades]
Run = Mapping[str, Mapping[str, float]]
Value = float | None
Twin = Callable[..., Value]


@dataclass(frozen=True)
class Ranked:
    """A query that counts: its documents, best first, and what is known about them."""

    query: str
    docs: list[str]
    grades: Grades
    scores: Mapping[str, float]


# By metric, query and all counting queries: the value; by metric and all queries: the whole.
OfQuery = Callable[[Metric, Ranked, Sequence[Ranked]], Value]
OfAll = Callable[[Metric, Sequence[Ranked]], Value]


@contextmanager
def own_protocols() -> Iterator[None]:
    """Make the protocols of the tests available besides the package's."""
    with mock.patch.dict(os.environ, WAREHOUSE_CONFIG=str(OWN_PROTOCOLS)):
        yield


def rules_of(protocol: str = "default", **options: Any) -> Protocol:
    """Return a protocol as changed by the options of `Warehouse.score`."""
    with own_protocols():
        rules = protocols.get(protocol)
    return replace(
        rules,
        queries="judged" if options.get("complete") else rules.queries,
        judged_only=options.get("judged_only") or rules.judged_only,
        depth=options.get("depth") or rules.depth,
    )


def scored(qrels: object, run: object, metrics: Sequence[str], **options: Any) -> Scores:
    with own_protocols():
        return Warehouse.score(qrels, run, metrics, **options)


def own(metric: Metric) -> dict[str, Any]:
    """Return the parameters of a twin.

    These are all but those that select its lists, and the aggregate, which only pooling twins know.
    """
    left_out = {*relations.inherited_params("lists"), "weight"}
    if metric.definition.pools != "asked":
        left_out.add("aggregate")
    if metric.name != "P":  # whose twin knows it; it is one parameter of all metrics of relevance
        left_out.add("no_relevant")
    return {key: value for key, value in metric.params.items() if key not in left_out}


def plain(name: str) -> str:
    return name.replace("_", "").lower()


@cache
def _names(module: ModuleType) -> dict[str, str]:
    return {plain(name): name for name in vars(module) if isfunction(getattr(module, name))}


def twin(metric: str, *modules: ModuleType) -> Twin:
    """Return the twin of a metric: the function of its name in the first module that has one."""
    for module in modules:
        name = _names(module).get(plain(metric))
        if name is not None:
            found: Twin = getattr(module, name)
            return found
    where = " or ".join(f"tests/{module.__name__}.py" for module in modules)
    raise AssertionError(f"{metric} has no twin: write the function {plain(metric)} in {where}")


def twins_in(module: ModuleType) -> set[str]:
    """Return the metrics that have a twin in a module."""
    return {metric for metric in catalogue() if plain(metric) in _names(module)}


def worked(metrics: Collection[str]) -> list[str]:
    """Return the notations of metrics that cases are worked by hand for."""
    files = case_files()
    return [
        notation
        for metric in sorted(metrics)
        for case in tomllib.loads(files[metric].read_text(encoding="utf-8"))["case"]
        for notation in case["expected"]
    ]


def close(
    found: Value, wanted: Value, tolerance: float = 1e-12, *, abs_tolerance: float = 1e-15
) -> bool:
    """Whether two values are equal except for rounding; no value equals only no value."""
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=tolerance, abs_tol=abs_tolerance)


def does_count(query: str, judged: Collection[str], run: Run, rules: Protocol) -> bool:
    counts = {
        "judged": query in judged,
        "both": query in judged and query in run,
        "run": query in run,
    }
    return counts[rules.queries]


def counted(judged: Collection[str], run: Run, rules: Protocol) -> list[str]:
    """Return the queries that count, in the order of their ids."""
    known = {*judged, *run}
    return sorted((q for q in known if does_count(q, judged, run, rules)), key=str.encode)


def ranked(query: str, run: Run, grades: Grades, rules: Protocol) -> Ranked:
    """Put a query's documents in the order of a protocol."""
    scores = dict(run.get(query, {}))
    if rules.score_precision == "single":
        scores = {doc: oracles.single(score) for doc, score in scores.items()}
    if rules.grades == "whole":
        grades = {doc: math.floor(grade) for doc, grade in grades.items()}
    docs = oracles.ranking(
        scores, grades, ties=rules.ties, depth=rules.depth, judged_only=rules.judged_only,
        judged_only_first=rules.judged_only_first,
    )  # fmt: skip
    return Ranked(query, docs, grades, scores)


def compare(
    data: tuple[Qrels, Run],
    metrics: Sequence[str],
    of_query: OfQuery,
    of_all: OfAll | None = None,
    *,
    tolerance: float = 1e-12,
    abs_tolerance: float = 1e-15,
    of_relevance: Collection[str] = (),
    source: object = None,
    given: Mapping[str, Any] | None = None,
    **options: Any,
) -> int:
    """Compare values with the twins, for each query and over all; return how many there are.

    `of_relevance` names the metrics for which queries without relevant documents do not count, if
    the protocol says so. `source` is the source of judgments that are more than grades, `given`
    holds other inputs of the scoring. The options are those of `Warehouse.score` that change the
    protocol, and the level.
    """
    qrels, run = data
    rules = rules_of(**options)
    scores = scored(qrels if source is None else source, run, metrics, **options, **(given or {}))
    ours: dict[str, dict[str, Value]] = {}
    for query, name, value in scores.relation.fetchall():
        ours.setdefault(name, {})[query] = value
    everyone = [ranked(q, run, qrels.get(q, {}), rules) for q in counted(qrels, run, rules)]
    compared = 0
    for metric in {one.metric for one in scores.requested}:
        lists = everyone
        if rules.relevant_only and metric.name in of_relevance:
            rel = int(metric.params.get("rel") or 1)
            lists = [one for one in everyone if oracles.relevant(one.grades, rel)]
        listed = {one.query for one in lists if one.query in run or rules.list_silent}
        values = ours[str(metric)]
        assert set(values) == {*listed, "all"}, metric
        defined: list[float] = []
        for one in lists:
            wanted = of_query(metric, one, lists)
            wanted = rules.usual_undefined_of(metric) if wanted is None else wanted
            if one.query in listed:
                found = values[one.query]
                assert close(found, wanted, tolerance, abs_tolerance=abs_tolerance), (
                    metric, one.query, found, wanted,
                )  # fmt: skip
            defined += [] if wanted is None else [wanted]
        compared += len(listed)
        if metric.aggregate == "pooled":
            assert of_all is not None, metric
            whole = of_all(metric, lists)
        else:
            whole = oracles.OVER_ALL[metric.aggregate](defined) if defined else None
        found = values["all"]
        assert close(found, whole, tolerance, abs_tolerance=abs_tolerance), (metric, found, whole)
    return compared
