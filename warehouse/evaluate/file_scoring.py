"""Scoring files: qrels and runs in, values out, nothing stored; same templates, same engine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import duckdb

from warehouse import readers
from warehouse.errors import InputError, UsageError, of_side, option
from warehouse.evaluate import engine, hits, requirements
from warehouse.evaluate.arguments import Files
from warehouse.evaluate.chain import relation
from warehouse.evaluate.plan import Plan
from warehouse.evaluate.scope import ATTRIBUTES, Scope
from warehouse.metrics.protocols import Protocol
from warehouse.readers import batches, row_rules
from warehouse.readers.checks import holding, other_forms, walk_staged
from warehouse.readers.global_qrels import for_queries, stage_everywhere, stage_queries
from warehouse.readers.kinds import IDS, RUN_NUMBER, ColumnNames, Kind, Subject
from warehouse.readers.tables import table_errors
from warehouse.sql_text.templates import render

# The attribute of the queries under which the documents are that a given list leaves out.
LISTED = "excluded"


class NothingInCommonError(InputError):
    """A run that answers queries, but none that is judged."""


@dataclass(frozen=True)
class ScoredRun:
    """A scored run as it was read, and its counts."""

    staged: readers.Staged
    num_answered: int
    num_unjudged_queries: int
    num_hits: int
    """How many of its documents are judged for their query."""
    num_excluded: int = 0
    """How many of its documents are left out of the rankings."""


@dataclass(frozen=True)
class Scored:
    """The inputs of a score of some runs, apart from the values in `query_score` and `score`.

    The runs are numbered from `first`.
    """

    first: int
    runs: tuple[ScoredRun, ...]
    qrels: readers.Staged
    num_judged: int
    training: readers.Staged | None = None


@dataclass(frozen=True)
class Truth:
    """The ground truth that runs are scored against, in temporary tables of a connection.

    `rows` is the table of the judgments or preferences. Where one set of documents is the truth of
    every query, it is made for each run, for the queries that the SQL `queries` gives.
    """

    qrels: readers.Staged
    training: readers.Staged | None = None
    rows: str = "given_qrels"
    queries: str | None = None
    given: object = None
    """The source of the judgments, a path or an object."""


@dataclass(frozen=True)
class Reading:
    """How a source is read: the options of `readers.stage`, and whether low scores are the best."""

    format: str | None = None
    columns: Mapping[str, str] | None = None
    shared: bool = True
    normalise: str | None = None
    lower_is_better: bool = False
    where: str | None = None
    repeated: str | None = None

    def __post_init__(self) -> None:
        """Say which of several scores is the best."""
        rule = row_rules.best_is(self.repeated, lowest=self.lower_is_better)
        object.__setattr__(self, "repeated", rule)


def sides(
    of_qrels: Kind,
    columns: tuple[ColumnNames | None, ColumnNames | None, ColumnNames | None],
    **rules: tuple[str | None, str | None, str | None],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return how the qrels and how the runs are read: their columns, and the rules for their rows.

    Each is given for both, for the qrels and for the runs. A name of a column for one of them takes
    precedence over that for both. Raises UsageError for a rule for both and for one.

    >>> sides("qrels", ({"doc_id": "item"}, None, {"score": "s"}), where=(None, "x > 1", None))[1]
    {'columns': {'doc_id': 'item', 'score': 's'}, 'shared': False, 'where': None}
    """
    named = readers.columns_of(columns[0], of_qrels, "run")
    for name, (both, *each) in rules.items():
        if both is not None and each != [None, None]:
            raise UsageError(
                f"{option(name, both)}: is for both sources: give one for both, or one for each "
                f"({option(f'qrels-{name}', None)}, {option(f'run-{name}', None)})"
            )
    found = [
        {
            "columns": {**named[kind], **(columns[index] or {})},
            "shared": not columns[index],
            **{name: given[index] or given[0] for name, given in rules.items()},
        }
        for index, kind in enumerate((of_qrels, "run"), start=1)
    ]
    return found[0], found[1]


@dataclass
class Kept:
    """The tables that are kept from run to run, where one is scored after another.

    `tables` are the relations that depend on what is judged alone; None says that what is judged is not
    in scope yet. `numbering` says how the runs in scope are numbered and read, if they are.
    """

    tables: list[str] | None = None
    numbering: tuple[object, ...] | None = None

    def forget(self) -> None:
        """Keep nothing, as after an error: the tables in scope may be incomplete."""
        self.tables = self.numbering = None


