"""Leaderboards and values by query: methods of the class `Warehouse`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

import duckdb

from warehouse.analyze import across_datasets, leaderboard, past
from warehouse.analyze.leaderboard import Board
from warehouse.config.project import request
from warehouse.errors import UsageError, check_at_least
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metrics
from warehouse.opened import File, Texts, texts


class Boarding(File):
    """Ranks runs, and shows the values of their queries."""

    @request()
    def leaderboard(
        self,
        dataset: Texts,
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
        alpha: float = 0.05,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return the board of a dataset, best first by `sort` (default: the first metric).

        Columns: `place, run, system`, one per metric, and the number of queries `answered` and
        `judged`. With `slice`, which must have been evaluated, there is one board for each part;
        the first column is then `part`.

        With several datasets (a list, or a pattern as in 'proj*'), the board has the runs that have
        values in all of them, matched by name or `by="system"`. A value is then the mean over the
        datasets. `weights` are "equal", "relevant" (by relevant judgments), "queries" (by judged
        queries) or given, as in `{"A": 2, "B": 1}`. `each=True` adds the value in each dataset, in
        columns such as 'AP A'.

        `as_of` returns the board as it was then: the run versions, qrels and values of that time. A
        day ends at midnight UTC, and a time without a zone is UTC. `qrels` selects a version of the
        qrels; no board mixes versions.

        With `ci`, a column 'AP ±' beside each metric has the half-width of the t-interval of the
        mean over the queries, at 1 - `alpha`. With `ties`, a column `group` numbers the runs that
        cannot be told apart: a group is its best run and the runs that do not differ from it by
        `sort`, in a paired t-test with Holm's correction over all pairs on the board. Both work on
        one dataset, not on a slice, and need the extra "stats".
        """
        return self.board(
            dataset, metrics=metrics, slice=slice, sort=sort, top=top, protocol=protocol,
            weights=weights, by=by, each=each, ci=ci, ties=ties, alpha=alpha, as_of=as_of,
            qrels=qrels,
        ).relation  # fmt: skip

    @request()
    def board(
        self,
        dataset: Texts,
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
        alpha: float = 0.05,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> Board:
        """Return the result of `leaderboard` with notes on how it was made and what was left out."""
        check_at_least(1, top=top)
        across_datasets.check_by(by)
        wanted = past.state(as_of, qrels)
        with (
            self._read() as con,
            past.put(con, texts(dataset), wanted) as (datasets, gone),
            ExitStack() as stack,
        ):
            rules = leaderboard.stored_rules(con, protocol)
            across_datasets.check_weights(weights, datasets)
            if len(datasets) == 1:
                stack.enter_context(leaderboard.narrowed(con, datasets[0], rules))
            names = leaderboard.names(con, datasets, texts(metrics), rules)
            order = None if sort is None else leaderboard.one_name(con, datasets, sort, rules)
            if (ci or ties) and (len(datasets) > 1 or slice is not None):
                raise UsageError("ci and ties: need one dataset, and no slice")
            if len(datasets) == 1:
                found = leaderboard.leaderboard(
                    con, datasets[0], names, rules, slice=slice, sort=order, top=top
                )
                if ci or ties:
                    from warehouse.analyze import board_intervals
                if ties:
                    by_metric = order or next(iter(found.metrics))
                    found = board_intervals.with_groups(con, found, rules, by_metric, alpha)
                if ci:
                    found = board_intervals.with_intervals(con, found, rules, alpha)
            elif slice is not None:
                raise UsageError(f"slice {slice}: a slice belongs to one dataset; name one")
            else:
                found = across_datasets.leaderboard(
                    con, datasets, names, rules,
                    weights=weights, by=by, each=each, sort=order, top=top,
                )  # fmt: skip
        return replace(found, notes=(*found.notes, *gone))

    @request()
    def queries(
        self,
        run: str,
        dataset: str,
        *,
        metrics: Metrics = (),
        slice: str | None = None,
        worst: int | None = None,
        protocol: str = protocols.DEFAULT,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> duckdb.DuckDBPyRelation:
        """Return a run's values for each query, with its counts of documents.

        Columns: `query_id`, one per metric, `retrieved, relevant_retrieved, relevant,
        unjudged_at_10`, where a judgment below 0 is none. `worst=N` returns the N worst by the first
        metric, worst first. With `slice`, which must have been evaluated, the columns are `part,
        query_id` and one per metric, and `worst=N` applies to each part. `as_of` and `qrels` are
        those of `leaderboard`.
        """
        check_at_least(1, worst=worst)
        with (
            self._read() as con,
            past.put(con, [dataset], past.state(as_of, qrels)) as ((name,), _),
        ):
            rules = leaderboard.stored_rules(con, protocol)
            wanted = leaderboard.names(con, [name], texts(metrics), rules)
            return leaderboard.queries(con, run, name, wanted, rules, slice=slice, worst=worst)
