"""Predictions in less space and less time, and hits that metrics need not put in order.

Document ids that are whole numbers are stored as such.
Of ids as texts, finding a good compression costs more than all the rest of loading; zstd takes them as
they come. A run is in one of two tables; what reads predictions reads the view of both.
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"

COMMENT = "One row per document that a run ranks for a query, in the order of the source."
SCORE = "The score as given; run.lower_is_better says which way it counts."
# table: (type and comment of doc_id, comment of the table)
TABLES = {
    "prediction_by_text": (
        "varchar not null using compression zstd",
        "The document.",
        f"{COMMENT} Runs with a document id that is no whole number.",
    ),
    "prediction_by_number": (
        "bigint not null",
        "The document, whose id is this number, without leading zeros.",
        f"{COMMENT} Runs whose document ids all are whole numbers.",
    ),
}
VIEW = """
    select run_id, query_id, doc_id, score, rowid as position
    from prediction_by_text
    union all
    select run_id, query_id, doc_id::varchar, score, rowid
    from prediction_by_number
"""
VIEW_COLUMNS = {
    "run_id": "The run.",
    "query_id": "The query.",
    "doc_id": "The document.",
    "score": SCORE,
    "position": "What the rows of a run are ordered by: its order in the source.",
}
HIT_COLUMNS = {
    "rel_so_far": "How many documents of relevance 1 and above the list has down to this one.",
    "nonrel_so_far": "How many documents of relevance 0 the list has down to this one.",
}
# The runs whose document ids are the same written as text and as number.
NUMBERED = """
    select run_id
    from prediction
    group by run_id
    having bool_and(try_cast(doc_id as bigint)::varchar is not distinct from doc_id)
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table, (doc_id, doc_comment, comment) in TABLES.items():
        execute(
            f"create table {table} (run_id integer not null, query_id varchar not null, "
            f"doc_id {doc_id}, score double not null)"
        )
        execute(f"comment on table {table} is {_quoted(comment)}")
        execute(f"comment on column {table}.run_id is 'The run.'")
        execute(f"comment on column {table}.query_id is 'The query.'")
        execute(f"comment on column {table}.doc_id is {_quoted(doc_comment)}")
        execute(f"comment on column {table}.score is {_quoted(SCORE)}")
    for table, which in (("prediction_by_text", "not in"), ("prediction_by_number", "in")):
        execute(
            f"insert into {table} select run_id, query_id, doc_id, score from prediction "
            f"where run_id {which} ({NUMBERED}) order by rowid"
        )
    for name, comment in HIT_COLUMNS.items():
        execute(f"alter table hit add column {name} integer")
        execute(f"comment on column hit.{name} is {_quoted(comment)}")
    execute(
        """
        update hit
        set rel_so_far = counted.rel_so_far, nonrel_so_far = counted.nonrel_so_far
        from (
            select
                rowid as place,
                count(*) filter (where relevance >= 1) over down_the_list as rel_so_far,
                count(*) filter (where relevance = 0) over down_the_list as nonrel_so_far
            from hit
            window down_the_list as (
                partition by run_id, qrels_id, ordering, query_id order by rank
                rows between unbounded preceding and current row
            )
        ) as counted
        where hit.rowid = counted.place
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
    execute(
        "insert into prediction select run_id, query_id, doc_id, score from kept "
        "order by run_id, position"
    )
    execute("drop table kept")
    execute(f"comment on table prediction is {_quoted(COMMENT)}")
    for name in ("run_id", "query_id", "doc_id", "score"):
        execute(f"comment on column prediction.{name} is {_quoted(VIEW_COLUMNS[name])}")
    for table in TABLES:
        execute(f"drop table {table}")
    for name in HIT_COLUMNS:
        execute(f"alter table hit drop column {name}")
