-- The views and macros for people, made anew at the end of each upgrade ---------------------------------------
-- A view shows what is current; the view *_versions below it has the replaced versions of runs and qrels as well.

/* One row per version of a run, evaluated or not. Removed runs are in store.forgotten_run. */
create view run_versions as
select
    run_version.dataset, run_version.run,
    run.version,  -- Version of the run; elsewhere run_version.
    run.system,
    (
        select map(list(key order by key), list(value order by key))
        from store.run_tag
        where run_tag.run_id = run.run_id
    ) as tags,  -- Tags as a map: tags['stage'] is the value of the tag stage, or null. Null if the run has no tags.
    run.num_queries, run.num_predictions, run.run_at, run.ingested_at,
    run.source,
        -- Where the run came from: a path, a URI, <stdin> or a kind of Python object; of a merged run, its
        -- method and runs.
    run_version.is_current,  -- Whether this is the newest version of the run.
    run.run_id
from store.run
join store.run_version using (run_id);

/* One row per version of a run, version of the qrels, metric and protocol: the newest value over all queries.
   Where is_current, run and qrels are the newest versions. Earlier values are in store.score. */
create view score_versions as
select
    dataset, run, run_version, system, qrels_version, metric, protocol, direction, aggregate, value,
    num_queries,  -- Number of queries that went into the value: those where it is defined.
    num_answered, num_judged, is_current, evaluated_at, run_at, ingested_at, run_id, qrels_id,
    evaluation_id
from store.newest_evaluation
join store.score using (evaluation_id)
where kind = 'metric' and slice_id is null;

/* One row per current run, metric and protocol: the value over all queries, against the current qrels. It reads what is
   stored as current, and is fast. */
create view scores as
select
    dataset.name as dataset, run.name as run, run.version as run_version, run.system, qrels.version as qrels_version,
    metric, protocol, direction, aggregate, value,
    current_score.num_queries,  -- Number of queries that went into the value: those where it is defined.
    num_answered, num_judged, evaluated_at, run.run_at, run.ingested_at, run_id, qrels_id, evaluation_id
from store.current_score
join store.run using (run_id)
join store.qrels using (qrels_id)
join store.dataset on dataset.dataset_id = qrels.dataset_id;

/* One row per version of a run, version of the qrels, metric, protocol and query: the newest value of the query.
   The protocol default has a row for each judged query, also where the run has no documents; other protocols may
   have fewer or more. A metric of all lists together, such as Coverage, has none. */
create view query_score_versions as
select
    dataset, run, run_version, system, qrels_version, metric, protocol, query_id,
    query_score.value, is_current, evaluation_id, direction, run_id
from score_versions
join store.query_score using (evaluation_id);

/* One row per version of a run, version of the qrels, metric, protocol and query that the value leaves out, though it
   is in the qrels, in the run, or has a row of the metric. A value without values of queries has none. */
create view left_out_query_versions as
with
known as (
    select evaluation_id, query_id, value is not null as is_counted, 'value' as seen_in
    from store.query_score
    where part is null
    union all
    select evaluation_id, query_id, false, 'qrels'
    from store.newest_evaluation
    join (
        select qrels_id, query_id from store.judgment
        union
        select qrels_id, query_id from store.preference
    ) using (qrels_id)
    union all
    select evaluation_id, query_id, false, 'run'
    from store.newest_evaluation
    join store.ranking using (run_id)
),
met as (
    select evaluation_id, query_id, list(seen_in) as seen_in
    from known
    group by evaluation_id, query_id
    having not bool_or(is_counted)
)
select
    dataset, run, run_version, qrels_version, metric, protocol, query_id,
    case
        when list_contains(seen_in, 'value') then 'undefined'
        when split_part(protocol, ':', 1) = 'imported' then 'the source has no value'
        when not list_contains(seen_in, 'qrels') then 'not judged'
        when not list_contains(seen_in, 'run') then 'without documents'
        else 'the protocol does not count them'
    end as why,  -- Why the value leaves the query out.
    is_current, evaluation_id, run_id
from score_versions
join met using (evaluation_id)
semi join (select distinct evaluation_id from store.query_score where part is null) using (evaluation_id);

