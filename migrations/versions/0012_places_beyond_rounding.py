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
# column: comment
COLUMNS: dict[str, str] = {
    "direction": "Whether 'higher' or 'lower' values are better, or 'none'; place 1 of 'none' has the highest.",
    "run_id": "Number of the run, as in the table run.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _replace(query: str, columns: dict[str, str]) -> None:
    """Put another query in the place of the view's; the comments of columns that stay, stay."""
    execute = op.get_bind().exec_driver_sql
    ((comment,),) = execute(
        f"select comment from duckdb_views() where view_name = {_quoted(VIEW)}"
    ).fetchall()
    found = execute(
        f"select column_name, comment from duckdb_columns() where table_name = {_quoted(VIEW)}"
    ).fetchall()
    comments = {name: meaning for name, meaning in found if name not in COLUMNS} | columns
    execute(f'create or replace view "{VIEW}" as {query}')
    execute(f'comment on view "{VIEW}" is {_quoted(comment)}')
    for name, meaning in comments.items():
        execute(f'comment on column "{VIEW}"."{name}" is {_quoted(meaning)}')


def upgrade() -> None:
    columns = "".join(f", {name}" for name in COLUMNS)
    _replace(QUERY.format(goodness=f"round({GOODNESS}, 12)", columns=columns), COLUMNS)


def downgrade() -> None:
    _replace(QUERY.format(goodness=GOODNESS, columns=""), {})
