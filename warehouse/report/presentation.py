"""The results of each analysis for people: titles, marks of the best values, and notes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.analyze.significance import probability
from warehouse.analyze.stored_metrics import forgotten
from warehouse.analyze.texts import in_short
from warehouse.errors import command, counted, listing, option
from warehouse.metrics.catalogue import ARROWS
from warehouse.metrics.notation import known_metric
from warehouse.metrics.protocols import is_imported, left_out
from warehouse.report.formats import one_line
from warehouse.report.layout import PLAIN, Layout, chosen, of_board, of_comparison
from warehouse.report.result import Result
from warehouse.sql_text.quoting import ident

if TYPE_CHECKING:
    import duckdb

    from warehouse.analyze.agreement import Agreement
    from warehouse.analyze.curves import Trace
    from warehouse.analyze.dataset_board import Board
    from warehouse.analyze.explain import Explanation
    from warehouse.analyze.history import QrelsDiff, Timeline
    from warehouse.analyze.holes import Holes
    from warehouse.analyze.paired_tests import Compared
    from warehouse.analyze.regressions import Check
    from warehouse.analyze.side_by_side import SideBySide
    from warehouse.evaluate.status import Status
    from warehouse.evaluate.verify import Verified
    from warehouse.report.bundles import Checked
    from warehouse.report.charts import Spec
    from warehouse.report.formats import Writer
    from warehouse.sync.gates import GateCheck

# The most runs in the note on the effect of judging.
_MOST_RUNS = 12


def listed(
    relation: duckdb.DuckDBPyRelation,
    nothing: str = "",
    titles: Mapping[str, str] | None = None,
    spare: Sequence[str] = (),
) -> Result:
    """Return a list as a result; `nothing` is the note if it has no rows."""
    is_empty = bool(nothing) and not relation.limit(1).fetchall()
    return Result(relation, [nothing] if is_empty else [], titles=titles, spare=spare)


@dataclass(frozen=True)
class Labels:
    """The names that metrics were asked for by, where they are not their own."""

    labels: Mapping[str, str]


def leaderboard(board: Board, protocol: str, top: int | None = None, how: Layout = PLAIN) -> Result:
    """Return a board: an arrow shows which direction is better, and best values are marked."""
    found = of_board(board, how)
    titles = {"place": "#", "rank_low": "from", "rank_high": "to", "p_first": "P(first)"}
    titles |= {"mean_rank": "mean rank", "borda": "Borda", "standard_score": "z"}
    counts: set[str] = set()
    for column, name in found.metrics.items():
        shown = found.labels.get(column, column)
        titles[column] = f"{shown} {ARROWS.get(found.directions[name], '')}".strip()
        metric = known_metric(name)
        # a mean of counts over datasets is not a count
        if metric is not None and metric.is_count and len(found.datasets) == 1:
            counts.add(column)
    best = {column: found.directions[name] for column, name in found.metrics.items()}
    answered, unneeded = _answered(found.relation)
    footer = "; ".join([found.over_queries, *answered])
    footer += " shown" if answered and top is not None else ""
    about = [footer, *found.notes, *_left_out(protocol)]
    notes = [*about, *found.computed_notes, *_forgotten(found.metrics.values(), protocol)]
    metrics = ", ".join(found.labels.get(column, column) for column in found.metrics)
    datasets = ", ".join(found.datasets)
    text = "; ".join(about)
    relation = found.relation
    if how.columns:
        known = {
            column: [head, head.rstrip(" ↑↓")]
            for column in relation.columns
            for head in [titles.get(column, column)]
        }
        columns = chosen(how.columns, known)
        relation, unneeded = relation.project(", ".join(map(ident, columns))), []
    caption = (
        f"Runs on {datasets} by {metrics}; the best values are bold. {text[:1].upper()}{text[1:]}."
    )
    return Result(
        relation, notes, titles=titles, counts=counts, best=best, unneeded=unneeded,
        caption=(caption, f"{datasets}-board"), details=found, places=how.digits,
        tables=_across(board, notes),
    )  # fmt: skip


def _across(board: Board, notes: Sequence[str]) -> dict[str, Result | None]:
    """Return the tables of a board of mean ranks over datasets: wins, and what the diagram shows."""
    if board.wins is None:
        return {}

    def chart() -> Spec:
        from warehouse.report import charts

        return charts.critical_difference(board)

    return {
        "wins": Result(board.wins, notes),
        "diagram": Result(board.relation, notes, chart=chart, details=board),
    }


def _answered(board: duckdb.DuckDBPyRelation) -> tuple[list[str], list[str]]:
    """Say how many queries every run answered, and name the columns that say no more.

    Runs that differ in that keep the two columns. A column without any system says nothing.
    """
    sizes = board.project("answered, judged").distinct().limit(2).fetchall()
    names = "system" in board.columns and board.aggregate("count(system)").fetchall()[0][0]
    unneeded = [] if names or "system" not in board.columns else ["system"]
    if len(sizes) != 1 or None in sizes[0]:
        return [], unneeded
    answered, judged = sizes[0]
    note = f"{answered:,} of {counted(judged, 'judged query')} answered by every run"
    return [note], [*unneeded, "answered", "judged"]


def queries(
    found: duckdb.DuckDBPyRelation,
    slice: str | None,
    protocol: str,
    computed: Sequence[str],
    labels: Mapping[str, str],
) -> Result:
    """Return the values of a run query by query."""
    titles = {
        "query_id": "query", "relevant_retrieved": "rel. retrieved", "unjudged_at_10": "unjudged@10",
    }  # fmt: skip
    end = found.columns.index("retrieved") if slice is None else None
    metrics = found.columns[1 if slice is None else 2 : end]
    notes = [*_left_out(protocol), *_forgotten(metrics, protocol), *computed]
    return Result(
        found, notes, titles=titles | dict(labels), shown={"text": in_short}, details=Labels(labels),
        spare=["retrieved", "relevant", "relevant_retrieved", "unjudged_at_10"],
    )  # fmt: skip


def history(found: Timeline) -> Result:
    """Return the runs over time."""
    titles = {
        "run_at": "time", "value": found.labels.get(found.metric, found.metric),
        "best_so_far": "best so far", "is_record": "record",
    }  # fmt: skip
    better = {"higher": "higher is better", "lower": "lower is better"}
    direction = better.get(found.direction, "neither higher nor lower is better: no records")
    conditions = f"{direction}; protocol {found.protocol}, qrels version {found.qrels_version}"
    notes = [f"{found.metric}: {note}" for note in (conditions, *found.notes)]
    metric = known_metric(found.metric)
    counts = ("value", "best_so_far", "gain") if metric is not None and metric.is_count else ()
    notes += [*_left_out(found.protocol), *_forgotten([found.metric], found.protocol)]

    def chart() -> Spec:
        from warehouse.report import charts

        return charts.history(found)

    return Result(
        found.relation, notes, titles=titles, counts=counts, spare=["version"], chart=chart,
        details=found,
    )  # fmt: skip


def curve(found: Trace) -> Result:
    """Return the points of a curve."""
    notes = []
    if found.computed:
        stale = f" ({found.stale} of them stale)" if found.stale else ""
        runs = counted(found.computed, "run")
        if found.is_stored:
            notes.append(f"computed {found.metric} for {runs}{stale}")
        else:
            protocol = found.protocol.name
            words = shlex.join(["curve", str(found.metric), "--store"])
            how = command(words, found.dataset, protocol=protocol)
            notes.append(
                f"computed for {runs}{stale} and not stored: {found.metric}; to store: {how}"
            )
    notes.append(f"{found.metric}: {found.over}; protocol {found.protocol.name}")
    notes += [f"{run}: {found.curve.area} {area:.4f}" for run, area in found.areas.items()]
    titles = {"x": found.curve.x.name, "y": found.curve.y.name}
    counts = ("x",) if found.curve.x.name == "rank" else ()

    def chart() -> Spec:
        from warehouse.report import charts

        return charts.curve(found)

    return Result(
        found.relation, [*notes, *found.notes], titles=titles, counts=counts, chart=chart,
        details=found,
    )  # fmt: skip


def explanation(found: Explanation) -> Result:
    """Return the list behind a value, with the value and its provenance as notes."""
    titles = {"doc_id": "document", "value_so_far": "so far"}

    def notes(places: int) -> list[str]:
        about = _left_out(found.protocol)
        return [*_value_and_origin(found, places), *about, *_doubts(found)]

    return Result(found.relation, notes, titles=titles, shown={"text": in_short}, details=found)


def _value_and_origin(found: Explanation, places: int) -> Iterator[str]:
    value = "undefined" if found.value is None else f"{found.value:.{places}f}"
    yield f"{found.metric} of {found.run} for query {found.query}: {value}"
    if found.tie_range is not None:
        low, high = (f"{one:.{places}f}" for one in (found.tie_range.low, found.tie_range.high))
        if low != high:
            yield f"equal scores: by the order of their documents, {low}\N{EN DASH}{high}"
    if found.query_text is not None:
        yield f"query: {one_line(found.query_text)}"
    retrieved = counted(found.num_retrieved, "document")
    yield f"list: {retrieved} retrieved, {len(found.relevant_missed)} relevant ones not"
    if found.relevant_missed:
        yield f"relevant and not retrieved: {listing(found.relevant_missed, 5)}"
    yield from _counted_queries(found)
    source = found.run_source
    source += "" if found.run_sha256 is None else f" (sha256 {found.run_sha256})"
    yield f"run: version {found.run_version}, loaded {_time(found.run_ingested_at)} from {source}"
    yield f"qrels: version {found.qrels_version}, from {found.qrels_source}"
    if found.notes:
        yield from found.notes
        return
    yield (
        f"computed {_time(found.evaluated_at)} under protocol {found.protocol} by warehouse "
        f"{found.program_version} with DuckDB {found.engine_version}; fingerprint {found.fingerprint}"
    )


def _counted_queries(found: Explanation) -> Iterator[str]:
    """Say how many queries the run's value is of, if it leaves some out, and why."""
    if found.left_out:
        reasons = left_out_queries(found.left_out)
        yield f"the run's value counts {counted(found.counted, 'query')}; left out: {reasons}"


