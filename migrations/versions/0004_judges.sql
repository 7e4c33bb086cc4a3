create table store.qrels_judge (
    qrels_id integer not null,
    judge varchar not null,
    judge_kind varchar not null,
    model varchar,
    prompt varchar,
    checksum ubigint
);

create or replace view store.qrels_version as
select
    qrels_id, dataset_id, dataset.name as dataset, version as qrels_version,
    qrels_judge.qrels_id is null and row_number() over newest_first = 1 as is_current
from store.qrels
join store.dataset using (dataset_id)
left join store.qrels_judge using (qrels_id)
window newest_first as (
    partition by dataset_id, qrels_judge.qrels_id is null order by store.recency(ingested_at, content_hash) desc
);

create view store.judge_version as
select
    qrels_id, dataset_id, dataset.name as dataset, judge, version as qrels_version,
    row_number() over newest_first = 1 as is_newest
from store.qrels_judge
join store.qrels using (qrels_id)
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id, judge order by store.recency(ingested_at, content_hash) desc);
