-- The schema of release 0.1.0. The block comment above a table or view becomes its comment; that behind a column,
-- or indented below it, becomes the column's. Columns without one have theirs in 0001_release_0_1.py, or in run.

-- Datasets, and what is loaded ------------------------------------------------------------------------------

/* One row per dataset: queries with their qrels, and the runs that are compared on them. */
create table store.dataset (
    dataset_id integer not null,  -- Key, in this file.
    name varchar not null,  -- Name of the dataset, unique.
    created_at timestamptz not null,  -- When something was first loaded into it (UTC).
    checksum ubigint
);

/* One row per version of a dataset's qrels (judgments or preferences). The newest version of a dataset is
   current: the one with the latest ingested_at; of equal times, content_hash decides. The earlier ones stay. */
create table store.qrels (
    qrels_id integer not null,  -- Key: one version of a dataset's qrels, in this file.
    dataset_id integer not null,
    version integer not null,  -- 1 for the first qrels of the dataset, then 2, 3, …; elsewhere qrels_version.
    label varchar,
    content_hash varchar not null,
        -- Hash of the dataset's name and the judgments; the same for any order and format, and in any file.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,  -- Number of judged queries.
    num_judgments bigint not null,  -- Number of rows in judgment, or in preference.
    ingested_at timestamptz not null,
    program_version varchar not null,
    kind varchar not null,
        -- 'judgments': one per query and document; 'iterations': one per query, document and iteration;
        -- 'preferences': rows of the table preference.
    normalise varchar,
    graded_by varchar,  -- SQL expression that made the grades (--relevance). Null if they are as given.
    kept_where varchar,  -- SQL condition that chose the rows of the source (--where). Null if all were read.
    checksum ubigint
);

/* One row per version of the qrels, query and document; one per iteration as well if qrels.kind is
   'iterations'. The view qrels_versions has names and is_current. */
create table store.judgment (
    qrels_id integer not null,
    query_id varchar not null,
    doc_id varchar not null,
    relevance double not null,
    iteration varchar not null
        -- Iteration of the judgment: a subtopic or a judgment group if qrels.kind is 'iterations', or the stratum
        -- of a sampled pool; else mostly '0'.
);

/* One row per version of the qrels, query, group, subgroup and document, for qrels of kind 'preferences':
   within a subgroup, documents of a higher level are preferred to those of a lower one. */
create table store.preference (
    qrels_id integer not null,
    query_id varchar not null,
    judgment_group varchar not null,  -- Group: what one person judged.
    judgment_subgroup varchar not null,  -- Subgroup of documents that were judged together.
    doc_id varchar not null,
    level double not null  -- Level of the document; only the order within the subgroup counts.
);

/* One row per version of the qrels that has the judgments of one judge. Such a version is never current; of each
   judge, the newest counts. */
create table store.qrels_judge (
    qrels_id integer not null,  -- Key of qrels, in this file.
    judge varchar not null,  -- Name of the judge, as given with --judge, or by a column of the source.
    judge_kind varchar not null,  -- What the judge is: 'human', 'llm' or 'crowd'.
    model varchar,  -- The language model, as given with --model. Null if it was not given.
    prompt varchar,  -- Prompt of the model, or its name, as given with --prompt. Null if it was not given.
    checksum ubigint
);

/* One row per version of a run. Of each dataset and name the newest version is current: the one with the
   latest ingested_at; of equal times, content_hash decides. The earlier ones stay. The view runs has the
   current ones, with their tags. */
create table store.run (
    run_id integer not null,  -- Key: one version of a run, in this file.
    dataset_id integer not null,
    name varchar not null,  -- Name of the run; one name has several rows if it was replaced.
    version integer not null,
        -- 1 for the first run of this name in the dataset, then 2, 3, …; elsewhere run_version.
    system varchar,
    content_hash varchar not null,
        -- Hash of the dataset's name and the predictions; the same for any order and format, and in any file.
        -- Versions that differ only in the order of equal scores share it.
    source varchar not null,
        -- Where the run came from: a path, a URI, <stdin> or a kind of Python object; of a merged run, its
        -- method and runs.
    source_sha256 varchar,
    format varchar not null,
    trec_tag varchar,  -- Tag in the last line of a TREC file. Null for other formats.
    ranked_by varchar not null,
        -- 'score', or 'rank' if the source has no scores: then prediction.score is the rank.
    lower_is_better boolean not null,  -- Whether low scores are good, as for distances and ranks.
    num_queries integer not null,  -- Number of queries for which the run has at least one document.
    num_predictions bigint not null,
    run_at timestamptz not null,
    ingested_at timestamptz not null,  -- When the run was loaded (UTC).
    program_version varchar not null,
    normalise varchar,
    kept_where varchar,  -- SQL condition that chose the rows of the source (--where). Null if all were read.
    checksum ubigint
);