def left_out_queries(found: Mapping[str, tuple[int, Sequence[str]]]) -> str:
    """Say how many queries a value leaves out for each reason, and the first ones.

    >>> left_out_queries({"not judged": (4, ["q1", "q2", "q4", "q6"]), "undefined": (1, ["q3"])})
    '4 as not judged (q1, q2, q4 …); 1 as undefined (q3)'
    """
    return "; ".join(
        f"{number:,} as {why} ({listing(first[:3])}{' …' if number > 3 else ''})"
        for why, (number, first) in found.items()
    )


def _doubts(found: Explanation) -> list[str]:
    """Say why the parts may not belong to the stored value."""
    gone = _forgotten([found.metric], found.protocol)
    if gone:
        return gone
    if found.is_stale:
        return ["the value is stale: the parts are those of today's formula"]
    if found.recomputed == found.value:
        return []
    alone = "no value" if found.recomputed is None else found.recomputed
    return [
        f"the list of this query alone gives {alone}: the value depends on other queries, or is not "
        "what the predictions give; see: warehouse verify"
    ]


def _time(moment: object) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def compare(comparison: Compared, how: Layout = PLAIN) -> Result:
    """Return the pairs of a comparison; the page for people has the table of values too."""
    from warehouse.report import comparison_tables as tables

    found = of_comparison(comparison, how)
    columns = tables.named_columns(found, how.columns)
    of_data = tables.data_columns(found, columns)

    def values(writer: Writer) -> str:
        return tables.values(found, writer, columns)

    def pairs(writer: Writer) -> str:
        return tables.pairs(found, writer, columns)

    def both(writer: Writer) -> str:
        return f"{values(writer)}\n{pairs(writer)}"

    def part(relation: duckdb.DuckDBPyRelation, page: Callable[[Writer], str]) -> Result:
        shown = [name for name in of_data if name in relation.columns]
        if shown:
            relation = relation.project(", ".join(map(ident, shown)))
        return Result(relation, notes, page=page, places=how.digits)

    notes = (*found.notes, *found.without_relevant)
    parts: dict[str, Result | None] = {
        "values": part(found.values, values), "pairs": part(found.pairs, pairs),
    }  # fmt: skip
    return Result(
        part(found.pairs, pairs).relation, notes, page=both, tables=parts, details=found,
        places=how.digits,
    )  # fmt: skip


