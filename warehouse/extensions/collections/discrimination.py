"""Discriminative power: how many pairs of runs each metric tells apart, and how surely."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from warehouse.analyze import comparison, past_state, run_choice
from warehouse.analyze.paired_tests import Compared, How
from warehouse.analyze.run_choice import Choice
from warehouse.analyze.significance import probability
from warehouse.metrics.notation import Metrics
from warehouse.report.result import Result
from warehouse.sql_text.templates import render
from warehouse.store.file import WarehouseFile

if TYPE_CHECKING:
    from warehouse.report.charts import Spec

_TESTED = "tested_pair"


@dataclass(frozen=True)
class Discrimination:
    """How well metrics tell runs apart.

    `relation` has a row for each metric, the most discriminative first: `metric, pairs, separated,
    share, largest_not_separated, undefined`. `levels` has a row for each metric and pair of runs whose
    p is defined, the least certain first: `metric, place, base, run, difference, p, is_separated`.
    """

    relation: duckdb.DuckDBPyRelation
    levels: duckdb.DuckDBPyRelation
    dataset: str
    runs: tuple[str, ...]
    protocol: str
    how: How
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


def discriminate(
    file: WarehouseFile,
    dataset: str | None,
    runs: str | Iterable[str],
    metrics: Metrics,
    how: How,
    *,
    protocol: str,
    as_of: past_state.Moment | None = None,
    qrels: int | None = None,
    choice: Choice = run_choice.ALL,
    on_step: Callable[[str], None] | None = None,
) -> Discrimination:
    """Test every pair of runs by every metric; the arguments are as in `collections.discriminate`."""
    found = comparison.compare(
        file, dataset, runs, metrics, how, bases=(), all_pairs=True, judged_only=False, judged=False,
        all_relevant=False, store=False, protocol=protocol, as_of=as_of, qrels=qrels,
        on_step=on_step, choice=choice,
    )  # fmt: skip
    return of_comparison(found)


def of_comparison(found: Compared) -> Discrimination:
    """Return the discriminative power of the metrics of a comparison of all pairs of its runs."""

    def asked(analysis: str) -> duckdb.DuckDBPyRelation:
        sql = render(f"collections/{analysis}", tested=_TESTED, alpha=found.how.alpha)
        made = found.pairs.query(_TESTED, sql)
        assert made is not None
        return made

    without = f"; {found.how.interval_in_words}"
    return Discrimination(
        relation=asked("discriminative_power"),
        levels=asked("separated_pairs"),
        dataset=found.dataset,
        runs=found.runs,
        protocol=found.protocol,
        how=found.how,
        notes=tuple(note.removesuffix(without) for note in found.notes),
        labels=found.labels,
    )


def result(found: Discrimination) -> Result:
    """Return the discriminative power of metrics; the table `levels` has every pair."""
    titles = {
        "largest_not_separated": "largest not separated", "is_separated": "separated",
    }  # fmt: skip
    alpha = f"{found.how.alpha:g}"
    notes = [
        f"separated: pairs of runs with p < {alpha}; largest not separated: the greatest difference "
        f"of the others",
        *found.notes,
    ]

    def chart() -> Spec:
        from warehouse.extensions.collections import levels

        return levels.significance_levels(found)

    is_whole = not found.relation.filter("undefined > 0").limit(1).fetchall()
    unneeded = ["undefined"] if is_whole else []
    shown = {"p": probability}
    return Result(
        found.relation, notes, titles=titles, unneeded=unneeded, chart=chart, details=found,
        tables={"levels": Result(found.levels, notes, titles=titles, shown=shown, chart=chart)},
    )  # fmt: skip
