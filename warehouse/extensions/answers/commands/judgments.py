"""`warehouse judgments`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output
from warehouse.cli.progress import Progress
from warehouse.config.settings import LOCK_TIMEOUT

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
_Level = Annotated[float, typer.Option("--level", help="Lowest grade of a relevant document.")]
_Alpha = Annotated[float, typer.Option("--alpha", help="The level of tests and intervals.")]


def judgments(
    context: typer.Context,
    dataset: options.AnyDataset = None,
    level: _Level = 1,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Load and compare judgments of persons, language models and crowd workers.

    Without a word behind it, the command lists the judges. Their judgments are versions of the qrels
    that are never current. Of each judge, the newest version counts."""
    if context.invoked_subcommand is not None:
        return
    from warehouse.extensions import answers as extension
    from warehouse.warehouse import Warehouse

    found = extension.judges(Warehouse(db, lock_timeout=lock_timeout), dataset, level=level)
    output.show(found, format, out, wide=wide)


def agree(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    level: _Level = 1,
    confusion: Annotated[
        bool,
        typer.Option("--confusion", help="Count the documents by the grades that two judges gave."),
    ] = False,
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show how far judges agree on the documents that both judged.

    Agreement is the share of documents with the same grade. Cohen's kappa is plain, and weighted by
    the difference of the grades (linear) or its square (quadratic). Krippendorff's alpha takes the
    grades as names, as an order or as numbers, and a last row has that of all judges. Jaccard is that
    of the relevant documents. What chance would explain wholly is undefined. Judgments below 0 are
    left out.
    """
    from warehouse.extensions import answers as extension
    from warehouse.warehouse import Warehouse

    found = extension.judges_agree(
        Warehouse(db, lock_timeout=lock_timeout), dataset, judges or (), level=level
    )
    output.show(found.confusion if confusion else found, format, out, places=places, wide=wide)


def swap(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    top: Annotated[
        int, typer.Option("--top", min=2, help="tau_b_top is over the first judge's best N runs.")
    ] = 10,
    alpha: _Alpha = 0.05,
    run: options.Runs = None,
    system: options.Systems = None,
    tag: options.RunTags = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Show what another judge does to the board.

    Both boards are over the queries that both judges judged, and the first judge counts as the truth.
    tau_b is Kendall's; tau_ap (Yilmaz and others 2008) and tau_gap (Gao and Oard 2015) go down the
    other judge's order and weigh its head, tau_gap also the gaps between the first judge's means. Every
    two runs are compared by a paired t-test at alpha, without a correction: same_decisions is the
    share of pairs for which both judges say the same, opposite the number for which both tests are
    significant in opposite directions.
    """
    from warehouse.extensions import answers as extension
    from warehouse.warehouse import Warehouse

    with Progress("comparing"):
        found = extension.judges_swap(
            Warehouse(db, lock_timeout=lock_timeout), dataset, judges or (),
            metrics=metric or (), top=top, alpha=alpha,
            protocol=protocol, run=run or (), system=system or (), tag=tag or (),
        )  # fmt: skip
    output.show(found, format, out, places=places, wide=wide)


def correct(
    judge: Annotated[str, typer.Argument(metavar="JUDGE", help="Who judged many queries.")],
    by: Annotated[
        str,
        typer.Option(
            "--by", metavar="JUDGE", help="Who judged some of these, to correct the first."
        ),
    ] = "qrels",
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    tuned: Annotated[
        bool,
        typer.Option(
            "--tuned", help="Weigh the first judge's values so that the variance is least (PPI++)."
        ),
    ] = False,
    alpha: _Alpha = 0.05,
    run: options.Runs = None,
    system: options.Systems = None,
    tag: options.RunTags = None,
    protocol: options.Protocol = "default",
    format: options.Format = "table",
    out: options.Output = None,
    wide: options.Wide = False,
    places: options.Places = 4,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Correct the board of one judge by another.

    The first is perhaps a language model, the other a person who judged few of its queries.

    This is prediction-powered inference (Angelopoulos and others 2023). The value is the mean over the
    queries that the first judge alone judged, plus the mean difference between both over the queries
    that both judged. Its interval adds the variances of the two. It holds if the queries of the
    correcting judge were drawn at random, and needs some thirty of them.
    """
    from warehouse.extensions import answers as extension
    from warehouse.warehouse import Warehouse

    with Progress("comparing"):
        found = extension.judges_correct(
            Warehouse(db, lock_timeout=lock_timeout), dataset, judge, by,
            metrics=metric or (), alpha=alpha, tuned=tuned,
            protocol=protocol, run=run or (), system=system or (), tag=tag or (),
        )  # fmt: skip
    output.show(found, format, out, places=places, wide=wide)


def combine(
    judges: _Judges = None,
    dataset: options.OneDataset = None,
    rule: Annotated[
        str,
        typer.Option(
            "--rule", help="Makes one judgment of several: majority, mean, median, max or min."
        ),
    ] = "majority",
    label: options.QrelsLabel = None,
    replace: options.Replace = False,
    db: options.Database = None,
    lock_timeout: options.LockTimeout = LOCK_TIMEOUT,
) -> None:
    """Make qrels of the judgments of judges.

    They become the current qrels of the dataset, as loaded ones do; if it has qrels, this needs
    --replace, and the old ones stay readable. Of grades that equally many judges gave, the majority
    takes the lowest.
    """
    from warehouse.extensions import answers as extension
    from warehouse.warehouse import Warehouse

    wh = Warehouse(db, lock_timeout=lock_timeout)
    loaded = extension.combine_judges(
        wh, dataset, judges or (), rule=rule, label=label, replace=replace
    )
    output.say_loaded(loaded)
    output.say_where(dataset, loaded.dataset)
