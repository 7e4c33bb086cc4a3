"""Merging runs into a new run, which is loaded like any other, with its provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.errors import UsageError, check_names, option
from warehouse.fuse import lists, training, tuning
from warehouse.fuse import recipe as recipes
from warehouse.fuse.recipe import Queries, Recipe
from warehouse.fuse.training import Training
from warehouse.fuse.tuning import Trials
from warehouse.ingest.runs import RunOptions, stage_run
from warehouse.ingest.steps import Loaded, Store
from warehouse.metrics import fusion, protocols
from warehouse.metrics.protocols import Protocol
from warehouse.readers import Query
from warehouse.readers.global_qrels import stage_queries
from warehouse.store import datasets, rows
from warehouse.store.file import WarehouseFile


@dataclass(frozen=True)
class Prepared:
    """A complete recipe, with the queries that it was trained on and the trials that led to it.

    `precisions` are the mean average precisions of the runs over the training queries, by run
    number, for methods that use them.
    """

    recipe: Recipe
    training: Training | None = None
    trials: Trials | None = None
    protocol: str | None = None
    precisions: tuple[float, ...] = ()


@dataclass(frozen=True)
class Fused:
    """The outcome of merging runs.

    `loaded` is the outcome of loading the new run. `method` has all parameters. `weights` are in
    the order of the runs. `trials` are the tried values, best first: `place, method[, weights],
    METRIC`. `notes` are sentences about queries and training.
    """

    loaded: Loaded
    method: str
    normalisation: str
    weights: tuple[float, ...]
    trials: duckdb.DuckDBPyRelation | None
    notes: tuple[str, ...]


def fuse(
    file: WarehouseFile,
    dataset: str | None,
    runs: str | Iterable[str],
    method: str,
    options: RunOptions,
    *,
    normalise: str | None,
    weights: Iterable[float] | None,
    queries: str,
    train_queries: object | None,
    train_share: float | None,
    leave_out_training: bool,
    tune: str | None,
    protocol: str,
    replace: bool,
) -> Fused:
    """Merge runs of a dataset into a new one; the arguments are as in `Warehouse.fuse`."""
    which = recipes.check_queries(queries)
    names = check_names("runs", runs)
    if options.name in names:
        raise UsageError(f"{options.name}: a run cannot take the place of one that it is made of")
    file.existing()
    file.ensure()
    with file.staging() as staging:
        with staging.read() as con:
            dataset = datasets.chosen(con, dataset)
            sources = recipes.sources(con, dataset, names)
            given = None if weights is None else list(weights)
            found = recipes.recipe(sources, method, normalise, given, tuned=bool(tune))
            ids: list[str] | None = None
            if train_queries is not None:
                rows = con.execute(stage_queries(con, train_queries)[0]).fetchall()
                ids = [str(row[0]) for row in rows]
            prepared = prepare(
                con, dataset, found,
                train_queries=ids, train_share=train_share, tune=tune, protocol=protocols.get(protocol),
            )  # fmt: skip
            store = merge(
                con, dataset, prepared, options,
                queries=which, leave_out=leave_out_training, replace=replace,
            )  # fmt: skip
        with staging.transaction() as con:
            return store(con)


def prepare(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    recipe: Recipe,
    *,
    train_queries: Sequence[str] | None,
    train_share: float | None,
    tune: str | None,
    protocol: Protocol,
) -> Prepared:
    """Choose the training queries of a recipe and tune it. Nothing is written.

    Raises UsageError if training queries are needed but missing, or given but not needed.
    """
    given = train_queries is not None or train_share is not None
    if not training.is_needed(recipe, tune):
        if given:
            raise UsageError(
                f"{recipe.method.name}: is not trained; give training queries to a method that is, or "
                f"with {option('tune', None)}"
            )
        return Prepared(recipe)
    if not given:
        what = (
            f"{recipe.method.name} is trained" if tune is None else f"{option('tune', tune)} tries"
        )
        raise UsageError(
            f"{what} on judged queries; say on which, with {option('train-queries', None)} (one id per "
            f"line), or with a share of them, as in {option('train-share', 0.5)}"
        )
    chosen = training.choose(con, dataset, train_queries, train_share)
    work = None if tune is None else training.metric_plan(con, chosen, tune, protocol)
    training.fill_scope(con, recipe, chosen)
    trials = None
    if work is not None:
        trials = tuning.tune(con, recipe, work)
        recipe = trials.best
    precisions: tuple[float, ...] = ()
    if fusion.AVERAGE_PRECISION in recipe.definition.needs:
        precisions = tuple(training.precisions(con, recipe))
    return Prepared(recipe, chosen, trials, None if tune is None else protocol.name, precisions)


def merge(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    prepared: Prepared,
    options: RunOptions,
    *,
    queries: Queries,
    leave_out: bool,
    replace: bool,
) -> Store[Fused]:
    """Merge the runs; return what stores the result. Both raise errors like loading a run."""
    recipe, trained = prepared.recipe, prepared.training
    if leave_out and trained is None:
        raise UsageError("there are no training queries to leave out")
    if trained is not None and fusion.TRAINING in recipe.definition.needs:
        training.fill_scope(con, recipe, trained)
        training.store_precisions(con, prepared.precisions)
    lists.put_runs(con, recipe)
    overlap = lists.put_queries(con, recipe, queries)
    if leave_out and trained is not None:
        con.execute(
            "delete from fused_query where list_contains($ids::varchar[], query_id)",
            {"ids": list(trained.queries)},
        )
        if not con.execute("select exists (select 1 from fused_query)").fetchall()[0][0]:
            raise UsageError(
                "every query of the runs was trained on, and none is left; train on fewer"
            )
    source = Query(lists.statement(recipe), str(recipe))
    load = stage_run(con, source, dataset, options, replace=replace)
    notes = [overlap.note(queries), *lists.without_positive(con, recipe)]
    if trained is not None:
        notes += trained.note(left_out=leave_out)

    def store(con: duckdb.DuckDBPyConnection) -> Fused:
        loaded = load(con)
        if loaded.status == "unchanged":
            notes.append(
                "a run with this name and content is there already; its provenance was not changed"
            )
        else:
            _remember(con, loaded.id, prepared, queries, leave_out=leave_out)
        return Fused(
            loaded,
            fusion.written(recipe.method),
            recipe.normalisation.name,
            recipe.weights,
            None if prepared.trials is None else prepared.trials.relation(),
            tuple(note for note in notes if note is not None),
        )

    return store


def _remember(
    con: duckdb.DuckDBPyConnection,
    run_id: int,
    prepared: Prepared,
    queries: Queries,
    *,
    leave_out: bool,
) -> None:
    """Store the provenance of a merged run."""
    recipe, trained = prepared.recipe, prepared.training
    made = {
        "run_id": run_id,
        "method": fusion.written(recipe.method),
        "normalisation": recipe.normalisation.name,
        "queries": queries,
        "qrels_id": None if trained is None else trained.qrels_id,
        "num_trained": None if trained is None else len(trained.queries),
        "is_left_out": leave_out,
        "tuned_by": None if prepared.trials is None else prepared.trials.metric,
        "protocol": prepared.protocol,
    }
    rows.add(con, "fusion", [made])
    weights = recipe.weights or (None,) * len(recipe.sources)
    sources = [
        {
            "run_id": run_id,
            "position": position,
            "source_run_id": source.run_id,
            "name": source.name,
            "version": source.version,
            "content_hash": source.content_hash,
            "weight": weight,
        }
        for position, (source, weight) in enumerate(zip(recipe.sources, weights, strict=True), 1)
    ]
    rows.add(con, "fusion_source", sources)
    if trained is not None:
        con.execute(
            "insert into fusion_query select $run_id, unnest($ids::varchar[])",
            {"run_id": run_id, "ids": list(trained.queries)},
        )
