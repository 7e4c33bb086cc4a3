"""A report on a test collection: its topics, pool and ties, what it resolves, and what to add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from warehouse.analyze import (
    holes,
    paired_tests,
    past_state,
    ranked_lists,
    resampling,
    run_choice,
    significance,
    stored_metrics,
)
from warehouse.analyze.paired_tests import How
from warehouse.analyze.run_choice import Choice
from warehouse.errors import UsageError, check_at_least, check_names, command, counted, listing
from warehouse.evaluate import candidates, unstored_values
from warehouse.evaluate.plan import plan
from warehouse.extensions.collections import discrimination, uniques
from warehouse.extensions.collections.discrimination import Discrimination
from warehouse.metrics.notation import Metric, Metrics, known_metric
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.quoting import ident
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.file import WarehouseFile

# The sections in the order of the report, and their titles.
SECTIONS: Mapping[str, str] = {
    "topics": "Queries",
    "grades": "Judgments by grade",
    "pool": "Pool by depth",
    "tied": "Runs with tied scores",
    "ties": "How far ties move values",
    "power": "Discriminative power",
    "resolution": "Resolution",
    "uniques": "Leave-out-uniques",
    "condensed": "Condensed lists",
}
# The usual depth of a pool, and a difference of means that users may notice.
DEPTH, DIFFERENCE = 100, 0.05
# Depths of the pool that are listed.
_DEPTHS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
# Boards with a tau-b below this usually count as different (Voorhees 2000).
_ALIKE = 0.9
# A value that ties move by less is not worth a word.
_MOVES = 0.0005


@dataclass(frozen=True)
class Collection:
    """The report on a test collection.

    `sections` has a relation for each of `SECTIONS` that is not empty, and `section_notes` says
    how it was made. `relation` has one row with each section as a list of structs, for programs.
    `advice` are sentences. `levels` are the achieved significance levels, if pairs were tested.
    """

    relation: duckdb.DuckDBPyRelation
    sections: Mapping[str, duckdb.DuckDBPyRelation]
    section_notes: Mapping[str, Sequence[str]]
    advice: tuple[str, ...]
    levels: Discrimination | None
    dataset: str
    protocol: str
    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    how: How
    by: str


@dataclass(frozen=True)
class _Subject:
    """The subject of the report: a dataset, its runs, and the metrics that tell runs apart."""

    dataset: str
    runs: list[str]
    metrics: list[Metric]
    rules: Protocol

    @property
    def names(self) -> list[str]:
        """The names of the metrics."""
        return [str(metric) for metric in self.metrics]


@dataclass
class _Report:
    """The sections as they are made."""

    sections: dict[str, duckdb.DuckDBPyRelation]
    section_notes: dict[str, Sequence[str]]

    def put(self, name: str, relation: duckdb.DuckDBPyRelation, *section_notes: str) -> None:
        """Add a section."""
        self.sections[name], self.section_notes[name] = relation, section_notes

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of a section, or none if it was not made."""
        return database.records(self.sections[name]) if name in self.sections else []


def collection(
    file: WarehouseFile,
    dataset: str | None,
    runs: str | Iterable[str],
    metrics: Metrics,
    how: How,
    *,
    by: str,
    depth: int,
    difference: float,
    protocol: str,
    choice: Choice = run_choice.ALL,
    on_step: Callable[[str], None] | None = None,
) -> Collection:
    """Make the report; the arguments are as in `collections.collection`.

    Each part has a connection of its own, as some put their own judgments and hits before
    the file.
    """
    check_at_least(1, depth=depth)
    if not difference > 0:
        raise UsageError(f"difference: the one to be found, a number above 0, not {difference}")
    with file.read() as con:
        of = _subject(con, dataset, check_names("runs", runs), metrics, protocol, choice)
    made = _Report({}, {})

    def step(label: str) -> None:
        if on_step is not None:
            on_step(label)

    with file.read() as con:
        _put_judgments(con, of, depth, made)
        step("pool")
        _put_ties(con, of, made)
        step("ties")
    found = None
    if len(of.runs) > 1:
        found = discrimination.discriminate(
            file, of.dataset, of.runs, of.names, how, protocol=protocol, on_step=on_step
        )
        made.put("power", found.relation, *found.notes)
        with file.read() as con:
            _put_resolution(con, of, how, difference, made)
            step("resolution")
        with file.read() as con:
            left_out = uniques.reusability(
                con, of.dataset, of.runs, of.names, by=by, depth=depth, protocol=protocol,
                on_group=on_step,
            )  # fmt: skip
            made.put("uniques", _of_metric(con, left_out.relation))
        with file.read() as con:
            _put_condensed(con, of, made)
            step("condensed lists")
    sections = {name: made.sections[name] for name in SECTIONS if name in made.sections}
    advice = list(_advice(made, of, difference, by))
    return Collection(
        relation=_nested(sections, of, advice),
        sections=sections,
        section_notes=made.section_notes,
        advice=tuple(advice),
        levels=found,
        dataset=of.dataset,
        protocol=of.rules.name,
        runs=tuple(of.runs),
        metrics=tuple(of.names),
        how=how,
        by=by,
    )


