"""How well runs reproduce others, or replicate them on other queries, as repro_eval measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.metrics.notation import Metrics
    from warehouse.report.result import Result
    from warehouse.warehouse import Warehouse

# The function imports what it needs: the command line's help does not wait for DuckDB.
_DEFAULT = "default"


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
    from warehouse.extensions.reproduction import measures
    from warehouse.report.result import Result

    with warehouse.file.read() as con:
        found = measures.reproduce(
            con, dataset, original, reproduced,
            base=base, replicated_in=replicated_in, metrics=metrics, depth=depth, p=p,
            protocol=protocol,
        )  # fmt: skip
        queries = None if found.queries is None else Result(found.queries, found.notes)
        return Result(found.relation, found.notes, tables={"queries": queries}, details=found)