/* One row per run and tag. The view runs has them as a map. */
create table store.run_tag (
    run_id integer not null,  -- Key of run, or of forgotten_run.
    key varchar not null,  -- Name of the tag.
    value varchar not null  -- Value of the tag, as text.
);

/* One row per query and document of the runs with a document id that is not a whole number. The view
   prediction has these and the other runs. */
create table store.prediction_by_text (
    run_id integer not null,
    query_id varchar not null,
    doc_id varchar not null using compression zstd,
    score double not null
);

/* One row per query and document of the runs whose document ids are all whole numbers. The view prediction
   has these and the other runs. */
create table store.prediction_by_number (
    run_id integer not null,
    query_id varchar not null,
    doc_id bigint not null,  -- Id of the document, stored as a number.
    score double not null
);

/* One row per version of a run whose predictions stay in their file, as loaded with --where-it-lies: they are not in
   store.prediction, nor in the view predictions. The hash of the file is run.source_sha256. */
create table store.prediction_file (
    run_id integer not null,  -- Key of run, in this file.
    place varchar not null,  -- Absolute path of the file, or its URL.
    columns varchar not null,
        -- JSON: the file's names of our columns, as given with --column. The format and what else it was read
        -- with are in run.
    checksum ubigint  -- Hash of the other columns; `warehouse verify` computes it again.
);

/* One row per version of a run and query that it has documents for. A judged query without a row was not
   answered. */
create table store.ranking (
    run_id integer not null,
    query_id varchar not null,
    num_ret integer not null  -- Number of documents in the list.
);

/* One row per version of a run that was removed (`warehouse forget`). Its predictions, hits and values are
   gone; its tags are still in run_tag. */
create table store.forgotten_run (
    run_id integer not null,  -- Key that the run had; it is not used again.
    dataset_id integer not null,
    name varchar not null,
    version integer not null,  -- Version that the run had; it is not used again.
    system varchar,
    content_hash varchar not null,
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    trec_tag varchar,
    ranked_by varchar not null,
    lower_is_better boolean not null,
    num_queries integer not null,
    num_predictions bigint not null,
    run_at timestamptz not null,
    ingested_at timestamptz not null,
    program_version varchar not null,
    normalise varchar,
    kept_where varchar,  -- SQL condition that chose the rows of the source (--where). Null if all were read.
    forgotten_at timestamptz not null,  -- When the run was removed (UTC).
    reason varchar,  -- Why, as given with --reason. Null if it was not given.
    checksum ubigint
);

/* One row per version of a dataset's training set. The newest version of a dataset is current. */
create table store.training (
    training_id integer not null,  -- Key: one version of a dataset's training set.
    dataset_id integer not null,
    version integer not null,  -- 1 for the first training set of the dataset, then 2, 3, …
    label varchar,
    content_hash varchar not null,
        -- Hash of the dataset's name and the examples; the same for any order and format.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,  -- Number of training queries, such as users or instances.
    num_examples bigint not null,  -- Number of rows in example that have a document.
    ingested_at timestamptz not null,
    program_version varchar not null,
    normalise varchar,
    graded_by varchar,  -- SQL expression that made the grades (--relevance). Null if they are as given.
    kept_where varchar,  -- SQL condition that chose the rows of the source (--where). Null if all were read.
    checksum ubigint
);

/* One row per training set, query and document: what a system was trained on, or what a user had seen before; one
   without a document for each query that has none. */
create table store.example (
    training_id integer not null,
    query_id varchar not null,  -- Id of the training query, such as a user or an instance.
    doc_id varchar,  -- Id of the document, such as an item or a label. Null if the query has none.
    relevance double  -- Grade of relevance; 1 and above is relevant. Null if the query has no document.
);

