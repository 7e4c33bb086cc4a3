"""The notation of metrics: `Name(param=value, ...)@cutoff`, read, settled and printed back.

It has one canonical form, which is what is stored. Names of ranx (`ndcg@10`, `map@100-l2`), of
trec_eval (`ndcg_cut_10`, `P.5,10`) and of other peers (`oocover`, `k@recall(0.5)`) are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from warehouse import extending
from warehouse.config import project
from warehouse.config.project import per_project
from warehouse.errors import DefinitionError, UsageError, nearest_name
from warehouse.metrics import peer_names
from warehouse.metrics.catalogue import broken, catalogue
from warehouse.metrics.lazy import Lazy
from warehouse.metrics.metric import Defaults, Metric, Requested, arguments, settle
from warehouse.metrics.peer_names import TREC_SETS, Relstring, trec_name
from warehouse.metrics.template import Alias, Template
from warehouse.sql_text import templates

__all__ = [
    "TREC_SETS", "Defaults", "Line", "Metric", "MetricLike", "Metrics", "Relstring", "Requested",
    "definition", "lines", "parse", "parse_one", "peers", "read_plain", "request", "split",
    "trec_name",
]  # fmt: skip

_NOTATION = re.compile(r"^(?P<name>[^\s@()]+?)(?:\((?P<params>[^()]*)\))?(?:@(?P<at>[^\s@()]+?))?$")
_CUTOFF_FIRST = re.compile(r"^(?P<name>[^\s@()]+)(?P<at>@[^\s@()]+)(?P<params>\([^()]*\))$")
# `k@recall(0.5)`: a name that holds an @, with its value or with parameters in parentheses
_FUNCTION = re.compile(r"^(?P<name>[^\s@()]+@[A-Za-z]+)\((?P<inside>[^()]*)\)$")
# `ndcg_at_10`, as MTEB and others write a cutoff
_AT = re.compile(r"^(?P<name>[^\s@()]+)_at_(?P<cutoff>\d+)$")

Line = Requested | Relstring
# Parsed metrics keep their meaning under any protocol.
MetricLike = str | Metric | Requested | Relstring
Metrics = str | Iterable[MetricLike]
_T = TypeVar("_T", bound=Template)


def definition(name: str) -> Template:
    """Return a metric's definition by any of its names. Raises UsageError with the nearest name."""
    return parse_one(name, settle=False).metric.definition


@per_project
def _metric_names() -> Mapping[str, tuple[Template, Alias]]:
    """Return every metric by its own name."""
    return Lazy(catalogue(), lambda name: (catalogue()[name], Alias("", name)))


@per_project
def _plain_names() -> dict[str, dict[str, tuple[Template, Alias]]]:
    """Return the plain names of each peer, BEIR's and ir_measures' first: the notation is the latter's.

    Accuracy is the share of queries with a hit nearly everywhere, as in BEIR, and the area under the
    ROC curve in ir_measures alone. ranx and trec_eval are not included: they have notations of their
    own.
    """
    known: dict[str, dict[str, tuple[Template, Alias]]] = {"beir": {}, "ir_measures": {}}
    for found in catalogue().values():
        for alias in found.names:
            if alias.peer != "ranx":
                known.setdefault(alias.peer, {})[alias.name] = (found, alias)
    return known


@per_project
def _every_name() -> dict[str, tuple[Template, Alias]]:
    """Return every plain name of a metric: its own and its peers' names.

    If several peers use a name for different metrics, the first peer's meaning is used. A name that
    trec_eval or ranx has too is theirs.
    """
    known = dict(_metric_names())
    theirs = {*peer_names.trec_names(), *peer_names.ranx_names()}
    for names in _plain_names().values():
        for name, meant in names.items():
            if name not in theirs:
                known.setdefault(name, meant)
    return known


def folded_names(known: Mapping[str, _T]) -> dict[str, tuple[_T, Alias]]:
    """Return templates by every name, also in lower case, unless two names then collide."""
    names = {name: (found, Alias("", name)) for name, found in known.items()}
    for found in known.values():
        names |= {alias.name: (found, alias) for alias in found.names}
    return names | {name.lower(): one for name, one in names.items() if name.lower() not in names}


def _names_under(peer: str | None) -> Mapping[str, tuple[Template, Alias]]:
    """Return every plain name, with one peer's first."""
    return {**_every_name(), **_plain_names().get(peer or "", {})}


def peers() -> list[str]:
    """Return the peers that have names for metrics."""
    return sorted({*_plain_names(), "ranx", "trec_eval"})


