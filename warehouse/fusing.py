"""Fusing runs: a method of the class `Warehouse`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from warehouse.config.project import request
from warehouse.errors import UsageError
from warehouse.metrics import protocols
from warehouse.opened import File, Texts, texts

if TYPE_CHECKING:
    from warehouse.fuse.fused_run import Fused, Prepared
    from warehouse.fuse.recipe import Recipe


class Fusing(File):
    """Merges runs."""

    @request()
    def fuse(
        self,
        runs: Texts,
        dataset: str,
        method: str = "rrf",
        *,
        name: str,
        normalise: str | None = None,
        weights: Sequence[float] | None = None,
        queries: str = "union",
        train_queries: object | None = None,
        train_share: float | None = None,
        leave_out_training: bool = False,
        tune: str | None = None,
        protocol: str = protocols.DEFAULT,
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_at: dt.datetime | None = None,
        replace: bool = False,
    ) -> Fused:
        """Merge current runs of a dataset into a new run, `name`, and record what it was made of.

        `method` is a name that `warehouse fusions` lists, as in "rrf(k=20)". `normalise` is the name
        of a normalisation, by default min-max if the method reads scores.
        `weights` are in the order of the runs. `queries` is "union" (those of any run) or "common"
        (those of all runs). Trained methods, and `tune` by a metric under `protocol`, use the
        judged queries of `train_queries` (ids, or a file of them) or a `train_share` of the judged
        queries; the new run has these queries too, unless `leave_out_training`. Its documents stand
        by score, then by id, both descending. The other arguments are those of `ingest_run`. Raises
        UsageError for wrong names and missing arguments, and ConflictError if the name is taken by
        other content.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run({"q": {"x": 3.0, "y": 2.0}}, "tiny", name="one")
        >>> _ = wh.ingest_run({"q": {"z": 2.0, "x": 1.0}}, "tiny", name="two")
        >>> made = wh.fuse(["one", "two"], "tiny", "CombSUM", normalise="none", name="both")
        >>> made.method, made.loaded.num_rows
        ('sum', 3)
        >>> found = wh.query("select doc_id, score from rankings where run = 'both' order by rank")
        >>> found.fetchall()
        [('x', 4.0), ('z', 2.0), ('y', 2.0)]
        """
        from warehouse.fuse import fused_run
        from warehouse.fuse import recipe as reading
        from warehouse.ingest import RunOptions

        which = reading.check_queries(queries)
        sources = texts(runs)
        if name in sources:
            raise UsageError(f"{name}: a run cannot take the place of one that it is made of")
        self._existing()
        self._ensure()
        prepared = self._complete(
            sources, dataset, method, normalise, weights, train_queries, train_share, tune, protocol
        )
        options = RunOptions(name=name, system=system, tags=dict(tags or {}), run_at=run_at)
        with self._write() as connection:
            return fused_run.make(
                connection, dataset, prepared, options,
                queries=which, leave_out=leave_out_training, replace=replace,
            )  # fmt: skip

    def _complete(
        self,
        runs: Sequence[str],
        dataset: str,
        method: str,
        normalise: str | None,
        weights: Sequence[float] | None,
        train_queries: object | None,
        train_share: float | None,
        tune: str | None,
        protocol: str,
    ) -> Prepared:
        """Complete the recipe, with training and trials if needed; nothing is written."""
        from warehouse.fuse import fused_run
        from warehouse.fuse import recipe as reading
        from warehouse.readers.global_qrels import stage_queries

        with self._read() as con:
            found: Recipe = reading.recipe(
                reading.sources(con, dataset, runs), method, normalise, weights, tuned=bool(tune)
            )
            ids: list[str] | None = None
            if train_queries is not None:
                rows = con.execute(stage_queries(con, train_queries)[0]).fetchall()
                ids = [str(row[0]) for row in rows]
            return fused_run.prepare(
                con, dataset, found,
                train_queries=ids, train_share=train_share, tune=tune,
                protocol=protocols.get(protocol),
            )  # fmt: skip