def side_by_side(found: SideBySide) -> Result:
    """Return two runs' lists side by side."""
    from warehouse.report import comparison_tables

    def page(writer: Writer) -> str:
        return comparison_tables.side_by_side(found, writer)

    nothing = not found.relation.limit(1).fetchall()
    same = f"{found.metric}: no query differs between {found.base} and {found.run}"
    notes = [*([same] if nothing else []), *found.notes]
    return Result(found.relation, notes, page=page, details=found)


def check(found: Check) -> Result:
    """Return a check; the notes name the queries that lost most."""

    def notes(places: int) -> list[str]:
        lines: list[str] = []
        for one in found.comparisons:
            if one.verdict == "unchecked":
                lines.append(f"{one.metric}: {one}")
            if one.num_versions_left_out:
                lines.append(f"{one.metric}: not compared with {one.versions_left_out}")
            if one.num_left_out:
                lines.append(
                    f"{one.metric}: {counted(one.num_left_out, 'query')} left out, undefined or "
                    "missing for one of the runs"
                )
            lines += [
                f"{one.metric}: {query} lost: {theirs:.{places}f} -> {value:.{places}f}"
                for query, value, theirs in one.lost_most
            ]
        if not found.is_good:
            worse = [one.metric for one in found.comparisons if one.verdict == "worse"]
            if worse:
                lines.append(
                    f"{found.run} is worse in {', '.join(worse)} (not good: {found.limits})"
                )
        return lines

    return Result(
        found.relation,
        notes,
        titles={"their_value": "their value"},
        shown={"p": probability},
        details=found,
    )