def parse(*asked: MetricLike, defaults: Defaults | None = None) -> list[Metric]:
    """Read metric names; sets and names with several values give several metrics.

    All wrong names are reported at once, each with the nearest right one. Arguments that are
    metrics already are kept as they are, whatever the defaults.

    >>> [str(m) for m in parse("P.5,10", "nDCG(gains={2: 9, 1: 3})@10")]
    ['P@5', 'P@10', 'nDCG(gains={1:3,2:9})@10']
    """
    return [r.metric for r in request(*asked, defaults=defaults)]


@project.request()
def request(*asked: MetricLike, defaults: Defaults | None = None) -> list[Requested]:
    """Read metric names like `parse`, and keep trec_eval's names for them."""
    for text in split(asked):
        if isinstance(text, str) and peer_names.relstring(text) is not None:
            raise UsageError(
                f"{text}: a string for each query, not a metric; 'warehouse score -f trec' prints it"
            )
    return [one for one in lines(*asked, defaults=defaults) if isinstance(one, Requested)]


@project.request()
def lines(*asked: MetricLike, defaults: Defaults | None = None) -> list[Line]:
    """Read names like `request`, and trec_eval's relstring too, in the order of their lines."""
    problems: list[str] = []
    found: dict[Line, None] = {}
    for text in split(asked):
        if isinstance(text, Metric):
            found[Requested(text)] = None
            continue
        if not isinstance(text, str):
            found[text] = None
            continue
        try:
            found |= dict.fromkeys(_expand(text, defaults or Defaults()))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        raise UsageError("\n".join(problems))
    return _last_relstring(list(found))


def _last_relstring(found: list[Line]) -> list[Line]:
    """Let `relstring.20` replace a set's relstring, like a parameter in trec_eval."""
    strings = [one for one in found if isinstance(one, Relstring)]
    kept = [one for one in found if one not in strings[1:]]
    return [strings[-1] if one in strings else one for one in kept]


@project.request()
def parse_one(text: str, *, defaults: Defaults | None = None, settle: bool = True) -> Requested:
    """Read a name that stands for one metric; with `settle=False`, required values may be missing."""
    text = _aliased(text)
    expanded = [
        one
        for one in _expand(text, defaults or Defaults(), complete=settle)
        if isinstance(one, Requested)
    ]
    if not expanded:
        raise UsageError(f"{text}: not a metric; 'warehouse score -f trec' prints it")
    if len(expanded) != 1 and settle:
        raise UsageError(f"{text}: stands for several metrics; name one")
    return expanded[0]


# The name of a metric in a text of several.
_WORD = re.compile(
    r"(?:\([^()]*\)|[^\s(),]|,(?=[-+]?[\d.]+(?:=[-+\d.]+)?(?:[,\s]|$)))+|[()]|^[\s,]*,[\s,]*$"
)


# A name that a metric is given where it is asked for.
_GIVEN = re.compile(r"\s*(?P<label>[^\s=(),]+)\s+=\s+(?P<metric>\S.*)", re.DOTALL)


class Labelled(str):
    """The notation of a metric that is asked for under a name of its own, its `label`."""

    label: str

    def __new__(cls, metric: str, label: str) -> Labelled:
        made = super().__new__(cls, metric)
        made.label = label
        return made


def labels(*asked: MetricLike, defaults: Defaults | None = None) -> dict[str, str]:
    """Return the names by which metrics were asked for, where they are not their own.

    A peer's name that hides parameters, or that peers use for several metrics, is followed by the
    notation. A text that stands for no metric, or for several, has no label.

    >>> labels("map", "gain = nDCG(dcg=exp-log2)@10", "RR", "P.5,10")
    {'AP': 'map', 'nDCG(dcg=exp-log2)@10': 'gain'}
    >>> labels("apk@5", "Accuracy@1")
    {'AP(norm=min)@5': 'apk@5 = AP(norm=min)@5', 'Success@1': 'Accuracy@1 = Success@1'}
    """
    found: dict[str, str] = {}
    for one in split(asked):
        try:
            metrics = [] if isinstance(one, Metric) else parse(one, defaults=defaults)
        except UsageError:
            continue
        if len(metrics) == 1:
            metric = str(metrics[0])
            label = one.label if isinstance(one, Labelled) else str(one)
            if label != metric and not isinstance(one, Labelled) and _hides(label, metric):
                label = f"{label} = {metric}"
            found.setdefault(metric, label)
    return {metric: label for metric, label in found.items() if label != metric}


