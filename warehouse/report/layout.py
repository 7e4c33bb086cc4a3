"""The layout of a board or a comparison: its columns, the names of its runs, percent and digits."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb

from warehouse.analyze.board_intervals import width_of
from warehouse.analyze.dataset_board import Board
from warehouse.analyze.paired_tests import Compared
from warehouse.errors import UsageError, check_at_least, check_names, listing, nearest, no_such_run
from warehouse.metrics.catalogue import MetricTemplate
from warehouse.metrics.notation import known_metric
from warehouse.sql_text.quoting import ident, literal

# Digits after the point, of values as they are and in percent.
PLACES, PERCENT_PLACES = 4, 2
# A comma between names, which is not one inside the brackets of a metric.
_COMMA = re.compile(r",(?![^(]*\))")


@dataclass(frozen=True)
class Layout:
    """How a table is laid out for its readers.

    `columns` are those that are shown, in this order, or all. `label` has names to show in place of
    those of runs. With `percent`, values of metrics between -1 and 1 are shown times 100. `places`
    are digits after the point in tables for people: 4, or 2 in percent.
    """

    columns: Sequence[str] = ()
    label: Mapping[str, str] = field(default_factory=dict)
    percent: bool = False
    places: int | None = None

    @property
    def digits(self) -> int:
        """Return how many digits after the point tables for people show."""
        if self.places is not None:
            return self.places
        return PERCENT_PLACES if self.percent else PLACES


PLAIN = Layout()


def layout(
    columns: str | Iterable[str],
    label: Mapping[str, str] | None,
    *,
    percent: bool,
    places: int | None,
) -> Layout:
    """Return a layout as it was asked for. Names of columns may stand together, with commas between.

    >>> layout("run, P(rel=2, judged_only=true)@5", {"bm25": "BM25"}, percent=True, places=None).columns
    ('run', 'P(rel=2, judged_only=true)@5')
    """
    check_at_least(0, places=places)
    parts = [part.strip() for one in check_names("columns", columns) for part in _COMMA.split(one)]
    named = [part for part in parts if part]
    twice = [one for one in named if named.count(one) > 1]
    if twice:
        raise UsageError(f"columns: {twice[0]} is named twice")
    shown = dict(label or {})
    same = [one for one in shown.values() if list(shown.values()).count(one) > 1]
    if same:
        raise UsageError(f"two runs cannot both be shown as {same[0]}")
    return Layout(tuple(named), shown, percent, places)


def check_label(
    con: duckdb.DuckDBPyConnection, datasets: Sequence[str], label: Mapping[str, str]
) -> None:
    """Refuse to label a run, or a system, that datasets do not have. Raises UsageError."""
    if not label:
        return
    rows = con.execute(
        "select unnest([run, system]) from run_version where list_contains($1, dataset) order by run",
        [list(datasets)],
    ).fetchall()
    known = list(dict.fromkeys(str(name) for (name,) in rows if name is not None))
    for run in label:
        if run not in known:
            raise UsageError(no_such_run(run, listing(datasets), known))


def of_board(board: Board, how: Layout) -> Board:
    """Return a board with the names and the values of a layout, and a note if it is in percent."""
    relation = _labelled(board.relation, ["run"], how.label)
    notes = board.notes
    if how.percent:
        shares = {column: name for column, name in board.metrics.items() if _is_share(name)}
        scaled = [one for column in shares for one in (column, width_of(column))]
        relation = _times_100(relation, [one for one in scaled if one in relation.columns])
        notes = (in_percent(board.metrics.values()), *notes)
    return replace(board, relation=relation, notes=notes)


def of_comparison(found: Compared, how: Layout) -> Compared:
    """Return a comparison with the names and the values of a layout."""
    values = _labelled(found.values, ["run"], how.label)
    pairs = _labelled(found.pairs, ["base", "run"], how.label)
    notes, scale = found.notes, ""
    if how.percent:
        shares = [name for name in found.metrics if _is_share(name)]
        values = _times_100(values, ["value", "if_all_relevant"], shares)
        values = _times_100(values, ["judged"])
        ours = ["base_value", "value", "difference", "low", "high", "detectable"]
        pairs = _times_100(pairs, [one for one in ours if one in pairs.columns], shares)
        scale = in_percent(found.metrics)
        notes = (*notes[:1], scale, *notes[1:])
    runs = tuple(how.label.get(run, run) for run in found.runs)
    ids = {how.label.get(run, run): number for run, number in found.run_ids.items()}
    return replace(
        found, values=values, pairs=pairs, notes=notes, runs=runs, run_ids=ids, in_percent=scale
    )


def in_percent(metrics: Iterable[str]) -> str:
    """Say that values are in percent, and which are not."""
    others = [name for name in metrics if not _is_share(name)]
    return f"values in percent, but not {listing(others)}" if others else "values in percent"


def chosen(asked: Iterable[str], known: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the asked names among the `known` ones, each of which has other names too.

    A metric may be asked for by any of its names. Raises UsageError with the nearest known name.

    >>> chosen(["run", "ndcg@10"], {"run": (), "nDCG@10": ()})
    ['run', 'nDCG@10']
    """
    names = {one: name for name, others in known.items() for one in (name, *others)}
    found: list[str] = []
    for one in asked:
        metric = None if one in names else known_metric(one)
        name = names.get(one if metric is None else str(metric))
        if name is None:
            hint = nearest(one, names) or f"; there are {listing(known)}"
            raise UsageError(f"{one}: no such column{hint}")
        if name not in found:
            found.append(name)
    return found


def _is_share(name: str) -> bool:
    """Whether the values of a metric lie between -1 and 1, so that percent make sense."""
    metric = known_metric(name)
    if metric is None or metric.is_count or not isinstance(metric.definition, MetricTemplate):
        return False
    low, high = metric.definition.range
    return low >= -1 and high <= 1


def _labelled(
    relation: duckdb.DuckDBPyRelation, columns: Collection[str], label: Mapping[str, str]
) -> duckdb.DuckDBPyRelation:
    """Return a relation whose runs have other names. Raises UsageError if two would have the same."""
    if not label:
        return relation
    runs = [row[0] for row in relation.project("run").distinct().fetchall()]
    taken = [label[run] for run in runs if label.get(run, run) != run and label[run] in runs]
    others = [name for name in taken if name not in label]
    if others:
        raise UsageError(f"{others[0]}: another run has this name; label it too, or choose another")
    cases = " ".join(f"when {literal(run)} then {literal(name)}" for run, name in label.items())
    made = (f"case {ident(one)} {cases} else {ident(one)} end as {ident(one)}" for one in columns)
    return relation.project(f"* replace ({', '.join(made)})")


def _times_100(
    relation: duckdb.DuckDBPyRelation, columns: Sequence[str], metrics: Sequence[str] | None = None
) -> duckdb.DuckDBPyRelation:
    """Return a relation with some columns times 100, in the rows of some metrics or in all."""
    if not columns:
        return relation
    which = (
        "true" if metrics is None else f"list_contains({literal(list(metrics))}::varchar[], metric)"
    )
    made = (f"if({which}, 100 * {ident(one)}, {ident(one)}) as {ident(one)}" for one in columns)
    return relation.project(f"* replace ({', '.join(made)})")