/* One row per version of a table of attributes of a dataset's documents or queries. Of each dataset, subject
   and name the newest version is current. */
create table store.attribute_set (
    attribute_set_id integer not null,  -- Key: one version of a table of attributes.
    dataset_id integer not null,
    subject varchar not null,  -- What has the attributes: 'document' or 'query'.
    name varchar not null,  -- Name of the table of attributes.
    version integer not null,  -- 1 for the first table of this name, then 2, 3, …
    content_hash varchar not null,  -- Hash of the attributes; the same for any order and format.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_subjects integer not null,  -- Number of documents or queries.
    ingested_at timestamptz not null,
    program_version varchar not null,
    normalise varchar,
    checksum ubigint
);

/* One row per attribute of a loaded table of attributes. */
create table store.attribute_column (
    attribute_set_id integer not null,
    attribute varchar not null,
    type varchar not null  -- Type: 'number', 'text', 'boolean', 'date' or 'list'.
);

/* One row per document or query and value of an attribute; one per element if the value is a list, none if it
   is empty. */
create table store.attribute (
    attribute_set_id integer not null,
    subject_id varchar not null,  -- Id of the document or query; attribute_set.subject tells which.
    attribute varchar not null,
    position integer not null,  -- Position in the list, from 1; 1 if the value is not a list.
    text varchar not null,  -- The value as text.
    number double  -- The value as a number. Null if it is not one.
);

/* One row per version of a table of texts of a dataset's queries or documents. Of each dataset, subject and name
   the newest version is current. Replicas have none, unless they were published with the texts. */
create table store.text_set (
    text_set_id integer not null,
    dataset_id integer not null,
    subject varchar not null,  -- What the texts are of: 'document' or 'query'.
    name varchar not null,  -- Name of the table of texts.
    version integer not null,  -- 1 for the first table of this name, then 2, 3, …
    content_hash varchar not null,  -- Hash of the ids, titles and texts; the same for any order and format.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_texts bigint not null,  -- Number of documents or queries.
    ingested_at timestamptz not null,
    program_version varchar not null,
    normalise varchar,
    checksum ubigint
);

/* One row per document or query with a text, which is kept compressed. The views query_text and document_text
   have the current ones. */
create table store.text (
    text_set_id integer not null,
    subject_id varchar not null,  -- Id of the document or query; text_set.subject tells which.
    title varchar using compression zstd,  -- Title. Null if there is none.
    text varchar not null using compression zstd  -- The text; empty if there is none beside the title.
);

/* One row per version of a dataset's nuggets. */
create table store.nugget_set (
    nugget_set_id integer not null,  -- Key, in this file.
    dataset_id integer not null,
    version integer not null,  -- Version of the dataset's nuggets, from 1.
    content_hash varchar not null,  -- Hash of the content, by which equal content is recognised.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,  -- Number of queries with nuggets.
    num_nuggets bigint not null,  -- Number of nuggets.
    ingested_at timestamptz not null,
    program_version varchar not null,
    checksum ubigint
);

/* One row per nugget: a fact that an answer to the query should state. */
create table store.nugget (
    nugget_set_id integer not null,  -- Key of nugget_set, in this file.
    query_id varchar not null,
    nugget_id varchar not null,  -- Id of the nugget, unique within its query.
    text varchar,  -- What the nugget says. Null if the source has no text.
    importance varchar not null,  -- 'vital' or 'okay'.
    weight double not null,  -- Weight of the nugget, or of its part where the part has one.
    part varchar  -- The sub-narrative or question that the nugget belongs to. Null if there are none.
);

/* One row per version of what a judge says of a run's answers. */
create table store.assessment (
    assessment_id integer not null,  -- Key, in this file.
    run_id integer not null,  -- Key of run, in this file.
    kind varchar not null,  -- 'assignments' of nuggets, or 'citations'.
    judge varchar,  -- Who or what judged: a person, a model. Null if nothing was said.
    version integer not null,  -- Version of the run's assessment by this judge, from 1.
    nugget_set_id integer,  -- Key of nugget_set: the nuggets assigned. Null for citations.
    content_hash varchar not null,  -- Hash of the content, by which equal content is recognised.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    num_queries integer not null,  -- Number of queries whose answers were assessed.
    num_rows bigint not null,  -- Number of assignments or of citations.
    ingested_at timestamptz not null,
    program_version varchar not null,
    checksum ubigint
);

