"""The catalogue of metrics: the headers of the files in `sql/metrics`, thoroughly checked.

A metric is one file; its name is the file's name and nothing else lists it. A project adds its own,
and a program registers functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import ClassVar, TypeVar

from msgspec import structs

from warehouse import extending
from warehouse.config import project, toml
from warehouse.errors import DefinitionError, nearest
from warehouse.metrics import aggregates, checks
from warehouse.metrics.aggregates import AGGREGATE, POOLED, WEIGHT
from warehouse.metrics.header import MetricHeader
from warehouse.metrics.lazy import Lazy
from warehouse.metrics.template import (
    Function,
    Template,
    header_parameters,
    parts,
    source,
    template,
)
from warehouse.sql_text import templates

ARROWS = {"higher": "↑", "lower": "↓"}
# How far others use a metric, in words.
MATURITY = {
    "established": "used by tracks, libraries or many papers",
    "experimental": "little used beyond what proposed it",
    "obsolete": "kept to repeat old results; nothing new is reported in it",
}
# Keys that a metric does not take from the one that it extends: a peer's name means one metric.
_NOT_EXTENDED = ("names", "ranx", "trec_eval", "other")
# The header and the SQL of a metric.
_Parts = tuple[toml.Document, str]
_T = TypeVar("_T")
# The lists that a function gets.
_LISTS = "select * from {{ graded_lists }}"


class MetricTemplate(Template, frozen=True, kw_only=True):
    """The definition in the file of a metric; `range` has the lowest and the highest value.

    `maturity` says how far others use it: see MATURITY.
    """

    range: tuple[float, float]
    maturity: str = "established"
    kind: ClassVar[str] = "metric"


def _metric(
    name: str,
    document: toml.Document,
    body: str,
    own: Mapping[str, _Parts] | None = None,
    function: Function | None = None,
) -> MetricTemplate:
    """Read a metric's file; `own` holds the files of a project's metrics, `function` computes it."""
    original = document.record
    only = "extends" in original and "aggregate" in original
    if "extends" in original:
        document, original, body = _extended(document, body, own or {})
    head = document.convert(MetricHeader)
    if WEIGHT in head.param:
        raise document.error(("param", WEIGHT), "every metric has one of that name; choose another")
    checks.check_range(document, (), head.range)
    pools = "asked" if AGGREGATE in head.param else "never"
    if pools == "never" and original.get("aggregate") == POOLED:
        pools = "always"
    try:
        parameters = aggregates.with_parameters(
            header_parameters(document, head), head.aggregate, pools=pools != "never", only=only
        )
    except ValueError as error:
        raise document.error(("param", AGGREGATE), str(error)) from None
    found = template(
        MetricTemplate,
        document,
        head,
        name,
        body,
        parameters,
        undefined=None if head.undefined == "null" else head.undefined,
        is_own=own is not None,
        pools=pools,
        counts=original.get("aggregate") == "sum",
        function=function,
    )
    if own is not None:
        return found
    return structs.replace(found, parameters=aggregates.with_no_relevant(found.parameters))


def _extended(
    document: toml.Document, body: str, own: Mapping[str, _Parts]
) -> tuple[toml.Document, Mapping[str, object], str]:
    """Return a header, merged with the header of the metric that it extends, the latter, and its SQL."""
    parent = document.record["extends"]
    known = [*templates.names_in("metrics"), *own]
    problem = f"extends {parent!r}"
    if parent not in known:
        hint = nearest(str(parent), known)
        raise document.error(("extends",), f"{problem}, which is not a metric{hint}", ())
    extended, sql = own[parent] if parent in own else source("metrics", parent)
    if "extends" in extended.record:
        raise document.error(("extends",), f"{problem}, which itself extends another metric", ())
    if body:
        raise document.error(("extends",), f"{problem} and has a body of its own", ())
    inherited = {key: v for key, v in extended.record.items() if key not in _NOT_EXTENDED}
    return replace(document, record={**inherited, **document.record}), extended.record, sql


# The metrics that the running program has registered, by name.
_functions: dict[str, MetricTemplate] = {}


@cache
def _built_in() -> Mapping[str, MetricTemplate]:
    return Lazy(templates.names_in("metrics"), lambda name: _metric(name, *source("metrics", name)))


@project.per_project
def catalogue() -> Mapping[str, MetricTemplate]:
    """Return every metric by its name: files of `sql/metrics`, the project's own, registered functions.

    Files of the project that are wrong are left out: see `broken`.
    """
    _import_functions()
    own, _ = _of_project()
    return {**_built_in(), **own, **_functions} if own or _functions else _built_in()


@cache
def _import_functions() -> None:
    """Import the modules of extensions in which functions are metrics."""
    for _ in extending.objects("functions"):
        pass


def register(name: str, header: Mapping[str, object], where: str, function: Function) -> None:
    """Add a metric that a function computes; one that was registered by that name is replaced.

    `header` has the keys of a metric's file, `where` names the function in errors.
    """
    document = toml.Document(where, {**header, "reads": ["graded_lists"]})
    found = _metric(name, document, _LISTS, {}, function)
    others = [one for one in catalogue().values() if one.name not in _functions]
    checks.check_names([found], checks.names_of(others))
    _functions[name] = found
    project.registered.count += 1


def broken() -> Mapping[str, DefinitionError]:
    """Return the problems of files of the project's metrics, by the names of these metrics."""
    return _of_project()[1]


@project.per_project
def _of_project() -> tuple[dict[str, MetricTemplate], dict[str, DefinitionError]]:
    """Return the metrics of the project and of extensions, and the errors of the files that are none."""
    here = project.current()
    here.check_folder()
    wrong: dict[str, DefinitionError] = {}
    paths: dict[str, Path] = {}
    for path in here.metric_files:
        name = path.name.removesuffix(templates.SUFFIX)
        if paths.setdefault(name, path) != path:
            where, other = project.relative(path), project.relative(paths[name])
            wrong[str(path)] = DefinitionError(f"{where}: {other} has a metric of that name")
    added: dict[str, str] = {}
    for one in extending.others():
        for path in one.extension.files("metrics"):
            name = path.name.removesuffix(templates.SUFFIX)
            if paths.setdefault(name, path) != path:
                extending.leave_out(one.name, f"{path}: {paths[name]} has a metric of that name")
            else:
                added[name] = one.name
    if not paths:
        return {}, wrong

    def each(names: Iterable[str], make: Callable[[str], _T]) -> dict[str, _T]:
        """Return the result for each name, but for the names that are wrong."""
        made: dict[str, _T] = {}
        for name in names:
            try:
                made[name] = make(name)
            except DefinitionError as error:
                wrong[name] = error
        return made

    texts = each(paths, lambda name: project.read_text(paths[name]))
    files = each(texts, lambda name: parts(texts[name], project.relative(paths[name])))
    own = each(files, lambda name: _metric(name, *files[name], own=files))
    taken = checks.names_of(_built_in().values())
    types = {p.name: p.type for found in _built_in().values() for p in found.parameters}

    def checked(name: str) -> MetricTemplate:
        found = own[name]
        checks.check_names([found], taken)
        checks.check_body(found, texts[name] if files[name][1] else found.body, types)
        return found

    own = each(own, checked)
    while True:  # what refers to a wrong one is wrong
        every = {**_built_in(), **own}
        fit = each(own, lambda name: checks.check_other(own[name], every))  # noqa: B023
        if len(fit) == len(own):
            break
        own = {name: own[name] for name in fit}
    for name in wrong.keys() & added.keys():
        extending.leave_out(added[name], wrong[name])
    return own, wrong