def gate_check(found: GateCheck) -> Result:
    """Return the verdicts of the gates of the project's file; the notes are about red runs."""
    notes = [str(one["text"]) for one in found.verdicts if one["verdict"] == "worse"]
    if not found.verdicts:
        notes.append("no run is new, and none is red")
    return Result(found.relation, notes, titles=_GATES, spare=_GATES_SPARE, details=found)


def gates(found: duckdb.DuckDBPyRelation, *, red: bool) -> Result:
    """Return the stored verdicts of gates."""
    return _verdicts(
        found, "no run is red" if red else "no verdicts yet: warehouse sync, with [[gates]]"
    )


def gate_log(found: duckdb.DuckDBPyRelation, run: str) -> Result:
    """Return all verdicts of gates on a run."""
    return _verdicts(found, f"no gate has checked {run} yet")


def _verdicts(found: duckdb.DuckDBPyRelation, nothing: str) -> Result:
    notes = [] if found.limit(1).fetchall() else [nothing]
    shown = {"since": lambda at: "" if at is None else f"{at:%Y-%m-%d}", "p": probability}
    return Result(found, notes, titles=_GATES, spare=_GATES_SPARE, shown=shown)


# On a narrow screen, columns are left out from the first of these to the last; the others stay.
_GATES_SPARE = (
    "limits", "grouped_by", "against", "protocol", "reference_version", "version", "checked_at",
    "is_red", "dataset", "accepted_at", "could_see", "p", "reference_value", "value", "accepted_why",
    "accepted_by", "why", "high", "low", "reference",
)  # fmt: skip
_GATES = {
    "reference_version": "its version", "reference_value": "its value", "is_red": "red",
    "checked_at": "checked", "accepted_by": "accepted by", "could_see": "could see",
    "accepted_at": "accepted", "accepted_why": "accepted why", "grouped_by": "group",
    "limits": "not good", "difference": "change",
}  # fmt: skip


def agreement(found: Agreement) -> Result:
    """Return how much rankings agree; for documents, `queries` has the values of each query."""
    queries = None if found.queries is None else Result(found.queries, found.notes)
    return Result(found.relation, found.notes, tables={"queries": queries}, details=found)


def holes(found: Holes) -> Result:
    """Return the documents to judge; `filled` says what judging them would fill in each run."""

    def notes(places: int) -> list[str]:
        ((number,),) = found.relation.aggregate("count(*)").fetchall()
        rows = found.filled.fetchall()
        if not found.total:
            of_runs = counted(len(rows), "run")
            return [
                f"{found.dataset}: all of the first {found.depth} documents of {of_runs} are judged"
            ]
        lines = [f"{number:,} of {counted(found.total, 'unjudged document')}"]
        most = sorted((row for row in rows if row[2]), key=lambda row: -row[3])
        for run, _, unjudged, filled, judged, after in most[:_MOST_RUNS]:
            lines.append(
                f"{run}: {filled:,} of its {counted(unjudged, 'hole')}, judged of the first "
                f"{found.depth}: {judged:.{places}f} -> {after:.{places}f}"
            )
        if len(most) > _MOST_RUNS:
            lines.append(f"and {counted(len(most) - _MOST_RUNS, 'run')} more: --by-run")
        return lines

    tables: dict[str, Result | None] = {"filled": Result(found.filled, notes)}
    return Result(found.relation, notes, tables=tables, details=found)


