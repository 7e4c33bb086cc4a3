/* How other engines (DuckDB, Spark, Trino, Snowflake, BigQuery) read the tables of a lake. A row may stand in a
   table several times, because two pushed it at once: these views have each once, and only values of evaluations that
   are whole. On a board a metric has one definition: that by which most runs have values, of equals the newest. Name
   the tables run, qrels, made_current, tombstone, evaluation, score and query_score first. */
create view known_run as
select
    dataset, name, run_hash, system, run_at,
    row_number() over (
        partition by dataset, name order by ingested_at desc, run_hash desc, pushed_at desc
    ) as place,
    row_number() over (
        partition by dataset, name, run_hash
        order by case when pushed_at = first_pushed_at then ingested_at else pushed_at end desc, ingested_at desc
    ) as turn
from (
    select
        run.dataset, run.name, run.run_hash, run.system, run.run_at, run.ingested_at, run.pushed_at,
        min(run.pushed_at) over (
            partition by run.dataset, run.name, run.run_hash, run.ingested_at
        ) as first_pushed_at
    from run
    left join tombstone
        on tombstone.dataset = run.dataset
        and tombstone.run_hash = run.run_hash
        and tombstone.name = run.name
        and tombstone.ingested_at = run.ingested_at
        and tombstone.pushed_at >= run.pushed_at
    where tombstone.run_hash is null
) as live;

create view current_run as
select newest.dataset, newest.name, newest.run_hash, described.system, newest.run_at
from known_run as newest
join known_run as described
    on described.dataset = newest.dataset
    and described.name = newest.name
    and described.run_hash = newest.run_hash
where newest.place = 1 and described.turn = 1;

create view current_qrels as
select qrels.dataset, qrels.qrels_hash, min(label) as label
from qrels
join (
    select
        dataset, qrels_hash,
        row_number() over (
            partition by dataset
            order by
                case when is_asked then 0 else 1 end,
                case when is_asked then since end desc,
                case when is_asked then null else pushed_at end,
                pushed_by,
                since desc,
                qrels_hash desc
        ) as place
    from made_current
) as said
    on said.dataset = qrels.dataset and said.qrels_hash = qrels.qrels_hash
where place = 1
group by qrels.dataset, qrels.qrels_hash;

create view definition as
select
    evaluation.dataset, evaluation.metric, evaluation.protocol, evaluation.fingerprint,
    count(distinct current_run.name) as num_runs,
    max(evaluation.evaluated_at) as newest
from evaluation
join current_qrels
    on current_qrels.dataset = evaluation.dataset
    and current_qrels.qrels_hash = evaluation.qrels_hash
join current_run
    on current_run.dataset = evaluation.dataset
    and current_run.run_hash = evaluation.run_hash
group by evaluation.dataset, evaluation.metric, evaluation.protocol, evaluation.fingerprint;

create view current_definition as
select dataset, metric, protocol, fingerprint
from (
    select
        dataset, metric, protocol, fingerprint,
        row_number() over (
            partition by dataset, metric, protocol order by num_runs desc, newest desc, fingerprint
        ) as turn
    from definition
) as known
where turn = 1;

create view current_evaluation as
select dataset, evaluation_hash, run_hash, metric, protocol, direction, evaluated_at
from (
    select
        evaluation.dataset, evaluation_hash, run_hash, evaluation.metric, evaluation.protocol, direction, evaluated_at,
        row_number() over (
            partition by evaluation.dataset, run_hash, evaluation.metric, evaluation.protocol
            order by evaluated_at desc, evaluation_hash desc
        ) as place
    from evaluation
    join current_qrels
        on current_qrels.dataset = evaluation.dataset
        and current_qrels.qrels_hash = evaluation.qrels_hash
    join current_definition
        on current_definition.dataset = evaluation.dataset
        and current_definition.metric = evaluation.metric
        and current_definition.protocol = evaluation.protocol
        and current_definition.fingerprint = evaluation.fingerprint
) as known
where place = 1;

create view board as
select distinct
    current_run.dataset, current_run.name as run, current_run.system, current_evaluation.metric,
    current_evaluation.protocol, current_evaluation.direction, score.aggregate, score.value
from current_run
join current_evaluation
    on current_evaluation.dataset = current_run.dataset
    and current_evaluation.run_hash = current_run.run_hash
join score
    on score.dataset = current_evaluation.dataset
    and score.evaluation_hash = current_evaluation.evaluation_hash;

create view query_values as
select distinct
    current_run.dataset, current_run.name as run, current_evaluation.metric, current_evaluation.protocol,
    query_score.query_id, query_score.value
from current_run
join current_evaluation
    on current_evaluation.dataset = current_run.dataset
    and current_evaluation.run_hash = current_run.run_hash
join query_score
    on query_score.dataset = current_evaluation.dataset
    and query_score.evaluation_hash = current_evaluation.evaluation_hash;
