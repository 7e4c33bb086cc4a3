"""The notation of metrics: `Name(param=value, ...)@cutoff`, read, settled and printed back.

It has one canonical form, which is what is stored. Names of ranx (`ndcg@10`, `map@100-l2`), of
trec_eval (`ndcg_cut_10`, `P.5,10`) and of other peers (`oocover`, `k@recall(0.5)`) are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from warehouse.catalogue import (
    AGGREGATE,
    Alias,
    Definition,
    Parameter,
    RanxName,
    TrecName,
    Value,
    catalogue,
)
from warehouse.errors import UsageError, WarehouseError, listing, nearest

_NOTATION = re.compile(r"^(?P<name>[^\s@()]+?)(?:\((?P<params>[^()]*)\))?(?:@(?P<at>[^\s@()]+?))?$")
# `k@recall(0.5)`: a name that holds an @, with the value of the @ in parentheses
_FUNCTION = re.compile(r"^(?P<name>[^\s@()]+@[a-z]+)\((?P<at>[^()]*)\)$")
_RANX_DECIMALS = re.compile(r"^(?P<name>\w+)[.@](?P<decimals>\d+)(?:-l(?P<level>\d+))?$")
_RANX_LEVEL = re.compile(r"^(?P<rest>.+)-l(?P<level>\d+)$")


@dataclass(frozen=True)
class Metric:
    """A metric with every parameter settled.

    >>> str(parse("ndcg_cut_10")[0]), str(parse("P(rel=2)@5")[0]), str(parse("map@100-l2")[0])
    ('nDCG@10', 'P(rel=2)@5', 'AP(rel=2)@100')
    """

    definition: Definition = field(compare=False, repr=False)
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
        """Return how the queries' values are put together."""
        return str(self.params.get(AGGREGATE, self.definition.aggregate))


@dataclass(frozen=True)
class Defaults:
    """What a protocol or an option puts in place of the headers' defaults."""

    level: int | None = None
    params: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    lacks: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Requested:
    """A metric as it was asked for, and the name to print where a peer's own layout is wanted."""

    metric: Metric
    trec_name: str | None = None


@dataclass(frozen=True)
class Relstring:
    """trec_eval's relstring: the grades of the first documents of a ranking in one string.

    It is no metric, for it has no value over queries; it is printed in trec_eval's layout only.
    """

    length: int
    trec_name: str


Line = Requested | Relstring


def definition(name: str) -> Definition:
    """Return one metric's definition by any of its names, or raise with the nearest name."""
    return parse_one(name, settle=False).metric.definition


@cache
def _aliases() -> dict[str, tuple[Definition, Alias]]:
    """Return every plain name by which a metric is known: its own and those of the peers.

    ranx's names are not among them: they have a notation of their own.
    """
    known = {name: (found, Alias("", name)) for name, found in catalogue().items()}
    for found in catalogue().values():
        for alias in found.names:
            if alias.peer != "ranx":
                known.setdefault(alias.name, (found, alias))
    return known


@cache
def _ranx() -> dict[str, list[tuple[Definition, RanxName]]]:
    known: dict[str, list[tuple[Definition, RanxName]]] = {}
    for found in catalogue().values():
        for ranx in found.ranx_names:
            known.setdefault(ranx.name, []).append((found, ranx))
    return known


@cache
def _trec() -> dict[str, tuple[Definition, TrecName]]:
    return {t.name: (d, t) for d in catalogue().values() for t in d.trec_names}


# --------------------------------------------------------------------------- trec_eval's sets

_COUNTS = "runid num_q num_ret num_rel num_rel_ret"
# trec_eval 10.0's nicknames, each with its measures in the order in which it prints them. What has no
# metric file yet is reported as missing by `parse`.
TREC_SETS: dict[str, tuple[str, ...]] = {
    name: tuple(measures.split())
    for name, measures in {
        "official": f"{_COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall P",
        "set": f"{_COUNTS} utility set_P set_relative_P set_recall set_map set_F",
        "all_trec": f"{_COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall "
        "infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut "
        "map_cut relative_P success set_P set_relative_P set_recall set_map set_F "
        "num_nonrel_judged_ret rbp rbp_resid unj",
    }.items()
}


