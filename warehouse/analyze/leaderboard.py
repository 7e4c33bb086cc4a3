"""The leaderboard of one dataset or of several, as of now or of a past day."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from duckdb import DuckDBPyConnection as Connection

from warehouse.analyze import across_datasets, dataset_board, past_state, run_choice, stored_metrics
from warehouse.analyze.dataset_board import Board
from warehouse.errors import UsageError, check_at_least, check_effect, command, counted, listing
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import database


def leaderboard(
    con: Connection,
    dataset: str | Iterable[str] | None,
    *,
    metrics: Metrics = (),
    slice: str | None = None,
    sort: str | None = None,
    top: int | None = None,
    protocol: str = protocols.DEFAULT,
    weights: across_datasets.Weights = "equal",
    by: Literal["run", "system"] = "run",
    each: bool = False,
    ci: bool = False,
    ties: bool = False,
    ranks: bool = False,
    together: bool = False,
    alpha: float = 0.05,
    resamples: int = 2000,
    seed: int = 0,
    as_of: past_state.Moment | None = None,
    qrels: int | None = None,
    runs: run_choice.Choice = run_choice.ALL,
    compute: bool = True,
) -> Board:
    """Return the board of some datasets; the arguments are as in `Warehouse.leaderboard`.

    Without `compute`, only stored values are on it.
    """
    check_at_least(1, top=top)
    across_datasets.check_by(by)
    state = past_state.state(as_of, qrels)
    stored_only = not compute or not metrics
    with past_state.read(con, dataset, state, runs, stored_only=stored_only) as (datasets, gone):
        rules = stored_metrics.stored_rules(con, protocol)
        across_datasets.check_weights(weights, datasets)
        if (ci or ties) and len(datasets) > 1:
            raise UsageError("ci and ties: need one dataset, and no slice")
        if (ci or ties or ranks) and slice is not None:
            raise UsageError("ci, ties and ranks: need one dataset, and no slice")
        if together and (not ranks or len(datasets) > 1):
            raise UsageError("together: goes with ranks, on one dataset")
        if ranks and not 0 < alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {alpha}")
        if len(datasets) > 1 and slice is not None:
            raise UsageError(f"slice {slice}: a slice belongs to one dataset; name one")
        across = len(datasets) > 1
        check_effect(
            "several datasets",
            has_effect=across,
            weights=weights != "equal",
            by=by != "run",
            each=each,
        )
        check_effect("ci, ties or ranks", has_effect=ci or ties or ranks, alpha=alpha != 0.05)
        check_effect(
            "ranks on one dataset", has_effect=ranks and not across,
            resamples=resamples != 2000, seed=seed != 0,
        )  # fmt: skip
        names, order = _names(con, datasets, metrics, sort, rules)
        made: Mapping[str, int] = {}
        lacking: tuple[str, ...] = ()
        is_as_stored = rules.is_imported if as_of is None else not names
        is_as_stored |= database.is_collected(con)
        if is_as_stored and len(datasets) == 1 and slice is None:
            lacking = _without_values(con, datasets[0], names, rules)
        if compute:
            if slice is not None:
                stored_metrics.check_slice(con, datasets[0], slice)
            asked = list(names)
            if order is not None and order not in stored_metrics.with_values(con, datasets, rules):
                asked.append(order)
            made = stored_metrics.with_missing(
                con, datasets, asked, rules, slice, is_past=as_of is not None
            )
        if len(datasets) == 1:
            with dataset_board.narrowed(con, datasets[0], rules):
                make = partial(
                    dataset_board.of_dataset, con, datasets[0], names, rules,
                    slice=slice, sort=order,
                )  # fmt: skip
                if ci or ties or ranks:
                    from warehouse.analyze import board_intervals, paired_tests
                # groups and ranks are over the whole board, also if only its top is shown
                groups = None
                if ties:
                    test = board_intervals.tested([order, *make().metrics])
                    groups = board_intervals.groups(con, make(sort=test), rules, test, alpha)
                ranked = None
                if ranks:
                    how = paired_tests.How(alpha=alpha, resamples=resamples, seed=seed)
                    ranked = board_intervals.rank_intervals(
                        con, make(), rules, order, how, together=together
                    )
                found = make(top=top)
                if ranked is not None:
                    found = board_intervals.with_ranks(con, found, ranked)
                if groups is not None:
                    found = board_intervals.with_groups(con, found, groups)
                if ci:
                    found = board_intervals.with_intervals(con, found, rules, alpha)
                if as_of is not None and slice is None:  # 'evaluate' renews today's
                    lacking += _by_older_formulas(con, datasets[0], found.metrics, rules)
        else:
            found = across_datasets.of_datasets(
                con,
                datasets,
                names,
                rules,
                weights=weights,
                by=by,
                each=each,
                sort=order,
                top=top,
                ranks=ranks,
                alpha=alpha,
            )
    computed_notes = stored_metrics.computed_notes(
        datasets, made, rules, slice=slice, qrels=qrels, is_past=as_of is not None
    )
    return replace(
        found, computed_notes=(*computed_notes, *lacking, *gone), computed=frozenset(made),
        labels=stored_metrics.labels(metrics, rules),
    )  # fmt: skip


def _without_values(
    con: Connection, dataset: str, names: list[str], rules: Protocol
) -> tuple[str, ...]:
    """Return a note about the runs that have no values, if there are any."""
    rows = con.execute(
        "select run from run_version where is_current and dataset = $dataset "
        "and not exists (from scores where scores.run_id = run_version.run_id "
        "and protocol = $protocol "
        "and (len($names) = 0 or list_contains($names, metric))) order by run",
        {"dataset": dataset, "protocol": rules.name, "names": names},
    ).fetchall()
    if not rows:
        return ()
    runs = listing((run for (run,) in rows), 5)
    if database.is_collected(con):
        return (f"left out: the lake has no values for this board of {runs}",)
    if not rules.is_imported:
        return (f"no values were stored yet of {runs}; a metric that is named is computed",)
    how = command("ingest scores FILE", dataset)
    return (f"no values were loaded of {runs}; to load: {how}",)


def _by_older_formulas(
    con: Connection, dataset: str, metrics: Iterable[str], rules: Protocol
) -> tuple[str, ...]:
    """Return a note about each metric whose values are by several formulas, if there are any."""
    rows = con.execute(
        render("analyses/older_formulas"),
        {"dataset": dataset, "protocol": rules.name, "metrics": list(metrics)},
    ).fetchall()
    return tuple(
        f"{metric}: {counted(number, 'value')} {'is' if number == 1 else 'are'} by an older formula "
        "than the others"
        for metric, number in rows
    )


def _names(
    con: Connection, datasets: list[str], metrics: Metrics, sort: str | None, rules: Protocol
) -> tuple[list[str], str | None]:
    """Return the canonical names of the metrics to show, and of that to sort by."""
    names = stored_metrics.names(con, datasets, metrics, rules)
    return names, None if sort is None else stored_metrics.one_name(con, datasets, sort, rules)