def _subject(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    names: Sequence[str],
    metrics: Metrics,
    protocol: str,
    choice: Choice,
) -> _Subject:
    """Return the subject of the report. Raises UsageError for wrong names."""
    rules = stored_metrics.stored_rules(con, protocol)
    if rules.is_imported:
        raise UsageError(f"protocol {rules.name}: a report needs values that are computed here")
    reads = replace(choice, named=tuple(names))
    with past_state.read_one(con, dataset, past_state.NOW, reads) as (name, _):
        named = run_choice.expanded(con, name, names, rest=bool(names) and not choice.is_all)
        chosen = [run.name for run in ranked_lists.current_runs(con, name, named)]
        wanted = stored_metrics.names(con, [name], metrics, rules)
        shown = wanted or stored_metrics.with_values(con, [name], rules)
        stored_metrics.with_missing(con, [name], shown, rules)
        shown = list(stored_metrics.choose(con, name, wanted, rules))
    known = [metric for metric in map(known_metric, shown) if metric is not None]
    measured = [
        metric
        for metric in known
        if metric.direction != "none" and paired_tests.is_hypothesis(str(metric))
    ]
    if not measured:
        raise UsageError(f"{name}: name a metric of which a higher or a lower value is better")
    return _Subject(name, chosen, measured, rules)


def _put_judgments(con: duckdb.DuckDBPyConnection, of: _Subject, depth: int, made: _Report) -> None:
    """Count judgments by query and grade, and the pool by depth; makes `head` of the whole lists."""
    runs = ranked_lists.current_runs(con, of.dataset, of.runs)
    holes.put_heads(con, of.dataset, runs, of.rules, None)
    made.put("topics", _kept(con, "topics"))
    made.put("grades", _kept(con, "grades"))
    depths = sorted({depth, *(one for one in _DEPTHS if one < depth)})
    made.put("pool", _kept(con, "pool", depths=depths))


def _put_ties(con: duckdb.DuckDBPyConnection, of: _Subject, made: _Report) -> None:
    """Say which runs have tied scores, and how far the order within ties can move their values."""
    found = _kept(con, "tied")
    tied = [str(row["run"]) for row in database.records(found)]
    if not tied:
        return
    made.put("tied", found)
    # hits in another order do not reach metrics that read whole lists
    metrics = [one for one in of.metrics if "predictions" not in plan([one], of.rules).needs]
    if not metrics:
        return
    runs = candidates.find(con, of.dataset, tied)
    last, first = (
        unstored_values.tied(con, metrics, of.rules, runs, relevant_first=relevant_first)
        for relevant_first in (False, True)
    )
    keys = [(str(metric), run) for metric in metrics for run in tied]
    given = {
        "metric": [metric for metric, _ in keys],
        "run": [run for _, run in keys],
        "relevant_last": [last.get(key) for key in keys],
        "relevant_first": [first.get(key) for key in keys],
    }
    made.put("ties", _kept(con, "ties", given))