/* One row per nugget and assessed answer: whether the answer states it. */
create table store.assignment (
    assessment_id integer not null,  -- Key of assessment, in this file.
    query_id varchar not null,
    nugget_id varchar not null,  -- Id of the nugget.
    assignment varchar not null
        -- What the answer does to the nugget: support it, fully or partly, not, or contradict it.
);

/* One row per citation of a sentence of an assessed answer, or per sentence without any. */
create table store.citation (
    assessment_id integer not null,  -- Key of assessment, in this file.
    query_id varchar not null,
    sentence integer not null,  -- Number of the sentence in the answer, from 1.
    doc_id varchar,  -- Id of the cited document. Null if the sentence cites nothing.
    support varchar  -- Whether the document supports the sentence: fully, partly or not. Null without one.
);

/* One row per dataset, kind and file that `warehouse sync` has read, so that it reads only what has changed. */
create table store.source_file (
    dataset_id integer not null,
    kind varchar not null,
        -- What the file has: 'run', 'qrels', 'training', or attributes of 'docs' or of 'queries'.
    path varchar not null,  -- Absolute path of the file.
    name varchar not null,  -- Name of the run or of the attributes; for other kinds, of the dataset.
    size bigint not null,  -- Size of the file in bytes, when it was read.
    mtime_ns bigint not null,
        -- Modification time of the file, in nanoseconds since 1970-01-01 UTC, when it was read.
    settings varchar not null,  -- Settings from warehouse.toml, the path and the sidecar, as JSON.
    source_sha256 varchar,
    run_id integer,  -- Key of run: what was loaded from the file. Null for other kinds, and for removed runs.
    taken_at timestamptz not null,  -- When the file was read (UTC).
    program_version varchar not null,
    missing_since timestamptz,  -- When a sync first found that the file is gone (UTC). Null if it is there.
    checksum ubigint
);

-- Evaluations -----------------------------------------------------------------------------------------------

/* One row per version of a run, version of the qrels and ordering whose hits are stored. */
create table store.hit_set (
    run_id integer not null,
    qrels_id integer not null,
    ordering varchar not null,  -- Score precision and tie rule of the ranks, as in 'double/doc_desc'.
    num_hits bigint not null,  -- Number of rows in hit.
    checksum ubigint
);

/* One row per version of a run, version of the qrels, ordering, query and judged document in the list.
   Metrics are computed from these; a judged document without a row was not retrieved. */
create table store.hit (
    run_id integer not null,
    qrels_id integer not null,
    ordering varchar not null,
        -- Score precision and tie rule of the rank, as in 'double/doc_desc'; a run has rows for each in use.
    query_id varchar not null,
    doc_id varchar not null,
    relevance double not null,  -- Grade in these qrels, the highest if there are several.
    rank integer not null,  -- Rank in the whole list, from 1; unjudged documents count.
    rel_so_far integer,  -- Number of documents of relevance 1 and above up to this rank, this one included.
    nonrel_so_far integer  -- Number of documents of relevance from 0 to below 1 up to this rank, this one included.
);

/* One row per computation of a metric or curve, for one version of a run and one of the qrels. Nothing is
   overwritten: of the rows for the same run_id, qrels_id, kind, metric, protocol and slice_id, the newest
   counts: the one with the latest evaluated_at; of equal times, content_hash decides. */
create table store.evaluation (
    evaluation_id integer not null,  -- Key, in this file.
    content_hash varchar not null,
        -- Hash of the hashes of run and qrels, the kind, metric, protocol, fingerprint and slice, and of the
        -- ranks if equal scores stay as the source has them: what was computed from what, the same in any file.
    run_id integer not null,
    qrels_id integer not null,
    metric varchar not null,  -- Name of the metric, or of the curve, with its parameters.
    protocol varchar not null,
    direction varchar not null,
    fingerprint varchar not null,
        -- Hash of the SQL that computed it; it changes with the formula, and then the value is stale. 'imported'
        -- if another program computed it.
    program_version varchar not null,
    engine_version varchar not null,
    evaluated_at timestamptz not null,
        -- When it was computed (UTC); the same for all that one command computed together.
    kind varchar not null,
        -- 'metric' if the values are in score and query_score, 'curve' if the points are in curve_point.
    slice_id integer,  -- Key of slice, if the values are of its parts. Null if they are over all queries.
    checksum ubigint
);