def _hides(label: str, metric: str) -> bool:
    """Whether a name lacks parameters of its metric, or means different metrics to its peers."""
    params = metric.partition("(")[2].rpartition(")")[0].split(", ")
    name = label.partition("(")[0].partition("@")[0]
    meanings = {
        (found.name, *alias.fixed.items())
        for names in _plain_names().values()
        if name in names
        for found, alias in [names[name]]
    }
    written = label.replace(" ", "")
    return len(meanings) > 1 or any(one not in written for one in params)


def split(asked: Iterable[MetricLike]) -> list[MetricLike]:
    """Split on blanks and commas outside parentheses, so that one argument may name several.

    A comma before a number goes on with a list of cutoffs, as trec_eval writes them. What has a name
    of its own, as in "novelty = MIUF@10", is one metric.

    >>> split(["AP,nDCG@10", "P(rel=2)@5 P.5,10", "SetP(relative=1,rel=2), 11pt_avg"])
    ['AP', 'nDCG@10', 'P(rel=2)@5', 'P.5,10', 'SetP(relative=1,rel=2)', '11pt_avg']
    >>> split(["P(rel=2@5"])
    Traceback (most recent call last):
    warehouse.errors.UsageError: P(rel=2@5: not in the notation Name(param=value, ...)@cutoff: ...
    >>> split(["utility.2,-1,0,0,map", "ndcg.1=3,2=9"])
    ['utility.2,-1,0,0', 'map', 'ndcg.1=3,2=9']
    """
    words: list[MetricLike] = []
    for one in asked:
        if isinstance(one, Metric | Requested | Relstring):
            words.append(one)
        elif not isinstance(one, str):
            raise UsageError(f"a metric is named by a text, as in 'nDCG@10', not {one!r}")
        elif not one.strip():
            raise UsageError("an empty text names no metric; write one as in nDCG@10")
        elif one.count("(") != one.count(")"):
            raise UsageError(
                f"{one}: not in the notation Name(param=value, ...)@cutoff: a parenthesis has no pair"
            )
        elif given := _GIVEN.fullmatch(one):
            words.append(Labelled(given["metric"].strip(), given["label"]))
        else:
            words += map(_aliased, _WORD.findall(one))
    return words


def _aliased(word: str) -> str:
    """Return a word, or the notation that the project's file has for it."""
    found = project.current()
    if word not in found.aliases:
        return _added_name(word)
    meant, at = found.aliases[word], ("aliases", word)
    try:
        _expand(word, Defaults())
    except UsageError:
        pass
    else:
        raise found.document.error(at, "is a metric's own name; choose another")
    try:
        number = len(_expand(meant, Defaults()))
    except UsageError as error:
        raise found.document.error(at, str(error)) from None
    if number != 1:
        raise found.document.error(at, f"{meant} stands for several metrics; name one")
    return Labelled(meant, word)


def _added_name(word: str) -> str:
    """Return a word, or the notation that an extension has for it, if no metric has this name."""
    for one in extending.found():
        meant = one.extension.names.get(word)
        if meant is not None and not _count(word):
            if _count(meant) == 1:
                return Labelled(meant, word)
            extending.leave_out(one.name, f"names: {word}: {meant} is not the name of one metric")
    return word


def _count(text: str) -> int:
    """Return how many metrics a text names."""
    try:
        return len(_expand(text, Defaults()))
    except UsageError:
        return 0


def _expand(text: str, defaults: Defaults, *, complete: bool = True) -> Sequence[Line]:
    if text in TREC_SETS:
        return peer_names.trec_set(text, defaults)
    string = peer_names.relstring(text)
    if string is not None:
        return [string]

    # a metric's own name first: that needs no other metric's file
    match = _NOTATION.match(text)
    is_own = match is not None and match["name"] in catalogue()
    if not is_own and defaults.names in ("ranx", "trec_eval"):
        first = peer_names.read(text, defaults, only=defaults.names, complete=complete)
        if first:
            return first
    names = _metric_names() if is_own else _names_under(defaults.names)
    known = read_plain(text, names, defaults, complete=complete)
    if known is not None:
        return [Requested(known)]
    named = peer_names.read(text, defaults, complete=complete)
    if named:
        return named
    if at := _AT.match(text):
        try:
            return _expand(f"{at['name']}@{at['cutoff']}", defaults, complete=complete)
        except UsageError:
            pass
    name = _match(text)["name"]
    if name in broken():
        raise broken()[name]
    right = _in_another_case(name, defaults.names)
    if right is not None:
        return _expand(right + text[len(name) :], defaults, complete=complete)
    if curve := _curve_hint(name):
        raise UsageError(f"{text}: {curve}")
    hint = _cutoff_hint(text, defaults) or _file_hint(name) or _name_hint(text, name, defaults)
    hint = hint or "".join(f"; left out: {error}" for error in broken().values())
    raise UsageError(f"{text}: no such metric{hint}")


