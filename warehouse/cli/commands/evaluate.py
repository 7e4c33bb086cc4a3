"""`warehouse evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from warehouse.cli import completion, options
from warehouse.cli.output import emit, say, warn
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import command, counted, visible

if TYPE_CHECKING:
    from warehouse.evaluate.stored_runs import Outcome

SECTION, PLACE = "Evaluate", 1
EXAMPLES = {
    "evaluate": (
        "warehouse evaluate",
        "warehouse evaluate -d dl19 -m nDCG@10 -m 'AP(rel=2)' -m map_cut_100",
        "warehouse evaluate -m official --protocol trec_eval_9 --dry-run",
        "warehouse evaluate -d dl19 -m AP --slice 'size = quantiles(num_relevant, 3)'",
        "warehouse evaluate -d dl19 -m P@5 -m 'P(scope=global)@5' --slice source",
        "warehouse evaluate -d dl19 -m AP --qrels 1",
        "warehouse evaluate -d dl19 -m nDCG@10 --exclude self",
        "warehouse evaluate -d dl19 --engine spark",
    )
}


def evaluate(
    dataset: options.AnyDataset = None,
    run: Annotated[
        list[str] | None,
        "Only this run; repeatable. Default: all.",
        "-r",
        {"autocompletion": completion.runs},
    ] = None,
    metric: options.Metrics = None,
    slice: Annotated[
        list[str] | None,
        "Also evaluate the parts of this slice: the name of an attribute or slice, or "
        '"NAME = SQL" over attributes; repeatable.',
        {"autocompletion": completion.slices},
    ] = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    exclude: options.Exclude = None,
    dry_run: Annotated[bool, "List the metrics to compute, but compute nothing."] = False,
    db: options.Database = None,
    memory_limit: options.MemoryLimit = None,
    threads: options.Threads = None,
    engine: options.Engine = "local",
    master: options.Master = None,
    by: options.By = "run",
    exchange: Annotated[
        Path | None,
        "A folder that the tasks of --engine see, for their inputs and outputs.",
        {"metavar": "DIR", "show_default": "the folder of the database"},
    ] = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Compute the metrics that are missing or stale.

    Nothing else is computed. Without -m, these are the metrics that a dataset has values of,
    including its slices, as listed by 'warehouse status'. If a dataset has no values yet, they are
    the protocol's ('warehouse protocols show NAME'), or else nDCG@10, AP, RR, P@10, R@100 and
    R@1000.

    What is computed for up to 1,000 runs becomes visible together or not at all; more runs follow in
    turn, and values stored before a failure stay. With --engine spark, tasks of a cluster compute
    these values, each with one thread and 1 GB of memory unless --threads and --memory-limit say
    otherwise; this process stores them, and evaluates the parts of slices.

    A slice divides the queries, or the documents, into parts: by the values of an attribute, by
    quantiles(x, N) (equal numbers), by mass(x, N) (equal sums; part N is the highest), or by any
    expression. Apart from the attributes it can use num_relevant and difficulty (mean AP) of queries,
    and frequency and training_frequency of documents.
    """
    from warehouse.metrics import protocols
    from warehouse.warehouse import Warehouse

    wanted = metric or []
    options.check_engine(
        engine, master=master is not None, by=by != "run", exchange=exchange is not None
    )
    wh = Warehouse(db, memory_limit=memory_limit, threads=threads, lock_timeout=lock_timeout)
    with Progress("evaluating", "metric", len(wanted)) as step:
        done = wh.evaluate(
            dataset, runs=run or (), metrics=wanted, slices=slice or (), protocol=protocol,
            exclude=exclude, qrels=qrels, dry_run=dry_run, on_metric=step, engine=engine,
            master=master, by=by, exchange=exchange,
        )  # fmt: skip
    narrate(done, dry_run=dry_run)
    if exclude is not None:
        say(f"protocol {done.protocol}: {protocols.left_out(done.protocol)}")
        for name in sorted({row[0] for row in done.details}):
            say(f"the board: {command('leaderboard', name, protocol=done.protocol)}")


def narrate(done: Outcome, *, dry_run: bool = False) -> None:
    """Name the computed metrics, and the metrics left out."""
    from warehouse.evaluate import requirements

    for name in done.without_qrels:
        warn(f"{name}: skipped, it has no qrels yet: {command('ingest qrels FILE', name)}")
    for name, metrics in done.unfit.items():
        warn(requirements.left_out(name, metrics))
    for line in (*done.left_out, *done.warnings):
        warn(line)
    for line in (*done.slices, *done.notes):
        say(line)
    if dry_run:
        emit("".join("\t".join(map(visible, row)) + "\n" for row in done.details), None, "tsv")
    stale = f" ({done.stale} of them stale)" if done.stale else ""
    verb = "would compute" if dry_run else "computed"
    if done.computed:
        say(
            f"{verb} {counted(done.computed, 'value')}{stale} for {counted(done.runs, 'run')}; "
            f"{done.up_to_date:,} up to date"
        )
    elif done.up_to_date:
        say(f"nothing to do: {counted(done.up_to_date, 'value')} up to date")
    elif not done.unfit and not done.without_qrels:
        say(
            "nothing to do: there are no runs yet; load one with: warehouse ingest run FILE -d DATASET"
        )