/* One row per evaluation of a metric, and part if it is of a slice: the value over all queries. Earlier
   values stay; the views scores and slice_scores have the newest. */
create table store.score (
    evaluation_id integer not null,
    aggregate varchar not null,
    value double,  -- Value over all queries. Null if it is undefined for all of them.
    num_queries integer not null,  -- Number of queries that went into the value: those where it is defined.
    num_answered integer not null,
    num_judged integer not null,
    part varchar  -- Name of the part of the slice. Null if the evaluation is not of a slice.
);

/* One row per evaluation of a metric and query, and part if it is of a slice. Earlier values stay; the views
   query_scores and slice_query_scores have the newest. */
create table store.query_score (
    evaluation_id integer not null,
    query_id varchar not null,
    value double,
    part varchar  -- Name of the part of the slice. Null if the evaluation is not of a slice.
);

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

/* One row per evaluation whose values another program computed. */
create table store.imported_score (
    evaluation_id integer not null,  -- Key of evaluation, in this file.
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    judge varchar,  -- Who or what judged, as it was given: a person, a model. Null if nothing was said.
    checksum ubigint
);

/* One row per computed curve and point, for single queries and for all. Earlier curves stay; the view
   curve_points has the newest. */
create table store.curve_point (
    evaluation_id integer not null,  -- Key of evaluation, whose metric is the name of the curve.
    query_id varchar,  -- Id of the query. Null for the curve over all queries.
    position integer not null,  -- Order of the points along the curve, from 0.
    x double not null,
    y double not null
);

/* One row per version of a slice: a division of a dataset's queries or documents into parts. Of each dataset
   and name the newest version is current. */
create table store.slice (
    slice_id integer not null,  -- Key: one version of a slice.
    dataset_id integer not null,
    name varchar not null,  -- Name of the slice.
    version integer not null,
        -- 1 for the first slice of this name; one more when its expression or its members changed.
    subject varchar not null,  -- What it divides: 'document' or 'query'.
    definition varchar not null,  -- SQL expression whose value is the part.
    content_hash varchar not null,  -- Hash of the expression and the members.
    num_parts integer not null,  -- Number of parts.
    made_at timestamptz not null,  -- When this version was made (UTC).
    program_version varchar not null,
    checksum ubigint
);

/* One row per version of a slice and document or query. */
create table store.slice_member (
    slice_id integer not null,
    subject_id varchar not null,  -- Id of the document or query; slice.subject tells which.
    part varchar not null  -- Name of its part; 'not_included' if the expression is null for it.
);

/* One row per version of a run that was loaded and that no gate has checked yet: `warehouse sync` and
   `warehouse check` with --new do so. */
create table store.gate_due (
    run_id integer not null  -- Key of run.
);

/* One row per check of a version of a run by a gate of warehouse.toml. Nothing is overwritten: of the rows for
   the same run_id, metric, protocol, grouped_by, against and limits, the one with the latest checked_at counts.
   The view gate_versions has names, and says what is red. */
create table store.gate_result (
    run_id integer not null,  -- Key of run, or of forgotten_run: the run that was checked.
    reference_id integer,
        -- Key of run, or of forgotten_run: the run that it was compared with. Null if there was none.
    qrels_id integer not null,
    fingerprint varchar not null,  -- Fingerprint of the value, as in evaluation.
    metric varchar not null,
    protocol varchar not null,
    grouped_by varchar not null,
    against varchar not null,
    limits varchar not null,
    value double,
    reference_value double,
    difference double,  -- Value of the run minus that of the reference, both over all queries.
    p double,
        -- One-sided p-value: how likely so large a drop is if the true one is not
        -- beyond the limit. Null if nothing was tested.
    verdict varchar not null,
        -- 'good', 'worse', 'unchecked', or 'resolved' where a red one has ended, 'ended' where the gate has
        -- changed or is gone.
    why varchar,  -- Which limits were passed, or why the run is unchecked, in words. Null if it is good.
    checked_at timestamptz not null,
    program_version varchar not null,
    checksum ubigint,
    low double,  -- Lower end of the interval of the difference that fits the test. Null if nothing was tested.
    high double,  -- Upper end of this interval. Null if nothing was tested.
    could_see double  -- The drop that the test finds in four of five cases. Null if nothing was tested.
);

