/* One row per current run, metric and protocol: the newest value over all queries, against the current qrels. It is what
   derived_score has, kept by each transaction that writes; the view scores has names as well. */
create table store.current_score (
    run_id integer not null,
    qrels_id integer not null,
    protocol varchar not null,
    metric varchar not null,
    evaluation_id integer not null,
    direction varchar not null,
    fingerprint varchar not null,
    evaluated_at timestamptz not null,
    aggregate varchar not null,
    value double,
    num_queries integer not null,
    num_answered integer not null,
    num_judged integer not null
);

/* What current_score has to have: the newest evaluation of each current run, metric and protocol, among all versions. */
create view store.derived_score as
select
    newest_evaluation.run_id, newest_evaluation.qrels_id, newest_evaluation.protocol, newest_evaluation.metric,
    newest_evaluation.evaluation_id, newest_evaluation.direction, evaluation.fingerprint,
    newest_evaluation.evaluated_at, aggregate, value, num_queries, num_answered, num_judged
from store.newest_evaluation
join store.evaluation using (evaluation_id)
join store.score using (evaluation_id)
where newest_evaluation.kind = 'metric' and newest_evaluation.slice_id is null and is_current;