def score(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    runs: Sequence[object],
    work: Plan,
    *,
    reading: Reading | None = None,
    **truth: Any,
) -> Iterator[Scored]:
    """Yield values of a plan's metrics for runs and qrels, files or objects, many runs at a time.

    `truth` are the options of `read_truth`; the rest is as in `score_runs`.
    """
    yield from score_runs(con, read_truth(con, qrels, work, **truth), runs, work, reading)


def opened(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    work: Plan,
    *,
    is_global: bool = False,
    queries: object | None = None,
    **how: Unpack[Files],
) -> tuple[Truth, Reading]:
    """Read the qrels of a plan; return them, and the options for reading its runs."""
    kind = readers.qrels_kind(how.get("qrels_format"), iterations=how.get("iterations", False))
    of_qrels, of_runs = sides(
        kind,
        (how.get("columns"), how.get("qrels_columns"), how.get("run_columns")),
        where=(how.get("where"), how.get("qrels_where"), how.get("run_where")),
        repeated=(how.get("repeated"), how.get("qrels_repeated"), how.get("run_repeated")),
    )
    truth = read_truth(
        con, qrels, work, format=how.get("qrels_format"), relevance=how.get("relevance"),
        attributes=batches.source_list(how.get("attributes", ())), normalise=how.get("normalise"),
        is_global=is_global, queries=queries, iterations=how.get("iterations", False),
        training=how.get("training"), exclude=how.get("exclude"), **of_qrels,
    )  # fmt: skip
    reading = Reading(
        how.get("run_format"), normalise=how.get("normalise"),
        lower_is_better=how.get("lower_is_better", False), **of_runs,
    )  # fmt: skip
    return truth, reading


def read_truth(
    con: duckdb.DuckDBPyConnection,
    qrels: object,
    work: Plan,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    shared: bool = True,
    attributes: Sequence[object] = (),
    relevance: str | None = None,
    normalise: str | None = None,
    where: str | None = None,
    repeated: str | None = None,
    is_global: bool = False,
    queries: object | None = None,
    iterations: bool = False,
    training: object = None,
    exclude: object = None,
) -> Truth:
    """Read qrels, a training set and attributes; refuse metrics whose inputs are missing.

    Where the protocol of the plan leaves out a list of documents, it is read from `exclude`.
    """
    scope = Scope(con)
    kind = readers.qrels_kind(format, iterations=iterations)
    names = scope_attributes(con, attributes, normalise=normalise)
    if work.protocol.exclude == LISTED:
        names["query"].append(LISTED)
        _scope_excluded(con, exclude, normalise)
    lacking = requirements.lacking(work, training is not None, names, requirements.of_files())
    lacking += requirements.of_stored_runs(work)
    if lacking:
        raise UsageError("\n".join(lacking))
    read_training = None
    if training is not None:
        with of_side("training"):
            read_training = readers.stage(con, training, "training", normalise=normalise)
    scope.read_training(read_training)
    how: Any = {"format": format, "relevance": relevance, "normalise": normalise}
    if is_global:
        with of_side("qrels"):
            readers.refuse_rules(where, repeated)
        if iterations:
            raise UsageError(f"{option('global')}: one set of documents has no iterations")
        named = {name: given for name, given in (columns or {}).items() if name == "doc_id"}
        with of_side("qrels"):
            read = stage_everywhere(con, qrels, columns=named, **how)
        asked = None if queries is None else stage_queries(con, queries)[0]
        of_run = asked or "select query_id from staged"
        return Truth(read, read_training, rows="expanded_qrels", queries=of_run)
    if queries is not None:
        raise UsageError(
            f"{option('queries', None)} goes with {option('global')}, for judgments that name no query"
        )
    with of_side("qrels"):
        read = readers.stage(
            con, qrels, kind,
            columns=columns, where=where, repeated=repeated, hashed=False, shared=shared, **how,
        )  # fmt: skip
    _, others = requirements.fitting(work, read.kind)
    if others:
        raise UsageError(requirements.unfit(read.source, others))
    truth = Truth(read, read_training, given=qrels)
    scope.rename_staged(truth.rows)
    return truth


