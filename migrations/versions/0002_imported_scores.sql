create table store.imported_score (
    evaluation_id integer not null,
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    judge varchar,
    checksum ubigint
);

create view imported_scores as
select
    dataset, run, run_version, qrels_version, metric, protocol, judge, value, num_queries, source,
    source_sha256, format, is_current, evaluated_at, evaluation_id
from run_scores
join store.imported_score using (evaluation_id);