# --------------------------------------------------------------------------- reading names


def parse(
    *texts: str, defaults: Defaults | None = None, missing: list[str] | None = None
) -> list[Metric]:
    """Read metric names; sets and names with several values give several metrics.

    All wrong names are reported at once, each with the nearest right one. Names of a trec_eval set
    that have no metric yet are appended to `missing`.

    >>> [str(m) for m in parse("P.5,10", "nDCG")]
    ['P@5', 'P@10', 'nDCG']
    """
    return [r.metric for r in request(*texts, defaults=defaults, missing=missing)]


def request(
    *texts: str, defaults: Defaults | None = None, missing: list[str] | None = None
) -> list[Requested]:
    """Read metric names as `parse` does, and keep the names that trec_eval has for them."""
    for text in _split(texts):
        if _relstring(text) is not None:
            raise UsageError(
                f"{text}: a string for each query and no metric; 'warehouse score -f trec' prints it"
            )
    found = lines(*texts, defaults=defaults, missing=missing)
    return [one for one in found if isinstance(one, Requested)]


def lines(
    *texts: str, defaults: Defaults | None = None, missing: list[str] | None = None
) -> list[Line]:
    """Read names as `request` does, and trec_eval's relstring too, in the order of their lines."""
    problems: list[str] = []
    found: dict[Line, None] = {}
    for text in _split(texts):
        try:
            found |= dict.fromkeys(_expand(text, defaults or Defaults(), missing))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return _own_length(list(found))


def _own_length(found: list[Line]) -> list[Line]:
    """Let `relstring.20` take the place of a set's relstring, as a parameter does in trec_eval."""
    strings = [one for one in found if isinstance(one, Relstring)]
    kept = [one for one in found if one not in strings[1:]]
    return [strings[-1] if one in strings else one for one in kept]


def parse_one(text: str, *, defaults: Defaults | None = None, settle: bool = True) -> Requested:
    """Read one name that stands for one metric; `settle=False` lets required values be absent."""
    expanded = [
        one
        for one in _expand(text, defaults or Defaults(), None, settle=settle)
        if isinstance(one, Requested)
    ]
    if len(expanded) != 1 and settle:
        raise UsageError(f"{text}: stands for several metrics; name one")
    return expanded[0]


def _relstring(text: str) -> Relstring | None:
    """Read `relstring` or `relstring.20`; None when it is neither."""
    name, dot, length = text.partition(".")
    if name != "relstring":
        return None
    if not dot:
        return Relstring(10, name)
    if not length.isdecimal() or int(length) < 1:
        raise UsageError(f"{text}: write the length as in relstring.20")
    return Relstring(int(length), f"{name}_{length}")


def _split(texts: Iterable[str]) -> list[str]:
    """Split on blanks outside parentheses, so that "AP P(rel=2)@5" may be one argument."""
    return [word for text in texts for word in re.findall(r"(?:\([^()]*\)|[^\s()])+|[()]", text)]


def _expand(
    text: str, defaults: Defaults, missing: list[str] | None, *, settle: bool = True
) -> Sequence[Line]:
    if text in TREC_SETS:
        members: list[Line] = []
        for name in TREC_SETS[text]:
            string = _relstring(name)
            if name in defaults.lacks:
                continue
            if string is not None:
                members.append(string)
            elif name in _trec():
                members += _from_trec(*_trec()[name], None, defaults)
            elif missing is not None and name != "runid":
                missing.append(name)
        return members
    string = _relstring(text)
    if string is not None:
        return [string]
    match = _FUNCTION.match(text)
    if match is not None and match["name"] in _aliases():
        found, alias = _aliases()[match["name"]]
        given = _arguments(text, found, None, match["at"], alias.fixed)
        return [Requested(_settle(text, found, given, defaults, settle=settle))]
    match = _NOTATION.match(text)
    if match is None:
        raise UsageError(f"{text}: not in the notation Name(param=value, ...)@cutoff")
    name, at = match["name"], match["at"]
    if name in _aliases():
        found, alias = _aliases()[name]
        given = _arguments(text, found, match["params"], at, alias.fixed)
        return [Requested(_settle(text, found, given, defaults, settle=settle))]
    with_decimals = _ranx_with_decimals(text, defaults)
    if with_decimals is not None:
        return [with_decimals]
    trec = _trec_request(text, defaults)
    if trec is not None:
        return trec
    ranx = _ranx_request(text, defaults, settle=settle)
    if ranx is not None:
        return [ranx]
    folded = {known.lower(): one for known, one in _aliases().items()}
    if name.lower() in folded:
        found, alias = folded[name.lower()]
        given = _arguments(text, found, match["params"], at, alias.fixed)
        return [Requested(_settle(text, found, given, defaults, settle=settle))]
    known_names = [*_aliases(), *_trec(), *_ranx(), *TREC_SETS]
    raise UsageError(f"{text}: no such metric{nearest(name, known_names)}")