def score_runs(
    con: duckdb.DuckDBPyConnection,
    truth: Truth,
    runs: Sequence[object],
    work: Plan,
    reading: Reading | None = None,
    kept: Kept | None = None,
) -> Iterator[Scored]:
    """Yield values of a plan's metrics for runs, files or objects, many at a time.

    What is judged is put in scope for each batch, or once if it is `kept` from call to call.

    Each step leaves the temporary tables `query_score (evaluation_id, query_id, value)`, `score`
    and `pending` on the connection, with an evaluation for each of its runs and each metric.
    """
    how = reading or Reading()
    excludes = work.protocol.exclude is not None
    for group in batches.groups(
        runs, format=how.format, columns=how.columns, normalise=how.normalise, where=how.where,
        repeated=how.repeated, hashed=False, shared=how.shared, single=truth.queries is not None,
        empty=truth.queries is None, as_view=not excludes and "predictions" not in work.needs,
    ):  # fmt: skip
        for batch in read_batches(con, group):
            for staged, given in zip(batch.runs, runs[batch.first :], strict=False):
                check_apart(truth, staged, given)
            turned = how.lower_is_better or batch.runs[0].ranked_by == "rank"
            if turned and batch.runs[0].ranked_by == "score":
                walk_staged(con, ranks=False, lowest_first=True)
            is_kept = kept is not None and kept.tables is not None
            is_view = batch.runs[0].is_view
            with table_errors(batch.runs[0].source) if is_view else nullcontext():
                counts = put_in_scope(
                    con, truth, work, range(batch.first, batch.first + len(batch.runs)),
                    first=batch.first, rows=sum(run.rows for run in batch.runs),
                    together=batch.together, lower_is_better=turned, as_view=is_view,
                    is_kept=is_kept, kept=kept,
                )  # fmt: skip
            for run, count in zip(batch.runs, counts, strict=True):
                check_answered(run.source, count, truth)
            if kept is not None and not is_kept:
                kept.tables = engine.keep(con, work)
            engine.compute(
                con, work, kept=(kept and kept.tables) or (),
                num_rankings=sum(count.num_judged for count in counts),
            )  # fmt: skip
            number = f"{RUN_NUMBER if batch.together else 0} + {batch.first}"
            forms = other_forms(con, predicted="staged", number=number)
            scored = tuple(
                ScoredRun(
                    replace(
                        run,
                        warnings=(
                            *holding(run.warnings, how.lower_is_better, excludes),
                            *filter(None, [forms.get(number)]),
                        ),
                    ),
                    count.num_answered,
                    count.num_unjudged_queries,
                    count.num_hits,
                    run.rows - count.num_kept,
                )
                for number, (run, count) in enumerate(
                    zip(batch.runs, counts, strict=True), start=batch.first
                )
            )
            yield Scored(batch.first, scored, truth.qrels, counts[0].num_judged, truth.training)


def read_batches(con: duckdb.DuckDBPyConnection, group: batches.Group) -> Iterator[batches.Batch]:
    """Stage the runs of a group; raise the error of one that is refused."""
    reading = group.read(con)
    while True:
        with of_side("run"):
            batch = next(reading, None)
        if isinstance(batch, batches.Refusal):
            raise batch.error
        if batch is None:
            return
        yield batch


def check_apart(truth: Truth, run: readers.Staged, given: object) -> None:
    """Refuse a run that is the same column of the same source as the truth: it would be perfect."""
    if run.value is None or run.value != truth.qrels.value or not _is_same(truth.given, given):
        return
    raise UsageError(
        f"{run.source}: judgments and run would both be its column {run.value!r}; say which column is "
        f"which: {option('qrels-column', None)} and {option('run-column', None)}"
    )


def _is_same(one: object, other: object) -> bool:
    """Whether two sources are one, an object or a file."""
    if one is other:
        return True
    if not all(isinstance(given, str | os.PathLike) for given in (one, other)):
        return False
    paths = Path(os.fspath(one)), Path(os.fspath(other))  # type: ignore[call-overload]
    return paths[0].exists() and paths[1].exists() and paths[0].samefile(paths[1])


@dataclass(frozen=True)
class Counts:
    """How a run and the qrels fit together.

    How many queries are judged, how many of them the run answers, how many others it answers, how
    many of its documents are judged for their query, and how many are not left out.
    """

    num_judged: int
    num_answered: int
    num_unjudged_queries: int
    num_hits: int
    num_kept: int


