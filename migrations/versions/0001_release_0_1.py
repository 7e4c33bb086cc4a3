"""The schema of release 0.1.0: tables in `store`, views for people in `main`.

The tables and views are in the SQL file beside this one, with the comments of their own columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "v0001"
down_revision = None

# What columns mean that have no comment of their own.
COLUMNS = {
    "aggregate": "How the values of the queries were combined: 'mean', 'sum', 'pooled' and others.",
    "against": (
        "What the gate compares with: the 'last' or the 'best' run before, the 'baseline', or the run of "
        "this name."
    ),
    "alpha": "Level of significance, as in 0.05.",
    "attribute": "Name of the attribute: the column's name in the source.",
    "attribute_set_id": "Key of attribute_set.",
    "base": "Name of the run that the other run is compared with.",
    "base_value": "Value of the base over all of its queries.",
    "base_version": "Version of the base.",
    "checked_at": "When the gate was checked (UTC).",
    "compared_at": "When the comparison was computed (UTC).",
    "checksum": (
        "Hash of the other columns, and of the rows of other tables that belong to this one; "
        "`warehouse verify` computes it again."
    ),
    "comparison_id": "Key of comparison.",
    "curve": "Name of the curve with its parameters, as in ROC(rel=2).",
    "dataset": "Name of the dataset.",
    "dataset_id": "Key of dataset.",
    "difference": (
        "Mean difference, value of the run minus that of the base, over the queries where both "
        "have a value."
    ),
    "direction": "Whether 'higher' or 'lower' values are better; 'none' if neither is.",
    "doc_id": "Id of the document.",
    "effect_size": (
        "Cohen's d of the pairs: the difference divided by its standard deviation over the "
        "queries. Null if undefined."
    ),
    "engine_version": "Version of DuckDB that computed it.",
    "evaluated_at": "When the value was computed (UTC).",
    "evaluation_id": (
        "Key of evaluation, in this file; join by it for the fingerprint and the versions of "
        "the programs."
    ),
    "format": "Format in which it was read, such as 'trec' or 'csv'.",
    "grouped_by": (
        "What the run and its reference have in common: 'system', or the tag of this name."
    ),
    "high": (
        "Upper end of the confidence interval of the difference, at level 1 - alpha. Null if "
        "undefined."
    ),
    "ingested_at": "When it was loaded (UTC).",
    "is_current": "Whether neither the run nor the qrels have been replaced by a newer version.",
    "is_left_out": (
        "Whether the queries that it was trained or tuned on were left out of the merged run."
    ),
    "is_significant": "Whether p_adjusted is below alpha. Null if undefined.",
    "iteration": (
        "Second column of TREC qrels: a subtopic or judgment group if qrels.kind is "
        "'iterations', else mostly '0'."
    ),
    "judged_only": (
        "Whether unjudged documents were removed from the lists first; the values then differ "
        "from those in scores."
    ),
    "label": "Label given with --label. Null if none was given.",
    "left_out": (
        "Number of queries left out because the value of one of the two is undefined or missing."
    ),
    "limits": "What makes the gate fire, in words.",
    "losses": "Number of queries where the base is better.",
    "low": (
        "Lower end of the confidence interval of the difference, at level 1 - alpha. Null if "
        "undefined."
    ),
    "method": "Fusion method with all of its parameters, as in rrf(k=60).",
    "metric": (
        "Name of the metric with its parameters, as in nDCG@10 or P(rel=2)@5; write it exactly so."
    ),
    "normalisation": (
        "How the scores of each list were made comparable before merging; 'none' if they were not."
    ),
    "normalise": (
        "SQL expression that rewrote the document ids (--normalise). Null if none was given."
    ),
    "num_answered": "Number of judged queries for which the run has at least one document.",
    "num_judged": "Number of judged queries.",
    "num_predictions": "Number of rows: the documents of all of the run's lists.",
    "num_trained": "Number of queries that it was trained or tuned on. Null if it was not.",
    "p": (
        "Two-sided p-value before the correction: how likely a difference at least as large is "
        "if the runs do not differ. Null if undefined."
    ),
    "p_adjusted": (
        "p after the correction for all pairs and metrics of the comparison. Null if undefined."
    ),
    "part": (
        "Name of the part, as text; 'not_included' has the members for which the expression is "
        "null."
    ),
    "position": "Order in which the runs were named, from 1.",
    "program_version": "Version of the warehouse program that wrote this row.",
    "protocol": (
        "Name of the protocol: tie rule, score precision, depth, which queries count. Compare "
        "values of one protocol only."
    ),
    "qrels_id": "Key of qrels: one version of a dataset's qrels.",
    "qrels_version": "Version of the dataset's qrels.",
    "queries": "Number of queries where both have a value.",
    "query_id": "Id of the query.",
    "reference_value": "Value of the reference, over all queries. Null if there was none.",
    "relevance": (
        "Grade of relevance. 1 and above is relevant, unless a metric sets rel; 0 and below is not."
    ),
    "run": "Name of the run.",
    "run_at": "When the experiment was run (UTC), as given when it was loaded; else when that was.",
    "run_id": "Key of run: one version of a run.",
    "run_version": "Version of the run.",
    "score": "Score as given in the source. Higher is better, unless run.lower_is_better.",
    "slice": "Name of the slice.",
    "slice_id": "Key of slice: one version of a slice.",
    "slice_version": "Version of the slice.",
    "source": "Where it came from: a path, a URI, <stdin> or a kind of Python object.",
    "source_sha256": (
        "SHA-256 of the file's content, decompressed. Null if the source is not a file."
    ),
    "statistic": "Statistic of the test. Null if it has none, or it is undefined.",
    "system": "Name of the system that made the run. Null if none was given.",
    "test": "Test: 't', 'wilcoxon', 'sign', 'randomisation' or 'tukey'; all are two-sided.",
    "text_set_id": "Key of text_set: one version of a table of texts.",
    "ties": "Number of queries where the two values are equal.",
    "training_id": "Key of training: one version of a dataset's training set.",
    "tuned_by": "Metric by which parameters or weights were chosen. Null if they were not tuned.",
    "value": "Value of the metric. Null if it is undefined.",
    "verdict": (
        "'worse' if a limit was passed, 'unchecked' if nothing can be said, else 'good'; 'resolved' where "
        "a red one has ended, 'ended' where the gate has changed or is gone."
    ),
    "weight": "Weight of that run. Null if the method has no weights.",
    "wins": "Number of queries where the run is better.",
    "x": "Horizontal coordinate, as in a recall or a rank; `warehouse curves show` names it.",
    "y": "Vertical coordinate.",
}

_RELATION = re.compile(
    r"/\* (.+?) \*/\ncreate (table|view|macro) (\S+) (.+?);\n(?:\n|\Z)", re.DOTALL
)


# The comments of the columns of tables; `run` comes first.
_OF_TABLES = (
    "select column_name, arg_min(comment, (table_name <> 'run', table_name)) from duckdb_columns() "
    "where schema_name = 'store' and comment is not null group by column_name"
)


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute("comment on table store.alembic_version is 'One row: the version of this schema.'")
    execute(
        "comment on column store.alembic_version.version_num is "
        "'Name of the newest migration that this file has had.'"
    )
    create(execute, Path(__file__).with_suffix(".sql"))


def create(execute: Callable[[str], sa.CursorResult], path: Path) -> None:
    """Make the relations of a file with their comments.

    A view with all columns of another one has its comments too.
    """
    made: dict[str, dict[str, str]] = {}
    of_tables: dict[str, str] = dict(execute(_OF_TABLES).fetchall())
    for comment, kind, name, body in _RELATION.findall(path.read_text(encoding="utf-8")):
        execute(f"create {'' if kind == 'table' else 'or replace '}{kind} {name} {body}")
        what = "macro table" if kind == "macro" and " as table" in body else kind
        execute(f"comment on {what} {name} is {_quoted(' '.join(comment.split()))}")
        if kind == "macro":
            continue
        said = _column_comments(kind, body)
        if kind == "table":
            of_tables |= said if name == "store.run" else said | of_tables
        whole = re.search(r"select (?:\* exclude|score_times\.\*).*?from (\w+)", body, re.DOTALL)
        made[name] = said = (made[whole[1]] if whole else {}) | said
        for column, *_ in execute(f"describe {name}").fetchall():
            text = said.get(column) or COLUMNS.get(column) or of_tables[column]
            execute(f"comment on column {name}.{column} is {_quoted(text)}")


def _column_comments(kind: str, body: str) -> dict[str, str]:
    """Return the comments behind columns, or indented in the lines below them."""
    said: dict[str, str] = {}
    column = ""
    for line in body.splitlines():
        code, _, text = line.partition("-- ")
        words = re.findall(r"\w+", code)
        if words:
            column = words[0] if kind == "table" else words[-1]
        if text and code:
            said[column] = f"{said.get(column, '')} {text}".strip()
    return said


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