/* One row per acceptance of a version of a run although a gate fired (`warehouse gates accept`). */
create table store.gate_acceptance (
    run_id integer not null,  -- Key of run, or of forgotten_run.
    why varchar not null,  -- Why it was accepted, as given with --why.
    accepted_at timestamptz not null,  -- When it was accepted (UTC).
    program_version varchar not null,
    checksum ubigint,
    accepted_by varchar  -- Who accepted it, as user@host. Null if that is not known.
);

/* One row per time that a run was made the baseline of its group (`warehouse gates baseline`); the newest counts. */
create table store.gate_baseline (
    run_id integer not null,  -- Key of run, or of forgotten_run: the version that was named.
    why varchar not null,  -- Why it is the baseline, as given with --why.
    set_by varchar not null,  -- Who made it the baseline, as user@host.
    set_at timestamptz not null,  -- When it was made the baseline (UTC).
    program_version varchar not null,
    checksum ubigint
);

/* One row per content of a run that a gate has spent alpha on. Rows stay when the run is forgotten, or the limits of
   the gate change. */
create table store.gate_place (
    dataset_id integer not null,
    content_hash varchar not null,  -- Hash of the run, as in run.content_hash: copies of a run share a place.
    metric varchar not null,
    protocol varchar not null,
    grouped_by varchar not null,
    against varchar not null,
    place integer not null,  -- 1 for the first content that the gate checked, then 2, 3, …
    alpha double not null,  -- The alpha that was spent on it.
    spent_at timestamptz not null,  -- When it was first checked (UTC).
    program_version varchar not null,
    checksum ubigint
);

/* One row per alert: all that was wrong was given to the command of the project, or nothing was wrong any more. */
create table store.gate_alert (
    told varchar not null,  -- Hash of what was wrong; empty if nothing was.
    told_at timestamptz not null,  -- When the alert was sent (UTC).
    program_version varchar not null,
    checksum ubigint
);

-- Comparisons and merged runs -------------------------------------------------------------------------------

/* One row per stored comparison (`warehouse compare --store`): how the runs were compared. Its pairs are in
   comparison_pair; the view comparisons has both. */
create table store.comparison (
    comparison_id integer not null,  -- Key, in this file.
    dataset_id integer not null,
    qrels_id integer not null,
    protocol varchar not null,
    judged_only boolean not null,
    test varchar not null,
    correction varchar not null,
        -- Correction for many tests, over the family: 'holm', 'bonferroni', 'bh' or 'none'.
    family varchar not null,  -- Which pairs are corrected together: those of a 'metric', or 'all'.
    alpha double not null,
    interval varchar not null,
        -- How the confidence interval of the difference was computed: 't' or 'bootstrap'.
    resamples integer,  -- Number of permutations or bootstrap samples. Null if nothing was resampled.
    seed bigint,  -- Seed of the random numbers. Null if nothing was resampled.
    compared_at timestamptz not null,
    program_version varchar not null,
    engine_version varchar not null,
    checksum ubigint
);

/* One row per stored comparison, metric and pair of runs. */
create table store.comparison_pair (
    comparison_id integer not null,
    metric varchar not null,
    base_id integer not null,  -- Key of run: the version of the run that the other is compared with.
    run_id integer not null,
    base_value double,
    value double,  -- Value of the run over all of its queries.
    difference double,
    low double,
    high double,
    effect_size double,
    wins integer not null,
    ties integer not null,
    losses integer not null,
    queries integer not null,
    left_out integer not null,
    statistic double,
    p double,
    p_adjusted double,
    is_significant boolean
);

/* One row per merged run (`warehouse fuse`): how it was made. The runs that it was made of are in
   fusion_source; the view fused_runs has both. */
