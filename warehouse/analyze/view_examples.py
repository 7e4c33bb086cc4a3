"""The views and macros for people: an example of each, and pages about the contents of a database."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from warehouse.errors import UsageError, nearest
from warehouse.store.database import STORE

# Views in the order of display, each with a question that it answers; tests run them.
EXAMPLES: dict[str, str] = {
    "leaderboard": "from leaderboard where metric = 'nDCG@10' order by dataset, place",
    "run_scores": "select system, max(value) as best from run_scores "
    "where metric = 'nDCG@10' and is_current group by system order by best desc",
    "query_scores": "select query_id, avg(value) as mean from query_scores "
    "where metric = 'nDCG@10' and is_current group by query_id order by mean, query_id limit 5",
    "runs": "select run, tags['stage'] as stage, num_predictions from runs order by dataset, run",
    "judgments": "select query_id, count(*) filter (where relevance > 0) as relevant from judgments "
    "where is_current group by query_id order by relevant, query_id limit 5",
    "judge_judgments": "select judge, avg(relevance) as mean from judge_judgments "
    "where is_newest group by judge order by judge",
    "rankings": "select rank, doc_id, score, relevance from rankings "
    "where run = 'bm25' and query_id = '19335' and is_current order by rank limit 10",
    "history": "select step, run_at, run, value, best_so_far from history "
    "where metric = 'nDCG@10' and is_record order by dataset, step",
    "gate_results": "select dataset, run, metric, value, reference, reference_value, why "
    "from gate_results where is_red and is_current order by all",
    "fused_runs": "select run, method, source, source_version, weight from fused_runs "
    "where is_current order by run, position",
    "imported_scores": "select run, metric, value, judge, source from imported_scores "
    "where is_current order by all",
    "nugget_assignments": "select run, judge, text, assignment from nugget_assignments "
    "where query_id = '19335' and is_current order by all",
    "answer_citations": "select run, judge, support, count(*) as citations from answer_citations "
    "where is_current group by all order by all",
    "slice_scores": "select slice, part, run, value from slice_scores "
    "where metric = 'nDCG@10' and is_current order by all",
    "slice_query_scores": "select slice, part, run, count(*) as queries from slice_query_scores "
    "where metric = 'nDCG@10' and is_current group by all order by all",
    "curve_points": "select run, x, y from curve_points "
    "where curve = 'ROC' and query_id is null and is_current order by run, position",
    "query_text": "select query_id, text from query_text where text ilike '%definition%'",
    "document_text": "select rank, doc_id, text from rankings "
    "join document_text using (dataset, doc_id) "
    "where run = 'bm25' and query_id = '19335' and is_current order by rank limit 10",
    "comparisons": "select metric, base, run, difference, p_adjusted from comparisons "
    "where is_current order by p_adjusted, metric, base, run",
}

# Macros that give rows, in the order of display, each with an example; tests run them.
MACROS: dict[str, str] = {
    "board": "from board('dl19', metric_name := 'nDCG@10')",
    "compare": "from compare('dl19', 'bm25', 'tasb', 'nDCG@10')",
    "history": "from history('dl19') where is_record",
    "ranked_list": "from ranked_list('dl19', 'bm25', '19335') limit 10",
}
# What the arguments of the macros mean.
ARGUMENTS = {
    "dataset_name": "Name of the dataset.",
    "metric_name": "Name of the metric, as it is stored.",
    "protocol_name": "Name of the protocol.",
    "base_name": "Name of the run that the other run is compared with.",
    "run_name": "Name of the run.",
    "query_name": "Id of the query.",
}

Row = Sequence[object]


def known_relation(rows: Iterable[Row], relation: str) -> str:
    """Return the name of a table or view, if it exists; `store.` may be left out."""
    known = list(dict.fromkeys(str(row[1]) for row in rows))
    for name in (relation, f"{STORE}.{relation}"):
        if name in known:
            return name
    raise UsageError(f"{relation}: no such table, view or macro{nearest(relation, known)}")


def page(rows: Iterable[Row]) -> str:
    """Return the columns of views and tables, for people; the rows are those of `Warehouse.schema`.

    >>> print(page([("view", "v", None, None, "One row per x.", "from v"),
    ...             ("view", "v", "a", "integer", "The a.", None)]), end="")
    v (view)
        One row per x.
    <BLANKLINE>
        a  integer  The a.
    <BLANKLINE>
        warehouse query "from v"
    """
    return "\n".join(_about(list(group)) for _, group in groupby(rows, key=lambda row: row[:2]))


def _about(rows: list[Row]) -> str:
    (kind, relation, _, _, comment, example), *columns = rows
    names = max((len(str(row[2])) for row in columns), default=0)
    types = max((len(str(row[3])) for row in columns), default=0)
    told = textwrap.wrap(str(comment), 80, initial_indent="    ", subsequent_indent="    ")
    lines = [f"{relation} ({kind})", *told, ""]
    lines += [f"    {row[2]!s:{names}}  {row[3]!s:{types}}  {row[4]}" for row in columns]
    if example is not None:
        lines += ["", f'    warehouse query "{example}"']
    return "\n".join(lines) + "\n"
