"""`warehouse compare`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import completion, options, output
from warehouse.cli.progress import Progress
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
        "Compare the runs with this base only; repeatable.",
        "-b",
        {"autocompletion": completion.runs},
    ] = None,
    all_pairs: Annotated[
        bool, "Compare every run with every other; the default, unless a base or one run is named."
    ] = False,
    test: Annotated[
        str, "t, wilcoxon, sign, randomisation, bootstrap, tukey or tukey-anova; all two-sided."
    ] = "t",
    correction: Annotated[
        str | None,
        "Correct p over a family: holm, bonferroni, bh (Benjamini-Hochberg) or none.",
        {"show_default": "holm; with tukey and tukey-anova none"},
    ] = None,
    family: Annotated[
        str, "Which hypotheses are corrected together: the pairs of one metric, or all."
    ] = "metric",
    power: Annotated[
        bool,
        "Also show the smallest difference that the queries find significant in 80% of "
        "cases, and how many queries each difference needs for that.",
    ] = False,
    rope: Annotated[
        float | None,
        "Also show the posterior probabilities that the run is worse, better, or equal: by at "
        "most this difference; 0 for any.",
        {"show_default": False},
    ] = None,
    scale: Annotated[
        str | None,
        "Standardise the values of each query over the compared runs first.",
        {"metavar": "z|normal|uniform", "show_default": False},
    ] = None,
    alpha: Annotated[float, "An adjusted p below this is significant."] = 0.05,
    interval: Annotated[
        str,
        "Interval of the mean difference at 1 - alpha: t, bootstrap (percentiles) or bca "
        "(corrected for bias and acceleration).",
    ] = "t",
    resamples: Annotated[int, "How many permutations or bootstrap samples."] = 10_000,
    seed: options.Seed = 0,
    judged_only: Annotated[bool, "Remove unjudged documents from the lists first."] = False,
    all_relevant: Annotated[
        bool, "Add each value as it would be if all unjudged documents were relevant."
    ] = False,
    queries: Annotated[
        int | None,
        "With two runs, show the N queries that differ most, with their lists.",
        {"min": 1},
    ] = None,
    depth: Annotated[
        int | None,
        "With --queries: show the lists down to this rank.",
        {"min": 1, "show_default": "10"},
    ] = None,
    only: Annotated[
        Literal["values", "pairs"] | None,
        "Print one of the two tables: the values of runs, or the pairs.",
        {"show_default": "both in tables for people, else the pairs"},
    ] = None,
    store: Annotated[bool, "Store the pairs in the database; see the view comparisons."] = False,
    sort: Annotated[
        str | None,
        "Show the runs in the order of this metric, best first; default: as they are named.",
        {"autocompletion": completion.metrics},
    ] = None,
    *,
    choice: options.Choice,
    state: options.State,
    table: options.Table,
    names: options.Names = False,
    layout: options.Layout,
    database: options.File,
) -> None:
    """Compare runs with each other or with a base, query by query.

    A metric that is not stored is computed; 'warehouse evaluate' stores it.

    In the table of values, the best value of a metric is bold (* in plain text) and the second
    underlined (+); letters after a value name the runs that it is significantly better than. Judged
    is the share of documents with a judgment down to the metric's cutoff. Documents without one, or
    with one below 0, count as not relevant. --all-relevant shows the values if all of
    them had the highest grade: no bound for metrics such as nDCG that divide by the ideal.

    The table of pairs has the mean difference over the queries for which both runs have a value,
    its confidence interval, Cohen's d of the pairs, wins, ties and losses, and p before and after
    the correction. Of a metric that is no mean over the queries, it has the difference of the values,
    and a test only where that is one of the values. Judged is no hypothesis. --test wilcoxon and
    tukey-anova need the extra "stats".
    """
    from warehouse.analyze import paired_tests as compare_runs
    from warehouse.report import formats

    wh, named = database.open(), run or []
    if queries is not None:
        if len(named) != 2 or len(metric or []) != 1:
            raise UsageError("--queries: name two runs and one metric")
        others = {
            "--base": base, "--all-pairs": all_pairs, "--judged-only": judged_only,
            "--all-relevant": all_relevant, "--only": only, "--store": store, "--test": test != "t",
            "--correction": correction, "--family": family != "metric",
            "--alpha": alpha != 0.05, "--interval": interval != "t",
            "--resamples": resamples != 10_000, "--seed": seed, "--run": choice.only_runs,
            "--system": choice.system, "--tag": choice.tag, "--power": power,
            "--rope": rope is not None, "--scale": scale, "--sort": sort,
            "--columns": layout.columns, "--label": layout.label, "--percent": layout.percent,
        }  # fmt: skip
        unfit = [name for name, value in others.items() if value]
        if unfit:
            raise UsageError(f"--queries: shows stored lists; leave {' and '.join(unfit)} out")
        lists = wh.side_by_side(
            dataset, named[0], named[1], (metric or [""])[0],
            queries=queries, depth=depth or _DEPTH, **vars(state),
        )  # fmt: skip
        table.show(lists, 4 if layout.places is None else layout.places)
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
    if layout.columns and only is None and table.format in formats.FOR_PEOPLE:
        raise UsageError("--columns: say of which table: --only values, or --only pairs")
    with Progress("comparing", "step") as step:
        found = wh.compare(
            dataset, named, metric or (), bases=base or (), all_pairs=all_pairs, test=test,
            correction=correction, alpha=alpha, interval=interval, resamples=resamples, seed=seed,
            family=family, power=power, rope=rope, scale=scale, judged_only=judged_only,
            judged=only != "pairs", all_relevant=all_relevant, store=store, sort=sort, on_step=step,
            **vars(state), **choice.asked(), **layout.asked(),
        )  # fmt: skip
    if table.format == "table" and only != "pairs":
        screen = output.screen_for(table.format, table.out)
        is_styled = screen is not None and screen.is_styled
        marks = "bold: best, underlined: second" if is_styled else "* best, + second"
        output.say(
            f"{marks}; letters: significantly better than that run; {found.tested_in_words}", screen
        )
    table.show(found if only is None else getattr(found, only))
    if names:
        output.say_names(found)