/* One row per version of a run, version of the qrels, metric and protocol, with the best value so far. Steps are
   in the order of run_at, then of loading, and start anew for each dataset, version of the qrels, metric and
   protocol. Removed runs are missing. */
create view history_versions as
with
compared as (
    select *, case direction when 'higher' then value when 'lower' then -value end as goodness
    from score_versions
),
stepped as (
    select
        *,
        row_number() over in_time as step,
        max(goodness) over (in_time rows unbounded preceding) as best_goodness,
        max(goodness) over (in_time rows between unbounded preceding and 1 preceding) as earlier_goodness
    from compared
    window in_time as (
        partition by dataset, qrels_version, metric, protocol
        order by run_at, ingested_at, run
    )
)
select
    dataset, metric, protocol, qrels_version,
    step,  -- 1 for the earliest run, then 2, 3, …
    run_at, run, run_version, system, value,
    case direction when 'higher' then best_goodness when 'lower' then -best_goodness end as best_so_far,
        -- Best value up to this step. Null if direction is 'none', or no value is defined yet.
    coalesce(round(goodness, 12) > coalesce(round(earlier_goodness, 12), '-inf'::double), false) as is_record,
        -- Whether the value is better than all earlier ones; the first one counts, a tie does not.
    is_current, run_id
from stepped;

/* One row per version of a run, version of the qrels, metric, protocol, version of a slice and part: the newest
   value over the part. Values over all queries are in score_versions. */
create view slice_score_versions as
with
evaluated as (
    select distinct slice_id, qrels_id, protocol
    from store.evaluation
    where slice_id is not null
),
slice_version as (
    select
        slice_id, qrels_id, protocol, name, version, subject,
        row_number() over newest_first = 1 as is_current
    from store.slice
    join evaluated using (slice_id)
    window newest_first as (partition by qrels_id, protocol, name order by store.recency(made_at, content_hash) desc)
)
select
    dataset, run, run_version, system, qrels_version, metric, protocol, slice_version.name as slice,
    slice_version.version as slice_version,
    slice_version.subject,  -- What the slice divides: 'document' or 'query'.
    part, direction, aggregate, value,
    num_queries,  -- Number of queries that went into the value: those of the part where it is defined.
    num_answered,
        -- Number of queries judged in the part for which the run has at least one document there.
    num_judged,  -- Number of queries judged in the part.
    newest_evaluation.is_current and slice_version.is_current as is_current,
        -- Whether run and qrels have not been replaced by a newer version, nor the slice by one that has
        -- values against these qrels under this protocol.
    evaluated_at, run_at, run_id, qrels_id, evaluation_id
from store.newest_evaluation
join slice_version using (slice_id, qrels_id, protocol)
join store.score using (evaluation_id);

/* One row per version of a run, version of the qrels, metric, protocol, version of a slice, part and query: the
   newest value of the query in the part. */
create view slice_query_score_versions as
select
    dataset, run, run_version, system, qrels_version, metric, protocol, slice, slice_version, part,
    query_id, query_score.value,
    is_current,
        -- Whether run and qrels have not been replaced by a newer version, nor the slice by one that has
        -- values against these qrels under this protocol.
    evaluation_id, direction, run_id
from slice_score_versions
join store.query_score using (evaluation_id, part);

/* One row per version of a run, version of the qrels, curve, protocol, query and point: the newest curve. The
   curve over all queries is where query_id is null. */
create view curve_point_versions as
select
    dataset, run, run_version, system, qrels_version, metric as curve, protocol,
    query_id,  -- Id of the query. Null for the curve over all queries.
    position,  -- Order of the points along the curve, from 0.
    x, y, is_current,
    evaluated_at,  -- When the curve was computed (UTC).
    run_id, qrels_id, evaluation_id
from store.newest_evaluation
join store.curve_point using (evaluation_id)
where kind = 'curve';

/* One row per query of a dataset with a text. Of several tables of texts with the same query, the newest one
   counts. */
create view query_text as
select
    dataset,
    subject_id as query_id,  -- Id of the query.
    title,  -- Title of the query. Null if there is none.
    text,  -- Text of the query.
    set_name,  -- Name of the table of texts.
    version  -- Version of the table of texts.
