"""Agreement, reproductions and unjudged documents: methods of the class `Warehouse`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.analyze import across_datasets, datasets, leaderboard
from warehouse.config.project import request
from warehouse.errors import UsageError, check_word
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metrics
from warehouse.opened import File, Texts, texts

if TYPE_CHECKING:
    from warehouse.analyze.agreement import Agreement
    from warehouse.analyze.holes import Holes
    from warehouse.analyze.reproduction import Reproduction


class Agreeing(File):
    """Compares rankings with each other."""

    @request()
    def agree(
        self,
        dataset: Texts,
        runs: Texts = (),
        *,
        of: str = "documents",
        metrics: Metrics = (),
        against: str | None = None,
        depth: int | None = None,
        p: float = 0.9,
        over: str = "intersection",
        protocol: str = protocols.DEFAULT,
    ) -> Agreement:
        """Measure how much rankings agree: Kendall's tau-b, tau-AP and rank-biased overlap.

        `of="documents"` compares the document lists of every two of the `runs` (default: all), in
        the order of the protocol, down to `depth`; judgments are not needed. tau is `over` the
        "intersection" or the "union" of two lists. `of="runs"` compares the orders in which the
        `metrics` (default: all that have values) rank the runs or, with several datasets, the
        orders in which each metric ranks them there. `against` names the run, metric or dataset to
        compare all others with. Raises UsageError for wrong names and numbers.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, "tiny", name="one")
        >>> _ = wh.ingest_run({"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, "tiny", name="two")
        >>> found = wh.agree("tiny").relation
        >>> [round(value, 4) for value in found.project("tau_b, tau_ap, rbo_ext").fetchall()[0]]
        [0.3333, 0.5, 0.955]
        """
        from warehouse.analyze import agreement

        check_word("kind of ranking", of, agreement.OF)
        with self._read() as con:
            rules = leaderboard.stored_rules(con, protocol)
            datasets = across_datasets.named_datasets(con, texts(dataset))
            if of == "runs":
                if depth is not None or over != "intersection":
                    raise UsageError(
                        "depth and over: are for lists of documents; orders of runs are compared whole"
                    )
                return agreement.of_runs(
                    con, datasets, leaderboard.names(con, datasets, texts(metrics), rules), rules,
                    runs=texts(runs), against=against, p=p,
                )  # fmt: skip
            if texts(metrics):
                raise UsageError("metrics order runs, not documents: ask for the agreement of runs")
            if len(datasets) > 1:
                raise UsageError("documents are compared within one dataset; name one")
            return agreement.of_documents(
                con, datasets[0], texts(runs), rules,
                against=against, depth=depth, p=p, over=over,
            )  # fmt: skip

    @request()
    def reproduce(
        self,
        original: str,
        reproduced: str,
        dataset: str,
        *,
        base: tuple[str, str] | None = None,
        replicated_in: str | None = None,
        metrics: Metrics = (),
        depth: int = 1000,
        p: float = 0.95,
        protocol: str = protocols.DEFAULT,
    ) -> Reproduction:
        """Measure how well a run reproduces another, as repro_eval does (Breuer and others, SIGIR 2020).

        For each of the `metrics` (default: all that have values): the means over the queries, the
        root mean square error, and p of a paired t-test (extra "stats"). ktu and rbo compare the
        lists, down to `depth`. `base` names the base runs of both sides, for er (effect ratio) and
        dri (delta relative improvement). `replicated_in` is the dataset of the reproduced runs, if
        it is another one; p is then from an unpaired test. Raises UsageError for wrong names and
        missing values.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}, "r": {"b": 1}}, "tiny")
        >>> best = {"q": {"a": 2.0, "b": 1.0}, "r": {"b": 2.0, "a": 1.0}}
        >>> _ = wh.ingest_run(best, "tiny", name="theirs")
        >>> _ = wh.ingest_run({"q": best["q"], "r": best["q"]}, "tiny", name="ours")
        >>> _ = wh.evaluate(metrics="RR")
        >>> found = wh.reproduce("theirs", "ours", "tiny").relation
        >>> found.project("original_arp, reproduced_arp, ktu").fetchall()
        [(1.0, 0.75, 0.0)]
        """
        from warehouse.analyze import reproduction

        with self._read() as con:
            rules = leaderboard.stored_rules(con, protocol)
            other = dataset if replicated_in is None else replicated_in
            for name in dict.fromkeys((dataset, other)):
                datasets.check(con, name)
            return reproduction.reproduce(
                con, reproduction.Sides(dataset, other, original, reproduced, base),
                leaderboard.names(con, [dataset, other], texts(metrics), rules), rules, depth=depth, p=p,
            )  # fmt: skip

    @request()
    def holes(
        self,
        dataset: str,
        runs: Texts = (),
        *,
        depth: int = 10,
        top: int | None = None,
        per_query: bool = False,
        protocol: str = protocols.DEFAULT,
    ) -> Holes:
        """List the unjudged documents that most `runs` (default: all) have among their first `depth`.

        Those that most runs have come first. There are at most `top`, or with `per_query` at most
        `top` for each query. `filled` says what judging them would fill in each run. Raises
        UsageError for wrong names and numbers.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q": {"a": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q": {"b": 3.0, "a": 2.0}}, "tiny", name="one")
        >>> _ = wh.ingest_run({"q": {"c": 3.0, "b": 2.0}}, "tiny", name="two")
        >>> wh.holes("tiny", top=1).relation.fetchall()
        [('q', 'b', 2, 1, 0.75)]
        """
        from warehouse.analyze import holes

        with self._read() as con:
            return holes.holes(
                con, dataset, texts(runs), leaderboard.stored_rules(con, protocol),
                depth=depth, top=top, per_query=per_query,
            )  # fmt: skip
