"""Loading a run into the warehouse: staged first, then stored inside the caller's transaction."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, Unpack

import duckdb

from warehouse import readers
from warehouse.config import times
from warehouse.errors import (
    ConflictError,
    UsageError,
    WarehouseError,
    check_text,
    check_word,
    command,
    counted,
    is_utf8,
    option,
)
from warehouse.ingest import arguments, steps
from warehouse.ingest.known_runs import Known
from warehouse.readers import in_place, row_rules
from warehouse.readers.arguments import Rows
from warehouse.readers.batches import Batch
from warehouse.readers.checks import holding, other_forms
from warehouse.readers.files import default_name
from warehouse.readers.kinds import RUN_NUMBER
from warehouse.sql_text.templates import render
from warehouse.store import rows

# The tables of predictions, by whether all ids of documents are whole numbers.
_STORED = ("prediction_by_text", "prediction_by_number")
# How far the clocks or dates of two places may differ.
_AHEAD = dt.timedelta(days=1)


@dataclass(frozen=True)
class RunOptions:
    """The description of a run that does not come from its content.

    A run with the same content that is there already gets another `system` or other `tags` only if
    they are given and differ. `exact` names which of system, tags and time hold exactly as
    given here, so that a missing value clears the stored one. `rename` says how to give the run
    another name, if not by its option, or is None if it keeps its name. With `leave_forgotten`, the
    content of a forgotten run is not loaded again. `gone` has the runs whose files are gone: of
    those, one with the same content gets the new name. With `where_it_lies`, the predictions stay in
    their file.
    """

    name: str | None = None
    name_from: Literal["stem", "tag"] = "stem"
    system: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    run_at: dt.datetime | None = None
    lower_is_better: bool = False
    exact: frozenset[str] = frozenset()
    rename: str | None = ""
    leave_forgotten: bool = False
    gone: frozenset[str] = frozenset()
    where_it_lies: bool = False


def stage_run(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    options: RunOptions | None = None,
    *,
    replace: bool = False,
    **how: Unpack[Rows],
) -> steps.Store[steps.Loaded]:
    """Stage a run; return the function that stores it, as `store_run`."""
    options = options or RunOptions()
    check_names(dataset, options)
    how["repeated"] = row_rules.best_is(how.get("repeated"), lowest=options.lower_is_better)
    staged = readers.stage(con, source, "run", **how)
    return partial(store_run, staged=staged, dataset=dataset, options=options, replace=replace)


def store_run(
    con: duckdb.DuckDBPyConnection,
    staged: readers.Staged,
    dataset: str,
    options: RunOptions,
    replace: bool,
) -> steps.Loaded:
    """Store the staged run. If its name has other content, `replace` is required and adds a version."""
    (done,) = load_staged(con, Batch(0, (staged,), together=False), dataset, [options], replace)
    if isinstance(done, WarehouseError):
        raise done
    return done


def check_names(dataset: str, options: RunOptions) -> None:
    """Refuse empty names, and descriptions that cannot be stored."""
    steps.check_name("dataset", dataset)
    check_options(options)


def check_options(options: RunOptions) -> None:
    """Refuse an empty name of a run, and a description that cannot be stored."""
    if options.name is not None:
        steps.check_name("run", options.name)
    if options.system is not None:
        check_text("system", options.system)
    check_word("place of a run's name", options.name_from, ("stem", "tag"))
    for key, value in options.tags.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            raise UsageError(f"tag {key!r}: key and value are texts, not {value!r}")
        if not key.strip():
            raise UsageError(f"tag {key!r}: the key is empty")
        if not is_utf8(key + value):
            raise UsageError(f"tag {key!r}: is not valid Unicode text: {value!r}")
    at = options.run_at
    if at is not None and (not isinstance(at, dt.datetime) or at != at):
        raise UsageError(f"run_at: is a time of datetime, not {at!r}")
    if at is not None:
        try:
            times.in_utc(at)
        except ValueError as error:
            raise UsageError(f"run_at {at}: {error}") from None


def take_description(how: dict[str, Any]) -> RunOptions:
    """Take the description of a run out of arguments; its time holds, and is UTC without a zone."""
    about: Any = {key: how.pop(key) for key in arguments.About.__annotations__}
    run_at = about["run_at"]
    if isinstance(run_at, dt.datetime) and run_at.tzinfo is None:
        about["run_at"] = run_at.replace(tzinfo=dt.UTC)
    if not isinstance(about["tags"] or {}, Mapping):
        raise UsageError(f"tags is a dict, not {about['tags']!r}")
    exact = frozenset(() if run_at is None else ("time",))
    options = RunOptions(
        how.pop("name", None), exact=exact, **{**about, "tags": about["tags"] or {}}
    )
    check_options(options)
    return options


def load_staged(
    con: duckdb.DuckDBPyConnection,
    batch: Batch,
    dataset: str,
    options: Sequence[RunOptions],
    replace: bool,
    named: dict[str, str] | None = None,
) -> list[steps.Loaded | WarehouseError]:
    """Load the staged runs; return the outcome of each, or why it cannot be loaded.

    `options` has one entry per run. `named` has the names used by other sources of the same call;
    the names of these runs are added. Of two sources that would become one run, the later is
    refused.
    """
    named = {} if named is None else named
    options = [_described(staged, about) for staged, about in zip(batch.runs, options, strict=True)]
    names: list[str] = []
    nameless: list[steps.Loaded | WarehouseError] = []
    for staged, about in zip(batch.runs, options, strict=True):
        try:
            names.append(_run_name(staged, about))
        except UsageError as error:
            nameless.append(error)
    if nameless:  # runs that are read together have one format, and all have tags or none has
        return nameless
    dataset_id = steps.dataset_id(con, dataset)
    run_number = {"run_number": RUN_NUMBER if batch.together else "0"}
    counts = con.execute(render("ingest/run_contents", **run_number)).fetchall()
    contents = [
        (steps.Content.of(dataset, rows, queries, total, _suffix(staged, about)), is_numbered)
        for staged, about, (rows, queries, total, is_numbered) in zip(
            batch.runs, options, counts, strict=True
        )
    ]
    overlap = con.execute(
        render("checks/query_overlap", **run_number), {"dataset_id": dataset_id}
    ).fetchall()
    current = f"select qrels_id from qrels_version where dataset_id = {dataset_id} and is_current"
    judged = f"(from judgment semi join ({current}) using (qrels_id))"
    forms = other_forms(con, judged, "staged", run_number["run_number"])
    hashes = [content.content_hash for content, _ in contents]
    known = Known.read(con, dataset_id, names, hashes)
    done: list[steps.Loaded | WarehouseError] = []
    stored: dict[str, list[int | None]] = {table: [] for table in (*_STORED, in_place.TABLE)}
    lying: list[dict[str, Any]] = []
    for number, (staged, about, name, (content, is_numbered), queries) in enumerate(
        zip(batch.runs, options, names, contents, overlap, strict=True)
    ):
        for ids in stored.values():
            ids.append(None)
        try:
            _check_namesake(name, staged.source, named)
            location = in_place.location_of(staged) if about.where_it_lies else None
            otherwise = partial(
                _put_otherwise, con, run_number["run_number"], number, staged, location, lying
            )
            loaded = _describe(known, staged, name, content, dataset, about, replace, otherwise)
        except WarehouseError as error:
            done.append(error)
            continue
        if loaded.status in ("loaded", "replaced"):
            table = _STORED[is_numbered] if location is None else in_place.TABLE
            stored[table][-1] = loaded.id
            if location is not None:
                columns = json.dumps(dict(staged.columns), sort_keys=True)
                lying.append({"run_id": loaded.id, "place": location, "columns": columns})
            warnings = (*loaded.warnings, *_query_warnings(dataset, *queries))
            warnings += tuple(filter(None, [forms.get(number)]))
            loaded = dataclasses.replace(loaded, warnings=warnings)
        done.append(loaded)
    known.write()
    if lying:
        in_place.allow(con, (row["place"] for row in lying))
        rows.add(con, "prediction_file", lying)
    for table, ids in stored.items():
        if any(id is not None for id in ids):
            if table in _STORED:
                sql = render("ingest/predictions", table=table, **run_number)
                con.execute(sql, {"run_ids": ids})
            con.execute(render("ingest/rankings", **run_number), {"run_ids": ids})
    return done


def _described(staged: readers.Staged, options: RunOptions) -> RunOptions:
    """Complete the options of a run from the header of its file; given options take precedence."""
    about = staged.about
    if about is None:
        return options
    return dataclasses.replace(
        options,
        system=options.system or about.system,
        tags={**about.tags, **options.tags},
        run_at=options.run_at if "time" in options.exact else about.run_at or options.run_at,
    )


def _check_namesake(name: str, source: str, named: dict[str, str]) -> None:
    other = named.setdefault(name, source)
    if other != source:
        raise ConflictError(
            f"{source}: would be run {name}, like {other}: load one of them by itself, under "
            f"another name with {option('name', None)}"
        )


def _describe(
    known: Known,
    staged: readers.Staged,
    name: str,
    content: steps.Content,
    dataset: str,
    options: RunOptions,
    replace: bool,
    put_otherwise: Callable[[int], str],
) -> steps.Loaded:
    """Describe a run and add it to the known runs, unless it is there already.

    `put_otherwise` names what of its predictions is otherwise in the stored run of a number.
    Raises ConflictError if the name has other content.
    """
    renamed = known.rename(options.gone, name, content.content_hash, options.system, options.tags)
    current = known.current.get(name)
    warnings = [*holding(staged.warnings, options.lower_is_better)]
    if current is not None and current["content_hash"] == content.content_hash:
        run_id = current["run_id"]
        differs = _stored_otherwise(current, known.tags(run_id), options, put_otherwise(run_id))
        if not (replace and differs):
            if differs:
                warnings.append(
                    f"loaded already with another {differs}; what you give now is stored only with "
                    f"{option('replace')}"
                )
            status: steps.Status = "unchanged" if renamed is None else "renamed"
            found = steps.outcome("run", status, dataset, staged, current, content, warnings, name)
            return dataclasses.replace(found, renamed=renamed)
    elif options.leave_forgotten and (name, content.content_hash) in known.forgotten:
        gone = known.forgotten[name, content.content_hash]
        found = steps.outcome("run", "forgotten", dataset, staged, gone, content, (), name)
        left = 0 if current is None else current["run_id"]
        return dataclasses.replace(found, id=left, reason=gone["reason"])
    elif current is not None and not replace:
        how = options.rename or f"with {option('name', None)}"
        other = "" if options.rename is None else f"under another name {how}, or "
        raise ConflictError(
            f"{staged.source}: dataset {dataset} has another run named {name} already "
            f"(version {current['version']}, from {current['source']}); load this one {other}as its new "
            f"version with {option('replace')} (the old one stays readable)"
        )
    warnings += [
        f"the predictions are the same as those of run {other}"
        for other in known.alike(content.content_hash, name)[:1]
    ]
    now = known.clock.now()
    run_at = options.run_at or now
    if run_at > now + _AHEAD:
        warnings.append(
            f"its time, {run_at.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC, is still to come: the history "
            "shows it after all others"
        )
    row = {
        "trec_tag": staged.tag,
        "ranked_by": staged.ranked_by,
        "lower_is_better": _is_turned(staged, options),
        "num_predictions": content.num_rows,
        "system": options.system,
        "run_at": run_at,
        **steps.common(staged, content, now),
    }
    row = known.add(name, row, options.tags)
    status = "loaded" if current is None else "replaced"
    return steps.outcome("run", status, dataset, staged, row, content, warnings, name)


def _is_turned(staged: readers.Staged, options: RunOptions) -> bool:
    """Whether the lowest scores are the best."""
    return options.lower_is_better or staged.ranked_by == "rank"


def _suffix(staged: readers.Staged, options: RunOptions) -> str:
    """Return the suffix of the content hash of a run whose lowest scores are the best."""
    return "-lower" if _is_turned(staged, options) else ""


def _run_name(staged: readers.Staged, options: RunOptions) -> str:
    if options.name is not None:
        return steps.check_name("run", options.name)
    if options.name_from == "tag":
        if staged.tag is None:
            raise UsageError(
                f"{staged.source}: has no TREC tag to take the name from; give {option('name', None)}"
            )
        return staged.tag
    if staged.source.startswith("<"):
        raise UsageError(
            f"{staged.source}: has no file name to take the run's name from; give "
            f"{option('name', None)}"
        )
    return default_name(staged.source)


def _put_otherwise(
    con: duckdb.DuckDBPyConnection,
    run_number: str,
    number: int,
    staged: readers.Staged,
    location: str | None,
    lying: Sequence[Mapping[str, Any]],
    run_id: int,
) -> str:
    """Name the difference between the predictions of a staged run and of a stored one with its content.

    They may stay in another file than this one; `lying` has the files that are not stored yet. The
    content has no order, but under some protocols equal scores stand as in the source.
    """
    files = in_place.files_of(con, [run_id])
    locations = [file.location for file in files] + [
        row["place"] for row in lying if row["run_id"] == run_id
    ]
    if location is not None and location not in locations:
        return "place of its predictions"
    if files and files[0].sha256 == staged.source_sha256:
        return ""
    in_place.provide_predictions(con, [run_id])
    sql = render("checks/ties_reordered", run_number=run_number)
    is_reordered = con.execute(sql, {"number": number, "run_id": run_id}).fetchall()
    return "order of equal scores" if is_reordered else ""


def _stored_otherwise(
    current: Mapping[str, Any], tags: Mapping[str, str], options: RunOptions, put: str
) -> str:
    """Name the property that is given now but stored differently, as the system; empty if nothing is."""
    exact = options.exact
    differs = {
        "system": (options.system is not None or "system" in exact)
        and options.system != current["system"],
        "time": "time" in exact and options.run_at != current["run_at"],
        "set of tags": (options.tags or "tags" in exact) and dict(options.tags) != tags,
        put: bool(put),
    }
    return " and ".join(name for name, is_other in differs.items() if is_other)


def _query_warnings(dataset: str, judged: int, unjudged_queries: int, silent: int) -> list[str]:
    """Return warnings about queries of a run without judgments, and judged queries that it lacks."""
    if judged == 0:
        return [f"dataset {dataset} has no qrels yet: {command('ingest qrels FILE', dataset)}"]
    warnings = []
    if unjudged_queries:
        are = "is" if unjudged_queries == 1 else "are"
        warnings.append(f"{counted(unjudged_queries, 'query')} of the run {are} not in the qrels")
    if silent:
        have = "has" if silent == 1 else "have"
        warnings.append(f"{silent:,} of {judged:,} judged queries {have} no line in the run")
    return warnings