def _put_resolution(
    con: duckdb.DuckDBPyConnection, of: _Subject, how: How, difference: float, made: _Report
) -> None:
    """Resample the ranks, and plan by the residual error of a two-way analysis of variance."""
    with past_state.read_one(con, of.dataset, past_state.NOW):
        stored_metrics.with_missing(con, [of.dataset], of.names, of.rules)
        found = paired_tests.gather(con, of.dataset, of.runs, of.names, of.rules)
    means = [n for n, _ in enumerate(of.names) if found.aggregates[n] == "mean"]
    if not means:
        return
    paired_tests.put_hypotheses(con, [paired_tests.Hypothesis(metric, 0, 1) for metric in means])
    sql = render(
        "analyses/anova",
        compared=resampling.COMPARED, units=resampling.UNITS, hypotheses=resampling.HYPOTHESES,
        num_runs=len(of.runs),
    )  # fmt: skip
    database.keep(con, sql, name="variance")
    ranked: dict[str, list[Any]] = {
        name: [] for name in ("metric", "run", "value", "low", "high", "p_first")
    }
    drawn = resampling.Resampling(how.resamples, how.seed)
    for metric in means:
        better = found.better(metric)
        ranks = resampling.rank_intervals(con, drawn, metric, how.alpha, lower_is_better=better < 0)
        for run, one in ranks.items():
            value = found.scores[metric, run]
            row = (
                metric, of.runs[run], None if value is None else better * value,
                one.low, one.high, one.p_first,
            )  # fmt: skip
            for column, cell in zip(ranked.values(), row, strict=True):
                column.append(cell)
    given = {**ranked, "metrics": of.names, "anova_needed": _for_anova(con, of, how, difference)}
    tested = _kept(con, "variance", variances="variance", difference=difference)
    power = render(
        "analyses/power", tested=ident(tested.alias), alpha=how.alpha, power=paired_tests.POWER
    )
    made.put(
        "resolution",
        _kept(
            con, "resolution", given,
            tested=ident(tested.alias), power=power,
        ),
        f"ranks in the middle {1 - how.alpha:.0%} of {how.resamples:,} resamples of the queries (seed "
        f"{how.seed})",
    )  # fmt: skip


def _for_anova(
    con: duckdb.DuckDBPyConnection, of: _Subject, how: How, difference: float
) -> list[int | None]:
    """Return, by metric, how many queries find by an analysis of variance that the runs differ."""
    needed: list[int | None] = [None] * len(of.names)
    if significance.has_scipy():
        for metric, variance in con.execute(
            "select metric_number, any_value(mean_square) from variance group by metric_number"
        ).fetchall():
            if variance:
                needed[metric] = significance.anova_queries(
                    len(of.runs), difference, variance, how.alpha, paired_tests.POWER
                )
    return needed


def _put_condensed(con: duckdb.DuckDBPyConnection, of: _Subject, made: _Report) -> None:
    """Compare the boards with and without unjudged documents in the lists."""
    if of.rules.judged_only:
        return
    runs = candidates.find(con, of.dataset, of.runs)
    with past_state.read_one(con, of.dataset, past_state.NOW):
        stored_metrics.with_missing(con, [of.dataset], of.names, of.rules)
    whole = unstored_values.values(con, of.metrics, of.rules, runs)
    condensed = unstored_values.values(con, of.metrics, replace(of.rules, judged_only=True), runs)
    keys = [(str(metric), run.run) for metric in of.metrics for run in runs]
    database.keep(
        con,
        "select unnest($metric::varchar[]) as metric, unnest($run::varchar[]) as run, "
        "unnest($before::double[]) as before, unnest($after::double[]) as after",
        {
            "metric": [metric for metric, _ in keys],
            "run": [run for _, run in keys],
            "before": [whole.get(key) for key in keys],
            "after": [condensed.get(key) for key in keys],
        },
        name="condensed_board",
    )
    sql = render("analyses/qrels_taus", boards="condensed_board", keys=["metric"])
    made.put("condensed", database.keep(con, sql, name="condensed_tau"))


def _of_metric(
    con: duckdb.DuckDBPyConnection, relation: duckdb.DuckDBPyRelation
) -> duckdb.DuckDBPyRelation:
    """Return, of leave-out-uniques, what it says about each metric."""
    sql = render("collections/uniques", left_out=ident(relation.alias))
    return database.keep(con, sql, name="collection_uniques")


