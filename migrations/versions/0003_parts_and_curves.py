"""Values by part of a slice, and curves."""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"

# table: {column: (type, comment)}
COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "evaluation": {
        "kind": (
            "varchar default 'metric'",
            "'metric': its values are in score and query_score; 'curve': its points are in curve_point.",
        ),
        "slice_id": (
            "integer",
            "The version of the slice whose parts were evaluated; null for the whole.",
        ),
    },
    "query_score": {
        "part": (
            "varchar",
            "The part of the slice that the value is of; null for the whole.",
        ),
    },
    "score": {
        "part": (
            "varchar",
            "The part of the slice that the value is of; null for the whole.",
        ),
    },
}

# table: (comment, {column: (type, comment)})
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "slice": (
        "One row per version of a slice: a named partition of a dataset's queries or documents. Immutable; "
        "the highest version of a name is current.",
        {
            "slice_id": ("integer not null", "Number of this version of the slice."),
            "dataset_id": ("integer not null", "The dataset that it cuts."),
            "name": ("varchar not null", "Name of the slice within the dataset."),
            "version": (
                "integer not null",
                "1, and one more each time its definition or its members changed.",
            ),
            "subject": ("varchar not null", "What it puts into parts: 'document' or 'query'."),
            "definition": (
                "varchar not null",
                "The SQL expression over a row of attributes whose value is the part.",
            ),
            "content_hash": (
                "varchar not null",
                "Hash of the definition and of the members, whatever their order.",
            ),
            "num_parts": ("integer not null", "How many parts it has."),
            "made_at": ("timestamptz not null", "When this version was made."),
            "program_version": ("varchar not null", "Version of this program that made it."),
        },
    ),
    "slice_member": (
        "One row per document or query that a slice puts into a part.",
        {
            "slice_id": ("integer not null", "The version of the slice."),
            "subject_id": ("varchar not null", "The document or query."),
            "part": ("varchar not null", "The part that it belongs to."),
        },
    ),
    "curve_point": (
        "One row per point of a curve, of one query or of all queries.",
        {
            "evaluation_id": (
                "integer not null",
                "The evaluation; its metric is the name of the curve, as in ROC(rel=2).",
            ),
            "query_id": (
                "varchar",
                "The query; null on the curve of all queries, their mean or pooled.",
            ),
            "position": ("integer not null", "Number of the point along its curve, from 0."),
            "x": ("double not null", "Where the point is from left to right."),
            "y": ("double not null", "Where the point is from bottom to top."),
        },
    ),
}

NEWEST = """
        with
        newest as (
            select *
            from evaluation
            where {those}
            qualify row_number() over (
                partition by {key}
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
        )"""

KEY = "run_id, qrels_id, metric, protocol"
WHOLE = NEWEST.format(those="kind = 'metric' and slice_id is null", key=KEY)
SLICED = NEWEST.format(those="slice_id is not null", key=f"{KEY}, slice_id")
CURVES = NEWEST.format(those="kind = 'curve'", key=KEY)
# as revision 0001 had it
EVERY = NEWEST.format(those="true", key=KEY)

SLICE_VERSION = """,
        slice_version as (
            select
                slice_id,
                name,
                version,
                subject,
                version = max(version) over (partition by dataset_id, name) as is_current
            from slice
        )"""

RUN_SCORES = """
        select
            dataset.name as dataset,
            run.name as run,
            run.version as run_version,
            run.system,
            qrels.version as qrels_version,
            newest.metric,
            newest.protocol,
            newest.direction,
            score.aggregate,
            score.value,
            score.num_queries,
            score.num_answered,
            score.num_judged,
            version.is_current and qrels_version.is_current as is_current,
            newest.evaluated_at,
            run.run_at,
            newest.run_id,
            newest.qrels_id,
            newest.evaluation_id
        from newest
        join score using (evaluation_id)
        join run using (run_id)
        join version using (run_id)
        join qrels using (qrels_id)
        join qrels_version using (qrels_id)
        join dataset on dataset.dataset_id = run.dataset_id
        """

