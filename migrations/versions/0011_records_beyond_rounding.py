"""A record in the view history is better by more than the last bits: 0.2 is none after (0.1 + 0.2 + 0.3) / 3."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = "0010"

VIEW = "history"
QUERY = """
        with
        compared as (
            select
                *,
                case direction when 'higher' then value when 'lower' then -value end as goodness
            from run_scores
        ),
        stepped as (
            select
                *,
                row_number() over in_time as step,
                max(goodness) over (in_time rows unbounded preceding) as best_goodness,
                max(goodness) over (
                    in_time rows between unbounded preceding and 1 preceding
                ) as earlier_goodness
            from compared
            window in_time as (
                partition by dataset, qrels_version, metric, protocol
                order by run_at, run_id
            )
        )
        select
            dataset,
            metric,
            protocol,
            qrels_version,
            step,
            run_at,
            run,
            run_version,
            system,
            value,
            case direction when 'higher' then best_goodness when 'lower' then -best_goodness end as best_so_far,
            coalesce({goodness} > coalesce({earlier}, '-inf'::double), false) as is_record,
            is_current,
            run_id
        from stepped
        """


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _replace(query: str) -> None:
    """Put another query in the place of the view's; its comments stay."""
    execute = op.get_bind().exec_driver_sql
    ((comment,),) = execute(
        f"select comment from duckdb_views() where view_name = {_quoted(VIEW)}"
    ).fetchall()
    columns = execute(
        f"select column_name, comment from duckdb_columns() where table_name = {_quoted(VIEW)}"
    ).fetchall()
    execute(f'create or replace view "{VIEW}" as {query}')
    execute(f'comment on view "{VIEW}" is {_quoted(comment)}')
    for name, meaning in columns:
        execute(f'comment on column "{VIEW}"."{name}" is {_quoted(meaning)}')


def upgrade() -> None:
    _replace(QUERY.format(goodness="round(goodness, 12)", earlier="round(earlier_goodness, 12)"))


def downgrade() -> None:
    _replace(QUERY.format(goodness="goodness", earlier="earlier_goodness"))
