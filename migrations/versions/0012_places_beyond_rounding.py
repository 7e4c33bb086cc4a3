"""Places in the view leaderboard tie as those of boards do: by all but the last bits; runs have numbers there."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"

VIEW = "leaderboard"
QUERY = """
        select
            dataset,
            metric,
            protocol,
            rank() over (
                partition by dataset, metric, protocol
                order by {goodness} desc nulls last
            ) as place,
            run,
            system,
            value,
            num_answered,
            num_judged,
            evaluated_at{columns}
        from run_scores
        where is_current
        """
GOODNESS = "case when direction = 'lower' then -value else value end"
# Its new columns; migration 0014 says what they mean.
COLUMNS = ", direction, run_id"


def _replace(query: str) -> None:
    op.get_bind().exec_driver_sql(f'create or replace view "{VIEW}" as {query}')


def upgrade() -> None:
    _replace(QUERY.format(goodness=f"round({GOODNESS}, 12)", columns=COLUMNS))


def downgrade() -> None:
    _replace(QUERY.format(goodness=GOODNESS, columns=""))
