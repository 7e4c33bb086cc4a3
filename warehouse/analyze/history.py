"""Runs over time, and the effect of a new version of the qrels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import past_state, run_choice, stored_metrics
from warehouse.analyze.past_state import State
from warehouse.analyze.run_choice import Choice
from warehouse.errors import UsageError, check_at_least, command, counted, listing, option
from warehouse.metrics.notation import MetricLike, Metrics
from warehouse.metrics.protocols import Protocol
from warehouse.sql_text.templates import render
from warehouse.store import datasets
from warehouse.store.database import keep, refuse_collected


@dataclass(frozen=True)
class Timeline:
    """The values of a metric over time.

    `relation` has the columns `run_at, run, version, system, value, best_so_far, is_record, gain`.
    `red` are the versions of runs of which a gate fired, unless they were accepted. `notes` are
    sentences on what is left out, and how to get it; `labels` has the name that the metric was asked
    for by.
    """

    relation: Relation
    metric: str
    dataset: str
    protocol: str
    direction: str
    qrels_version: int
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    red: frozenset[tuple[str, int]] = frozenset()


def history(
    con: Connection,
    dataset: str | None,
    metric: MetricLike | None,
    *,
    protocol: str,
    as_of: past_state.Moment | None,
    qrels: int | None,
    runs: Choice = run_choice.ALL,
    compute: bool = True,
) -> Timeline:
    """Return the runs of a dataset over time; the arguments are as in `Warehouse.history`.

    Without `compute`, only stored values are in it.
    """
    wanted = past_state.state(as_of, qrels)
    stored_only = metric is None or not compute
    with past_state.read_one(con, dataset, wanted, runs, stored_only=stored_only) as (name, gone):
        rules = stored_metrics.stored_rules(con, protocol)
        asked = stored_metrics.first_name(con, name, metric, rules)
        asked = asked or stored_metrics.with_values(con, [name], rules)[:1]
        made: Mapping[str, int] = {}
        if compute:
            made = stored_metrics.with_missing(con, [name], asked, rules, is_past=as_of is not None)
        chosen = asked[0] if asked else stored_metrics.choose(con, name, [], rules)[0]
        found = _timeline(con, name, chosen, rules, wanted=wanted)
        computed = stored_metrics.computed_notes(
            [name], made, rules, qrels=qrels, is_past=as_of is not None
        )
        labels = stored_metrics.labels([] if metric is None else [metric], rules)
        return replace(found, notes=(*found.notes, *computed, *gone), labels=labels)


def _timeline(
    con: Connection, dataset: str, name: str, protocol: Protocol, *, wanted: State
) -> Timeline:
    """Return every version of the runs with a value against the current qrels, oldest first.

    `wanted` is the state that `con` reads: the notes say what to do if missing values can be
    computed.
    """
    asked = {"dataset": dataset, "metric": name, "protocol": protocol.name}
    ((newest,),) = con.execute(
        "select arg_max(direction, evaluated_at) from score_versions where dataset = $dataset "
        "and metric = $metric and protocol = $protocol",
        asked,
    ).fetchall()
    if newest is None:
        stored_metrics.choose(con, dataset, [name], protocol)
    ((qrels_version,),) = con.execute(
        "select any_value(qrels_version) from qrels_version where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    direction = str(newest)
    relation = keep(con, render("analyses/history", direction=direction), asked)
    evaluate = None
    if wanted.as_of is None:
        evaluate = (
            stored_metrics.evaluate_command(con, dataset, [name], protocol)
            if protocol.is_imported
            else command(
                "evaluate", dataset, metrics=[name], qrels=wanted.qrels, protocol=protocol.name
            )
        )
    left_out = con.execute(render("analyses/history_left_out"), asked).fetchall()
    notes = tuple(_left_out(*row, against=qrels_version, evaluate=evaluate) for row in left_out)
    ((older,),) = con.execute(render("analyses/history_formulas"), asked).fetchall()
    if older:
        have = "has its value" if older == 1 else "have their values"
        notes += (f"{counted(older, 'version')} {have} by an older formula than the others",)
    red = con.execute(render("analyses/history_red"), asked | {"as_of": wanted.as_of}).fetchall()
    return Timeline(
        relation, name, dataset, protocol.name, direction, qrels_version, notes,
        red=frozenset((str(run), int(version)) for run, version in red),
    )  # fmt: skip


def _left_out(
    is_current: bool, last: int | None, number: int, *, against: int, evaluate: str | None
) -> str:
    """Return the sentence on versions of runs whose `last` value is against other qrels."""
    which = "current version" if is_current else "replaced version"
    ways = [] if last is None else [f"against version {last} see {option('qrels', last)}"]
    ways += [evaluate] if is_current and evaluate is not None else []
    note = f"{counted(number, which)} left out, without a value against qrels version {against}"
    return f"{note}: {'; '.join(ways)}" if ways else note


@dataclass(frozen=True)
class QrelsDiff:
    """The differences between two versions of a dataset's qrels, and their effect on the boards.

    `counts` has the columns `change, judgments, queries, documents`; `rows` has `query_id, doc_id,
    iteration, change, before, after`. `boards` has, for the current runs with values against both,
    `metric, run, before, after, change, place_before, place_after`, and `taus` has `metric, runs,
    tau_b, swapped_pairs`. Values by an older formula are left out, and `notes` names them.
    """

    dataset: str
    counts: Relation
    rows: Relation
    boards: Relation
    taus: Relation
    notes: tuple[str, ...] = ()


def qrels_diff(
    con: Connection,
    dataset: str | None,
    before: int,
    after: int,
    *,
    metrics: Metrics,
    protocol: str,
) -> QrelsDiff:
    """Compare two versions of a dataset's qrels, by all metrics with values or by some."""
    check_at_least(1, before=before, after=after)
    refuse_collected(con, "the judgments that differ")
    dataset = datasets.chosen(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    names = stored_metrics.names(con, [dataset], metrics, rules)
    rows = con.execute(
        "select qrels.version from qrels join dataset using (dataset_id) "
        "where dataset.name = $dataset order by 1",
        {"dataset": dataset},
    ).fetchall()
    known = [int(row[0]) for row in rows]
    for version in (before, after):
        if version not in known:
            raise UsageError(
                f"{dataset}: has no version {version} of its qrels; it has "
                f"{listing(map(str, known)) or 'none'}: {command('qrels', dataset)}"
            )
    versions = {"dataset": dataset, "before": int(before), "after": int(after)}
    differing = keep(con, render("analyses/qrels_diff"), versions, name="differing")
    values = keep(
        con,
        render("analyses/qrels_values"),
        versions | {"protocol": rules.name, "metrics": names},
        name="values_against",
    )
    boards = keep(
        con,
        render("analyses/qrels_boards", values="values_against"),
        {"before": int(before), "after": int(after)},
        name="boards",
    )
    return QrelsDiff(
        dataset=dataset,
        counts=keep(
            con, render("analyses/qrels_diff_counts", differing="differing"), name="counts"
        ),
        rows=differing,
        boards=boards,
        taus=keep(
            con, render("analyses/qrels_taus", boards="boards", keys=["metric"]), name="taus"
        ),
        notes=tuple(_of_older_formulas(values, dataset, rules)),
    )


def _of_older_formulas(values: Relation, dataset: str, protocol: Protocol) -> Iterator[str]:
    """Say which values against a version are by an older formula, and how to renew them."""
    older = values.filter("not has_newest_formula").aggregate(
        "version, list(distinct metric order by metric) as metrics", "version"
    )
    for version, metrics in older.order("version").fetchall():
        again = command("evaluate", dataset, metrics=metrics, qrels=version, protocol=protocol.name)
        yield (
            f"left out, for against version {version} they are by an older formula: "
            f"{listing(metrics, 4)}: {again}"
        )
