"""The current version of a slice is the newest one with values against the qrels under the protocol.

Members that are made of values or judgments differ between protocols and versions of the qrels: the
newest version of all left only one of these with current values.
"""

from __future__ import annotations

from alembic import op

revision = "0015"
down_revision = "0014"

VIEW = "slice_scores"
QUERY = """
        with
        newest as (
            select *
            from evaluation
            where slice_id is not null
            qualify row_number() over (
                partition by run_id, qrels_id, metric, protocol, slice_id
                order by evaluation_id desc
            ) = 1
        ),
        version as (
            select
                run_id,
                version = max(version) over (partition by dataset_id, name) as is_current
            from run
        ),
        qrels_version as (
            select
                qrels_id,
                version = max(version) over (partition by dataset_id) as is_current
            from qrels
        ),
        slice_version as ({slice_version}
        )
        select
            dataset.name as dataset,
            run.name as run,
            run.version as run_version,
            run.system,
            qrels.version as qrels_version,
            newest.metric,
            newest.protocol,
            slice_version.name as slice,
            slice_version.version as slice_version,
            slice_version.subject,
            score.part,
            newest.direction,
            score.aggregate,
            score.value,
            score.num_queries,
            score.num_answered,
            score.num_judged,
            version.is_current and qrels_version.is_current and slice_version.is_current as is_current,
            newest.evaluated_at,
            run.run_at,
            newest.run_id,
            newest.qrels_id,
            newest.evaluation_id
        from newest
        join slice_version using ({key})
        join score using (evaluation_id)
        join run using (run_id)
        join version using (run_id)
        join qrels using (qrels_id)
        join qrels_version using (qrels_id)
        join dataset on dataset.dataset_id = run.dataset_id
        """
OF_ALL = """
            select
                slice_id,
                name,
                version,
                subject,
                version = max(version) over (partition by dataset_id, name) as is_current
            from slice"""
OF_EACH = """
            select
                slice_id,
                qrels_id,
                protocol,
                name,
                version,
                subject,
                version = max(version) over (partition by qrels_id, protocol, name) as is_current
            from slice
            join (select distinct slice_id, qrels_id, protocol from evaluation) using (slice_id)"""
WAS = "Whether run, qrels and slice have not been replaced by a newer version."
IS = (
    "Whether run and qrels have not been replaced by a newer version, nor the slice by one that has values "
    "against these qrels under this protocol."
)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _replace(query: str, meaning: str) -> None:
    """Put another query in the place of the view's; its comments stay, but for what is current."""
    execute = op.get_bind().exec_driver_sql
    ((comment,),) = execute(
        f"select comment from duckdb_views() where view_name = {_quoted(VIEW)}"
    ).fetchall()
    columns = execute(
        f"select column_name, comment from duckdb_columns() where table_name = {_quoted(VIEW)}"
    ).fetchall()
    execute(f'create or replace view "{VIEW}" as {query}')
    execute(f'comment on view "{VIEW}" is {_quoted(comment)}')
    for name, text in columns:
        execute(f'comment on column "{VIEW}"."{name}" is {_quoted(text)}')
    for view in (VIEW, "slice_query_scores"):
        execute(f'comment on column "{view}"."is_current" is {_quoted(meaning)}')


def upgrade() -> None:
    key = "slice_id, qrels_id, protocol"
    _replace(QUERY.format(slice_version=OF_EACH, key=key), IS)


def downgrade() -> None:
    _replace(QUERY.format(slice_version=OF_ALL, key="slice_id"), WAS)
