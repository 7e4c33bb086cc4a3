"""z-scores: the values of a scored run by the means and standard deviations of a reference."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from warehouse.evaluate.plan import Plan
from warehouse.metrics.notation import Defaults, Metric, Requested, trec_name
from warehouse.readers.zscores import Reference
from warehouse.sql_text.templates import render

# trec_eval's value if there is no z-score.
MISSING = -1_000_000.0


def standardise(
    con: duckdb.DuckDBPyConnection,
    work: Plan,
    requested: Iterable[Requested],
    defaults: Defaults,
    reference: Reference,
) -> None:
    """Turn the values of a run that was scored into z-scores, in `query_score` and `score`."""
    measures = _measures(requested, defaults)
    turned = {n: measures[metric] for n, metric in enumerate(work.queries) if metric in measures}
    # Numbers go as text: older DuckDB versions read a NaN bound in a list as null.
    con.execute(
        "create or replace temp table zscore_reference as "
        "select unnest($queries::varchar[]) as query_id, unnest($measures::varchar[]) as measure, "
        "unnest($means::varchar[])::double as mean, unnest($stddevs::varchar[])::double as stddev",
        {
            "queries": [query for query, _ in reference],
            "measures": [measure for _, measure in reference],
            "means": [repr(mean) for mean, _ in reference.values()],
            "stddevs": [repr(stddev) for _, stddev in reference.values()],
        },
    )
    con.execute(
        "create or replace temp table zscore_measure as "
        "select unnest($numbers::integer[]) as evaluation_id, unnest($measures::varchar[]) as measure",
        {"numbers": list(turned), "measures": list(turned.values())},
    )
    con.execute(
        render(
            "statements/zscores",
            missing=MISSING,
            list_silent=work.protocol.list_silent,
            aggregates=sorted({metric.aggregate for metric in work.queries}),
        )
    )


def _measures(requested: Iterable[Requested], defaults: Defaults) -> dict[Metric, str]:
    """Return the name of each metric in a reference, as trec_eval prints it.

    num_q is left out: its value does not measure a query.
    """
    found: dict[Metric, str] = {}
    for one in requested:
        name, trec = trec_name(one.metric, defaults)
        if trec is None or trec.per_query or not trec.integer:
            found.setdefault(one.metric, one.trec_name or name)
    return found
