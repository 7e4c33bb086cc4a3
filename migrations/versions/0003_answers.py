"""Nuggets of queries, and what judges say of the answers of runs: which nuggets and citations hold.

The tables and the views are in the SQL file beside this one.
"""

from __future__ import annotations

from pathlib import Path

from alembic import op

revision = "r0003"
down_revision = "r0002"

_HASH = "Hash of the content, by which equal content is recognised."
_SOURCE = {
    "source": "Where the rows came from: a path, <stdin> or a kind of Python object.",
    "source_sha256": "SHA-256 of the file's content, decompressed. Null if it is not a file.",
    "format": "Format in which it was read, such as 'jsonl'.",
    "ingested_at": "When it was loaded.",
    "program_version": "Version of the program that loaded it.",
    "checksum": (
        "Hash of the other columns, and of the rows of other tables that belong to this one; "
        "`warehouse verify` computes it again."
    ),
}
_NUGGET = {
    "query_id": "Id of the query.",
    "nugget_id": "Id of the nugget, unique within its query.",
    "text": "What the nugget says. Null if the source has no text.",
    "importance": "'vital' or 'okay'.",
    "weight": "Weight of the nugget, or of its part where the part has one.",
    "part": "The sub-narrative or question that the nugget belongs to. Null if there are none.",
}
_JUDGE = "Who or what judged: a person, a model. Null if nothing was said."
_ASSIGNMENT = (
    "What the answer does to the nugget: support it, fully or partly, not, or contradict it."
)
_CITATION = {
    "query_id": "Id of the query.",
    "sentence": "Number of the sentence in the answer, from 1.",
    "doc_id": "Id of the cited document. Null if the sentence cites nothing.",
    "support": "Whether the document supports the sentence: fully, partly or not. Null without one.",
}
# What each table and view is, and its columns.
_COMMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "table store.nugget_set": (
        "One row per version of a dataset's nuggets.",
        {
            "nugget_set_id": "Key, in this file.",
            "dataset_id": "Key of dataset, in this file.",
            "version": "Version of the dataset's nuggets, from 1.",
            "content_hash": _HASH,
            "num_queries": "Number of queries with nuggets.",
            "num_nuggets": "Number of nuggets.",
            **_SOURCE,
        },
    ),
    "table store.nugget": (
        "One row per nugget: a fact that an answer to the query should state.",
        {"nugget_set_id": "Key of nugget_set, in this file.", **_NUGGET},
    ),
    "table store.assessment": (
        "One row per version of what a judge says of a run's answers.",
        {
            "assessment_id": "Key, in this file.",
            "run_id": "Key of run, in this file.",
            "kind": "'assignments' of nuggets, or 'citations'.",
            "judge": _JUDGE,
            "version": "Version of the run's assessment by this judge, from 1.",
            "nugget_set_id": "Key of nugget_set: the nuggets assigned. Null for citations.",
            "content_hash": _HASH,
            "num_queries": "Number of queries whose answers were assessed.",
            "num_rows": "Number of assignments or of citations.",
            **_SOURCE,
        },
    ),
    "table store.assignment": (
        "One row per nugget and assessed answer: whether the answer states it.",
        {
            "assessment_id": "Key of assessment, in this file.",
            "query_id": "Id of the query.",
            "nugget_id": "Id of the nugget.",
            "assignment": _ASSIGNMENT,
        },
    ),
    "table store.citation": (
        "One row per citation of a sentence of an assessed answer, or per sentence without any.",
        {"assessment_id": "Key of assessment, in this file.", **_CITATION},
    ),
    "view store.nugget_set_version": (
        "One row per version of a dataset's nuggets, and whether it is the current one.",
        {
            "nugget_set_id": "Key of nugget_set, in this file.",
            "dataset_id": "Key of dataset, in this file.",
            "dataset": "Name of the dataset.",
            "is_current": "Whether these are the newest nuggets of the dataset.",
        },
    ),
    "view store.assessment_version": (
        "One row per assessment, and whether it is the current one of its run and judge.",
        {
            "assessment_id": "Key of assessment, in this file.",
            "run_id": "Key of run, in this file.",
            "kind": "'assignments' of nuggets, or 'citations'.",
            "judge": _JUDGE,
            "nugget_set_id": "Key of nugget_set: the nuggets assigned. Null for citations.",
            "ingested_at": "When it was loaded.",
            "content_hash": _HASH,
            "is_current": "Whether this is the newest, for the current nuggets.",
        },
    ),
}


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for sql in Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").split(";\n"):
        if sql.strip():
            execute(sql)
    for what, (text, columns) in _COMMENTS.items():
        execute(f"comment on {what} is {_quoted(text)}")
        name = what.partition(" ")[2]
        for column, said in columns.items():
            execute(f"comment on column {name}.{column} is {_quoted(said)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