create table store.fusion (
    run_id integer not null,  -- Key of run: the merged run.
    method varchar not null,
    normalisation varchar not null,
    queries varchar not null,
        -- 'union' if it has the queries of any of the runs, 'common' if only those of all.
    qrels_id integer,  -- Key of qrels: the version that it was trained or tuned on. Null if it was not.
    num_trained integer,
    is_left_out boolean not null,
    tuned_by varchar,
    protocol varchar,  -- Protocol of the metric in tuned_by. Null if nothing was tuned.
    checksum ubigint
);

/* One row per merged run and run that it was made of, as that was then; it may have been replaced or removed
   since. */
create table store.fusion_source (
    run_id integer not null,  -- Key of fusion: the merged run.
    position integer not null,
    source_run_id integer not null,  -- Key of run, or of forgotten_run: the run that it was made of.
    name varchar not null,  -- Name of that run.
    version integer not null,  -- Version of that run.
    content_hash varchar not null,  -- Hash of that run, as in run.
    weight double
);

/* One row per merged run and query that it was trained or tuned on. Values on these queries flatter the run. */
create table store.fusion_query (
    run_id integer not null,  -- Key of fusion: the merged run.
    query_id varchar not null
);

/* One row per time that the clock of the computer was behind what was stored already. What was stored then has
   times from stored_at on, so that past boards stay as they were. */
create table store.clock_behind (
    stored_at timestamptz not null,  -- The first time that was stored instead (UTC).
    clock_at timestamptz not null,  -- What the clock said (UTC).
    checksum ubigint
);

/* One row per table with checksums that has had rows. Each transaction adds what it has written and takes off what
   it has removed; `warehouse verify` counts again, and so finds rows that were removed or added by others. */
create table store.table_total (
    relation varchar not null,  -- Name of the table.
    num_rows bigint not null,  -- Number of its rows.
    total ubigint not null  -- Sum of their checksums, modulo 2 to the power of 64.
);

-- Below the views for people --------------------------------------------------------------------------------

/* Number by which what was stored last is the highest; of equal times, the content decides, the same in any file. */
create macro store.recency (stored_at, content_hash) as
    (epoch_us(stored_at)::hugeint << 64) + hash(content_hash);

/* One row per version of a run, query and document in the list, as loaded: the rows of prediction_by_text and
   prediction_by_number. The view predictions has names and ranks as well. */
create view store.prediction as
select
    run_id, query_id, doc_id, score,
    rowid as position  -- Number that orders the rows of one run as its source does.
from store.prediction_by_text
union all
select run_id, query_id, doc_id::varchar, score, rowid
from store.prediction_by_number;

/* One row per version of a run, with the name of its dataset, and whether it is the current one. */
create view store.run_version as
select
    run_id, dataset_id, dataset.name as dataset, run.name as run, version as run_version, system,
    lower_is_better, run_at, ingested_at,
    row_number() over newest_first = 1 as is_current  -- Whether this is the newest version of the run.
from store.run
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id, run.name order by store.recency(ingested_at, content_hash) desc);

/* One row per version of a dataset's qrels, with the name of the dataset, and whether it is the current one. */
create view store.qrels_version as
select
    qrels_id, dataset_id, dataset.name as dataset, version as qrels_version,
    qrels_judge.qrels_id is null and row_number() over newest_first = 1 as is_current
        -- Whether this is the newest version of the dataset's qrels, those of one judge aside.
from store.qrels
join store.dataset using (dataset_id)
left join store.qrels_judge using (qrels_id)
window newest_first as (
    partition by dataset_id, qrels_judge.qrels_id is null order by store.recency(ingested_at, content_hash) desc
);

/* One row per version of the qrels that has the judgments of one judge, and whether it is the newest of this judge.
   */
create view store.judge_version as
select
    qrels_id, dataset_id, dataset.name as dataset,
    judge,  -- Name of the judge, as given with --judge, or by a column of the source.
    version as qrels_version,
    row_number() over newest_first = 1 as is_newest  -- Whether this is the judge's newest version.
from store.qrels_judge
join store.qrels using (qrels_id)
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id, judge order by store.recency(ingested_at, content_hash) desc);

