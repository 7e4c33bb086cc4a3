"""One metric in the notation `Name(param=value, ...)@cutoff`: its parameters read and settled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from warehouse.errors import UsageError, listing, nearest
from warehouse.metrics.aggregates import AGGREGATE, POOLED, WEIGHT, WEIGHTED
from warehouse.metrics.catalogue import ARROWS, catalogue
from warehouse.metrics.parameters import Parameter, Value, bound, split, unquoted
from warehouse.metrics.template import Template

# How people call the lowest relevance that counts, the parameter rel.
_RELEVANCE = ("relevance", "min_relevance", "level", "threshold", "grade", "label", "rating")


@dataclass(frozen=True)
class Metric:
    """A metric with every parameter settled; its text is its canonical name, which is stored."""

    definition: Template = field(compare=False, repr=False)
    name: str
    values: tuple[tuple[str, Value], ...]

    def __str__(self) -> str:
        given = dict(self.values)
        at = given.pop(self.definition.at, None)
        shown = [
            f"{p.name}={p.write(given[p.name])}"
            for p in self.definition.parameters
            if p.name in given and given[p.name] != p.default
        ]
        params = f"({', '.join(shown)})" if shown else ""
        return f"{self.name}{params}" + ("" if at is None else f"@{at}")

    @property
    def params(self) -> dict[str, Value]:
        """Return every parameter with its value."""
        return dict(self.values)

    @property
    def aggregate(self) -> str:
        """Return how the values of the queries are combined."""
        return str(self.params[AGGREGATE])

    @property
    def weight(self) -> str | None:
        """Return the weights of the queries, if there are any."""
        return str(self.params[WEIGHT]) if self.aggregate == WEIGHTED else None

    @property
    def row_params(self) -> dict[str, Value]:
        """Return the parameters that its template gets, on which the values of its queries depend.

        Of the aggregate, a template learns only whether it must pool the queries: its rows are the
        same for all other aggregates, which it sees as mean.
        """
        rows = {key: value for key, value in self.params.items() if key != WEIGHT}
        return rows | {AGGREGATE: POOLED if self.aggregate == POOLED else "mean"}

    @property
    def has_pooled_row(self) -> bool:
        """Return whether its template returns a row without a query: the value over all queries."""
        return self.aggregate == POOLED or self.definition.pools == "always"

    @property
    def grain(self) -> Literal["query", "run", "all"]:
        """Return the rows needed for one value.

        The list and the judgments of a query, all lists of a run that are put together, or the
        judgments of all queries.
        """
        if self.has_pooled_row:
            return "run"
        return "all" if "documents" in self.definition.reads else "query"

    @property
    def direction(self) -> str:
        """Return the better direction: higher, lower or none."""
        return "none" if self.aggregate == "stddev" else self.definition.direction

    @property
    def arrow(self) -> str:
        """Return an arrow for the better direction."""
        return ARROWS.get(self.direction, "")

    @property
    def depth(self) -> int | None:
        """Return how many documents of each list count, or None if all do."""
        cutoff = self.definition.parameter("cutoff")
        depth = self.params[cutoff.name] if cutoff is not None and cutoff.is_rank else None
        return depth if isinstance(depth, int) else None

    @property
    def is_count(self) -> bool:
        """Return whether its value over all queries is a sum of counts."""
        return self.aggregate == "sum" and self.definition.counts


@dataclass(frozen=True)
class Defaults:
    """Defaults of a protocol or an option that replace the headers' defaults.

    `names` is the peer whose names come first.
    """

    level: int | None = None
    params: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()
    names: str | None = None


@dataclass(frozen=True)
class Requested:
    """A requested metric, with the name to print in a peer's own layout."""

    metric: Metric
    trec_name: str | None = None


def arguments(
    text: str,
    found: Template,
    params: str | None,
    at: str | None,
    fixed: Mapping[str, Value] | None = None,
) -> tuple[Template, dict[str, Value]]:
    """Read the parameters in a text, in addition to those fixed by the name.

    Returns them with the metric that they belong to, which may be another than the name's.
    """
    given: dict[str, str] = {}
    try:
        parts = split(params or "")
    except ValueError as error:
        raise UsageError(f"{text}: {error}") from None
    for part in parts:
        if not part:
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise UsageError(f"{text}: write parameters as name=value, not {part!r}")
        if key in given:
            raise UsageError(f"{text}: {key} is given twice")
        given[key] = value
    found = _meant_by_peers(text, found, given)
    if at is not None:
        if found.parameter(found.at) is None:
            raise UsageError(f"{text}: {found.name} takes no @{found.at}")
        if found.at in given:
            raise UsageError(f"{text}: {found.at} is given twice")
        given[found.at] = at
    return found, read_values(text, found, given, fixed)