def _kept(
    con: duckdb.DuckDBPyConnection,
    analysis: str,
    given: Mapping[str, object] | None = None,
    **words: Any,
) -> duckdb.DuckDBPyRelation:
    sql = render(f"collections/{analysis}", **words)
    return database.keep(con, sql, given, name=f"collection_{analysis}")


def _nested(
    sections: Mapping[str, duckdb.DuckDBPyRelation], of: _Subject, advice: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Return one row with each section as a list of structs."""
    columns: dict[str, tuple[str, object]] = {
        "dataset": ("varchar", of.dataset),
        "protocol": ("varchar", of.rules.name),
        "runs": ("varchar[]", of.runs),
        "metrics": ("varchar[]", of.names),
    }
    for name, relation in sections.items():
        kinds = zip(relation.columns, relation.types, strict=True)
        struct = ", ".join(f"{ident(column)} {kind}" for column, kind in kinds)
        columns[name] = f"struct({struct})[]", database.records(relation)
    columns["advice"] = "varchar[]", list(advice)
    con = database.start()
    con.execute(
        "create table report as select "
        + ", ".join(f"${name}::{kind} as {ident(name)}" for name, (kind, _) in columns.items()),
        {name: value for name, (_, value) in columns.items()},
    )
    return con.table("report")


def _advice(made: _Report, of: _Subject, difference: float, by: str) -> Iterator[str]:
    """Advise on the findings of the sections."""
    for row in made.rows("topics"):
        if row["documents"] == "relevant" and row["queries_without"]:
            yield (
                f"{counted(row['queries_without'], 'query')} of {row['queries']:,} "
                f"{'has' if row['queries_without'] == 1 else 'have'} no relevant document, and can "
                "separate no runs: judge more documents of them, or leave them out"
            )
    for row in made.rows("resolution"):
        if row["detectable"] is None:
            continue
        sentence = (
            f"{row['metric']}: {counted(row['queries'], 'query')} detect a difference of "
            f"{row['detectable']:.3f} in {paired_tests.POWER:.0%} of cases"
        )
        needed = row["queries_needed"]
        if needed is not None and needed > row["queries"]:
            sentence += f"; {difference:g} needs {counted(needed, 'query')}"
        yield sentence
    yield from _on_depth(made, of)
    for row in made.rows("uniques"):
        if row["tau_b"] is not None and row["tau_b"] < _ALIKE:
            yield (
                f"{row['metric']}: without the judgments that it alone contributed, {row['run']} loses "
                f"{counted(row['rank_loss'], 'rank')} (tau-b down to {row['tau_b']:.2f} by {by}): a run "
                "that had no part in the pool may be ranked too low; judge what it adds "
                f"({command('holes', of.dataset)})"
            )
    for row in made.rows("condensed"):
        if row["tau_b"] is not None and row["tau_b"] < _ALIKE:
            yield (
                f"{row['metric']}: without unjudged documents the board is another one (tau-b "
                f"{row['tau_b']:.2f}): say how you treat them"
            )
    moved = [row for row in made.rows("ties") if row["moves"] >= _MOVES]
    if moved:
        most = max(moved, key=lambda row: row["moves"])
        yield (
            f"the order within tied scores moves values, {most['metric']} of {most['run']} by up to "
            f"{most['moves']:.3f}: write scores with more digits"
        )


def _on_depth(made: _Report, of: _Subject) -> Iterator[str]:
    """Say down to which depth every run is judged, and which metrics look deeper."""
    whole = [row["depth"] for row in made.rows("pool") if row["runs_judged"] == len(of.runs)]
    depth = max(whole, default=0)
    deeper = [str(one) for one in of.metrics if one.depth is None or one.depth > depth]
    if not deeper:
        return
    how_far = f"every run is judged down to rank {depth}" if depth else "no depth is judged wholly"
    yield (
        f"{how_far}: {listing(deeper, 4)} {'looks' if len(deeper) == 1 else 'look'} at unjudged "
        "documents, which count as not relevant"
    )