def _arguments(
    text: str,
    found: Definition,
    params: str | None,
    at: str | None,
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    """Read the parameters that a text gives, beside those that its name has fixed."""
    given: dict[str, str] = {}
    for part in (params or "").split(","):
        if not part.strip():
            continue
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals:
            raise UsageError(f"{text}: write parameters as name=value, not {part.strip()!r}")
        if key in given:
            raise UsageError(f"{text}: {key} is given twice")
        given[key] = value
    if at is not None:
        if found.parameter(found.at) is None:
            raise UsageError(f"{text}: {found.name} takes no @{found.at}")
        if found.at in given:
            raise UsageError(f"{text}: {found.at} is given twice")
        given[found.at] = at
    return _read(text, found, given, fixed)


def _read(
    text: str,
    found: Definition,
    given: Mapping[str, str],
    fixed: Mapping[str, Value] | None = None,
) -> dict[str, Value]:
    values: dict[str, Value] = dict(fixed or {})
    for key, value in given.items():
        if key in values:
            raise UsageError(f"{text}: the name fixes {key}={values[key]}")
        parameter = found.parameter(key)
        if parameter is None:
            known = [p.name for p in found.parameters]
            hint = nearest(key, known) or f"; it has {listing(known) or 'none'}"
            raise UsageError(f"{text}: {found.name} has no parameter {key!r}{hint}")
        try:
            values[key] = parameter.read(value)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{text}: {error}") from None
    return values


def _settle(
    text: str,
    found: Definition,
    given: Mapping[str, Value],
    defaults: Defaults,
    *,
    settle: bool = True,
) -> Metric:
    settled: dict[str, Value] = {}
    overrides = defaults.params.get(found.name, {})
    for p in found.parameters:
        if p.name in given:
            settled[p.name] = given[p.name]
        elif p.name == "rel" and p.follows_level and defaults.level is not None:
            settled[p.name] = defaults.level
        elif p.name in overrides:
            settled[p.name] = overrides[p.name]
        elif p.required and settle:
            at = f"@{0.5 if p.type == 'number' else 10}"
            value = "genre" if p.type == "attribute" else 3
            example = found.name + (at if p.name == found.at else f"({p.name}={value})")
            article = "an" if p.name[0] in "aeiou" else "a"
            raise UsageError(f"{text}: {found.name} needs {article} {p.name}, as in {example}")
        else:
            settled[p.name] = p.default
    for p in found.parameters:
        needed = p.needs.get(str(settled[p.name]))
        if needed is not None and settled.get(needed) is None:
            raise UsageError(
                f"{text}: {p.name}={settled[p.name]} needs a {needed}, as in {text}@10"
            )
        _check_above(text, p, settled)
    return Metric(found, found.name, tuple(settled.items()))


def _check_above(text: str, p: Parameter, settled: Mapping[str, Value]) -> None:
    """Refuse a value that is not above that of the parameter which its header names."""
    if p.above is None:
        return
    value, bound = settled[p.name], settled[p.above]
    if isinstance(value, int | float) and isinstance(bound, int | float) and value <= bound:
        raise UsageError(f"{text}: {p.name} is above {p.above}, and {value} is not above {bound}")


def _trec_request(text: str, defaults: Defaults) -> list[Requested] | None:
    """Read `map`, `P_5`, `ndcg_cut_10`, `P.5,10`, `set_F_2.0`; None when it is not trec_eval's."""
    name, dot, listed = text.partition(".")
    if name in _trec():
        return _from_trec(*_trec()[name], listed if dot else None, defaults)
    stem, _, last = text.rpartition("_")
    if stem in _trec() and re.fullmatch(r"\d+(\.\d+)?", last):
        found, trec = _trec()[stem]
        if trec.param is not None:
            return _from_trec(found, trec, last, defaults)
    return None


def _from_trec(
    found: Definition, trec: TrecName, listed: str | None, defaults: Defaults
) -> list[Requested]:
    def one(given: Mapping[str, Value], label: str) -> Requested:
        metric = _settle(trec.name, found, {**trec.given, **given}, defaults)
        return Requested(metric, label)

    if trec.param is None:
        if listed is not None:
            raise UsageError(f"{trec.name}.{listed}: {trec.name} takes no parameters")
        return [one({}, trec.name)]
    parameter = found.parameter(trec.param)
    if parameter is None:
        raise WarehouseError(f"{found.name}: trec_eval name {trec.name} has a wrong param")
    if listed is None and not trec.values:
        return [one({}, trec.name)]
    try:
        words: Sequence[str] = listed.split(",") if listed else [str(v) for v in trec.values]
        values = [parameter.read(word) for word in words]
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{trec.name}: {error}") from None
    if len(set(values)) < len(values):
        raise UsageError(f"{trec.name}.{listed}: a value is there twice")
    order = sorted(values, key=lambda value: float(value or 0))
    return [one({trec.param: v}, f"{trec.name}_{trec.format.format(v)}") for v in order]


def trec_name(metric: Metric, defaults: Defaults) -> tuple[str, TrecName | None]:
    """Return trec_eval's name for a metric under some defaults, else its canonical name.

    >>> trec_name(parse("nDCG@10")[0], Defaults())[0]
    'ndcg_cut_10'
    """
    for trec in metric.definition.trec_names:
        value = None if trec.param is None else metric.params[trec.param]
        given = {} if trec.param is None or value is None else {trec.param: value}
        if trec.param is not None and value is None and trec.values:
            continue
        settled = _settle(trec.name, metric.definition, {**trec.given, **given}, defaults)
        if settled == metric:
            return trec.name + (f"_{trec.format.format(value)}" if given else ""), trec
    return str(metric), None


def _ranx_request(text: str, defaults: Defaults, *, settle: bool) -> Requested | None:
    """Read `ndcg@10`, `map@100-l2`, `precision`; None when it is not ranx's."""
    level = _RANX_LEVEL.match(text)
    rest = level["rest"] if level else text
    name, at_sign, at = rest.partition("@")
    candidates = _ranx().get(name, [])
    for found, ranx in candidates:
        if ranx.fraction is None and (
            bool(at_sign) == _wants_cutoff(found) or len(candidates) == 1
        ):
            given = _arguments(text, found, f"rel={level['level']}" if level else None, at or None)
            given = {**ranx.given, **given}
            return Requested(_settle(text, found, given, defaults, settle=settle))
    return None


def _ranx_with_decimals(text: str, defaults: Defaults) -> Requested | None:
    """Read `rbp.95`, `rbp@95` and `rbp.95-l2`; None when it is not of that kind."""
    match = _RANX_DECIMALS.match(text)
    if match is None:
        return None
    for found, ranx in _ranx().get(match["name"], ()):
        if ranx.fraction is not None:
            level = {"rel": match["level"]} if match["level"] else {}
            given = {ranx.fraction: f"0.{match['decimals']}", **level}
            read = _read(text, found, given)
            return Requested(_settle(text, found, {**ranx.given, **read}, defaults))
    return None


def _wants_cutoff(found: Definition) -> bool:
    cutoff = found.parameter("cutoff")
    return cutoff is not None and cutoff.required