from store.text
join store.text_set_version using (text_set_id)
where subject <> 'document' and is_current
qualify row_number() over (partition by dataset, subject_id order by recency desc) = 1;

/* One row per document of a dataset with a text. Of several tables of texts with the same document, the newest one
   counts. This view is large: filter by doc_id. */
create view document_text as
select
    dataset,
    subject_id as doc_id,  -- Id of the document.
    title,  -- Title of the document. Null if there is none.
    text,  -- Text of the document.
    set_name,  -- Name of the table of texts.
    version  -- Version of the table of texts.
from store.text
join store.text_set_version using (text_set_id)
where subject = 'document' and is_current
qualify row_number() over (partition by dataset, subject_id order by recency desc) = 1;

/* One row per judgment in each version of a dataset's qrels: the relevance of a document for a query; one row per
   iteration as well if the qrels were loaded with --iterations. Preferences are in store.preference. */
create view qrels_versions as
select
    qrels_version.dataset, qrels_version.qrels_version, query_id, doc_id, relevance, iteration,
    qrels_version.is_current,  -- Whether this is the newest version of the dataset's qrels.
    qrels_id
from store.judgment
join store.qrels_version using (qrels_id);

/* One row per version of a run, query and document in the list, with its rank under the protocol default, and its
   relevance. This view is large and ranks when it is read: filter by run, query_id or both. store.ranking has
   the lengths of the lists. It has no run whose predictions stay in their file. */
create view prediction_versions as
with
grade as (
    select dataset_id, query_id, doc_id, max(relevance) as relevance
    from store.judgment
    join store.qrels_version using (qrels_id)
    where is_current
    group by dataset_id, query_id, doc_id
),
-- A filter on a column that the window is partitioned by reaches the predictions: that is why it has all columns
-- that are the same throughout a list, and not run_id and query_id alone.
ranked as (
    select
        run_version.*,
        prediction.query_id, prediction.doc_id, prediction.score,
        row_number() over best_first as rank
    from store.prediction
    join store.run_version using (run_id)
    window best_first as (
        partition by
            run_version.run_id, dataset_id, dataset, run, run_version, system, is_current, query_id
        order by case when lower_is_better then -score else score end desc, doc_id desc
    )
)
select
    dataset, run, run_version, system, query_id,
    rank,  -- Rank in the list, from 1: by score; equal scores by document id, descending in byte order.
    doc_id, score,
    grade.relevance,
        -- Grade in the current qrels, the highest if there are several. Null if the document is unjudged.
    is_current,  -- Whether this is the newest version of the run.
    run_id
from ranked
left join grade using (dataset_id, query_id, doc_id);

/* One row per stored comparison, metric and pair of runs (`warehouse compare --store`). A pair that was compared
   again has several rows: choose by comparison_id or compared_at. */
create view comparison_versions as
select
    comparison.comparison_id,
        -- Key of comparison, which also has the kind of interval, resamples and seed.
    run_version.dataset, metric, comparison.protocol, qrels_version.qrels_version, base.run as base,
    base.run_version as base_version, run_version.run, run_version.run_version, base_value,
    value,  -- Value of the run over all of its queries.
    difference, low, high, effect_size, wins, ties, losses, queries, left_out, comparison.test,
    comparison.correction,
        -- Correction for many tests, over the family: 'holm', 'bonferroni', 'bh' or 'none'.
    comparison.family,  -- Which pairs are corrected together: those of a 'metric', or 'all'.
    statistic, p, p_adjusted, is_significant, comparison.alpha, comparison.judged_only,
    comparison.compared_at,
    run_version.is_current and base.is_current and qrels_version.is_current as is_current
        -- Whether neither of the two runs nor the qrels have been replaced by a newer version.
from store.comparison_pair
join store.comparison using (comparison_id)
join store.qrels_version using (qrels_id)
join store.run_version using (run_id)
join store.run_version as base on base.run_id = comparison_pair.base_id;

/* One row per merged run and run that it was made of. The queries that it was trained or tuned on are in
   store.fusion_query. */
