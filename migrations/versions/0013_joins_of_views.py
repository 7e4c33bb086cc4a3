"""What joins and filters need: is_current in comparisons, run_id and direction with the values of queries."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"

# view: (query without its new columns, the SQL of these); migration 0014 says what they mean
VIEWS: dict[str, tuple[str, str]] = {
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
        ", run.is_current and base.is_current and qrels_version.is_current as is_current",
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
        ", run_scores.direction, run_scores.run_id",
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
        ", slice_scores.direction, slice_scores.run_id",
    ),
}


def _replace(view: str, query: str) -> None:
    op.get_bind().exec_driver_sql(f'create or replace view "{view}" as {query}')


def upgrade() -> None:
    for view, (query, columns) in VIEWS.items():
        _replace(view, query.format(columns=columns))


def downgrade() -> None:
    for view, (query, _) in VIEWS.items():
        _replace(view, query.format(columns=""))