def _in_another_case(name: str, peer: str | None) -> str | None:
    """Return the name that differs from a text only in upper and lower case, or None.

    A metric's own name comes first, then the given peer's. Raises UsageError if the other
    matches mean different metrics.
    """
    for names in (_metric_names(), _plain_names().get(peer or "", {}), _every_name()):
        spelled = [known for known in names if known.lower() == name.lower()]
        meant = {
            known: (found.name, frozenset(alias.fixed.items()))
            for known, (found, alias) in ((known, names[known]) for known in spelled)
        }
        if len(set(meant.values())) > 1:
            both = " and ".join(f"{known} ({meant[known][0]})" for known in spelled)
            raise UsageError(f"{name}: {both} are different metrics; write one of these names")
        if spelled:
            return spelled[0]
    others = (*peer_names.ranx_names(), *peer_names.trec_names())
    return next((known for known in others if known.lower() == name.lower() != name), None)


def _curve_hint(name: str) -> str:
    """Say that a name is a curve's, else return an empty text."""
    from warehouse.metrics.curves import curves  # which reads its own names with this module

    for curve in curves().values():
        if name in (curve.name, *(alias.name for alias in curve.names)):
            return f"a curve, not a metric: warehouse curve {curve.name}"
    return ""


def _cutoff_hint(text: str, defaults: Defaults) -> str:
    """Return `; did you mean R@100?` for recall_at_100 or R100, else an empty text."""
    match = re.fullmatch(r"(?P<name>[A-Za-z]\w*?)(?:_at)?_?(?P<cutoff>\d+)", text)
    if match is None:
        return ""
    try:
        (found,) = _expand(f"{match['name']}@{match['cutoff']}", defaults)
    except (UsageError, ValueError):
        return ""
    return f"; did you mean {found.metric}?" if isinstance(found, Requested) else ""


def _file_hint(name: str) -> str:
    """Say that a file of that name in the project's folder has the wrong suffix for a metric."""
    folder = project.current().metrics
    if folder is None or not folder.is_dir():
        return ""
    for path in sorted(folder.iterdir()):
        if path.name in (f"{name}.sql", f"{name}.j2"):
            return f"; {project.relative(path)}: a metric's file ends in {templates.SUFFIX}"
    return ""


def _name_hint(text: str, name: str, defaults: Defaults) -> str:
    """Return `; did you mean nDCG@10?` for nDGC@10: the nearest name, with its suffix if allowed."""
    known = [
        *project.current().aliases, *_every_name(), *peer_names.trec_names(),
        *peer_names.ranx_names(), *TREC_SETS,
    ]  # fmt: skip
    near = nearest_name(name, known)
    example = peer_names.example(name)
    if example is not None and not (near or "").startswith(name[: name.rindex("_") + 1]):
        return f"; a number is missing, as in {example}"
    if near is None:
        return ""
    whole = near + text[len(name) :]
    try:
        right = whole if whole != text and _expand(whole, defaults) else near
    except UsageError:
        right = near
    return f"; did you mean {right}?"


def read_plain(
    text: str,
    names: Mapping[str, tuple[Template, Alias]],
    defaults: Defaults,
    *,
    complete: bool = True,
) -> Metric | None:
    """Read a name with its parameters, or return None if the name is none of these.

    Raises UsageError if it is not in the notation.
    """
    match = _FUNCTION.match(text)
    name: str
    params: str | None = None
    at: str | None = None
    if text in names:
        name = text
    elif match is not None and match["name"] in names:
        name = match["name"]
        if "=" in match["inside"]:
            params = match["inside"]
        else:
            at = match["inside"]
    else:
        name, params, at = _match(text).group("name", "params", "at")
    if name not in names:
        return None
    definition, alias = names[name]
    found, given = arguments(text, definition, params, at, alias.fixed)
    return settle(text, found, {**alias.usual, **given}, defaults, complete=complete)


def _match(text: str) -> re.Match[str]:
    match = _NOTATION.match(text)
    if match is None:
        swapped = _CUTOFF_FIRST.sub(r"\g<name>\g<params>\g<at>", text)
        hint = f"; did you mean {swapped}?" if swapped != text else ""
        raise UsageError(f"{text}: not in the notation Name(param=value, ...)@cutoff{hint}")
    return match


def known_metric(name: str) -> Metric | None:
    """Return the metric of a stored name, or None if it no longer exists."""
    try:
        return parse_one(name).metric
    except (UsageError, DefinitionError):
        return None
