"""Reports on test collections, and how well runs reproduce others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.analyze import past_state, run_choice
    from warehouse.metrics.notation import Metrics
    from warehouse.report.result import Result
    from warehouse.warehouse import Names, Warehouse

# The functions import what they need: the command line's help does not wait for DuckDB.
_DEFAULT = "default"


def discriminate(
    warehouse: Warehouse,
    dataset: str | None = None,
    runs: Names = (),
    metrics: Metrics = (),
    *,
    test: str = "tukey",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
    protocol: str = _DEFAULT,
    as_of: past_state.Moment | None = None,
    qrels: int | None = None,
    run: Names = (),
    system: Names = (),
    tag: run_choice.Tags = (),
    on_step: Callable[[str], None] | None = None,
) -> Result:
    """Return the discriminative power of metrics: how many pairs of runs each tells apart.

    Every pair of the `runs` (default: all) is tested by every metric, as `Warehouse.compare` does with
    `all_pairs`, and no p is corrected further. `test` is one of its tests: "tukey", the
    randomised test of Tukey's honest differences, takes all pairs together; "bootstrap" is the
    test of each pair in Sakai 2006, Evaluating evaluation metrics based on the bootstrap.

    Columns: `metric, pairs, separated, share, largest_not_separated, undefined`, the metric with
    the highest share first. A pair is separated if its p is below `alpha`;
    `largest_not_separated` is the greatest difference of a pair that is not; `undefined` counts
    pairs without a p. The table `levels` has the achieved significance levels, the highest first:
    `metric, place, base, run, difference, p, is_separated`; the chart draws them as curves.
    Metrics that are not stored are computed. Raises UsageError for wrong names and numbers.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {q: {"a": 1} for q in "opqrst"})
    >>> for name, score in (("good", 2.0), ("bad", 0.0)):
    ...     one = {"a": score, "b": 1.0}
    ...     _ = wh.ingest_run("tiny", dict.fromkeys("opqrst", one), name=name)
    >>> discriminate(wh, "tiny", metrics="RR Success@2", test="sign").fetchall()
    [('RR', 1, 1, 1.0, None, 0), ('Success@2', 1, 0, 0.0, 0.0, 0)]
    """
    from warehouse.analyze import paired_tests, run_choice
    from warehouse.extensions.collections import discrimination

    how = paired_tests.How(test, "none", alpha, resamples=resamples, seed=seed)
    found = discrimination.discriminate(
        warehouse.file, dataset, runs, metrics, how, protocol=protocol, as_of=as_of, qrels=qrels,
        choice=run_choice.choice(run, system, tag), on_step=on_step,
    )  # fmt: skip
    return discrimination.result(found)


def reusability(
    warehouse: Warehouse,
    dataset: str | None = None,
    runs: Names = (),
    metrics: Metrics = (),
    *,
    by: str = "run",
    depth: int | None = 100,
    protocol: str = _DEFAULT,
    run: Names = (),
    system: Names = (),
    tag: run_choice.Tags = (),
    on_group: Callable[[str], None] | None = None,
) -> Result:
    """Return the board as it would be if a group of runs had had no part in the pool.

    For each group of the `runs` (default: all), `by` "run", "system" or the name of a tag (as for
    teams), the judgments of the documents that the group alone has among its first `depth`
    (None: among all) are left out. Then all runs are evaluated without them (leave-out-uniques;
    Zobel 1998, Buckley and others 2007). Nothing is stored.

    Columns: `metric, left_out, runs, unique_judged, unique_relevant, tau_b, swapped_pairs,
    rank_loss, run, rank_before, rank_after, value_before, value_after`. `tau_b` is Kendall's tau-b
    of the two boards; `rank_loss` is the most ranks that a run of the group loses, and what
    follows is of that run. The largest loss comes first. The tables `boards` (`metric, left_out,
    run, is_member, before, after, rank_before, rank_after`) and `documents` (`left_out, query_id,
    doc_id, relevance`) have what it is made from. Raises UsageError for wrong names, for fewer
    than two groups, and if the qrels are not plain judgments.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 1}})
    >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "x": 1.0}}, name="one")
    >>> _ = wh.ingest_run("tiny", {"q": {"y": 2.0, "a": 1.0}}, name="two")
    >>> found = reusability(wh, "tiny", metrics="RR")
    >>> [(row.left_out, row.unique_judged, row.tau_b, row.rank_loss) for row in found]
    [('one', 1, -1.0, 1), ('two', 1, 1.0, 0)]
    """
    from warehouse.analyze import run_choice
    from warehouse.extensions.collections import uniques

    with warehouse.file.read() as con:
        found = uniques.reusability(
            con, dataset, runs, metrics, by=by, depth=depth, protocol=protocol,
            choice=run_choice.choice(run, system, tag), on_group=on_group,
        )  # fmt: skip
        return uniques.result(found)


def collection(
    warehouse: Warehouse,
    dataset: str | None = None,
    runs: Names = (),
    metrics: Metrics = (),
    *,
    test: str = "tukey",
    alpha: float = 0.05,
    difference: float = 0.05,
    by: str = "run",
    depth: int = 100,
    resamples: int = 2000,
    seed: int = 0,
    protocol: str = _DEFAULT,
    run: Names = (),
    system: Names = (),
    tag: run_choice.Tags = (),
    on_step: Callable[[str], None] | None = None,
) -> Result:
    """Return a report on a test collection, as its runs (default: all) show it.

    Its tables are the sections that are not empty: `topics` (judged
    and relevant documents of the queries), `grades`, `pool` (documents by depth, and how many of
    them are judged), `tied` and `ties` (runs with tied scores, and how far the order within ties
    can move each value), `power` (as `discriminate` has it, by `test`), `resolution` (the best
    run's ranks as in `Warehouse.leaderboard(ranks=True)`, the smallest difference that the queries
    detect in 80 % of cases at `alpha`, and the queries that `difference` needs; Sakai 2016, Topic
    set size design), `uniques` (as `reusability` has it, `by` and to the `depth` given here) and
    `condensed` (Kendall's tau-b of the boards with and without unjudged documents). `advice` has
    sentences, which are the notes too.

    The result itself has one row, `dataset, protocol, runs, metrics`, and each section as a list
    of structs. Nothing is stored. Raises UsageError for wrong names and numbers.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {"p": {"a": 1}, "q": {"a": 1, "b": 0}})
    >>> _ = wh.ingest_run("tiny", {"p": {"a": 2.0, "c": 1.0}, "q": {"b": 1.0}}, name="one")
    >>> found = collection(wh, "tiny", metrics="RR", depth=2)
    >>> [(row.depth, row.documents, row.judged, row.runs_judged) for row in found.pool]
    [(1, 2, 2, 1), (2, 3, 2, 0)]
    """
    from warehouse.analyze import paired_tests, run_choice
    from warehouse.extensions.collections import report, tables

    how = paired_tests.How(test, "none", alpha, resamples=resamples, seed=seed)
    found = report.collection(
        warehouse.file, dataset, runs, metrics, how, by=by, depth=depth, difference=difference,
        protocol=protocol, choice=run_choice.choice(run, system, tag), on_step=on_step,
    )  # fmt: skip
    return tables.result(found, difference)


def reproduce(
    warehouse: Warehouse,
    dataset: str | None,
    original: str,
    reproduced: str,
    *,
    base: tuple[str, str] | None = None,
    replicated_in: str | None = None,
    metrics: Metrics = (),
    depth: int = 1000,
    p: float = 0.95,
    protocol: str = _DEFAULT,
) -> Result:
    """Measure how well a run reproduces another, as repro_eval does (Breuer and others, SIGIR 2020).

    For each of the `metrics` (default: all that have values): the means over the queries, the
    root mean square error, and p of a paired t-test. ktu and rbo compare the
    lists, down to `depth`; the table `queries` has them for each query. `base` names the base
    runs of both sides, for er (effect ratio) and dri (delta relative improvement).
    `replicated_in` is the dataset of the reproduced runs, if it is another one; p is then from
    an unpaired test. Columns: `metric, pair, original, reproduced, original_arp,
    reproduced_arp, difference, rmse, nrmse, p, er, dri, ktu, rbo, queries, reproduced_queries`.
    Raises UsageError for wrong names and missing values.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}, "r": {"b": 1}})
    >>> best = {"q": {"a": 2.0, "b": 1.0}, "r": {"b": 2.0, "a": 1.0}}
    >>> _ = wh.ingest_run("tiny", best, name="theirs")
    >>> _ = wh.ingest_run("tiny", {"q": best["q"], "r": best["q"]}, name="ours")
    >>> _ = wh.evaluate(metrics="RR")
    >>> found = reproduce(wh, "tiny", "theirs", "ours")
    >>> [(row.original_arp, row.reproduced_arp, row.ktu) for row in found]
    [(1.0, 0.75, 0.0)]
    """
    from warehouse.extensions.collections import reproduction
    from warehouse.report.result import Result

    with warehouse.file.read() as con:
        found = reproduction.reproduce(
            con, dataset, original, reproduced,
            base=base, replicated_in=replicated_in, metrics=metrics, depth=depth, p=p,
            protocol=protocol,
        )  # fmt: skip
        queries = None if found.queries is None else Result(found.queries, found.notes)
        return Result(found.relation, found.notes, tables={"queries": queries}, details=found)