def _meant_by_peers(text: str, found: Template, given: dict[str, str]) -> Template:
    """Return the metric that peers mean by a parameter; a redundant parameter is removed."""
    for key, target in found.other.items():
        if key not in given:
            continue
        if isinstance(target, str):
            return catalogue()[target]
        word = unquoted(given.pop(key))
        if word not in target:
            raise UsageError(f"{text}: {key} is one of {', '.join(target)}, not {word}")
        found = catalogue()[target[word]]
    return found


def read_values(
    text: str, found: Template, given: Mapping[str, str], fixed: Mapping[str, Value] | None = None
) -> dict[str, Value]:
    """Read the values of parameters, each by its type."""
    values: dict[str, Value] = dict(fixed or {})
    for key, value in given.items():
        if key in values:
            raise UsageError(f"{text}: the name fixes {key}={values[key]}")
        parameter = found.parameter(key)
        if parameter is None:
            known = [p.name for p in found.parameters]
            meant = "rel" if "rel" in known and key.lower() in _RELEVANCE else key
            hint = nearest(meant, known) or f"; it has {listing(known) or 'none'}"
            raise UsageError(f"{text}: {found.name} has no parameter {key!r}{hint}")
        try:
            values[key] = parameter.read(value)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{text}: {error}") from None
    return values


def settle(
    text: str,
    found: Template,
    given: Mapping[str, Value],
    defaults: Defaults,
    *,
    complete: bool = True,
) -> Metric:
    """Return the metric with other parameters at their defaults; `complete` requires required ones."""
    settled: dict[str, Value] = {}
    overrides = defaults.params.get(found.name, {})
    for p in found.parameters:
        if p.name in given:
            settled[p.name] = given[p.name]
        elif p.follows_level and defaults.level is not None:
            settled[p.name] = defaults.level
        elif p.name in overrides:
            settled[p.name] = p.from_toml(overrides[p.name])
        elif p.required and complete:
            article = "an" if p.name[0] in "aeiou" else "a"
            example = _example(found, given)
            raise UsageError(f"{text}: needs {article} {p.name}, as in {example}")
        else:
            settled[p.name] = p.default
    for p in found.parameters:
        _replace(text, p, found, given, settled)
        _check_needed(text, p, found, settled)
        _check_above(text, p, settled)
    return Metric(found, found.name, tuple(settled.items()))


def _example(found: Template, given: Mapping[str, Value]) -> Metric:
    """Return the metric as given, with a value for every required parameter that is missing."""
    values = dict(given)
    for p in found.parameters:
        if p.required and p.name not in values:
            below = values.get(p.above or "")
            values[p.name] = (
                "genre" if p.type == "attribute"
                else 0.5 if p.type == "number"
                else 10 if p.name == found.at
                else 3 if not isinstance(below, int) else max(3, below + 1)
            )  # fmt: skip
    return Metric(found, found.name, tuple(values.items()))


def _replace(
    text: str, p: Parameter, found: Template, given: Mapping[str, Value], settled: dict[str, Value]
) -> None:
    """Drop the parameters that this one replaces; giving one of them too is an error."""
    if settled[p.name] is None:
        return
    for other in found.parameters:
        if other.name in p.replaces:
            if given.get(other.name, other.default) != other.default:
                raise UsageError(
                    f"{text}: {p.name} stands in place of {other.name}; give one of them"
                )
            settled[other.name] = other.default


def _check_needed(text: str, p: Parameter, found: Template, settled: Mapping[str, Value]) -> None:
    """Refuse a value without the parameter that it needs, or next to one that it excludes."""
    value = settled[p.name]
    for other, excluded in p.excludes.get(str(value), {}).items():
        if settled[other] == excluded:
            raise UsageError(
                f"{text}: {p.name}={value} does not go with {other}={excluded}; "
                f"choose another {other} or {p.name}"
            )
    needed = p.needs.get(str(value))
    if needed is not None and settled.get(needed) is None:
        example = f"{text}@10"
        if needed == WEIGHT:
            example = f"{found.name}({p.name}={value}, {needed}=relevant)"
        raise UsageError(f"{text}: {p.name}={value} needs a {needed}, as in {example}")
    highest, needed_value = p.at_most.get(str(value)), settled.get(needed or "")
    if highest is not None and isinstance(needed_value, int | float) and needed_value > highest:
        raise UsageError(
            f"{text}: with {p.name}={value} the {needed} is at most {bound(highest)}, not {needed_value}"
        )
    if p.only_for is not None and value is not None:
        other, wanted = p.only_for
        if settled[other] != wanted:
            raise UsageError(
                f"{text}: {p.name} goes with {other}={wanted}, as in "
                f"{found.name}({other}={wanted}, {p.name}={p.write(value)})"
            )


def _check_above(text: str, p: Parameter, settled: Mapping[str, Value]) -> None:
    """Refuse a value that is not above the value of the parameter named in its header."""
    if p.above is None:
        return
    value, bound = settled[p.name], settled[p.above]
    if isinstance(value, int | float) and isinstance(bound, int | float) and value <= bound:
        raise UsageError(f"{text}: {p.name} is above {p.above}, and {value} is not above {bound}")
