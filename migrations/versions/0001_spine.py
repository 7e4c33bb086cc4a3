"""The spine: datasets, qrels, runs, hits, evaluations, and the views for people."""

from __future__ import annotations

from alembic import op

revision = "0001"
down_revision = None

# table: (comment, {column: (type, comment)})
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "dataset": (
        "One row per dataset: a set of queries whose runs are compared with each other.",
        {
            "dataset_id": ("integer not null", "Number of the dataset."),
            "name": ("varchar not null", "Name, as given with --dataset."),
            "created_at": ("timestamptz not null", "When the dataset was first named."),
        },
    ),
    "qrels": (
        "One row per version of a dataset's judgments. Immutable; the highest version is current.",
        {
            "qrels_id": ("integer not null", "Number of this version of the qrels."),
            "dataset_id": ("integer not null", "The dataset that it judges."),
            "version": ("integer not null", "1 for the first qrels of the dataset, then 2, 3, …"),
            "label": ("varchar", "What the person who loaded it called it."),
            "content_hash": (
                "varchar not null",
                "Hash of the judgments, whatever their order or format.",
            ),
            "source": (
                "varchar not null",
                "Where they came from: a path, <stdin> or a kind of object.",
            ),
            "source_sha256": ("varchar", "SHA-256 of the file's bytes after decompression."),
            "format": ("varchar not null", "Format that they were read in."),
            "num_queries": ("integer not null", "How many queries have a judgment."),
            "num_judgments": ("bigint not null", "How many judgments there are."),
            "ingested_at": ("timestamptz not null", "When they were loaded."),
            "program_version": ("varchar not null", "Version of this program that loaded them."),
        },
    ),
    "judgment": (
        "One row per judgment: what a person said of a document for a query.",
        {
            "qrels_id": ("integer not null", "The version of the qrels that it belongs to."),
            "query_id": ("varchar not null", "The query."),
            "doc_id": ("varchar not null", "The document."),
            "relevance": (
                "integer not null",
                "The grade; 1 and above is relevant unless a metric says otherwise.",
            ),
            "iteration": (
                "varchar not null",
                "The second column of TREC qrels: '0', or a subtopic.",
            ),
        },
    ),
    "run": (
        "One row per version of a run: a system's rankings for the queries of a dataset. Immutable; "
        "the highest version of a name is current.",
        {
            "run_id": ("integer not null", "Number of this version of the run."),
            "dataset_id": ("integer not null", "The dataset that it answers."),
            "name": ("varchar not null", "Name of the run within the dataset."),
            "version": ("integer not null", "1, and one more each time the name was replaced."),
            "system": ("varchar", "The system that made it."),
            "content_hash": (
                "varchar not null",
                "Hash of the predictions, whatever their order or format.",
            ),
            "source": (
                "varchar not null",
                "Where it came from: a path, <stdin> or a kind of object.",
            ),
            "source_sha256": ("varchar", "SHA-256 of the file's bytes after decompression."),
            "format": ("varchar not null", "Format that it was read in."),
            "trec_tag": ("varchar", "The tag in the last line of a TREC run."),
            "ranked_by": (
                "varchar not null",
                "'score', or 'rank' where the source has no scores; then prediction.score is the rank.",
            ),
            "lower_is_better": (
                "boolean not null",
                "True where the smallest score is the best: distances and ranks.",
            ),
            "num_queries": ("integer not null", "How many queries it answers."),
            "num_predictions": ("bigint not null", "How many documents it ranks in all."),
            "run_at": (
                "timestamptz not null",
                "When the experiment was run, as given with --at, else when it was loaded.",
            ),
            "ingested_at": ("timestamptz not null", "When it was loaded."),
            "program_version": ("varchar not null", "Version of this program that loaded it."),
        },
    ),
    "run_tag": (
        "One row per tag of a run, as given with --tag key=value.",
        {
            "run_id": ("integer not null", "The run."),
            "key": ("varchar not null", "Name of the tag."),
            "value": ("varchar not null", "Value of the tag."),
        },
    ),
    "prediction": (
        "One row per document that a run ranks for a query, in the order of the source.",
        {
            "run_id": ("integer not null", "The run."),
            "query_id": ("varchar not null", "The query."),
            "doc_id": ("varchar not null", "The document."),
            "score": (
                "double not null",
                "The score as given; run.lower_is_better says which way it counts.",
            ),
        },
    ),
    "ranking": (
        "One row per ranked list: a run's answer to one query.",
        {
            "run_id": ("integer not null", "The run."),
            "query_id": ("varchar not null", "The query."),
            "num_ret": ("integer not null", "How many documents the run retrieved for it."),
        },
    ),
    "hit_set": (
        "One row per run, qrels and ordering for which the hits have been made.",
        {
            "run_id": ("integer not null", "The run."),
            "qrels_id": ("integer not null", "The version of the qrels."),
            "ordering": (
                "varchar not null",
                "Score precision and tie rule that the ranks follow, as in 'double/doc_desc'.",
            ),
            "num_hits": ("bigint not null", "How many hits there are."),
        },
    ),
    "hit": (
        "One row per judged document that a run retrieved, with its rank. Metrics read these, not predictions.",
        {
            "run_id": ("integer not null", "The run."),
            "qrels_id": ("integer not null", "The version of the qrels."),
            "ordering": ("varchar not null", "Score precision and tie rule that the rank follows."),
            "query_id": ("varchar not null", "The query."),
            "doc_id": ("varchar not null", "The document."),
            "relevance": ("integer not null", "Its grade in the qrels."),
            "rank": ("integer not null", "Its rank in the run, from 1."),
        },
    ),
    "evaluation": (
        "One row per metric computed for a run. Append-only: the newest of a run, qrels, metric and "
        "protocol counts, the older ones stay.",
        {
            "evaluation_id": (
                "integer not null",
                "Number of the evaluation; later ones are higher.",
            ),
            "run_id": ("integer not null", "The run."),
            "qrels_id": ("integer not null", "The version of the qrels."),
            "metric": ("varchar not null", "The metric in canonical notation, as in nDCG@10."),
            "protocol": (
                "varchar not null",
                "The protocol that fixed ties, precision and the query set.",
            ),
            "direction": ("varchar not null", "'higher' or 'lower' is better, or 'none'."),
            "fingerprint": (
                "varchar not null",
                "Hash of the SQL that computed it: another formula, another fingerprint.",
            ),
            "program_version": ("varchar not null", "Version of this program."),
            "engine_version": ("varchar not null", "Version of DuckDB."),
            "evaluated_at": (
                "timestamptz not null",
                "When; the same for all evaluations of one call.",
            ),
        },
    ),
    "query_score": (
        "One row per evaluation and query: the metric's value for that query.",
        {
            "evaluation_id": ("integer not null", "The evaluation."),
            "query_id": ("varchar not null", "The query."),
            "value": ("double", "The value; null where the metric is undefined."),
        },
    ),
    "score": (
        "One row per evaluation: the value over all queries.",
        {
            "evaluation_id": ("integer not null", "The evaluation."),
            "aggregate": (
                "varchar not null",
                "How the queries' values were put together, as in 'mean' or 'sum'.",
            ),
            "value": ("double", "The value; null where it is undefined for every query."),
            "num_queries": ("integer not null", "How many queries' values went into it."),
            "num_answered": (
                "integer not null",
                "How many judged queries the run has at least one document for.",
            ),
            "num_judged": ("integer not null", "How many queries the qrels judge."),
        },
    ),
}

