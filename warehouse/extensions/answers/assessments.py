"""Loading nuggets of queries, and judges' assessments of the answers of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import (
    ConflictError,
    InputError,
    UsageError,
    command,
    counted,
    listing,
    no_such_run,
    option,
)
from warehouse.extensions.answers.reading import StagedAnswers, stage_answers
from warehouse.ingest import steps
from warehouse.readers.files import default_name
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock

Kind = Literal["assignments", "citations"]
# The most queries or runs that a message names.
_LISTED = 6


@dataclass(frozen=True)
class LoadedNuggets:
    """The outcome of loading the nuggets of a dataset's queries."""

    status: steps.Status
    dataset: str
    version: int
    num_queries: int
    num_nuggets: int
    warnings: tuple[str, ...] = ()
    source_sha256: str | None = None


@dataclass(frozen=True)
class LoadedAssessments:
    """The outcome of loading a judge's assessments of answers: by run, whether it was loaded."""

    dataset: str
    kind: Kind
    judge: str | None
    status: Mapping[str, steps.Status]
    num_queries: int
    num_rows: int
    warnings: tuple[str, ...] = ()
    source_sha256: str | None = None


def stage_nuggets(
    con: duckdb.DuckDBPyConnection, source: object, dataset: str, *, replace: bool = False
) -> steps.Store[LoadedNuggets]:
    """Stage nuggets; return the function that stores them."""
    steps.check_name("dataset", dataset)
    staged = stage_answers(con, source, "nugget")
    return partial(_keep_nuggets, staged=staged, dataset=dataset, replace=replace)


def stage_assessments(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    kind: Kind,
    *,
    name: str | None = None,
    judge: str | None = None,
    replace: bool = False,
) -> steps.Store[LoadedAssessments]:
    """Stage assignments of nuggets or citations; return the function that stores them.

    Rows that name no run are of the run `name`, or of the run that is called as the file.
    """
    for what, given in (("dataset", dataset), ("run", name), ("judge", judge)):
        if given is not None:
            steps.check_name(what, given)
    staged = stage_answers(con, source, "assignment" if kind == "assignments" else "citation")
    ((unnamed,),) = con.execute("select count(*) from staged where run is null").fetchall()
    if unnamed and name is None:
        if staged.source.startswith("<"):
            raise UsageError(f"{staged.source}: has no runs and no file name; name the run")
        name = default_name(staged.source)
    if name is not None and not unnamed:
        raise UsageError(f"{staged.source}: names its runs itself; leave the name {name!r} out")
    con.execute("update staged set run = $run where run is null", {"run": name})
    options = _Options(dataset, kind, judge, replace)
    return partial(_keep_assessments, staged=staged, options=options)


def _keep_nuggets(
    con: duckdb.DuckDBPyConnection, staged: StagedAnswers, dataset: str, replace: bool
) -> LoadedNuggets:
    """Store the staged nuggets, unless they are the current ones; other ones need `replace`."""
    queries, nuggets, total = con.execute(
        "select count(distinct query_id), count(*), "
        "sum(hash(query_id, nugget_id, text, importance, weight, part)) from staged"
    ).fetchall()[0]
    content = steps.Content.of(dataset, nuggets, queries, total, "-nuggets").content_hash
    ours = {"dataset_id": steps.dataset_id(con, dataset)}
    current = steps.newest(con, "nugget_set", "dataset_id = $dataset_id", ours)
    status: steps.Status = "loaded" if current is None else "replaced"
    version = 1 if current is None else int(current["version"])
    warnings = _different_weights(con)
    if current is not None and current["content_hash"] == content:
        status = "unchanged"
    else:
        if current is not None and not replace:
            raise ConflictError(
                f"{staged.source}: dataset {dataset} has other nuggets already (version {version}, "
                f"from {current['source']}); load these as a new version with {option('replace')} "
                "(the old one stays readable)"
            )
        version += current is not None
        set_id = rows.next_id(con, "nugget_set_id", "nugget_set")
        row = _source(con, staged, content) | {
            "nugget_set_id": set_id, **ours, "version": version,
            "num_queries": queries, "num_nuggets": nuggets,
        }  # fmt: skip
        rows.add(con, "nugget_set", [row])
        con.execute(
            "insert into nugget select $id, query_id, nugget_id, text, importance, weight, part "
            "from staged order by query_id, nugget_id",
            {"id": set_id},
        )
        warnings += _outdated(con, dataset)
    return LoadedNuggets(status, dataset, version, queries, nuggets, warnings, staged.source_sha256)


def _different_weights(con: duckdb.DuckDBPyConnection) -> tuple[str, ...]:
    rows = con.execute(
        "select query_id, part, list(distinct weight order by weight desc) from staged "
        "where part is not null group by all having count(distinct weight) > 1 order by all"
    ).fetchall()
    if not rows:
        return ()
    query, part, weights = rows[0]
    more = f" ({len(rows) - 1:,} more such parts)" if len(rows) > 1 else ""
    return (
        f"part {part} of query {query} has nuggets of weights "
        f"{listing((f'{weight:g}' for weight in weights), _LISTED)}{more}: RubricSupport and "
        "RubricContradiction weigh a part by the highest",
    )


