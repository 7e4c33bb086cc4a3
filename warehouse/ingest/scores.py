"""Loading values by query that other programs computed, next to our own."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import (
    ConflictError,
    InputError,
    UsageError,
    command,
    counted,
    listing,
    nearest,
    no_such_run,
)
from warehouse.ingest import steps
from warehouse.metrics import notation, protocols
from warehouse.readers.files import default_name
from warehouse.readers.scores import ALL, StagedScores, stage_scores
from warehouse.sql_text.templates import render
from warehouse.store.clock import Clock

_QUERIES = "temp.main.judged_query"
# The most queries, runs or metrics that a message names.
_LISTED = 6


@dataclass(frozen=True)
class LoadedScores:
    """The outcome of loading values that another program computed.

    `status` has, by run and metric, "loaded", "replaced" or "unchanged". `protocol` is the name under
    which the values are read.
    """

    dataset: str
    protocol: str
    judge: str | None
    status: Mapping[tuple[str, str], steps.Status]
    num_values: int
    warnings: tuple[str, ...] = ()
    source_sha256: str | None = None

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that the values are of."""
        return tuple(dict.fromkeys(run for run, _ in self.status))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, by the names that the other program gave them."""
        return tuple(dict.fromkeys(metric for _, metric in self.status))


@dataclass(frozen=True)
class ForgottenScores:
    """The removal of imported values of a run, done or planned: the number of metrics and of values."""

    dataset: str
    run: str
    metrics: tuple[str, ...]
    num_evaluations: int
    num_values: int


@dataclass(frozen=True)
class _Options:
    """The options apart from the source; `run` is None if the source names the runs."""

    dataset: str
    run: str | None
    judge: str | None
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    all_is_a_query: bool
    replace: bool

    @property
    def protocol(self) -> str:
        return protocols.imported(self.judge).name


def stage(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    *,
    run: str | None = None,
    judge: str | None = None,
    metrics: Sequence[str] = (),
    lower_is_better: Sequence[str] = (),
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    replace: bool = False,
) -> steps.Store[LoadedScores]:
    """Stage values by query from a source; return what stores them. `con` reads the file."""
    for what, name in (("run", run), ("judge", judge)):
        if name is not None:
            steps.check_name(what, name)
    all_is_a_query = _put_judged(con, dataset)
    staged = stage_scores(con, source, _QUERIES, columns=columns, format=format)
    if staged.has_run and run is not None:
        raise UsageError(f"{staged.source}: names its runs itself; leave the name {run!r} out")
    if not staged.has_run and run is None:
        run = _stem(staged.source, source)
    options = _Options(
        dataset, run, judge, tuple(metrics), tuple(lower_is_better), all_is_a_query, replace
    )
    _check_metrics(con, staged, options)
    return partial(_keep, staged=staged, options=options)


def forget(
    con: duckdb.DuckDBPyConnection,
    run: str,
    dataset: str,
    *,
    judge: str | None = None,
    dry_run: bool = False,
) -> ForgottenScores:
    """Remove the imported values of a run, of all judges or of one, inside the caller's transaction.

    Raises UsageError if there are none.
    """
    rows = con.execute(
        "select evaluation_id, metric, evaluation.protocol from evaluation "
        "join imported_score using (evaluation_id) join run using (run_id) "
        "join dataset on dataset.dataset_id = run.dataset_id "
        "where dataset.name = $dataset and run.name = $run order by evaluation_id",
        {"dataset": dataset, "run": run},
    ).fetchall()
    names = {str(protocol) for *_, protocol in rows}
    wanted = None if judge is None else protocols.imported(judge).name
    ids = [number for number, _, protocol in rows if wanted in (None, protocol)]
    if not ids:
        of_judge = "" if judge is None else f" of judge {judge}"
        has = f"; there are values under {listing(sorted(names))}" if names else ""
        raise UsageError(f"{run}: {dataset} has no imported values of it{of_judge}{has}")
    ((values,),) = con.execute(
        "select count(*) from query_score where list_contains($ids, evaluation_id)", {"ids": ids}
    ).fetchall()
    if not dry_run:
        for table in ("query_score", "score", "imported_score", "evaluation"):
            con.execute(
                f"delete from {table} where list_contains($ids, evaluation_id)", {"ids": ids}
            )
    gone = dict.fromkeys(str(metric) for number, metric, _ in rows if number in set(ids))
    return ForgottenScores(dataset, run, tuple(gone), len(ids), int(values))


def _put_judged(con: duckdb.DuckDBPyConnection, dataset: str) -> bool:
    """Put the judged queries into a table; return whether one is called as all of them together.

    Raises UsageError if the dataset has no qrels.
    """
    con.execute(
        f"create or replace temp table {_QUERIES.rpartition('.')[2]} as "
        "select distinct query_id from "
        "(select qrels_id, query_id from judgment union all select qrels_id, query_id from preference) "
        "join qrels_version using (qrels_id) where dataset = $dataset and is_current",
        {"dataset": dataset},
    )
    ((number, is_query),) = con.execute(
        f"select count(*), coalesce(bool_or(query_id = '{ALL}'), false) from {_QUERIES}"
    ).fetchall()
    if not number:
        raise UsageError(
            f"dataset {dataset} has no qrels, so it is not known which queries count; load them with: "
            f"{command('ingest qrels FILE', dataset)}"
        )
    return bool(is_query)


def _stem(source: str, given: object) -> str:
    if source.startswith("<") or not isinstance(given, str | os.PathLike):
        raise UsageError(f"{source}: has no column of runs and no file name; name the run")
    return default_name(source)


def _check_metrics(con: duckdb.DuckDBPyConnection, staged: StagedScores, options: _Options) -> None:
    """Take the rows of the requested metrics; refuse names that are missing or cannot be used."""
    rows = con.execute("select distinct metric from staged order by metric").fetchall()
    known = [str(metric) for (metric,) in rows]
    for name in (*options.metrics, *options.lower_is_better):
        if name not in known:
            hint = nearest(name, known) or f"; there are {listing(known, _LISTED)}"
            raise UsageError(f"{staged.source}: has no values of {name}{hint}")
    if options.metrics:
        con.execute(
            "delete from staged where not list_contains($metrics::varchar[], metric)",
            {"metrics": list(options.metrics)},
        )
    for name in options.metrics or known:
        if list(map(str, notation.split([name]))) != [name]:
            raise InputError(
                f"{staged.source}: a metric cannot be called {name!r}, with blanks, commas or = "
                "outside parentheses: give it another name in the source"
            )


def _keep(con: duckdb.DuckDBPyConnection, staged: StagedScores, options: _Options) -> LoadedScores:
    """Store the staged values that are not there yet; other values of a metric need `replace`."""
    words = {
        "dataset": options.dataset, "protocol": options.protocol, "run": options.run or "",
        "all_is_a_query": options.all_is_a_query, "all": ALL, "fingerprint": protocols.IMPORTED,
    }  # fmt: skip
    con.execute(render("ingest/score_sets", **words))
    _check_runs(con, staged, options)
    _check_queries(con, staged, options)
    warnings = tuple(_left_out(con, staged))
    status: dict[tuple[str, str], steps.Status] = {
        (run, metric): status
        for run, metric, status in con.execute(render("ingest/score_changes", **words)).fetchall()
    }
    others = [key for key, one in status.items() if one == "replaced"]
    if others and not options.replace:
        text = listing((f"{metric} of {run}" for run, metric in others), _LISTED)
        raise ConflictError(
            f"{staged.source}: dataset {options.dataset} has other values under {options.protocol} "
            f"already: {text}; load these with another --judge, or in their place with --replace "
            "(the old ones stay readable)"
        )
    changed = [key for key, one in status.items() if one != "unchanged"]
    if changed:
        con.execute(
            render(
                "ingest/scores", **words,
                runs=[run for run, _ in changed], metrics=[metric for _, metric in changed],
                directions=[_direction(metric, options.lower_is_better) for _, metric in changed],
                program=VERSION, engine=duckdb.__version__, now=Clock(con).now(),
                source=staged.source, sha256=staged.source_sha256, format=staged.format,
                judge=options.judge,
            )
        )  # fmt: skip
    ((values,),) = con.execute("select coalesce(sum(num_answered), 0) from score_set").fetchall()
    con.execute("drop table score_set")
    return LoadedScores(
        options.dataset, options.protocol, options.judge, status, int(values), warnings,
        staged.source_sha256,
    )  # fmt: skip


def _direction(metric: str, lower_is_better: Collection[str]) -> str:
    """Return the better direction: as asked for, as of our metric of that name, or higher."""
    if metric in lower_is_better:
        return "lower"
    known = notation.known_metric(metric)
    return "higher" if known is None else known.direction


def _check_runs(con: duckdb.DuckDBPyConnection, staged: StagedScores, options: _Options) -> None:
    rows = con.execute(
        "select distinct run from score_set where run_id is null order by run"
    ).fetchall()
    if not rows:
        return
    known = con.execute(
        "select run from run_version where dataset = $1 and is_current", [options.dataset]
    ).fetchall()
    text = no_such_run(str(rows[0][0]), options.dataset, [str(name) for (name,) in known])
    more = f" ({counted(len(rows), 'run')} are missing)" if len(rows) > 1 else ""
    which = "" if staged.has_run else "; say of which run the values are, with --name"
    raise UsageError(f"{staged.source}: {text}{more}{which}")


def _check_queries(con: duckdb.DuckDBPyConnection, staged: StagedScores, options: _Options) -> None:
    wrong = "" if options.all_is_a_query else f" and query_id <> '{ALL}'"
    rows = con.execute(
        f"select distinct query_id from staged anti join {_QUERIES} using (query_id) "
        f"where true{wrong} order by query_id"
    ).fetchall()
    if rows:
        raise InputError(
            f"{staged.source}: {counted(len(rows), 'query')} that the qrels of {options.dataset} do not "
            f"judge: {listing((str(query) for (query,) in rows), _LISTED)}"
        )
    if not con.execute("select 1 from score_set limit 1").fetchall():
        raise InputError(
            f"{staged.source}: has only values over all queries; print them for each query (-q)"
        )


def _left_out(con: duckdb.DuckDBPyConnection, staged: StagedScores) -> Iterator[str]:
    """Take away metrics that are neither means nor sums over the queries; name them."""
    rows = con.execute("delete from score_set where is_other returning metric").fetchall()
    others = sorted({str(metric) for (metric,) in rows})
    neither = "the value over all queries is neither the mean nor the sum of the queries' values"
    if others and not con.execute("select 1 from score_set limit 1").fetchall():
        raise InputError(f"{staged.source}: {neither}: {listing(others, _LISTED)}")
    if others:
        yield f"left out, for {neither}: {listing(others, _LISTED)}"
    rows = con.execute(
        "select distinct metric from staged anti join score_set using (metric) order by metric"
    ).fetchall()
    whole = [str(metric) for (metric,) in rows if metric not in others]
    if whole:
        yield f"left out, for there are no values by query: {listing(whole, _LISTED)}"
    if staged.texts:
        yield f"left out, for it is no number: {listing(staged.texts, _LISTED)}"
