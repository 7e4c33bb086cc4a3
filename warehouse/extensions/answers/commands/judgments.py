"""`warehouse judgments`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress

SECTION, PLACE = "Compare", 7
EXAMPLES = {
    "judgments": ("warehouse judgments -d judged",),
    "judgments agree": (
        "warehouse judgments agree -d judged",
        "warehouse judgments agree gpt-4o ann -d judged --level 2 --confusion -f csv",
    ),
    "judgments swap": ("warehouse judgments swap qrels gpt-4o -d judged -m nDCG@10",),
    "judgments correct": (
        "warehouse judgments correct gpt-4o --by ann -d judged -m nDCG@10",
        "warehouse judgments correct gpt-4o --by ann -d judged -m nDCG@10 --tuned -f csv",
    ),
    "judgments combine": (
        "warehouse judgments combine ann gpt-4o -d judged --rule max --label lenient --replace",
    ),
}

_Judges = Annotated[
    list[str] | None,
    typer.Argument(metavar="JUDGE", show_default="all", help="Judges; qrels is the current qrels."),
]
_Level = Annotated[float, "Lowest grade of a relevant document.", "--level"]
_Alpha = Annotated[float, "The level of tests and intervals.", "--alpha"]


def judgments(
    context: typer.Context,
    dataset: options.AnyDataset = None,
    level: _Level = 1,
    *,
    table: options.Table,
    database: options.File,
) -> None:
    """Load and compare judgments of persons, language models and crowd workers.

    Without a word behind it, the command lists the judges. Their judgments are versions of the qrels
    that are never current. Of each judge, the newest version counts."""
    if context.invoked_subcommand is not None:
        return
    from warehouse.extensions import answers as extension

    found = extension.judges(database.open(), dataset, level=level)
    table.show(found)


def agree(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    level: _Level = 1,
    confusion: Annotated[bool, "Count the documents by the grades that two judges gave."] = False,
    *,
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Show how far judges agree on the documents that both judged.

    Agreement is the share of documents with the same grade. Cohen's kappa is plain, and weighted by
    the difference of the grades (linear) or its square (quadratic). Krippendorff's alpha takes the
    grades as names, as an order or as numbers, and a last row has all judges' alpha. Jaccard is that
    of the relevant documents. What chance would explain wholly is undefined. Judgments below 0 are
    left out.
    """
    from warehouse.extensions import answers as extension

    found = extension.judges_agree(database.open(), dataset, judges or (), level=level)
    table.show(found.confusion if confusion else found)


def swap(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    top: Annotated[int, "tau_b_top is over the first judge's best N runs.", {"min": 2}] = 10,
    alpha: _Alpha = 0.05,
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Show the effect of another judge on the board.

    Both boards are over the queries that both judges judged, and the first judge counts as the truth.
    tau_b is Kendall's; tau_ap (Yilmaz and others 2008) and tau_gap (Gao and Oard 2015) go down the
    other judge's order and weigh its head, tau_gap also the gaps between the first judge's means. Every
    two runs are compared by a paired t-test at alpha, without a correction: same_decisions is the
    share of pairs for which both judges say the same, opposite the number for which both tests are
    significant in opposite directions.
    """
    from warehouse.extensions import answers as extension

    with Progress("comparing"):
        found = extension.judges_swap(
            database.open(), dataset, judges or (),
            metrics=metric or (), top=top, alpha=alpha,
            protocol=protocol, **choice.asked(),
        )  # fmt: skip
    table.show(found)


def correct(
    judge: Annotated[str, "Who judged many queries.", {"metavar": "JUDGE"}],
    by: Annotated[
        str, "Who judged some of these, to correct the first.", {"metavar": "JUDGE"}
    ] = "qrels",
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    tuned: Annotated[
        bool, "Weigh the first judge's values so that the variance is least (PPI++)."
    ] = False,
    alpha: _Alpha = 0.05,
    *,
    choice: options.Choice,
    protocol: options.Protocol = "default",
    table: options.NumberTable,
    database: options.File,
) -> None:
    """Correct the board of one judge by another.

    The first is perhaps a language model, the other a person who judged few of its queries.

    This is prediction-powered inference (Angelopoulos and others 2023). The value is the mean over the
    queries that the first judge alone judged, plus the mean difference between both over the queries
    that both judged. Its interval adds the variances of the two. It holds if the queries of the
    correcting judge were drawn at random, and needs some thirty of them.
    """
    from warehouse.extensions import answers as extension

    with Progress("comparing"):
        found = extension.judges_correct(
            database.open(), dataset, judge, by,
            metrics=metric or (), alpha=alpha, tuned=tuned,
            protocol=protocol, **choice.asked(),
        )  # fmt: skip
    table.show(found)


def combine(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    rule: Annotated[
        str, "Makes one judgment of several: majority, mean, median, max or min."
    ] = "majority",
    label: options.QrelsLabel = None,
    replace: options.Replace = False,
    *,
    database: options.File,
) -> None:
    """Make qrels of the judgments of judges.

    They become the current qrels of the dataset, as loaded ones do; if it has qrels, this needs
    --replace, and the old ones stay readable. Of grades that equally many judges gave, the majority
    takes the lowest.
    """
    from warehouse.extensions import answers as extension

    wh = database.open()
    loaded = extension.combine_judges(
        wh, dataset, judges or (), rule=rule, label=label, replace=replace
    )
    output.say_loaded(loaded)
    output.say_where(dataset, loaded.dataset)