create view fused_run_versions as
select
    merged.dataset,
    merged.run,  -- Name of the merged run.
    merged.run_version,  -- Version of the merged run.
    fusion.method, fusion.normalisation,
    fusion.queries,  -- 'union' if it has the queries of any of the runs, 'common' if only those of all.
    fusion_source.position,
    fusion_source.name as source,  -- Name of the run that it was made of.
    fusion_source.version as source_version,  -- Version of that run.
    fusion_source.weight,
    coalesce(source.is_current, false) as source_is_current,
        -- Whether that version is still the newest one; false if it was replaced or removed.
    fusion.num_trained, fusion.is_left_out, fusion.tuned_by,
    merged.is_current,  -- Whether this is the newest version of the merged run.
    merged.run_id  -- Key of run: the merged run.
from store.fusion
join store.run_version as merged using (run_id)
join store.fusion_source using (run_id)
left join store.run_version as source on source.run_id = fusion_source.source_run_id;

/* One row per check of a version of a run by a gate of warehouse.toml, as `warehouse gates` lists them. */
create view gate_versions as
with
known_run as (
    select run_id, dataset_id, name, version from store.run
    union all
    select run_id, dataset_id, name, version from store.forgotten_run
),
acceptance as (
    select
        run_id, min(accepted_at) as accepted_at, arg_min(why, accepted_at) as why,
        arg_min(accepted_by, accepted_at) as accepted_by
    from store.gate_acceptance
    group by run_id
)
select
    dataset.name as dataset,
    known_run.name as run,
    known_run.version as run_version,
    gate_result.metric,
    gate_result.protocol,
    gate_result.value,
    reference.name as reference,  -- Name of the run that it was compared with. Null if there was none.
    reference.version as reference_version,  -- Version of that run.
    gate_result.reference_value,
    gate_result.difference,  -- Value of the run minus that of the reference, both over all queries.
    gate_result.low,  -- Lower end of the interval of the difference that fits the test. Null if nothing was tested.
    gate_result.high,  -- Upper end of this interval. Null if nothing was tested.
    gate_result.could_see,  -- The drop that the test finds in four of five cases. Null if nothing was tested.
    gate_result.p,
        -- One-sided p-value: how likely so large a drop is if the true one is not beyond the limit. Null if nothing was
        -- tested.
    gate_result.verdict,
    gate_result.why,  -- Which limits were passed, or why the run is unchecked, in words. Null if it is good.
    gate_result.checked_at,
    acceptance.accepted_at,  -- When the run was accepted all the same (UTC). Null if it was not.
    acceptance.why as accepted_why,  -- Why it was accepted. Null if it was not.
    acceptance.accepted_by,  -- Who accepted it, as user@host. Null if it was not accepted.
    gate_result.verdict = 'worse' and acceptance.accepted_at is null
        and row_number() over newest_first = 1 as is_red,
        -- Whether the gate fired when it was last checked, and nobody has accepted the run.
    coalesce(run_version.is_current, false) and row_number() over newest_first = 1 and gate_result.verdict <> 'ended'
        as is_current,
        -- Whether this is the newest version of the run, and the newest check of it by a gate that is there.
    gate_result.grouped_by, gate_result.against, gate_result.limits,
    gate_result.run_id, gate_result.qrels_id, gate_result.fingerprint
from store.gate_result
join known_run using (run_id)
join store.dataset using (dataset_id)
left join known_run as reference on reference.run_id = gate_result.reference_id
left join acceptance on acceptance.run_id = gate_result.run_id
left join store.run_version on run_version.run_id = gate_result.run_id
window newest_first as (
    partition by gate_result.run_id, metric, protocol, grouped_by, against, limits
    order by gate_result.checked_at desc
);

/* One row per version of a run, version of the qrels and metric with values that another program computed: the newest,
   and where they came from. */
create view imported_score_versions as
select
    dataset, run, run_version, qrels_version, metric, protocol,
    judge,  -- Who or what judged, as it was given: a person, a model. Null if nothing was said.
    value, num_queries, source,
    source_sha256, format, is_current, evaluated_at, evaluation_id
from score_versions
join store.imported_score using (evaluation_id);