/* One row per version of a dataset's training set, and whether it is the current one. */
create view store.training_version as
select
    training_id, dataset_id, dataset.name as dataset,
    version as training_version,  -- Version of the dataset's training set.
    row_number() over newest_first = 1 as is_current  -- Whether this is the newest version of the training set.
from store.training
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id order by store.recency(ingested_at, content_hash) desc);

/* One row per version of a table of attributes, and whether it is the current one. */
create view store.attribute_set_version as
select
    attribute_set_id, dataset_id, dataset.name as dataset,
    subject,  -- What has the attributes: 'document' or 'query'.
    attribute_set.name as set_name,  -- Name of the table of attributes.
    row_number() over newest_first = 1 as is_current  -- Whether this is the newest version of the table of attributes.
from store.attribute_set
join store.dataset using (dataset_id)
window newest_first as (
    partition by dataset_id, subject, attribute_set.name order by store.recency(ingested_at, content_hash) desc
);

/* One row per version of a table of texts, and whether it is the current one. */
create view store.text_set_version as
select
    text_set_id, dataset_id, dataset.name as dataset,
    subject,  -- What the texts are of: 'document' or 'query'.
    text_set.name as set_name,  -- Name of the table of texts.
    version,  -- Version of the table of texts.
    store.recency(ingested_at, content_hash) as recency,  -- Of two tables of texts, the newer one has more.
    row_number() over newest_first = 1 as is_current  -- Whether this is the newest version of the table of texts.
from store.text_set
join store.dataset using (dataset_id)
window newest_first as (
    partition by dataset_id, subject, text_set.name order by store.recency(ingested_at, content_hash) desc
);

/* One row per version of a dataset's nuggets, and whether it is the current one. */
create view store.nugget_set_version as
select
    nugget_set_id,  -- Key of nugget_set, in this file.
    dataset_id, dataset.name as dataset,
    row_number() over newest_first = 1 as is_current  -- Whether these are the newest nuggets of the dataset.
from store.nugget_set
join store.dataset using (dataset_id)
window newest_first as (partition by dataset_id order by store.recency(ingested_at, nugget_set.content_hash) desc);

/* One row per assessment, and whether it is the current one of its run and judge. */
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
    assessment_id,  -- Key of assessment, in this file.
    run_id,
    kind,  -- 'assignments' of nuggets, or 'citations'.
    judge,  -- Who or what judged: a person, a model. Null if nothing was said.
    ordered.nugget_set_id,  -- Key of nugget_set: the nuggets assigned. Null for citations.
    ingested_at,
    ordered.content_hash,  -- Hash of the content, by which equal content is recognised.
    is_newest and coalesce(nugget_set_version.is_current, kind = 'citations') as is_current
        -- Whether this is the newest, for the current nuggets.
from ordered
left join store.nugget_set_version using (nugget_set_id);

/* One row per version of a run, version of the qrels, metric or curve, protocol, and slice if any: the newest
   evaluation. */
create view store.newest_evaluation as
with
newest as (
    select evaluation_id, run_id, qrels_id, kind, metric, protocol, slice_id, direction, evaluated_at
    from store.evaluation
    qualify row_number() over (
        partition by run_id, qrels_id, kind, metric, protocol, slice_id
        order by store.recency(evaluated_at, content_hash) desc
    ) = 1
)
select
    run_version.dataset, run_version.run, run_version.run_version, run_version.system,
    qrels_version.qrels_version,
    kind,  -- 'metric' or 'curve', as in evaluation.
    metric, protocol,
    slice_id,  -- Key of slice, in this file. Null if the values are over all queries.
    direction,
    run_version.is_current and qrels_version.is_current as is_current,
    evaluated_at, run_version.run_at, run_version.ingested_at, run_id, qrels_id, evaluation_id
from newest
join store.run_version using (run_id)
join store.qrels_version using (qrels_id);

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

/* One row if one warehouse is attached; an error if there are several: a macro reads the current database, which need
   not be its own. */
create view store.only_warehouse as
select
    case
        when count(*) > 1
            then error('Several warehouses are attached, and a macro cannot tell which one is meant. Ask a view, as in '
                || 'from NAME.score_times or NAME.query_scores, or detach the others.')
        else true
    end as is_only  -- True.
from duckdb_views()
where schema_name = 'store' and view_name = 'only_warehouse';
