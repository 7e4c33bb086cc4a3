"""The leaderboard over several datasets: each value is a weighted mean over the datasets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from duckdb import DuckDBPyConnection as Connection

from warehouse.analyze import column_names, significance
from warehouse.analyze.dataset_board import Board, of_first, put_together, undefined_notes
from warehouse.analyze.stored_metrics import Provenance, chosen, directions
from warehouse.errors import UsageError, check_names, counted, is_in_shell, listing, nearest, option
from warehouse.evaluate import unanswerable
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import datasets
from warehouse.store.database import keep, records

Weights = Literal["equal", "relevant", "queries"] | Mapping[str, float]
# The weightings of datasets in words, and their columns in the sizes of datasets.
WEIGHTS = {
    "equal": "each counts the same",
    "relevant": "weighted by relevant judgments",
    "queries": "weighted by judged queries",
}
BY = ("run", "system")
_RANKS, _VALUES = "temp.main.dataset_rank", "temp.main.dataset_value"


def named_datasets(con: Connection, given: str | Iterable[str] | None) -> list[str]:
    """Return the named datasets, each once, or the only one; `proj*` stands for all such names."""
    if given is None:
        return [datasets.chosen(con, None)]
    names = check_names("dataset", given)
    known = datasets.names(con)
    found: dict[str, None] = {}
    for name in names:
        fitting = [one for one in known if fnmatchcase(one, name)] if name not in known else [name]
        if not fitting:
            datasets.check(con, name)
        found |= dict.fromkeys(fitting)
    if not found:
        raise UsageError("name a dataset")
    return list(found)


def check_by(by: str) -> None:
    """Refuse to match runs by anything other than BY."""
    if by not in BY:
        raise UsageError(f"{by}: runs are matched by {' or '.join(BY)}{nearest(by, BY)}")


def of_datasets(
    con: Connection,
    datasets: Sequence[str],
    metrics: Sequence[str],
    protocol: Protocol,
    *,
    weights: Weights = "equal",
    by: str = "run",
    each: bool = False,
    sort: str | None = None,
    top: int | None = None,
    ranks: bool = False,
    alpha: float = 0.05,
) -> Board:
    """Return the board of the runs that have values in each of several datasets.

    Columns: `place, run, system` (by="system": `place, system`), one per metric with the mean over
    the datasets, followed by one per dataset if `each`, then `answered, judged`. With `ranks`,
    `mean_rank, borda, standard_score` come after the place, which is then the rank of the mean rank.
    """
    found = _chosen(con, datasets, metrics, protocol)
    if sort is not None and any(sort not in there for there in found.values()):
        more = _chosen(con, datasets, [sort], protocol)
        found = {dataset: there | more[dataset] for dataset, there in found.items()}
    shown = list(found[datasets[0]])
    first = shown[0] if sort is None else sort
    weighed = weights_of(con, datasets, weights)
    scope = {"datasets": list(datasets), "protocol": protocol.name}
    notes = [_how(weighed, weights)]
    notes += _left_out(con, datasets, shown, by, scope)
    parts = [(f"{m} {d}", m, d) for m in shown for d in datasets] if each else []
    column_names.check([*shown, *(column for column, *_ in parts)])
    better = directions(con, datasets, shown, protocol)
    critical = None
    if ranks:
        rank_notes, critical = _put_ranks(con, scope, first, by, alpha, better[first])
        notes += rank_notes
    sql = render(
        "analyses/leaderboard_across",
        datasets=list(datasets),
        metrics=shown,
        by=by,
        each=parts,
        sort=first,
        lower_is_better=better[first] == "lower",
        ranks=_RANKS if ranks else None,
        top=top,
    )
    relation = keep(con, sql, scope | {"weights": [float(weighed[d]) for d in datasets]})
    relation, cut = of_first(relation, top)
    notes += [*cut, *undefined_notes(con, relation, found, shown, protocol, by=by)]
    notes += [
        f"{dataset}: {note}"
        for dataset in datasets
        for note in unanswerable.of_stored(con, dataset, shown, protocol)
    ]
    named = {m: m for m in shown} | {column: metric for column, metric, _ in parts}
    over_queries = put_together(found.values(), shown)
    wins = None
    if ranks:
        sql = render(
            "analyses/dataset_wins",
            values=_VALUES, ranks=_RANKS, by=by, lower_is_better=better[first] == "lower",
        )  # fmt: skip
        wins = keep(con, sql, name="dataset_wins")
    return Board(
        relation,
        named,
        better,
        tuple(datasets),
        over_queries,
        tuple(notes),
        wins=wins,
        critical=critical,
        alpha=alpha,
    )


def _put_ranks(
    con: Connection, scope: Mapping[str, object], metric: str, by: str, alpha: float, direction: str
) -> tuple[list[str], float | None]:
    """Put the ranks of the runs over the datasets into a table.

    Return notes on them, and the critical difference if any of them differ.
    """
    names = scope["datasets"]
    assert isinstance(names, list)
    if direction == "none":
        raise UsageError(f"ranks: neither a higher nor a lower {metric} is better; sort by another")
    values = render("analyses/dataset_values", by=by, metric=metric, num_datasets=len(names))
    keep(con, values, scope, name="dataset_value")
    sql = render("analyses/dataset_ranks", values=_VALUES, lower_is_better=direction == "lower")
    rows = records(keep(con, sql, name="dataset_rank"))
    notes = [
        f"mean rank, Borda and z by {metric}, of {counted(len(rows), by)}; z: values by the mean and "
        "the deviation of these in each dataset"
    ]
    if len(rows) < 2:
        return notes, None
    first = rows[0]
    statistic, runs = first["friedman"], first["num_runs"]
    if statistic is None:
        return [*notes, "Friedman's test: in no dataset do any of them differ"], None
    p = significance.chi_squared(statistic, runs - 1)
    distance = significance.nemenyi(runs, first["num_datasets"], alpha)
    return [
        *notes,
        f"Friedman's test: chi-squared {statistic:.4g}, {runs - 1} degrees of freedom, p "
        f"{significance.equal_or_below(p)}; mean ranks that differ by less than {distance:.3g} cannot "
        f"be told apart (Nemenyi, alpha {alpha:g})",
    ], distance


def _given() -> str:
    """Return how weights are given in this place: to a command, or to Python."""
    return "A=2,B=1" if is_in_shell() else '{"A": 2, "B": 1}'


def check_weights(weights: Weights, datasets: Sequence[str]) -> None:
    """Refuse unknown weightings, and given weights that do not name every dataset."""
    if isinstance(weights, str):
        if weights not in WEIGHTS:
            hint = nearest(weights, WEIGHTS) or f"; known are {listing(WEIGHTS)}, or {_given()}"
            raise UsageError(f"{weights}: no such weights of datasets{hint}")
        return
    problems = [
        f"weight of {name}: no such dataset on this board{nearest(name, datasets)}"
        for name in weights
        if name not in datasets
    ]
    problems += [
        f"{name}: has no weight; give one to each dataset, as in {name}=1"
        for name in datasets
        if name not in weights
    ]
    problems += [
        f"weight of {name}: a number of at least 0, not {value}"
        for name, value in weights.items()
        if not (math.isfinite(value) and value >= 0)
    ]
    if problems:
        raise UsageError("\n".join(problems))


def weights_of(con: Connection, datasets: Sequence[str], weights: Weights) -> dict[str, float]:
    """Return the weight of each dataset, counted or as given, after `check_weights`."""
    if isinstance(weights, str):
        rows = con.execute(
            render("analyses/dataset_sizes"), {"datasets": list(datasets)}
        ).fetchall()
        sizes = {
            name: {"equal": 1, "queries": queries, "relevant": relevant}
            for name, queries, relevant in rows
        }
        found: dict[str, float] = {name: sizes[name][weights] for name in datasets}
    else:
        found = {name: weights[name] for name in datasets}
    if not any(found.values()):
        raise UsageError("every dataset has the weight 0; one at least must count")
    return found


def _chosen(
    con: Connection, datasets: Sequence[str], metrics: Sequence[str], protocol: Protocol
) -> dict[str, dict[str, Provenance]]:
    """Return the metrics to show, which must have values in every dataset, as stored in each."""
    found: dict[str, dict[str, Provenance]] = {}
    problems: list[str] = []
    for dataset in datasets:
        try:
            found[dataset] = chosen(con, dataset, metrics, protocol)
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    shared = [name for name in found[datasets[0]] if all(name in there for there in found.values())]
    if not shared:
        raise UsageError(f"{listing(datasets)}: no metric has values in all of these datasets")
    return {dataset: {name: there[name] for name in shared} for dataset, there in found.items()}


def _how(weighed: Mapping[str, float], weights: Weights) -> str:
    """Say how the values were combined."""
    way = WEIGHTS[weights] if isinstance(weights, str) else "weighted as given"
    names = list(weighed)
    if weights != "equal":
        names = [f"{name} {weight:g}" for name, weight in weighed.items()]
    return f"mean over {counted(len(weighed), 'dataset')}, {way}: {listing(names)}"


def _left_out(
    con: Connection,
    datasets: Sequence[str],
    metrics: Sequence[str],
    by: str,
    scope: Mapping[str, object],
) -> list[str]:
    """Name the runs without values in some of the datasets; refuse systems with two runs."""
    rows = con.execute(
        render("analyses/found_in_datasets", by=by, metrics=list(metrics)), scope
    ).fetchall()
    ambiguous = [name for name, _, is_ambiguous in rows if is_ambiguous]
    if ambiguous:
        raise UsageError(
            f"{listing(ambiguous)}: more than one run of that system in a dataset; "
            f"match the runs by name: {option('by', 'run')}"
        )
    lacking = [
        f"{name} (not in {listing([d for d in datasets if d not in has], 3)})"
        for name, has, _ in rows
        if len(has) < len(datasets)
    ]
    notes = []
    if lacking:
        them = f"left out: {counted(len(lacking), by)} without values in every dataset: "
        notes.append(them + listing(lacking, 6))
    if len(lacking) == len(rows):
        other = BY[1 - BY.index(by)]
        notes.append(
            f"no {by} has values in all of the datasets; match them otherwise: {option('by', other)}"
        )
    return notes