/* One row per nugget and assessed answer of a version of a run: whether the answer states the nugget. */
create view nugget_assignment_versions as
select
    run_version.dataset,
    run_version.run,
    run.version as run_version,
    judge, query_id, nugget_id,
    text,  -- What the nugget says. Null if the source has no text.
    importance,
    weight,  -- Weight of the nugget, or of its part where the part has one.
    part,  -- The sub-narrative or question that the nugget belongs to. Null if there are none.
    assignment,
    run_version.is_current and assessment_version.is_current as is_current
        -- Whether this is the newest of the current run, for the current nuggets.
from store.assignment
join store.assessment_version using (assessment_id)
join store.nugget using (nugget_set_id, query_id, nugget_id)
join store.run_version using (run_id)
join store.run using (run_id);

/* One row per citation of a sentence of an assessed answer, or per sentence without any. */
create view answer_citation_versions as
select
    run_version.dataset,
    run_version.run,
    run.version as run_version,
    judge, query_id, sentence,
    doc_id,  -- Id of the cited document. Null if the sentence cites nothing.
    support,
    run_version.is_current and assessment_version.is_current as is_current
        -- Whether this is the newest of the current run, for the current nuggets.
from store.citation
join store.assessment_version using (assessment_id)
join store.run_version using (run_id)
join store.run using (run_id);

/* One row per version of a judge's judgments, query and document. */
create view judge_judgment_versions as
select
    judge_version.dataset,
    judge_version.judge,  -- Name of the judge, as given with --judge, or by a column of the source.
    qrels_judge.judge_kind, qrels_judge.model, judge_version.qrels_version, query_id, doc_id,
    relevance,  -- Grade of relevance; below 0 the document is not judged.
    is_newest as is_current,  -- Whether this is the judge's newest version.
    qrels_id
from store.judge_version
join store.qrels_judge using (qrels_id)
join store.judgment using (qrels_id);

/* One row per version of a table of attributes, document or query, attribute and value. */
create view attribute_versions as
select
    dataset,
    subject,  -- What has the attribute: 'document' or 'query'.
    set_name,  -- Name of the table of attributes.
    attribute_set.version,  -- Version of the table of attributes.
    subject_id,  -- Id of the document or query.
    attribute,
    position,  -- Position in the list, from 1; 1 if the value is not a list.
    text,  -- The value as text.
    number,  -- The value as a number. Null if it is not one.
    is_current  -- Whether this is the newest version of the table of attributes.
from store.attribute
join store.attribute_set_version using (attribute_set_id)
join store.attribute_set using (attribute_set_id, dataset_id, subject);

-- What is current ---------------------------------------------------------------------------------------------

/* One row per dataset, metric, protocol and current run, against the current qrels. A run that is not evaluated by
   the metric yet has neither place nor value (`warehouse status`). Values of slices are in slice_scores. */
create view leaderboard as
with
asked as (
    select dataset, metric, protocol, arg_max(direction, evaluated_at) as direction
    from scores
    group by dataset, metric, protocol
),
listed as (
    select
        dataset, metric, protocol, run, run_version.system, value, num_answered, num_judged, evaluated_at,
        coalesce(evaluated.direction, asked.direction) as direction, run_version.run_id,
        evaluated.run_id is not null as is_evaluated
    from asked
    join (from store.run_version where is_current) as run_version using (dataset)
    left join scores as evaluated using (dataset, metric, protocol, run)
)
select
    dataset, metric, protocol,
    case
        when is_evaluated
            then rank() over (
                partition by dataset, metric, protocol, is_evaluated
                order by round(case when direction = 'lower' then -value else value end, 12) desc nulls last
            )
    end as place,
        -- Place among the runs of the dataset, metric and protocol: 1 is the best; equal values share a place,
        -- undefined ones come last. If direction is 'none', 1 is the highest. Null if the run is not evaluated.
    run, system, value,
    is_evaluated,  -- Whether the run has been evaluated by the metric, against the current qrels.
    num_answered, num_judged, evaluated_at, direction, run_id
from listed;

/* One row per current run, evaluated or not. */
create view runs as
select * exclude (is_current) from run_versions where is_current;

/* One row per current run, query and document in the list, with its rank under the protocol default, and its
   relevance. This view is large and ranks when it is read: filter by run, query_id or both. */
