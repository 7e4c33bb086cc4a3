"""ranx's `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from warehouse.config import installation
from warehouse.errors import UsageError, check_several, counted, listing
from warehouse.evaluate.scoring import score
from warehouse.extensions.peers.ranx.lists import Lists, Qrels, Run
from warehouse.metrics import notation, protocols

PROTOCOL = "ranx"


def evaluate(
    qrels: Any,
    run: Any,
    metrics: str | Iterable[str],
    return_mean: bool = True,
    return_std: bool = False,
    threads: int = 0,
    save_results_in_run: bool = True,
    make_comparable: bool = False,
) -> Any:
    """Compute metrics, named as in ranx, of a run.

    `qrels` and `run` are a `Qrels` and a `Run`, dicts, or for each query an array with the columns
    document and number, a run's best document first. The answer is the mean over the queries, with
    `return_std` a dict of `mean` and `std`, without `return_mean` an array with the value of each
    query; for several metrics it is a dict by their names. What is computed is also saved in a `Run`,
    unless `save_results_in_run` is false. `threads` 0 leaves their number to DuckDB. With
    `make_comparable`, a query that the run lacks has an empty list, and one that is not judged is
    removed from the run.

    Raises UsageError if the queries of the two differ, and for an unknown metric.
    """
    names = check_several("metrics", metrics)
    if make_comparable and isinstance(qrels, Qrels) and isinstance(run, Run):
        run.make_comparable(qrels)
    judged, found = _dicts(qrels, ranked=False), _dicts(run, ranked=True)
    check_queries(judged, found)
    queries = list(run.keys()) if isinstance(run, Run) else list(judged)
    values = _values(judged, found, queries, names, threads)
    means = {name: math.fsum(of) / len(of) if of else math.nan for name, of in values.items()}
    stds = {
        name: math.sqrt(math.fsum((v - means[name]) ** 2 for v in of) / len(of)) if of else math.nan
        for name, of in values.items()
        if return_std and return_mean
    }
    if isinstance(run, Run) and save_results_in_run:
        run.mean_scores |= means
        run.std_scores |= stds
        for name, of in values.items():
            run.scores[name] = dict(zip(queries, of, strict=True))
    answer: dict[str, Any]
    if not return_mean:
        answer = {name: _array(of) for name, of in values.items()}
    elif return_std:
        answer = {name: {"mean": means[name], "std": stds[name]} for name in names}
    else:
        answer = means
    return answer[names[0]] if len(names) == 1 else answer


def check_queries(qrels: Mapping[str, Any], run: Mapping[str, Any], what: str = "run") -> None:
    """Refuse a run that does not have the queries of the judgments."""
    missing, others = qrels.keys() - run.keys(), run.keys() - qrels.keys()
    if missing or others:
        gaps = [
            f"{counted(len(ids), 'query')} {of}, as {listing(sorted(ids)[:1])}"
            for ids, of in (
                (missing, f"of the qrels missing in the {what}"),
                (others, "not judged"),
            )
            if ids
        ]
        raise UsageError(
            f"{what}: {' and '.join(gaps)}; pass make_comparable=True to give the former empty lists "
            "and remove the latter"
        )


def canonical(names: Iterable[str]) -> dict[str, str]:
    """Return the names of metrics here, by their names in ranx."""
    defaults = protocols.get(PROTOCOL).defaults()
    return {name: str(notation.parse_one(name, defaults=defaults).metric) for name in names}


def _values(
    qrels: Mapping[str, Mapping[str, Any]],
    run: Mapping[str, Mapping[str, Any]],
    queries: list[str],
    names: list[str],
    threads: int,
) -> dict[str, list[float]]:
    """Return the values of the queries by metric: 0 where nothing is judged, NaN if undefined."""
    known = canonical(names)
    found: dict[tuple[str, str], float | None] = {}
    if any(qrels.values()):
        scores = score(qrels, run, names, protocol=PROTOCOL, threads=threads or None)
        rows = scores.relation.fetchall()
        of_queries = len(rows) - len(set(known.values()))
        found = {(query, metric): value for query, metric, value in rows[:of_queries]}
    values: dict[str, list[float]] = {}
    for name, metric in known.items():
        of_metric = [found.get((query, metric), 0.0) for query in queries]
        values[name] = [math.nan if value is None else value for value in of_metric]
    return values


def _dicts(given: Any, *, ranked: bool) -> Mapping[str, Mapping[str, Any]]:
    """Return `{query: {document: number}}`; of `ranked` arrays the order says the numbers."""
    if isinstance(given, Lists):
        return given.to_dict()
    if isinstance(given, Mapping):
        return given
    lists: dict[str, dict[str, Any]] = {}
    for number, rows in enumerate(given):
        of_query: dict[str, Any] = {}
        for index, (doc, value) in enumerate(rows):
            if not ranked:
                of_query[f"{doc:g}"] = int(value)
            else:
                of_query.setdefault(f"{doc:g}", -float(index))
        lists[str(number)] = of_query
    return lists


def _array(values: list[float]) -> Any:
    try:
        import numpy as np
    except ImportError:
        raise UsageError(
            f"return_mean=False: returns arrays of NumPy: {installation.adding('pandas')}"
        ) from None
    return np.array(values)
