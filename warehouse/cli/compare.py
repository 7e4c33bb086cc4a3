"""`warehouse compare`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import options, output
from warehouse.cli.examples import epilog
from warehouse.errors import UsageError
from warehouse.settings import LOCK_TIMEOUT

# So far down lists are shown.
_DEPTH = 10


def compare(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            show_default=False,
            help="The base and the runs that are held against it; against one run alone all others are, "
            "and without any it is the first that was loaded.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", "-d", help="Name of the dataset; default: the only one."),
    ] = None,
    metric: options.Metrics = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", "-b", help="A base beside the runs; may be given again."),
    ] = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Hold each run against each; default: all runs.")
    ] = False,
    test: Annotated[
        str,
        typer.Option("--test", help="t, wilcoxon, sign, randomisation or tukey; all two-sided."),
    ] = "t",
    correction: Annotated[
        str | None,
        typer.Option(
            "--correction",
            show_default="holm; with tukey none",
            help="Over all pairs and metrics: holm, bonferroni, bh (Benjamini-Hochberg) or none.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Significant is an adjusted p below this.")
    ] = 0.05,
    interval: Annotated[
        str,
        typer.Option("--interval", help="Of the mean difference, at 1 - alpha: t or bootstrap."),
    ] = "t",
    resamples: Annotated[
        int, typer.Option("--resamples", help="Permutations and bootstrap samples.")
    ] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Where random numbers start.")] = 0,
    judged_only: Annotated[
        bool,
        typer.Option("--judged-only", help="Take unjudged documents out of the lists first."),
    ] = False,
    bounds: Annotated[
        bool,
        typer.Option(
            "--bounds", help="Add each value as it would be if all that is unjudged were relevant."
        ),
    ] = False,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries", min=1, help="Of two runs: the N queries that differ most, list by list."
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=1, show_default="10", help="With --queries: so far down."),
    ] = None,
    only: Annotated[
        Literal["values", "pairs"] | None,
        typer.Option(
            "--only",
            show_default="both in tables for people, else the pairs",
            help="One of the two tables: values of runs, or pairs of runs.",
        ),
    ] = None,
    store: Annotated[
        bool,
        typer.Option("--store", help="Keep the pairs in the file; see the view comparisons."),
    ] = False,
    as_of: options.AsOf = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Hold runs against a base over stored values, query by query.

    The best value of a metric is bold (* in plain text), the second underlined (+); letters after a
    value name the runs that it is significantly better than. In the pairs: the mean difference of the
    queries that both have a value of, its confidence interval, Cohen's d of the pairs, wins, ties and
    losses, and p with and without the correction. Judged is the share of judged documents down to the
    metric's cutoff. Unjudged documents count as not relevant; --bounds shows the other extreme. Needs
    the extra "stats".
    """
    from warehouse.report import comparisons, formats
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    if queries is not None:
        named = run or []
        if len(named) != 2 or len(metric or []) != 1:
            raise UsageError("--queries: name two runs and one metric")
        others = {
            "--base": base, "--all-pairs": all_pairs, "--judged-only": judged_only,
            "--bounds": bounds, "--only": only, "--store": store, "--test": test != "t",
            "--correction": correction, "--alpha": alpha != 0.05, "--interval": interval != "t",
            "--resamples": resamples != 10_000, "--seed": seed,
        }  # fmt: skip
        unfit = [name for name, value in others.items() if value]
        if unfit:
            raise UsageError(f"--queries: shows stored lists; leave {' and '.join(unfit)} out")
        lists = wh.side_by_side(
            named[0], named[1], dataset, (metric or [""])[0],
            queries=queries, depth=depth or _DEPTH, protocol=protocol, as_of=as_of, qrels=qrels,
        )  # fmt: skip
        if not lists.relation.limit(1).fetchall():
            output.say(f"{lists.metric}: no query differs between {lists.base} and {lists.run}")
        if format in formats.FOR_PEOPLE:
            output.emit(comparisons.side_by_side(lists, format, places=places), out, format)
        else:
            output.show(lists.relation, format, out)
        for note in lists.notes:
            output.say(note)
        return
    if depth is not None:
        raise UsageError(
            "--depth: how far down --queries shows lists; values are as deep as their metric, nDCG@10"
        )
    with output.Steps() as step:
        found = wh.compare(
            run or (), dataset, metric or (), bases=base or (), all_pairs=all_pairs, test=test,
            correction=correction, alpha=alpha, interval=interval, resamples=resamples, seed=seed,
            judged_only=judged_only, judged=only != "pairs", bounds=bounds, store=store,
            protocol=protocol, as_of=as_of, qrels=qrels,
            on_step=step,
        )  # fmt: skip
    if format in formats.FOR_PEOPLE:
        tables = {"values": comparisons.values, "pairs": comparisons.pairs}
        parts = [tables[name] for name in tables if only in (None, name)]
        text = "\n".join(part(found, format, places=places) for part in parts)
        output.emit(text, out, format)
    else:
        output.show(found.values if only == "values" else found.pairs, format, out)
    if format == "table" and only != "pairs":
        output.say("* best, + second; letters: significantly better than that run")
    for note in found.notes:
        output.say(note)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=epilog("compare"))(compare)
