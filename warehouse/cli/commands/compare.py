"""`warehouse compare`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import UsageError, check_effect

SECTION, PLACE = "Compare", 1
EXAMPLES = {
    "compare": (
        "warehouse compare bm25 tasb -d dl19",
        "warehouse compare bm25 -d dl19 --run 't*'",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 -m AP --test randomisation --interval "
        "bootstrap",
        "warehouse compare -d dl19 -m AP --all-pairs --correction bonferroni --only pairs -f csv",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 --judged-only --all-relevant --only values "
        "-f latex",
        "warehouse compare bm25 'tas*' -d dl19 -m nDCG@10 --power --only pairs",
        "warehouse compare bm25 'tas*' -d dl19 -m nDCG@10 --rope 0.01 --only pairs",
        "warehouse compare -d dl19 -m nDCG@10 --all-pairs --scale normal --only values",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 --sort nDCG@10 --percent --only values "
        "--columns run,nDCG@10 --label tasb=TAS-B -f latex",
        "warehouse compare bm25 tasb -d dl19 -m nDCG@10 --queries 2 --depth 5",
    )
}

# The depth to which lists are shown.
_DEPTH = 10


def compare(
    run: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=completion.runs,
            show_default=False,
            help="The runs to compare, all pairs of them, or patterns, as in 'tas*'. A run that is "
            "named alone is the base that all others are compared with. Default: all runs.",
        ),
    ] = None,
    dataset: options.OneDataset = None,
    metric: options.ShownMetrics = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            "--base",
            "-b",
            autocompletion=completion.runs,
            help="Compare the runs with this base only; repeatable.",
        ),
    ] = None,
    all_pairs: Annotated[
        bool,
        typer.Option(
            "--all-pairs",
            help="Compare every run with every other; the default, unless a base or one run is named.",
        ),
    ] = False,
    test: Annotated[
        str,
        typer.Option(
            "--test",
            help="t, wilcoxon, sign, randomisation, bootstrap, tukey or tukey-anova; all two-sided.",
        ),
    ] = "t",
    correction: Annotated[
        str | None,
        typer.Option(
            "--correction",
            show_default="holm; with tukey and tukey-anova none",
            help="Correct p over a family: holm, bonferroni, bh (Benjamini-Hochberg) or none.",
        ),
    ] = None,
    family: Annotated[
        str,
        typer.Option(
            "--family",
            help="Which hypotheses are corrected together: the pairs of one metric, or all.",
        ),
    ] = "metric",
    power: Annotated[
        bool,
        typer.Option(
            "--power",
            help="Also show the smallest difference that the queries find significant in 80% of "
            "cases, and how many queries each difference needs for that.",
        ),
    ] = False,
    rope: Annotated[
        float | None,
        typer.Option(
            "--rope",
            show_default=False,
            help="Also show the posterior probabilities that the run is worse, better, or equal: by at "
            "most this difference; 0 for any.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="z|normal|uniform",
            show_default=False,
            help="Standardise the values of each query over the compared runs first.",
        ),
    ] = None,
    alpha: Annotated[
        float, typer.Option("--alpha", help="An adjusted p below this is significant.")
    ] = 0.05,
    interval: Annotated[
        str,
        typer.Option(
            "--interval",
            help="Interval of the mean difference at 1 - alpha: t, bootstrap (percentiles) or bca "
            "(corrected for bias and acceleration).",
        ),
    ] = "t",
    resamples: Annotated[
        int, typer.Option("--resamples", help="How many permutations or bootstrap samples.")
    ] = 10_000,
    seed: options.Seed = 0,
    judged_only: Annotated[
        bool,
        typer.Option("--judged-only", help="Remove unjudged documents from the lists first."),
    ] = False,
    all_relevant: Annotated[
        bool,
        typer.Option(
            "--all-relevant",
            help="Add each value as it would be if all unjudged documents were relevant.",
        ),
    ] = False,
    queries: Annotated[
        int | None,
        typer.Option(
            "--queries",
            min=1,
            help="With two runs, show the N queries that differ most, with their lists.",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            min=1,
            show_default="10",
            help="With --queries: show the lists down to this rank.",
        ),
    ] = None,
    only: Annotated[
        Literal["values", "pairs"] | None,
        typer.Option(
            "--only",
            show_default="both in tables for people, else the pairs",
            help="Print one of the two tables: the values of runs, or the pairs.",
        ),
    ] = None,
    store: Annotated[
        bool,
        typer.Option("--store", help="Store the pairs in the database; see the view comparisons."),
    ] = False,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            autocompletion=completion.metrics,
            help="Show the runs in the order of this metric, best first; default: as they are named.",
        ),
    ] = None,
    runs: options.Runs = None,
    system: options.Systems = None,
    tag: options.RunTags = None,
    as_of: options.AsOf = None,
    qrels: options.QrelsVersion = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    names: options.Names = False,
    columns: options.ShownColumns = None,
    label: options.Label = None,
    percent: options.Percent = False,
    places: options.LaidOutPlaces = None,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Compare runs with each other or with a base, query by query.

    A metric that is not stored is computed; 'warehouse evaluate' stores it.

    In the table of values, the best value of a metric is bold (* in plain text) and the second
    underlined (+); letters after a value name the runs that it is significantly better than. Judged
    is the share of documents with a judgment down to the metric's cutoff. Documents without one, or
    with one below 0, count as not relevant. --all-relevant shows what the values would be if all of
    them had the highest grade: no bound for metrics such as nDCG that divide by the ideal.

    The table of pairs has the mean difference over the queries for which both runs have a value,
    its confidence interval, Cohen's d of the pairs, wins, ties and losses, and p before and after
    the correction. Of a metric that is no mean over the queries, it has the difference of the values,
    and a test only where that is one of the values. Judged is no hypothesis. --test wilcoxon and
    tukey-anova need the extra "stats".
    """
    from warehouse.analyze import compare as compare_runs
    from warehouse.report import formats
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    if queries is not None:
        named = run or []
        if len(named) != 2 or len(metric or []) != 1:
            raise UsageError("--queries: name two runs and one metric")
        others = {
            "--base": base, "--all-pairs": all_pairs, "--judged-only": judged_only,
            "--all-relevant": all_relevant, "--only": only, "--store": store, "--test": test != "t",
            "--correction": correction, "--family": family != "metric",
            "--alpha": alpha != 0.05, "--interval": interval != "t",
            "--resamples": resamples != 10_000, "--seed": seed, "--run": runs, "--system": system,
            "--tag": tag, "--power": power, "--rope": rope is not None,
            "--scale": scale, "--sort": sort, "--columns": columns, "--label": label,
            "--percent": percent,
        }  # fmt: skip
        unfit = [name for name, value in others.items() if value]
        if unfit:
            raise UsageError(f"--queries: shows stored lists; leave {' and '.join(unfit)} out")
        lists = wh.side_by_side(
            dataset, named[0], named[1], (metric or [""])[0],
            queries=queries, depth=depth or _DEPTH, protocol=protocol, as_of=as_of, qrels=qrels,
        )  # fmt: skip
        output.show(lists, format, out, places=4 if places is None else places, wide=wide)
        return
    if depth is not None:
        raise UsageError(
            "--depth: how far down --queries shows lists; values are as deep as their metric, nDCG@10"
        )
    check_effect(
        "a test or an interval that resamples",
        has_effect=compare_runs.How(test, interval=interval).is_resampled,
        resamples=resamples != 10_000, seed=seed != 0,
    )  # fmt: skip
    if columns and only is None and format in formats.FOR_PEOPLE:
        raise UsageError("--columns: say of which table: --only values, or --only pairs")
    with Progress("comparing", "step") as step:
        found = wh.compare(
            dataset, run or (), metric or (), bases=base or (), all_pairs=all_pairs, test=test,
            correction=correction, alpha=alpha, interval=interval, resamples=resamples, seed=seed,
            family=family, judged_only=judged_only, judged=only != "pairs",
            all_relevant=all_relevant, store=store, protocol=protocol, as_of=as_of, qrels=qrels,
            run=runs or (), system=system or (), tag=tag or (), on_step=step, power=power, rope=rope,
            scale=scale,
            sort=sort, columns=columns or (), label=options.pairs(label, "--label"), percent=percent,
            places=places,
        )  # fmt: skip
    if format == "table" and only != "pairs":
        screen = output.screen_for(format, out)
        is_styled = screen is not None and screen.is_styled
        marks = "bold: best, underlined: second" if is_styled else "* best, + second"
        output.say(
            f"{marks}; letters: significantly better than that run; {found.tested_in_words}", screen
        )
    output.show(found if only is None else getattr(found, only), format, out, wide=wide)
    if names:
        output.say_names(found)