def qrels_diff(found: QrelsDiff, before: int, after: int, protocol: str) -> Result:
    """Return the counts of judgments that differ, with tables of judgments, boards and taus."""

    def notes(places: int) -> list[str]:
        lines = []
        for name, runs, tau, swapped in found.taus.fetchall():
            value = "undefined" if tau is None else f"{tau:.{places}f}"
            lines.append(
                f"{name}: Kendall's tau-b {value} over {counted(runs, 'run')}, "
                f"{counted(swapped, 'pair')} in the other order"
            )
        again = command("evaluate", found.dataset, qrels=before, protocol=protocol)
        return [*lines, *found.notes] or [
            f"no run has values of one metric against both versions under protocol {protocol}: {again}"
        ]

    titles = {"after": f"version {after}", "before": f"version {before}"}
    tables: dict[str, Result | None] = {
        name: Result(relation, notes, titles=titles)
        for name, relation in (
            ("rows", found.rows), ("boards", found.boards), ("taus", found.taus),
        )
    }  # fmt: skip
    return Result(found.counts, notes, titles=titles, tables=tables, details=found)


def status(found: Status, dataset: str | None) -> Result:
    """Return the missing, stale, red or orphaned values."""
    from warehouse.evaluate import requirements

    notes = [requirements.left_out(name, metrics) for name, metrics in found.unfit.items()]
    is_good = found.num_runs > 0 and not len(found.relation)
    if not found.num_runs:
        notes.append("no runs yet: " + command("ingest run FILE", dataset or "DATASET"))
    elif not is_good:
        notes.append(f"{counted(found.num_up_to_date, 'value')} up to date")
    if found.num_to_compute:
        read = counted(found.num_predictions, "prediction")
        stale = f" ({found.num_stale:,} of them stale)" if found.num_stale else ""
        notes.append(
            f"to compute: {counted(found.num_to_compute, 'value')}{stale}, which reads {read}: "
            f"{listing(found.commands, 4)}"
        )
    if found.num_red:
        of_it = "" if dataset is None else f" -d {shlex.quote(dataset)}"
        notes.append(f"red: {counted(found.num_red, 'run')}: warehouse gates --red{of_it}")
    current = counted(found.num_up_to_date, "value")
    nothing = f"nothing to compute: {current} up to date" if is_good else ""
    return Result(found.relation, notes, nothing=nothing, details=found)


def verified(found: Verified, seed: int | None) -> Result:
    """Return the values that differ; `problems` has rows that cannot be right."""
    notes = [
        f"{relation}: {problem} ({counted(number, 'row')})"
        for relation, problem, number in found.problems.fetchall()
    ]
    of_all = "" if seed is None else f", the sample of {option('seed', seed)}"
    notes.append(
        f"recomputed: {found.num_verified:,} of {counted(found.num_stored, 'evaluation')}{of_all}"
    )
    notes += [f"left out: {skipped:,} {reason}" for reason, skipped in found.skipped.items()]
    if found.is_good and found.num_stored and not found.num_verified:
        notes.append("no wrong rows, but no value was verified")
    elif found.is_good:
        notes.append("no differences, and no wrong rows")
    else:
        number = len(found.differences.fetchall())
        notes.append(f"{counted(number, 'number')} not equal to the recomputed ones")
    tables: dict[str, Result | None] = {"problems": Result(found.problems, notes)}
    nothing = "no number differs" if found.num_verified else "no number was recomputed"
    return Result(found.differences, notes, nothing=nothing, tables=tables, details=found)


def checked(found: Checked) -> Result:
    """Return the values of a bundle that differ when they are computed again."""
    notes = [*found.problems, *found.notes]
    differing = len(found.differences.fetchall())
    if found.is_good:
        notes.append("equal: every file, and every value to the last bit")
    elif differing:
        notes.append(f"{counted(differing, 'value')} not equal to the recomputed ones")
    else:
        notes.append("every value is equal, but not every file")
    return Result(found.differences, notes, nothing="no value differs", details=found)


def _left_out(protocol: str) -> list[str]:
    """Say which documents a protocol leaves out of the rankings."""
    rule = left_out(protocol)
    return [] if rule is None else [f"protocol {protocol}: {rule}"]


def _forgotten(metrics: Iterable[str], protocol: str) -> list[str]:
    """Say which values have a definition that is gone."""
    if is_imported(protocol):
        return [f"{protocol}: computed by another program, under its names"]
    gone = forgotten(list(dict.fromkeys(metrics)), protocol)
    return [f"no longer defined, so these are the stored values: {listing(gone)}"] if gone else []