# view: (comment, columns' comments, query)
VIEWS: dict[str, tuple[str, str]] = {
    "runs": (
        "One row per current run, with its tags.",
        """
        select
            dataset.name as dataset,
            run.name as run,
            run.version,
            run.system,
            (
                select map(list(key order by key), list(value order by key))
                from run_tag
                where run_tag.run_id = run.run_id
            ) as tags,
            run.num_queries,
            run.num_predictions,
            run.run_at,
            run.ingested_at,
            run.source,
            run.run_id
        from run
        join dataset using (dataset_id)
        qualify run.version = max(run.version) over (partition by run.dataset_id, run.name)
        """,
    ),
    "run_scores": (
        "One row per run, qrels version, metric and protocol: the newest value over all queries. "
        "is_current tells the newest version of the run and of the qrels.",
        """
        with
        newest as (
            select *
            from evaluation
            qualify row_number() over (
                partition by run_id, qrels_id, metric, protocol
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
        )
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
        """,
    ),
    "query_scores": (
        "One row per run, qrels version, metric, protocol and query: the newest value of the query.",
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
            run_scores.evaluation_id
        from run_scores
        join query_score using (evaluation_id)
        """,
    ),
    "leaderboard": (
        "One row per current run, metric and protocol, with its place: 1 is the best, equal values share a place.",
        """
        select
            dataset,
            metric,
            protocol,
            rank() over (
                partition by dataset, metric, protocol
                order by case when direction = 'lower' then -value else value end desc nulls last
            ) as place,
            run,
            system,
            value,
            num_answered,
            num_judged,
            evaluated_at
        from run_scores
        where is_current
        """,
    ),
}

VIEW_COLUMNS: dict[str, str] = {
    "dataset": "Name of the dataset.",
    "run": "Name of the run.",
    "version": "Version of the run; the newest is shown.",
    "system": "The system that made the run.",
    "tags": "The run's tags, as a map from key to value.",
    "num_queries": "How many queries: of a run those it answers, of a value those that went into it.",
    "num_predictions": "How many documents the run ranks in all.",
    "run_at": "When the experiment was run.",
    "ingested_at": "When the run was loaded.",
    "source": "Where the run came from.",
    "run_id": "Number of the run, as in the table run.",
    "run_version": "Version of the run that the value is of.",
    "qrels_version": "Version of the qrels that the value is against.",
    "metric": "The metric in canonical notation, as in nDCG@10.",
    "protocol": "The protocol that fixed ties, precision and the query set.",
    "direction": "'higher' or 'lower' is better, or 'none'.",
    "aggregate": "How the queries' values were put together, as in 'mean' or 'sum'.",
    "value": "The value; null where the metric is undefined.",
    "num_answered": "How many judged queries the run has at least one document for.",
    "num_judged": "How many queries the qrels judge.",
    "is_current": "Whether this is the newest version of the run and of the qrels.",
    "evaluated_at": "When the value was computed.",
    "qrels_id": "Number of the version of the qrels, as in the table qrels.",
    "evaluation_id": "Number of the evaluation, as in the table evaluation.",
    "query_id": "The query.",
    "place": "Place on the board; 1 is the best, equal values share a place.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table, (comment, columns) in TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        execute(f'create table "{table}" ({body})')
        execute(f'comment on table "{table}" is {_quoted(comment)}')
        for name, (_, column_comment) in columns.items():
            execute(f'comment on column "{table}"."{name}" is {_quoted(column_comment)}')
    execute("comment on table alembic_version is 'One row: the revision of this schema.'")
    execute("comment on column alembic_version.version_num is 'The revision, as in migrations.'")
    for view, (comment, query) in VIEWS.items():
        execute(f'create view "{view}" as {query}')
        execute(f'comment on view "{view}" is {_quoted(comment)}')
        described = execute(f'describe "{view}"').fetchall()
        for name in (str(row[0]) for row in described):
            execute(f'comment on column "{view}"."{name}" is {_quoted(VIEW_COLUMNS[name])}')


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for view in reversed(VIEWS):
        execute(f'drop view "{view}"')
    for table in reversed(TABLES):
        execute(f'drop table "{table}"')
