"""Judgments of one judge: a version of the qrels that is never current, and who made it.

The table and the views are in the SQL file beside this one.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "r0004"
down_revision = "r0003"

_JUDGE = "Name of the judge, as given with --judge, or by a column of the source."
_KIND = "What the judge is: 'human', 'llm' or 'crowd'."
_MODEL = "Model of a judge that is one, as given with --model. Null if it was not given."
_COMMENTS = {
    "table store.qrels_judge": (
        "One row per version of the qrels that has the judgments of one judge. Such a version is "
        "never current; of each judge, the newest counts."
    ),
    "column store.qrels_judge.qrels_id": "Key of qrels, in this file.",
    "column store.qrels_judge.judge": _JUDGE,
    "column store.qrels_judge.judge_kind": _KIND,
    "column store.qrels_judge.model": _MODEL,
    "column store.qrels_judge.prompt": (
        "Prompt of the model, or its name, as given with --prompt. Null if it was not given."
    ),
    "column store.qrels_judge.checksum": (
        "Hash of the other columns, and of the rows of other tables that belong to this one; "
        "`warehouse verify` computes it again."
    ),
    "column store.judgment.iteration": (
        "Iteration of the judgment: a subtopic or a judgment group if qrels.kind is 'iterations', or "
        "the stratum of a sampled pool; else mostly '0'."
    ),
    "view store.judge_version": (
        "One row per version of the qrels that has the judgments of one judge, and whether it is the "
        "newest of this judge."
    ),
    "column store.judge_version.qrels_id": "Key of qrels, in this file.",
    "column store.judge_version.dataset_id": "Key of dataset, in this file.",
    "column store.judge_version.dataset": "Name of the dataset.",
    "column store.judge_version.judge": _JUDGE,
    "column store.judge_version.qrels_version": "Version of the dataset's qrels.",
    "column store.judge_version.is_newest": "Whether this is the judge's newest version.",
}
# A view that is made anew loses its comments.
_MADE_ANEW = "qrels_version"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    of_view = execute(
        "select comment from duckdb_views() where schema_name = 'store' "
        f"and view_name = '{_MADE_ANEW}'"
    ).fetchall()
    of_columns = execute(
        "select column_name, comment from duckdb_columns() where schema_name = 'store' "
        f"and table_name = '{_MADE_ANEW}' and column_name <> 'is_current'"
    ).fetchall()
    for sql in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if sql.strip():
            execute(sql)
    comments = _COMMENTS | {
        f"view store.{_MADE_ANEW}": of_view[0][0],
        f"column store.{_MADE_ANEW}.is_current": (
            "Whether this is the newest version of the dataset's qrels, those of one judge aside."
        ),
        **{f"column store.{_MADE_ANEW}.{name}": text for name, text in of_columns},
    }
    for what, text in comments.items():
        execute(f"comment on {what} is {_quoted(text)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
