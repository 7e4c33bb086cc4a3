-- nDCG@10: Normalised discounted cumulative gain, under the protocol default
-- nDCG = DCG / ideal DCG, DCG = sum of gain(relevance) / log2(rank + 1)
-- Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002;
-- trec_eval ndcg, ndcg_cut; scikit-learn ndcg_score (ties=average)

-- reads run (run, query_id, doc_id, score)
-- and qrels (query_id, doc_id, relevance)

create or replace temp macro goodness(score, lower_is_better) as
    case when lower_is_better then -score else score end;

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

create or replace temp macro mean_of(x, place) as
    ratio(sum(x order by place), count(x)),
(x, condition, place) as
    ratio(sum(x order by place) filter (where condition), count(x) filter (where condition));

with
scope_iteration as (
    select
        query_id::varchar as query_id,
        doc_id::varchar as doc_id,
        '0' as iteration,
        relevance::double as relevance
    from "qrels"
),
scope_judgment as (
    select query_id, doc_id, max(relevance) as relevance
    from scope_iteration
    group by query_id, doc_id
    having
        case
            when
                query_id is not null and doc_id is not null
                and count(*) = 1
                and count(*) = count(case when abs(relevance) < 'inf'::double then 1 end)
                then true
            else error(
                'query ' || coalesce(query_id, 'null') || ', document ' || coalesce(doc_id, 'null')
                    || ': judged twice, or with a relevance that is no finite number'
            )
        end
),
scope_prediction as (
    select
        run,
        run as run_id,
        query_id::varchar as query_id,
        doc_id::varchar as doc_id,
        score::double as score,
        null::bigint as position,
        false as lower_is_better
    from "run"
),
oriented as not materialized (
    with
    turned as (
        select
            run_id,
            query_id,
            doc_id,
            position,
            goodness(score, lower_is_better) as goodness
        from scope_prediction
    )
    select
        run_id,
        query_id,
        doc_id,
        position,
        goodness as score
    from turned
),
predicted as not materialized (
    with
    judged_query as (
        select distinct query_id from scope_judgment
    )
    select
        oriented.run_id,
        oriented.query_id,
        oriented.doc_id,
        oriented.position,
        oriented.score
    from oriented as oriented
    semi join judged_query using (query_id)
),
ranked as not materialized (
    select
        run_id,
        query_id,
        doc_id,
        score,
        position,
        row_number() over best_first as rank
    from predicted as predicted
    window best_first as (partition by run_id, query_id order by score desc, doc_id desc)
),
matched as (
    select
        ranked.run_id,
        ranked.query_id,
        ranked.doc_id,
        scope_judgment.relevance,
        ranked.rank,
        count(case when scope_judgment.relevance >= 1 then 1 end) over down_the_list as rel_so_far,
        count(case when scope_judgment.relevance >= 0 and scope_judgment.relevance < 1 then 1 end) over down_the_list as nonrel_so_far
    from ranked as ranked
    join scope_judgment using (query_id, doc_id)
    window down_the_list as (
        partition by ranked.run_id, ranked.query_id order by ranked.rank
        rows between unbounded preceding and current row
    )
    order by ranked.run_id, ranked.query_id, ranked.rank
),
scope_hit as (
    select *, rank as whole_rank
    from matched
),
stored_list as (
    select run_id, query_id, count(*) as num_ret
    from scope_prediction
    group by run_id, query_id
    having
        case
            when count(*) = count(distinct doc_id) and count(*) = count(case when abs(score) < 'inf'::double then 1 end)
                then true
            else error(
                'run ' || run_id || ', query ' || coalesce(query_id, 'null')
                    || ': a document twice, or a score that is no finite number'
            )
        end
),
scope_ranking as (
    select run_id, query_id, num_ret, num_ret as whole_num_ret
    from stored_list
),
scope_run as (
    select run as run_id, run
    from scope_prediction
    left join (select distinct query_id, doc_id from scope_judgment) as judged using (query_id, doc_id)
    group by run
    having
        case
            when run is null then error('a run without a name' || coalesce(run, ''))
            when 1 / 2 = 0 or lower(current_setting('default_order')) like 'desc%'
                then error('first: set integer_division = false; set default_order = ''asc''; for ' || run)
            when count(judged.doc_id) > 0 then true
            else error('run ' || run || ': no document of it is judged; are the ids written alike?')
        end
),
ideal_gains as (
    select
        query_id,
        relevance,
        row_number() over best_first as ideal_rank
    from scope_judgment
    where relevance > 0
    window best_first as (partition by query_id order by relevance desc)
),
retrieved as not materialized (
    select
        run_id,
        query_id,
        doc_id,
        relevance,
        rel_so_far,
        nonrel_so_far,
        rank
    from scope_hit
),
rankings as (
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
    left join length using (run_id, query_id)
),
hits_rel_1 as (
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
        from retrieved
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
    )
),
facts_of_ideal_gains as (
    select
        query_id,
        dcg(relevance, ideal_rank, 10) as "ideal_dcg"
    from ideal_gains
    group by query_id
),
values_of_hits_rel_1 as (
    select
        run_id,
        query_id,
        ratio(dcg(relevance, relevance > 0, rank, 10), ideal_dcg) as "nDCG@10"
    from hits_rel_1
    left join facts_of_ideal_gains using (query_id)
    group by run_id, query_id, ideal_dcg
)
select 'nDCG@10' as metric, run, mean_of(value, query_id) as value
from (
    select run_id, query_id, coalesce("nDCG@10"::double, 0.0e0) as value
    from values_of_hits_rel_1
)
join scope_run using (run_id)
group by run
order by 1, 2;