# view: (comment, query)
VIEWS: dict[str, tuple[str, str]] = {
    "run_scores": (
        "One row per run, qrels version, metric and protocol: the newest value over all queries. "
        "is_current tells the newest version of the run and of the qrels.",
        WHOLE + RUN_SCORES,
    ),
    "slice_scores": (
        "One row per run, qrels version, metric, protocol, slice and part: the newest value over the queries "
        "of the part. is_current tells the newest version of the run, of the qrels and of the slice.",
        SLICED
        + SLICE_VERSION
        + """
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
        join slice_version using (slice_id)
        join score using (evaluation_id)
        join run using (run_id)
        join version using (run_id)
        join qrels using (qrels_id)
        join qrels_version using (qrels_id)
        join dataset on dataset.dataset_id = run.dataset_id
        """,
    ),
    "slice_query_scores": (
        "One row per run, qrels version, metric, protocol, slice, part and query: the newest value of the "
        "query in the part.",
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
            slice_scores.evaluation_id
        from slice_scores
        join query_score using (evaluation_id, part)
        """,
    ),
    "curve_points": (
        "One row per run, qrels version, curve, protocol, query and point: the newest curve. query_id is "
        "null on the curve of all queries.",
        CURVES
        + """
        select
            dataset.name as dataset,
            run.name as run,
            run.version as run_version,
            run.system,
            qrels.version as qrels_version,
            newest.metric as curve,
            newest.protocol,
            curve_point.query_id,
            curve_point.position,
            curve_point.x,
            curve_point.y,
            version.is_current and qrels_version.is_current as is_current,
            newest.evaluated_at,
            newest.run_id,
            newest.qrels_id,
            newest.evaluation_id
        from newest
        join curve_point using (evaluation_id)
        join run using (run_id)
        join version using (run_id)
        join qrels using (qrels_id)
        join qrels_version using (qrels_id)
        join dataset on dataset.dataset_id = run.dataset_id
        """,
    ),
}

VIEW_COLUMNS: dict[str, str] = {
    "dataset": "Name of the dataset.",
    "run": "Name of the run.",
    "system": "The system that made the run.",
    "num_queries": "How many queries went into the value.",
    "run_at": "When the experiment was run.",
    "run_id": "Number of the run, as in the table run.",
    "run_version": "Version of the run that the value is of.",
    "qrels_version": "Version of the qrels that the value is against.",
    "metric": "The metric in canonical notation, as in nDCG@10.",
    "protocol": "The protocol that fixed ties, precision and the query set.",
    "slice": "Name of the slice.",
    "slice_version": "Version of the slice.",
    "subject": "What the slice puts into parts: 'document' or 'query'.",
    "part": "The part of the slice.",
    "direction": "'higher' or 'lower' is better, or 'none'.",
    "aggregate": "How the queries' values were put together, as in 'mean' or 'sum'.",
    "value": "The value; null where the metric is undefined.",
    "num_answered": "How many judged queries the run has at least one document for.",
    "num_judged": "How many queries the qrels judge.",
    "is_current": "Whether this is the newest version of the run, of the qrels and of the slice.",
    "evaluated_at": "When the value was computed.",
    "qrels_id": "Number of the version of the qrels, as in the table qrels.",
    "evaluation_id": "Number of the evaluation, as in the table evaluation.",
    "query_id": "The query.",
    "curve": "The curve in canonical notation, as in ROC(rel=2).",
    "position": "Number of the point along its curve, from 0.",
    "x": "Where the point is from left to right.",
    "y": "Where the point is from bottom to top.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table, columns in COLUMNS.items():
        for name, (kind, comment) in columns.items():
            execute(f'alter table "{table}" add column "{name}" {kind}')
            execute(f'comment on column "{table}"."{name}" is {_quoted(comment)}')
    for table, (comment, columns) in TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        execute(f'create table "{table}" ({body})')
        execute(f'comment on table "{table}" is {_quoted(comment)}')
        for name, (_, column_comment) in columns.items():
            execute(f'comment on column "{table}"."{name}" is {_quoted(column_comment)}')
    for view, (comment, query) in VIEWS.items():
        _view(view, comment, query)


def _view(view: str, comment: str, query: str) -> None:
    execute = op.get_bind().exec_driver_sql
    execute(f'create or replace view "{view}" as {query}')
    execute(f'comment on view "{view}" is {_quoted(comment)}')
    described = execute(f'describe "{view}"').fetchall()
    for name in (str(row[0]) for row in described):
        execute(f'comment on column "{view}"."{name}" is {_quoted(VIEW_COLUMNS[name])}')


def downgrade() -> None:
    """Go back; values by part and curves are given up."""
    execute = op.get_bind().exec_driver_sql
    for view in ("curve_points", "slice_query_scores", "slice_scores"):
        execute(f'drop view "{view}"')
    _view("run_scores", VIEWS["run_scores"][0], EVERY + RUN_SCORES)
    those = "select evaluation_id from evaluation where kind = 'curve' or slice_id is not null"
    for table in ("query_score", "score", "evaluation"):
        execute(f"delete from {table} where evaluation_id in ({those})")
    for table in reversed(TABLES):
        execute(f'drop table "{table}"')
    for table, columns in COLUMNS.items():
        for name in reversed(columns):
            execute(f'alter table "{table}" drop column "{name}"')
