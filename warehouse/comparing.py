"""Comparing runs by tests of significance: methods of the class `Warehouse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from warehouse.analyze import datasets, leaderboard, past
from warehouse.config.project import request
from warehouse.errors import UsageError, check_at_least
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, Metrics, known_metric, parse_one
from warehouse.metrics.protocols import Protocol
from warehouse.opened import File, Texts, texts

if TYPE_CHECKING:
    from warehouse.analyze.compare import Compared
    from warehouse.analyze.side_by_side import SideBySide
    from warehouse.evaluate.candidates import Candidate
    from warehouse.evaluate.what_if import Values


class Comparing(File):
    """Compares runs with each other."""

    @request()
    def compare(
        self,
        runs: Texts = (),
        dataset: str | None = None,
        metrics: Metrics = (),
        *,
        bases: Texts = (),
        all_pairs: bool = False,
        test: str = "t",
        correction: str | None = None,
        alpha: float = 0.05,
        interval: str = "t",
        resamples: int = 10_000,
        seed: int = 0,
        judged_only: bool = False,
        judged: bool = True,
        bounds: bool = False,
        store: bool = False,
        protocol: str = protocols.DEFAULT,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
        on_step: Callable[[str], None] | None = None,
    ) -> Compared:
        """Compare runs with a base, on stored values that are joined by query.

        The base is the first run, or the `bases`, which need not be among the runs. With
        `all_pairs`, every run is compared with every other. A single run is compared with all
        others of the dataset that have values. Every pair and metric is one hypothesis. `test` is
        two-sided: "t", "wilcoxon", "sign", "randomisation" or "tukey" (all but the last two by
        SciPy). `correction` is over all hypotheses: "holm", "bonferroni", "bh" or "none". For a
        pair that differs in no query, "t" and "wilcoxon" have no p, and the pair is not a
        hypothesis; the other tests have p = 1. `interval` is "t" or "bootstrap". Resampling is
        repeated `resamples` times from `seed`, with the same bits on any number of threads.

        `judged_only` removes unjudged documents from the lists first. `judged` adds the share of
        judged documents, and `bounds` the values that the runs would have if all unjudged documents
        were relevant. `store` keeps the comparison in the database, for the view `comparisons`.
        `as_of` and `qrels` are those of `leaderboard`. Needs the extra "stats". Raises UsageError
        for wrong names and missing values.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({q: {"a": 1} for q in "pqr"}, "tiny")
        >>> _ = wh.ingest_run({q: {"b": 2.0, "a": 1.0} for q in "pqr"}, "tiny", name="low")
        >>> _ = wh.ingest_run({"p": {"a": 1.0}, "q": {"a": 1.0}, "r": {"b": 1.0}}, "tiny", name="high")
        >>> _ = wh.evaluate(metrics="RR")
        >>> found = wh.compare(["low", "high"], "tiny", "RR", test="sign")
        >>> found.pairs.project("base, run, wins, ties, losses, p").fetchall()
        [('low', 'high', 2, 0, 1, 1.0)]
        """
        from warehouse.analyze import compare as comparing
        from warehouse.analyze import comparison, significance
        from warehouse.evaluate import candidates, what_if

        how = comparing.How(test, correction, alpha, interval, resamples, seed)
        significance.needs_scipy()
        if judged_only and (as_of is not None or qrels is not None):
            raise UsageError(
                "judged_only: is computed from what there is now; leave as_of and qrels out"
            )
        with self._read() as con:
            dataset = datasets.chosen(con, dataset)
            with past.put(con, [dataset], past.state(as_of, qrels)) as (_, gone):
                rules, names = self._names(con, dataset, metrics, protocol)
                given = [*(base for base in texts(bases) if base not in texts(runs)), *texts(runs)]
                chosen = comparing.current_runs(
                    con, dataset, given, names, rules, with_others=not texts(runs)
                )
                asked = candidates.find(con, dataset, chosen, qrels)
                known = [m for m in map(known_metric, names) if m is not None]
                if judged_only:
                    _check_known(names, known)
                    what_if.put_judged_only(con, known, rules, asked)
                found = comparing.gather(con, dataset, chosen, names, rules)
                pairs = comparing.pairs_of(chosen, texts(bases) or chosen[:1], all_pairs=all_pairs)
                rows = comparing.compare(con, found, pairs, how, on_step)
                shares: Values = {}
                if judged and as_of is None:
                    shares = _judged(con, known, rules, asked)
                supposed: Values = {}
                if bounds:
                    _check_known(names, known)
                    supposed = what_if.all_relevant(con, known, rules, asked)
                made = comparison.compared(
                    con, found, rows, dataset, rules, how, shares, supposed, judged_only=judged_only
                )
        if store:
            from warehouse.analyze import stored_comparisons

            with self._write() as connection:
                number = stored_comparisons.keep(connection, made)
            gone += (
                f"kept as comparison {number}: from comparisons where comparison_id = {number}",
            )
        return replace(made, notes=(*made.notes, *gone))

    @request()
    def side_by_side(
        self,
        base: str,
        run: str,
        dataset: str | None = None,
        metric: str = "nDCG@10",
        *,
        queries: int = 5,
        depth: int = 10,
        protocol: str = protocols.DEFAULT,
        as_of: past.Moment | None = None,
        qrels: int | None = None,
    ) -> SideBySide:
        """Return the queries on which two runs differ most, with both lists down to `depth`.

        `as_of` and `qrels` are those of `leaderboard`. Needs the extra "stats", as `compare` does.
        """
        from warehouse.analyze import compare as comparing
        from warehouse.analyze import side_by_side, significance

        significance.needs_scipy()
        check_at_least(1, queries=queries, depth=depth)
        with self._read() as con:
            name = datasets.chosen(con, dataset)
            with past.put(con, [name], past.state(as_of, qrels)) as (_, gone):
                rules, names = self._names(con, name, [metric], protocol)
                if len(names) != 1:
                    raise UsageError(f"{metric}: stands for several metrics; name one")
                chosen = comparing.current_runs(con, name, [base, run], names, rules)
                if base == run:
                    raise UsageError(f"{run}: cannot be compared with itself; name another run")
                found = comparing.gather(con, name, chosen, names, rules)
                lists = side_by_side.side_by_side(
                    con, found, name, rules, queries=queries, depth=depth
                )
        return replace(lists, notes=gone)

    def _names(
        self, con: duckdb.DuckDBPyConnection, dataset: str, metrics: Metrics, protocol: str
    ) -> tuple[Protocol, list[str]]:
        """Return a protocol, and the names of the requested metrics, or of all with values."""
        rules = leaderboard.stored_rules(con, protocol)
        names = leaderboard.names(con, [dataset], texts(metrics), rules)
        return rules, leaderboard.choose(con, dataset, names, rules)


def _check_known(names: Sequence[str], known: Sequence[Metric]) -> None:
    """Refuse to compute metrics that no longer exist."""
    gone = [name for name in names if name not in map(str, known)]
    if gone:
        raise UsageError(f"{', '.join(gone)}: no longer defined, so it cannot be recomputed")


def _judged(
    con: duckdb.DuckDBPyConnection,
    metrics: Sequence[Metric],
    rules: Protocol,
    runs: Sequence[Candidate],
) -> Values:
    """Return, by metric and run, the share of judged documents down to the metric's cutoff."""
    from warehouse.evaluate import scope, what_if

    if any(
        r.qrels_id is None or scope.qrels_kind(con, r.qrels_id) == scope.PREFERENCES for r in runs
    ):
        return {}
    cutoffs = {str(metric): metric.depth for metric in metrics}
    names = {c: "Judged" if c is None else f"Judged@{c}" for c in cutoffs.values()}
    shares = {c: parse_one(name).metric for c, name in names.items()}
    found = what_if.values(con, list(shares.values()), rules, runs)
    return {
        (metric, run.run): found.get((str(shares[cutoff]), run.run))
        for metric, cutoff in cutoffs.items()
        for run in runs
    }
