"""The views and macros for people: an example of each, and pages about the contents of a database."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import groupby

from warehouse.errors import UsageError, nearest
from warehouse.store.database import STORE

# Views in the order of display, each with a question that it answers; tests run them.
_CURRENT: dict[str, str] = {
    "leaderboard": "from leaderboard where metric = 'nDCG@10' order by dataset, place",
    "scores": "select system, max(value) as best from scores "
    "where metric = 'nDCG@10' and protocol = 'default' group by system order by best desc",
    "query_scores": "select query_id, avg(value) as mean from query_scores "
    "where metric = 'nDCG@10' and protocol = 'default' group by query_id "
    "order by mean, query_id limit 5",
    "left_out_queries": "select run, metric, why, count(*) as queries from left_out_queries "
    "group by all order by all",
    "runs": "select run, tags['stage'] as stage, num_predictions from runs order by dataset, run",
    "qrels": "select query_id, count(*) filter (where relevance > 0) as relevant from qrels "
    "group by query_id order by relevant, query_id limit 5",
    "judge_judgments": "select judge, avg(relevance) as mean from judge_judgments "
    "group by judge order by judge",
    "predictions": "select rank, doc_id, score, relevance from predictions "
    "where run = 'bm25' and query_id = '19335' order by rank limit 10",
    "history": "select step, run_at, run, value, best_so_far from history "
    "where metric = 'nDCG@10' and is_record order by dataset, step",
    "gates": "select dataset, run, metric, value, reference, reference_value, why "
    "from gates where is_red order by all",
    "fused_runs": "select run, method, source, source_version, weight from fused_runs "
    "order by run, position",
    "imported_scores": "select run, metric, value, judge, source from imported_scores order by all",
    "nugget_assignments": "select run, judge, text, assignment from nugget_assignments "
    "where query_id = '19335' order by all",
    "answer_citations": "select run, judge, support, count(*) as citations from answer_citations "
    "group by all order by all",
    "slice_scores": "select slice, part, run, value from slice_scores "
    "where metric = 'nDCG@10' order by all",
    "slice_query_scores": "select slice, part, run, count(*) as queries from slice_query_scores "
    "where metric = 'nDCG@10' group by all order by all",
    "curve_points": "select run, x, y from curve_points "
    "where curve = 'ROC' and query_id is null order by run, position",
    "attributes": "select subject, attribute, count(distinct subject_id) as present "
    "from attributes group by all order by all",
    "query_text": "select query_id, text from query_text where text ilike '%definition%'",
    "document_text": "select rank, doc_id, text from predictions "
    "join document_text using (dataset, doc_id) "
    "where run = 'bm25' and query_id = '19335' order by rank limit 10",
    "comparisons": "select metric, base, run, difference, p_adjusted from comparisons "
    "order by p_adjusted, metric, base, run",
    "score_times": "select metric, run, value, shown_from from score_times "
    "where shown_until is null order by metric, run",
}
# The views with replaced versions as well.
_VERSIONS = (
    *(
        "score",
        "query_score",
        "left_out_query",
        "run",
        "qrels",
        "judge_judgment",
        "prediction",
        "history",
        "gate",
    ),
    *("fused_run", "imported_score", "nugget_assignment", "answer_citation", "slice_score"),
    *("slice_query_score", "curve_point", "attribute", "comparison"),
)
EXAMPLES = _CURRENT | {
    f"{one}_versions": f"select is_current, count(*) as number from {one}_versions "
    "group by is_current order by is_current"
    for one in _VERSIONS
}

# Macros that give rows, in the order of display, each with an example; tests run them.
MACROS: dict[str, str] = {
    "board_as_of": "from board_as_of('dl19', now(), metric_name := 'nDCG@10')",
    "scores_as_of": "select metric, count(*) as runs from scores_as_of(now()) group by all order by all",
    "compare": "from compare('dl19', 'bm25', 'tasb', 'nDCG@10')",
}
# The meaning of the arguments of the macros.
ARGUMENTS = {
    "dataset_name": "Name of the dataset.",
    "metric_name": "Name of the metric, as it is stored.",
    "protocol_name": "Name of the protocol.",
    "base_name": "Name of the run that the other run is compared with.",
    "run_name": "Name of the run.",
    "at_time": "The time: a date means its end in UTC, and a time without a zone is in UTC.",
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
    """Return the columns of views and tables, for people; the rows are as in `Warehouse.schema`.

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


def overview(rows: Iterable[Row]) -> str:
    """Return a line for each view, macro and table; the rows are as in `Warehouse.schema`.

    >>> print(overview([("view", "v", None, None, "One row per x, or y. Not z.", "from v")]), end="")
    v  One row per x, or y.
    """
    found = [(str(row[1]), str(row[4])) for row in rows if row[2] is None]
    longest = max((len(name) for name, _ in found), default=0)
    return "".join(
        f"{name:{longest}}  {comment.partition('. ')[0].rstrip('.')}.\n" for name, comment in found
    )


def _about(rows: list[Row]) -> str:
    (kind, relation, _, _, comment, example), *columns = rows
    names = max((len(str(row[2])) for row in columns), default=0)
    types = max((len(str(row[3])) for row in columns), default=0)
    wrapped = textwrap.wrap(str(comment), 80, initial_indent="    ", subsequent_indent="    ")
    lines = [f"{relation} ({kind})", *wrapped, ""]
    lines += [f"    {row[2]!s:{names}}  {row[3]!s:{types}}  {row[4]}" for row in columns]
    if example is not None:
        lines += ["", f'    warehouse query "{example}"']
    return "\n".join(lines) + "\n"
