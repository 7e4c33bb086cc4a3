"""Predictions in less space and less time: document ids that are whole numbers are stored as such.

Of ids as texts, finding a good compression costs more than all the rest of loading; zstd takes it as it
comes. What reads predictions reads the view of that name.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

COMMENT = "One row per document that a run ranks for a query, in the order of the source."
COLUMNS = {
    "run_id": ("integer not null", "The run."),
    "query_id": ("varchar not null", "The query."),
    "doc_id": (
        "varchar using compression zstd",
        "The document; null where doc_number has it.",
    ),
    "doc_number": (
        "bigint",
        "The document, where its id is a whole number written without leading zeros.",
    ),
    "score": (
        "double not null",
        "The score as given; run.lower_is_better says which way it counts.",
    ),
}
VIEW = """
    select
        run_id,
        query_id,
        coalesce(doc_id, doc_number::varchar) as doc_id,
        score,
        rowid as position
    from stored_prediction
"""
VIEW_COLUMNS = {
    "run_id": "The run.",
    "query_id": "The query.",
    "doc_id": "The document.",
    "score": "The score as given; run.lower_is_better says which way it counts.",
    "position": "What the rows of a run are ordered by: its order in the source.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    body = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    execute(f"create table stored_prediction ({body})")
    execute(f"comment on table stored_prediction is {_quoted(COMMENT)}")
    for name, (_, comment) in COLUMNS.items():
        execute(f"comment on column stored_prediction.{name} is {_quoted(comment)}")
    execute(
        """
        insert into stored_prediction
        with
        numbered as (
            select *, rowid as position, try_cast(doc_id as bigint) as number from prediction
        )
        select
            run_id,
            query_id,
            case when number::varchar is distinct from doc_id then doc_id end,
            case when number::varchar = doc_id then number end,
            score
        from numbered
        order by position
        """
    )
    execute("drop table prediction")
    execute(f"create view prediction as {VIEW}")
    execute(f"comment on view prediction is {_quoted(COMMENT)}")
    for name, comment in VIEW_COLUMNS.items():
        execute(f"comment on column prediction.{name} is {_quoted(comment)}")


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute("create temp table kept as select * from prediction")
    execute("drop view prediction")
    execute(
        "create table prediction (run_id integer not null, query_id varchar not null, "
        "doc_id varchar not null, score double not null)"
    )
    execute("insert into prediction select run_id, query_id, doc_id, score from kept order by position")
    execute("drop table kept")
    execute(f"comment on table prediction is {_quoted(COMMENT)}")
    for name in ("run_id", "query_id", "doc_id", "score"):
        execute(f"comment on column prediction.{name} is {_quoted(VIEW_COLUMNS[name])}")
    execute("drop table stored_prediction")
