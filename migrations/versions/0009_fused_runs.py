"""Where merged runs come from, and the view fused_runs."""

from __future__ import annotations

from alembic import op

revision = "0009"
down_revision = "0008"

# table: (comment, {column: (type, comment)})
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "fusion": (
        "One row per run that was merged from others: how, and what it was trained on.",
        {
            "run_id": ("integer not null", "The run, as in the table run."),
            "method": (
                "varchar not null",
                "The method with all of its parameters, as in rrf(k=60).",
            ),
            "normalisation": (
                "varchar not null",
                "What was done to the scores of each list before.",
            ),
            "queries": (
                "varchar not null",
                "'union': all queries of the runs; 'common': those of all runs.",
            ),
            "qrels_id": (
                "integer",
                "The version of the qrels that it was trained or tuned on; else null.",
            ),
            "num_trained": ("integer", "How many queries it was trained or tuned on; else null."),
            "is_left_out": ("boolean not null", "Whether these queries were left out of the run."),
            "tuned_by": (
                "varchar",
                "The metric that its parameters or weights were chosen by; else null.",
            ),
            "protocol": (
                "varchar",
                "The protocol under which that metric was computed; else null.",
            ),
        },
    ),
    "fusion_source": (
        "One row per run that a merged run was made of, as it was then; it may be forgotten since.",
        {
            "run_id": ("integer not null", "The merged run, as in the table fusion."),
            "position": ("integer not null", "1 for the run that was named first, then 2, 3, …"),
            "source_run_id": (
                "integer not null",
                "The run that it was made of, as in run or forgotten_run.",
            ),
            "name": ("varchar not null", "Its name."),
            "version": ("integer not null", "Its version."),
            "content_hash": ("varchar not null", "The hash of its content."),
            "weight": ("double", "Its weight; null where the method has none."),
        },
    ),
    "fusion_query": (
        "One row per query that a merged run was trained or tuned on.",
        {
            "run_id": ("integer not null", "The merged run, as in the table fusion."),
            "query_id": ("varchar not null", "The query."),
        },
    ),
}

VIEW = "fused_runs"
VIEW_COMMENT = (
    "One row per merged run and run that it was made of: the method, the weights, what it was trained on. "
    "is_current tells the newest version of the merged run."
)
QUERY = """
with
version as (
    select
        run_id,
        dataset_id,
        dataset.name as dataset,
        run.name as run,
        run.version as run_version,
        run.version = max(run.version) over (partition by dataset_id, run.name) as is_current
    from run
    join dataset using (dataset_id)
)
select
    version.dataset,
    version.run,
    version.run_version,
    fusion.method,
    fusion.normalisation,
    fusion.queries,
    fusion_source.position,
    fusion_source.name as source,
    fusion_source.version as source_version,
    fusion_source.weight,
    coalesce(source.is_current, false) as source_is_current,
    fusion.num_trained,
    fusion.is_left_out,
    fusion.tuned_by,
    version.is_current,
    version.run_id
from fusion
join version using (run_id)
join fusion_source using (run_id)
left join version as source on source.run_id = fusion_source.source_run_id
"""
VIEW_COLUMNS: dict[str, str] = {
    "dataset": "Name of the dataset.",
    "run": "Name of the merged run.",
    "run_version": "Version of the merged run.",
    "method": "The method with all of its parameters, as in rrf(k=60).",
    "normalisation": "What was done to the scores of each list before.",
    "queries": "'union': all queries of the runs; 'common': those of all runs.",
    "position": "1 for the run that was named first, then 2, 3, …",
    "source": "Name of a run that it was made of.",
    "source_version": "Version of that run.",
    "weight": "Weight of that run; null where the method has none.",
    "source_is_current": "Whether that is still the newest version of it; false where it was forgotten.",
    "num_trained": "How many queries it was trained or tuned on; else null.",
    "is_left_out": "Whether these queries were left out of the merged run.",
    "tuned_by": "The metric that its parameters or weights were chosen by; else null.",
    "is_current": "Whether this is the newest version of the merged run.",
    "run_id": "Number of the merged run, as in the table run.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table, (comment, columns) in TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        execute(f'create table "{table}" ({body})')
        execute(f'comment on table "{table}" is {_quoted(comment)}')
        for name, (_, meaning) in columns.items():
            execute(f'comment on column "{table}"."{name}" is {_quoted(meaning)}')
    execute(f'create view "{VIEW}" as {QUERY}')
    execute(f'comment on view "{VIEW}" is {_quoted(VIEW_COMMENT)}')
    for name, meaning in VIEW_COLUMNS.items():
        execute(f'comment on column "{VIEW}"."{name}" is {_quoted(meaning)}')


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute(f'drop view "{VIEW}"')
    for table in TABLES:
        execute(f'drop table "{table}"')
