"""How the values of a metric's queries are combined into one value."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from warehouse.errors import listing
from warehouse.metrics.parameters import Parameter

# Parameters of these names override the metric's header.
AGGREGATE = "aggregate"
WEIGHT = "weight"
POOLED = "pooled"
WEIGHTED = "weighted"
# The value of a query without a relevant document, and the value that leaves it out.
NO_RELEVANT = "no_relevant"
SKIP = "skip"
# Parameters by which documents are relevant.
_OF_RELEVANCE = frozenset({"rel", "gains", "min_rel", "max_rel"})
# Each with its name in a sentence.
WORDS = {
    "mean": "mean",
    "geometric_mean": "geometric mean",
    "median": "median",
    "min": "minimum",
    "max": "maximum",
    "stddev": "standard deviation",
    "sum": "sum",
    WEIGHTED: "weighted mean",
    POOLED: "pooled",
}
AGGREGATES = tuple(WORDS)

_SUMMARY = (
    "How the values of the queries are combined; undefined values are ignored. geometric_mean: values "
    "below 0.00001 count as 0.00001. stddev: of a sample, null for one query. weighted: the mean by "
    "weight."
)
_WEIGHT_SUMMARY = (
    "The weight of a query: its number of relevant documents (relevant), or a numeric attribute of "
    "the queries."
)


def with_parameters(
    declared: tuple[Parameter, ...], default: str, *, pools: bool, only: bool
) -> tuple[Parameter, ...]:
    """Return a metric's parameters with `aggregate` and `weight`, which every metric has.

    A header declares `aggregate` if its template can pool the queries on request. `pools` says whether
    the metric can, `only` that there is no choice of aggregate. Raises ValueError for a declaration
    that does not fit.
    """
    ours = next((p for p in declared if p.name == AGGREGATE), None)
    if ours is not None:
        _check(ours, ours.default if only else default)
    choices = tuple(name for name in AGGREGATES if pools or name != POOLED)
    base = ours or Parameter(name=AGGREGATE, type="choice", summary="", inherited=True)
    chosen = replace(
        base,
        summary=f"{_SUMMARY} {base.summary}".strip(),
        default=default,
        choices=(default,) if only else choices,
        needs={} if only else {WEIGHTED: WEIGHT},
    )
    weight = Parameter(
        name=WEIGHT, type="attribute", summary=_WEIGHT_SUMMARY, only_for=(AGGREGATE, WEIGHTED),
        inherited=True,
    )  # fmt: skip
    if ours is None:
        return (*declared, chosen, weight)
    return (*(chosen if p is ours else p for p in declared), weight)


def with_no_relevant(parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Return a metric's parameters with `no_relevant`, if it says which documents are relevant."""
    if not _OF_RELEVANCE & {p.name for p in parameters}:
        return parameters
    ours = Parameter(
        name=NO_RELEVANT, type="number", choices=(SKIP,), inherited=True,
        summary="Value of a query without a relevant document, or skip, which leaves it out; by "
        "default, what the metric or the protocol says.",
    )  # fmt: skip
    return (*parameters, ours)


def of_curve(declared: tuple[Parameter, ...], default: str) -> tuple[Parameter, ...]:
    """Return a curve's parameters, with `aggregate` if its template declares none."""
    if any(p.name == AGGREGATE for p in declared):
        return declared
    chosen = Parameter(
        name=AGGREGATE, type="choice", summary="How the values of the queries are combined.",
        default=default, choices=(default,), inherited=True,
    )  # fmt: skip
    return (*declared, chosen)


def _check(declared: Parameter, default: object) -> None:
    if declared.default != default or not set(declared.choices) <= set(AGGREGATES):
        raise ValueError(
            f"its choices are among {', '.join(AGGREGATES)}, its default comes from the header"
        )
    if POOLED not in declared.choices:
        raise ValueError(
            f"every metric has it; declare it only to add the choice {POOLED}, if the SQL can then "
            "return the value over all queries"
        )


def in_words(aggregates: Iterable[tuple[str, str]]) -> str:
    """Say how some metrics are aggregated, given each with its aggregate; means come first.

    >>> in_words([("AP", "mean"), ("NumRel", "sum"), ("NumRet", "sum"), ("GMAP", "geometric_mean")])
    'mean over queries; NumRel, NumRet: sum; GMAP: geometric mean'
    >>> in_words([("GMAP", "geometric_mean")])
    'geometric mean over queries'
    """
    named: dict[str, list[str]] = {}
    for metric, aggregate in aggregates:
        named.setdefault(WORDS.get(aggregate, aggregate), []).append(metric)
    if len(named) == 1:
        return f"{next(iter(named))} over queries"
    first = "mean over queries" if named.pop("mean", None) else "over queries"
    others = [f"{listing(metrics)}: {words}" for words, metrics in named.items()]
    return "; ".join([first, *others])