def _outdated(con: duckdb.DuckDBPyConnection, dataset: str) -> tuple[str, ...]:
    rows = con.execute(
        "select distinct run from nugget_assignment_versions where dataset = $1 order by run",
        [dataset],
    ).fetchall()
    if not rows:
        return ()
    return (
        f"the assignments of {listing((str(run) for (run,) in rows), _LISTED)} are of the earlier "
        "nuggets, and no longer count: load them again",
    )


@dataclass(frozen=True)
class _Options:
    """The options apart from the source."""

    dataset: str
    kind: Kind
    judge: str | None
    replace: bool


def _keep_assessments(
    con: duckdb.DuckDBPyConnection, staged: StagedAnswers, options: _Options
) -> LoadedAssessments:
    """Store the staged assessments that are not there yet; other ones need `replace`."""
    _check_runs(con, staged, options.dataset)
    nugget_set = _resolve(con, staged, options.dataset) if options.kind == "assignments" else None
    words = {"kind": options.kind, "judge": options.judge, "nugget_set_id": nugget_set}
    con.execute(render("answers/assessment_sets", dataset=options.dataset, **words))
    status: dict[str, steps.Status] = {
        str(run): state
        for run, state in con.execute("select run, status from assessment_set").fetchall()
    }
    others = [run for run, state in status.items() if state == "replaced"]
    if others and not options.replace:
        whose = "a judge without a name" if options.judge is None else f"judge {options.judge}"
        raise ConflictError(
            f"{staged.source}: dataset {options.dataset} has other {options.kind} by {whose} already, "
            f"of {listing(others, _LISTED)}; load these with another {option('judge', None)}, or in "
            f"their place with {option('replace')} (the old ones stay stored)"
        )
    row = _source(con, staged, "")
    con.execute(
        render(
            "answers/assessments", **words, **{k: v for k, v in row.items() if k != "content_hash"}
        )
    )
    queries, rows = con.execute("select count(distinct query_id), count(*) from staged").fetchall()[
        0
    ]
    con.execute("drop table assessment_set")
    return LoadedAssessments(
        options.dataset, options.kind, options.judge, status, queries, rows,
        source_sha256=staged.source_sha256,
    )  # fmt: skip


def _source(con: duckdb.DuckDBPyConnection, staged: StagedAnswers, content: str) -> dict[str, Any]:
    return {
        "content_hash": content, "source": staged.source, "source_sha256": staged.source_sha256,
        "format": staged.format, "ingested_at": Clock(con).now(), "program_version": VERSION,
    }  # fmt: skip


def _check_runs(con: duckdb.DuckDBPyConnection, staged: StagedAnswers, dataset: str) -> None:
    known = [
        str(name)
        for (name,) in con.execute(
            "select run from run_version where dataset = $1 and is_current", [dataset]
        ).fetchall()
    ]
    rows = con.execute(
        "select distinct run from staged where not list_contains($1::varchar[], run) order by run",
        [known],
    ).fetchall()
    if rows:
        more = f" ({counted(len(rows), 'run')} are missing)" if len(rows) > 1 else ""
        raise UsageError(f"{staged.source}: {no_such_run(str(rows[0][0]), dataset, known)}{more}")


def _resolve(con: duckdb.DuckDBPyConnection, staged: StagedAnswers, dataset: str) -> int:
    """Give staged assignments the ids of their nuggets; return the set. Raises InputError.

    An answer that is assessed has an assignment for each nugget of its query.
    """
    found = con.execute(
        "select nugget_set_id from nugget_set_version where dataset = $1 and is_current", [dataset]
    ).fetchall()
    if not found:
        raise UsageError(
            f"dataset {dataset} has no nuggets to assign; load them first: "
            f"{command('ingest nuggets FILE', dataset)}"
        )
    number = int(found[0][0])
    con.execute(render("answers/assigned_nuggets", nugget_set_id=number))
    for check, message in (
        ("select query_id, coalesce(nugget_id, text) from staged where found_id is null order by 1, 2",
         "no nugget of query {0}: {1}; load the nuggets first"),
        ("select query_id, nugget_id from lacking order by all",
         "nugget {1} of query {0} has no assignment; an answer is assigned all nuggets of its query"),
    ):  # fmt: skip
        rows = con.execute(check).fetchall()
        if rows:
            query, nugget = (str(part)[:80] for part in rows[0])
            more = f" ({len(rows) - 1:,} more)" if len(rows) > 1 else ""
            raise InputError(f"{staged.source}: {message.format(query, nugget)}{more}")
    con.execute("drop table lacking")
    return number
