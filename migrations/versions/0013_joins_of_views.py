"""What joins and filters need: is_current in comparisons, run_id and direction with the values of queries."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"

RUN_ID = "Number of the run, as in the table run."
DIRECTION = "Whether 'higher' or 'lower' values are better, or 'none'."
CURRENT = "Whether both runs and the qrels were not replaced since."

# view: (query without its new columns, {new column: (SQL, comment)})
VIEWS: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "comparisons": (
        """
        with
        version as (
            select *, version = max(version) over (partition by dataset_id, name) as is_current
            from run
        ),
        qrels_version as (
            select *, version = max(version) over (partition by dataset_id) as is_current
            from qrels
        )
        select
            comparison.comparison_id,
            dataset.name as dataset,
            comparison_pair.metric,
            comparison.protocol,
            qrels_version.version as qrels_version,
            base.name as base,
            base.version as base_version,
            run.name as run,
            run.version as run_version,
            comparison_pair.base_value,
            comparison_pair.value,
            comparison_pair.difference,
            comparison_pair.low,
            comparison_pair.high,
            comparison_pair.effect_size,
            comparison_pair.wins,
            comparison_pair.ties,
            comparison_pair.losses,
            comparison_pair.queries,
            comparison_pair.left_out,
            comparison.test,
            comparison.correction,
            comparison_pair.statistic,
            comparison_pair.p,
            comparison_pair.p_adjusted,
            comparison_pair.is_significant,
            comparison.alpha,
            comparison.judged_only,
            comparison.compared_at{columns}
        from comparison_pair
        join comparison using (comparison_id)
        join dataset using (dataset_id)
        join qrels_version using (qrels_id)
        join version as run using (run_id)
        join version as base on base.run_id = comparison_pair.base_id
        """,
        {
            "is_current": (
                "run.is_current and base.is_current and qrels_version.is_current as is_current",
                CURRENT,
            ),
        },
    ),
    "query_scores": (
        """
        select
            run_scores.dataset,
            run_scores.run,
            run_scores.run_version,
            run_scores.system,
            run_scores.qrels_version,
            run_scores.metric,
            run_scores.protocol,
            query_score.query_id,
            query_score.value,
            run_scores.is_current,
            run_scores.evaluation_id{columns}
        from run_scores
        join query_score using (evaluation_id)
        """,
        {
            "direction": ("run_scores.direction", DIRECTION),
            "run_id": ("run_scores.run_id", RUN_ID),
        },
    ),
    "slice_query_scores": (
        """
        select
            slice_scores.dataset,
            slice_scores.run,
            slice_scores.run_version,
            slice_scores.system,
            slice_scores.qrels_version,
            slice_scores.metric,
            slice_scores.protocol,
            slice_scores.slice,
            slice_scores.slice_version,
            slice_scores.part,
            query_score.query_id,
            query_score.value,
            slice_scores.is_current,
            slice_scores.evaluation_id{columns}
        from slice_scores
        join query_score using (evaluation_id, part)
        """,
        {
            "direction": ("slice_scores.direction", DIRECTION),
            "run_id": ("slice_scores.run_id", RUN_ID),
        },
    ),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _replace(view: str, query: str, new: dict[str, tuple[str, str]]) -> None:
    """Make a view again with these new columns alone; the comments of the others stay."""
    execute = op.get_bind().exec_driver_sql
    ((comment,),) = execute(
        f"select comment from duckdb_views() where view_name = {_quoted(view)}"
    ).fetchall()
    found = execute(
        f"select column_name, comment from duckdb_columns() where table_name = {_quoted(view)}"
    ).fetchall()
    comments = {name: meaning for name, meaning in found if name not in VIEWS[view][1]}
    comments |= {name: meaning for name, (_, meaning) in new.items()}
    columns = "".join(f", {sql}" for sql, _ in new.values())
    execute(f'create or replace view "{view}" as {query.format(columns=columns)}')
    execute(f'comment on view "{view}" is {_quoted(comment)}')
    for name, meaning in comments.items():
        execute(f'comment on column "{view}"."{name}" is {_quoted(meaning)}')


def upgrade() -> None:
    for view, (query, new) in VIEWS.items():
        _replace(view, query, new)


def downgrade() -> None:
    for view, (query, _) in VIEWS.items():
        _replace(view, query, {})
