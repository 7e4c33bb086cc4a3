"""The same by SciPy, from the values as they are exported: `with_scipy.py VALUES.parquet pairs|…`."""

from __future__ import annotations

import itertools
import sys

import arguments
import numpy as np
import polars as pl
from scipy import stats
from statsmodels.stats.multitest import multipletests

_, path, way = sys.argv
frame = pl.read_parquet(path)
wide = {
    metric: of_metric.pivot("run", index="query_id", values="value").sort("query_id")
    for (metric,), of_metric in frame.group_by("metric")
}
if way == "pairs":
    ps: dict[str, list[float]] = {}
    for metric, table in wide.items():
        columns = {run: table[run].to_numpy() for run in sorted(set(table.columns) - {"query_id"})}
        for one, other in itertools.combinations(columns, 2):
            ps.setdefault(metric, []).append(stats.ttest_rel(columns[other], columns[one]).pvalue)
    multipletests([p for some in ps.values() for p in some], method="holm")
    arguments.show({metric: float(np.mean(some)) for metric, some in ps.items()})
else:
    difference = (wide["AP"]["run01"] - wide["AP"]["run00"]).to_numpy()
    if way == "randomisation":
        found = stats.permutation_test(
            (difference,), np.mean, permutation_type="samples", n_resamples=10_000, batch=100, rng=0
        )
        arguments.show({"AP": float(found.pvalue)})
    else:
        interval = stats.bootstrap(
            (difference,), np.mean, n_resamples=10_000, method="percentile", batch=100, rng=0
        ).confidence_interval
        arguments.show({"AP": float(interval.high - interval.low)})