def put_in_scope(
    con: duckdb.DuckDBPyConnection,
    truth: Truth,
    work: Plan,
    runs: Sequence[int],
    *,
    first: int,
    rows: int,
    together: bool,
    lower_is_better: bool,
    as_view: bool = False,
    is_kept: bool = False,
    kept: Kept | None = None,
) -> list[Counts]:
    """Put the staged runs in scope, with all that their metrics read; return the counts of each.

    `runs` are their ids in rising order, and `rows` is the number of their predictions; a run may
    have none. The first one that is staged has the id `first`. Every metric is pending for each run.
    Of a run that is staged `as_view`, the predictions from which its hits follow are in scope.
    If what is judged `is_kept`, it is in scope already. So are the run and what is pending if those
    of the last call, which are `kept`, were numbered and read in the same way.
    """
    scope = Scope(con)
    if truth.queries is not None:
        expanded = for_queries(truth.queries)
        con.execute(f"create or replace temp table {truth.rows} as\n{expanded}")
    if not is_kept:
        num_rows = None if truth.queries is not None else truth.qrels.rows + rows
        scope.read_qrels(truth.qrels, truth.rows, num_rows, more=kept is not None)
    numbering = (*runs, first, together, lower_is_better)
    again = kept is not None and kept.numbering == numbering
    scope.read_runs(
        runs, first=first, together=together, lower_is_better=lower_is_better,
        exclude=work.protocol.exclude, again=again,
    )  # fmt: skip
    if work.protocol.exclude is not None or hits.out_of_order(con, work.protocol):
        matched = hits.in_any_order(con, work.protocol)
    else:
        if as_view:
            scope.near_hits()
        matched = hits.by_position(con, work.protocol, rows)
    scope.read_hits(matched)
    if not again:
        make_pending(con, work)
    if kept is not None:
        kept.numbering = None if as_view else numbering
    return [Counts(*row) for row in con.execute(render("statements/score_counts")).fetchall()]


def make_pending(con: duckdb.DuckDBPyConnection, work: Plan) -> None:
    """Add an evaluation of each metric for each run in scope to `pending`."""
    con.execute(
        "insert into pending "
        "select run_id * len($kinds) + metric_number, run_id, metric_number, kind, aggregate "
        "from scope_run cross join (select unnest(range(len($kinds))) as metric_number, "
        "unnest($kinds) as kind, unnest($aggregates) as aggregate)",
        {
            "kinds": [metric.definition.kind for metric in work.queries],
            "aggregates": [metric.aggregate for metric in work.queries],
        },
    )


def check_answered(source: str, counts: Counts, truth: Truth) -> None:
    """Refuse a run that answers queries, but none that is judged."""
    if counts.num_answered == 0 and counts.num_unjudged_queries > 0:
        raise NothingInCommonError(
            f"{source}: no query of the run is judged in {truth.qrels.source}; "
            "do the two belong together, and are the query ids written the same way?"
        )


def scope_attributes(
    con: duckdb.DuckDBPyConnection, sources: Sequence[object], *, normalise: str | None = None
) -> dict[Subject, list[str]]:
    """Put attributes of documents and of queries from some sources in scope; return their names.

    A source has attributes of documents if it has a column `doc_id`, else of queries if it has a
    column `query_id`. The tables' columns are the id and `attribute, position, text, number`. Two
    sources may not have the same attribute for the same subject, in upper or lower case.
    """
    for subject, table in ATTRIBUTES.items():
        con.execute(
            f"create or replace temp table {table} ({IDS[subject]} varchar, attribute varchar, "
            "position integer, text varchar, number double)"
        )
    seen: dict[Subject, dict[str, str]] = {"document": {}, "query": {}}
    if sources:  # usually there are none, and their reader takes a while to import
        from warehouse.readers.attributes import stage_attributes
    for source in sources:
        staged = stage_attributes(con, source, None, normalise=normalise)
        known = {name.lower(): source for name, source in seen[staged.subject].items()}
        for attribute in staged.columns:
            if attribute.lower() in known:
                raise InputError(
                    f"{staged.source}: the attribute {attribute} is in {known[attribute.lower()]} "
                    "too; rename it, or leave it out of one of the two"
                )
            seen[staged.subject][attribute] = staged.source
        con.execute(f"insert into {ATTRIBUTES[staged.subject]} from staged_attribute")
    return {subject: list(names) for subject, names in seen.items()}


def _scope_excluded(con: duckdb.DuckDBPyConnection, source: object, normalise: str | None) -> None:
    """Put the documents of a list that are left out in scope, as an attribute of their queries."""
    from warehouse.readers.excluded import stage_excluded

    stage_excluded(con, source, normalise=normalise)
    con.execute(
        f"insert into {ATTRIBUTES['query']} "
        "select query_id, $1, 1, doc_id, null from staged where doc_id is not null",
        [LISTED],
    )


def relstrings(
    con: duckdb.DuckDBPyConnection, protocol: Protocol, length: int
) -> list[tuple[str, str]]:
    """Return the grades of each query's first documents in a scored run, as one string."""
    sql = render(
        "analyses/relstring",
        rankings=relation("rankings", protocol),
        retrieved=relation("retrieved", protocol),
        length=length,
        list_silent=protocol.list_silent,
    )
    return con.execute(sql).fetchall()
