create or replace temp macro total(x, place) as
    coalesce(sum(x order by place), 0),
(x, condition, place) as
    coalesce(sum(x order by place) filter (where condition), 0);

create or replace temp macro ratio(numerator, denominator) as
    numerator / nullif(denominator, 0);

create or replace temp macro discount(rank) as
    log2(rank + 1);

create or replace temp macro within(rank, k) as
    k is null or rank <= k;

create or replace temp macro dcg(gain, rank, k) as
    total(ratio(gain, discount(rank)), within(rank, k), rank),
(gain, condition, rank, k) as
    total(ratio(gain, discount(rank)), condition and within(rank, k), rank);

set variable dataset = (select name from store.dataset order by dataset_id limit 1); -- or the name of another, in quotes

create or replace temp view scope_run as
select run_id
from store.run_version
where is_current and dataset = getvariable('dataset');

create or replace temp view scope_ranking as
select run_id, query_id, num_ret, num_ret as whole_num_ret
from store.ranking
semi join scope_run using (run_id);

create or replace temp view current_qrels as
select qrels_id
from store.qrels_version
where is_current and dataset = getvariable('dataset');

-- a run whose hits are not counted yet would have zeros
select
    case
        when count(*) > 0
            then error('not evaluated under this protocol: ' || string_agg(run, ', ' order by run)
                || '; run first: warehouse evaluate')
    end as not_evaluated
from store.run_version
semi join scope_run using (run_id)
anti join (
    from store.hit_set
    semi join current_qrels using (qrels_id)
    where ordering = 'double/doc_desc'
) as counted using (run_id);

create or replace temp view scope_hit as
select run_id, query_id, doc_id, relevance, rank, rank as whole_rank, rel_so_far, nonrel_so_far
from store.hit
semi join current_qrels using (qrels_id)
semi join scope_run using (run_id)
where ordering = 'double/doc_desc';

create or replace temp view scope_judgment as
select query_id, doc_id, max(relevance) as relevance
from store.judgment
semi join current_qrels using (qrels_id)
group by query_id, doc_id;

create or replace temp table ideal_gains as
select
    query_id,
    relevance,
    row_number() over best_first as ideal_rank
from scope_judgment
where relevance > 0
window best_first as (partition by query_id order by relevance desc);

create or replace temp table rankings as
with
judged_query as (
    select distinct query_id from scope_judgment
),
length as (
    select
        run_id,
        query_id,
        num_ret as num_ret
    from scope_ranking
),
counted as (
    select scope_run.run_id, judged_query.query_id
    from scope_run
    cross join judged_query
)
select run_id, query_id, coalesce(num_ret, 0) as num_ret
from counted
left join length using (run_id, query_id);

create or replace temp table hits_rel_1 as
with
relevant as (
    select
        query_id,
        count(*) filter (where relevance >= 1) as num_rel,
        count(*) filter (where relevance >= 0 and relevance < 1) as num_nonrel,
        count(*) as num_judged
    from scope_judgment
    group by query_id
),
hit as (
    select
        *,
        relevance >= 1 as is_rel
    from (
select
    run_id,
    query_id,
    doc_id,
    relevance,
    rel_so_far,
    nonrel_so_far,
    rank
from scope_hit
)
)
select
    run_id,
    query_id,
    doc_id,
    rank,
    relevance,
    is_rel,
    coalesce(rel_so_far, 0) as rel_so_far,
    coalesce(nonrel_so_far, 0) as nonrel_so_far,
    count(rank) over so_far as pooled_so_far,
    num_ret,
    num_rel,
    num_nonrel,
    num_judged
from rankings
join relevant using (query_id)
left join hit using (run_id, query_id)
window so_far as (
    partition by run_id, query_id order by rank
    rows between unbounded preceding and current row
);

-- nDCG@10
with
best as (
    select query_id, dcg(relevance, ideal_rank, 10) as ideal_dcg
    from ideal_gains
    group by query_id
),
actual as (
    select
        run_id,
        query_id,
        dcg(relevance, relevance > 0, rank, 10) as dcg
    from hits_rel_1
    group by run_id, query_id
)
select
    run_id,
    query_id,
    ratio(dcg, ideal_dcg) as value
from actual
left join best using (query_id);
