create table store.nugget_set (
    nugget_set_id integer not null,
    dataset_id integer not null,
    version integer not null,
    content_hash varchar not null,
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,
    num_nuggets bigint not null,
    ingested_at timestamptz not null,
    program_version varchar not null,
    checksum ubigint
);

create table store.nugget (
    nugget_set_id integer not null,
    query_id varchar not null,
    nugget_id varchar not null,
    text varchar,
    importance varchar not null,
    weight double not null,
    part varchar
);

create table store.assessment (
    assessment_id integer not null,
    run_id integer not null,
    kind varchar not null,
    judge varchar,
    version integer not null,
    nugget_set_id integer,
    content_hash varchar not null,
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,
    num_rows bigint not null,
    ingested_at timestamptz not null,
    program_version varchar not null,
    checksum ubigint
);

create table store.assignment (
    assessment_id integer not null,
    query_id varchar not null,
    nugget_id varchar not null,
    assignment varchar not null
);

create table store.citation (
    assessment_id integer not null,
    query_id varchar not null,
    sentence integer not null,
    doc_id varchar,
    support varchar
);

create view store.nugget_set_version as
select
    nugget_set_id,
    dataset_id,
    dataset.name as dataset,
    row_number() over newest_first = 1 as is_current
from store.nugget_set
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id order by store.recency(ingested_at, nugget_set.content_hash) desc);

create view store.assessment_version as
with
ordered as (
    select
        *,
        row_number() over newest_first = 1 as is_newest
    from store.assessment
    window newest_first as (
        partition by run_id, kind, judge order by store.recency(ingested_at, content_hash) desc
    )
)
select
    assessment_id,
    run_id,
    kind,
    judge,
    ordered.nugget_set_id,
    ingested_at,
    ordered.content_hash,
    is_newest and coalesce(nugget_set_version.is_current, kind = 'citations') as is_current
from ordered
left join store.nugget_set_version using (nugget_set_id);
