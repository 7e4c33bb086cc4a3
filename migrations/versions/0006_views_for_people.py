"""The views judgments, rankings and history."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"

# view: (comment, query)
VIEWS: dict[str, tuple[str, str]] = {
    "judgments": (
        "One row per judgment: the relevance of a document for a query; where qrels judge by subtopic, one "
        "row per subtopic. is_current tells the newest version of the qrels.",
        """
        with
        version as (
            select
                qrels_id,
                dataset_id,
                version as qrels_version,
                version = max(version) over (partition by dataset_id) as is_current
            from qrels
        )
        select
            dataset.name as dataset,
            version.qrels_version,
            judgment.query_id,
            judgment.doc_id,
            judgment.relevance,
            judgment.iteration,
            version.is_current,
            judgment.qrels_id
        from judgment
        join version using (qrels_id)
        join dataset using (dataset_id)
        """,
    ),
    # A filter on one of the columns that the window is partitioned by reaches the predictions; that is
    # why it names all that are the same throughout a ranking, and not run_id and query_id alone.
    "rankings": (
        "One row per document that a run retrieved for a query, with its rank by the rules of the protocol "
        "default and its relevance in the current qrels. is_current tells the newest version of the run. "
        "Large: ask for some run or some query.",
        """
        with
        current_qrels as (
            select dataset_id, qrels_id
            from qrels
            qualify version = max(version) over (partition by dataset_id)
        ),
        grade as (
            select dataset_id, query_id, doc_id, max(relevance) as relevance
            from judgment
            join current_qrels using (qrels_id)
            group by dataset_id, query_id, doc_id
        ),
        version as (
            select
                run.run_id,
                dataset_id,
                dataset.name as dataset,
                run.name as run,
                run.version as run_version,
                run.system,
                run.version = max(run.version) over (partition by dataset_id, run.name) as is_current,
                run.lower_is_better
            from run
            join dataset using (dataset_id)
        ),
        ranked as (
            select
                version.*,
                prediction.query_id,
                prediction.doc_id,
                prediction.score,
                row_number() over best_first as rank
            from prediction
            join version using (run_id)
            window best_first as (
                partition by
                    version.run_id, dataset_id, dataset, run, run_version, system, is_current, query_id
                order by case when lower_is_better then -score else score end desc, doc_id desc
            )
        )
        select
            ranked.dataset,
            ranked.run,
            ranked.run_version,
            ranked.system,
            ranked.query_id,
            ranked.rank,
            ranked.doc_id,
            ranked.score,
            grade.relevance,
            ranked.is_current,
            ranked.run_id
        from ranked
        left join grade using (dataset_id, query_id, doc_id)
        """,
    ),
    "history": (
        "One row per run, qrels version, metric and protocol: the value over all queries in the order in "
        "which the experiments were run, with the best up to then. Replaced versions of runs are there too.",
        """
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
            coalesce(goodness > coalesce(earlier_goodness, '-inf'::double), false) as is_record,
            is_current,
            run_id
        from stepped
        """,
    ),
}

VIEW_COLUMNS: dict[str, str] = {
    "dataset": "Name of the dataset.",
    "run": "Name of the run.",
    "run_version": "Version of the run.",
    "system": "The system that made the run.",
    "run_at": "When the experiment was run.",
    "run_id": "Number of the run, as in the table run.",
    "qrels_version": "Version of the qrels.",
    "qrels_id": "Number of the version of the qrels, as in the table qrels.",
    "query_id": "The query.",
    "doc_id": "The document.",
    "iteration": "The second column of TREC qrels: a subtopic or judgment group, if anything.",
    "rank": "Rank from 1: by score, equal scores by document id, descending.",
    "score": "The score as given.",
    "metric": "The metric in canonical notation, as in nDCG@10.",
    "protocol": "The protocol that fixed ties, precision and the query set.",
    "step": "1 for the first run of the dataset with this metric, then 2, 3, …",
    "value": "The value; null where the metric is undefined.",
    "best_so_far": "The best value up to this step; null where no direction is better.",
    "is_record": "Whether the value is better than all before it; the first one is.",
}
# what a column means where the views do not agree
OWN_COLUMNS: dict[tuple[str, str], str] = {
    (
        "judgments",
        "relevance",
    ): "The grade; 1 and above is relevant unless a metric says otherwise.",
    ("judgments", "is_current"): "Whether this is the newest version of the qrels.",
    (
        "rankings",
        "relevance",
    ): "The highest grade in the current qrels; null where nobody judged it.",
    ("rankings", "is_current"): "Whether this is the newest version of the run.",
    ("history", "is_current"): "Whether this is the newest version of the run and of the qrels.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for view, (comment, query) in VIEWS.items():
        execute(f'create view "{view}" as {query}')
        execute(f'comment on view "{view}" is {_quoted(comment)}')
        described = execute(f'describe "{view}"').fetchall()
        for name in (str(row[0]) for row in described):
            meaning = OWN_COLUMNS.get((view, name)) or VIEW_COLUMNS[name]
            execute(f'comment on column "{view}"."{name}" is {_quoted(meaning)}')


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for view in reversed(VIEWS):
        execute(f'drop view "{view}"')