create view predictions as
select * exclude (is_current) from prediction_versions where is_current;

/* One row per judgment in the current qrels of a dataset: the relevance of a document for a query. */
create view qrels as
select * exclude (is_current) from qrels_versions where is_current;

/* One row per current run, metric, protocol and query: the value of the query, against the current qrels. */
create view query_scores as
select
    dataset, run, run_version, system, qrels_version, metric, protocol, query_id, query_score.value, evaluation_id,
    direction, run_id
from scores
join store.query_score using (evaluation_id);

/* One row per current run, metric, protocol and query that the value leaves out, though it is in the qrels, in the
   run, or has a row of the metric; the value counts scores.num_queries. */
create view left_out_queries as
select * exclude (is_current) from left_out_query_versions where is_current;

/* One row per current run, metric, protocol, slice and part: the value over the part, against the current qrels. */
create view slice_scores as
select * exclude (is_current) from slice_score_versions where is_current;

/* One row per current run, metric, protocol, slice, part and query: the value of the query in the part. */
create view slice_query_scores as
select * exclude (is_current) from slice_query_score_versions where is_current;

/* One row per current run, curve, protocol, query and point, against the current qrels. The curve over all queries is
   where query_id is null. */
create view curve_points as
select * exclude (is_current) from curve_point_versions where is_current;

/* One row per current run and gate of warehouse.toml: the newest check, as `warehouse gates` lists it. */
create view gates as
select * exclude (is_current) from gate_versions where is_current;

/* One row per document or query, attribute and value, in the current tables of attributes. */
create view attributes as
select * exclude (is_current) from attribute_versions where is_current;

/* One row per stored comparison, metric and pair of current runs, against the current qrels. */
create view comparisons as
select * exclude (is_current) from comparison_versions where is_current;

/* One row per current merged run and run that it was made of. */
create view fused_runs as
select * exclude (is_current) from fused_run_versions where is_current;

/* One row per current run and metric with a value that another program computed, and where it came from. */
create view imported_scores as
select * exclude (is_current) from imported_score_versions where is_current;

/* One row per nugget and newest assessed answer of a current run: whether the answer states the nugget. */
create view nugget_assignments as
select * exclude (is_current) from nugget_assignment_versions where is_current;

/* One row per citation of a sentence of the newest assessed answer, or per sentence without any. */
create view answer_citations as
select * exclude (is_current) from answer_citation_versions where is_current;

/* One row per judge, query and document: the judge's newest judgments. */
create view judge_judgments as
select * exclude (is_current) from judge_judgment_versions where is_current;

/* One row per metric, protocol and version of a run with a value against the current qrels, oldest first, with the best
   value so far. Removed runs are missing. */
create view history as
select * exclude (is_current)
from history_versions
semi join (from store.qrels_version where is_current) using (dataset, qrels_version);

-- The past ----------------------------------------------------------------------------------------------------

/* One row per run, metric, protocol and time for which a value was on the board, from shown_from until before
   shown_until: the newest version of the run then, against the newest qrels then. Values of removed runs are gone. */
create view score_times as
with
known_run as (
    select run_id, dataset_id, name, system, ingested_at, null as forgotten_at, content_hash from store.run
    union all by name
    select run_id, dataset_id, name, system, ingested_at, forgotten_at, content_hash from store.forgotten_run
),
change as (
    select dataset_id, name, ingested_at as changed_at from known_run
    union
    select dataset_id, name, forgotten_at from known_run where forgotten_at is not null
),
span as (
    select *, lead(changed_at) over (partition by dataset_id, name order by changed_at) as until
    from change
),
run_time as (
    select span.*, known_run.run_id, known_run.system
    from span
    join known_run using (dataset_id, name)
    where ingested_at <= changed_at and (forgotten_at is null or forgotten_at > changed_at)
    qualify row_number() over (
        partition by dataset_id, name, changed_at order by store.recency(ingested_at, content_hash) desc
    ) = 1
),
qrels_time as (
    select
        qrels_id,
        ingested_at as changed_at,
        lead(ingested_at) over (partition by dataset_id order by store.recency(ingested_at, content_hash)) as until
    from store.qrels
    anti join store.qrels_judge using (qrels_id)
),
evaluation_time as (
    select
        *,
        lead(evaluated_at) over (
            partition by run_id, qrels_id, metric, protocol order by store.recency(evaluated_at, content_hash)
        ) as until
    from store.evaluation
    where kind = 'metric' and slice_id is null
),
shown as (
    select
        dataset.name as dataset, run_time.name as run, run_time.system, metric, protocol, direction, value,
        num_queries, num_answered, num_judged,
        greatest(run_time.changed_at, qrels_time.changed_at, evaluated_at) as shown_from,
        least(run_time.until, qrels_time.until, evaluation_time.until) as shown_until,
        run_time.run_id, evaluation_id
    from evaluation_time
    join run_time using (run_id)
    join qrels_time using (qrels_id)
    join store.dataset using (dataset_id)
    join store.score using (evaluation_id)
)
select
    dataset, run, system, metric, protocol, direction, value,
    num_queries,  -- Number of queries that went into the value: those where it is defined.
    num_answered, num_judged,
    shown_from,  -- When the value came onto the board (UTC).
    shown_until,  -- When another one took its place (UTC). Null if it is there now.
    run_id, evaluation_id
from shown
where shown_until is null or shown_from < shown_until;

/* One row per run, metric and protocol: the value that was on the board at a time. A date means its end in UTC, a time
   without a zone is in UTC. */
create macro scores_as_of (at_time) as table
with
asked as (
    select
        case
            when length(at_time::varchar) = 10 then at_time::varchar || ' 23:59:59.999999+00'
            when regexp_matches(at_time::varchar, '(Z|[+-][0-9]{2}(:?[0-9]{2})?)$') then at_time::varchar
            else at_time::varchar || '+00'
        end::timestamptz as moment
    from store.only_warehouse
    where is_only
)
select score_times.*
from score_times
cross join asked
where shown_from <= moment and (shown_until is null or shown_until > moment);

/* One row per metric and run, best first: the board of a dataset at a time, as the view leaderboard has it now. */
create macro board_as_of (dataset_name, at_time, metric_name := null, protocol_name := 'default') as table
select
    metric,
    rank() over (
        partition by metric
        order by round(case when direction = 'lower' then -value else value end, 12) desc nulls last
    ) as place,
    run, system, value, num_answered, num_judged
from scores_as_of(at_time)
where dataset = dataset_name and protocol = protocol_name and (metric_name is null or metric = metric_name)
order by metric, place, run;

/* One row if two current runs have values of the metric for a query in common: the mean difference, run minus base,
   over these queries, Cohen's d of the pairs, and how many of them are won, tied and lost. If the metric is no mean
   over the queries, it is the difference of the values, without an effect size. */
create macro compare (dataset_name, base_name, run_name, metric_name, protocol_name := 'default') as table
with
valued as (
    select run, query_id, value, direction
    from query_scores
    cross join store.only_warehouse
    where is_only
        and dataset = dataset_name
        and metric = metric_name
        and protocol = protocol_name
        and value is not null
),
differing as (
    select
        valued.value - base.value as difference,
        round(case direction when 'lower' then -1 else 1 end * (valued.value - base.value), 12) as gain
    from valued
    join (from valued where run = base_name) as base using (query_id, direction)
    where valued.run = run_name
),
scored as (
    select
        any_value(value) filter (where run = base_name) as base_value,
        any_value(value) filter (where run = run_name) as value,
        bool_and(aggregate = 'mean') as is_mean
    from scores
    where dataset = dataset_name
        and metric = metric_name
        and protocol = protocol_name
        and run in (base_name, run_name)
),
summed as (
    select
        avg(difference) as mean_difference,
        stddev_samp(round(difference, 12)) as deviation,
        count(*) filter (where gain > 0) as wins,
        count(*) filter (where gain = 0) as ties,
        count(*) filter (where gain < 0) as losses,
        count(*) as queries
    from differing
)
select
    base_value, value,
    case when is_mean then mean_difference else value - base_value end as difference,
    case when is_mean and deviation > 0 then mean_difference / deviation end as effect_size,
    wins, ties, losses, queries
from summed
cross join scored
where queries > 0;
