"""The comments of all tables, views and columns, anew: which rows there are, keys, nulls, units, how to join.

All of them are here: what earlier migrations said is replaced.
"""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"

# Columns that mean the same wherever they are; a relation's own text comes before these.
COLUMNS: dict[str, str] = {
    "aggregate": "How the values of the queries were combined: 'mean', 'sum', 'pooled' and others.",
    "alpha": "Level of significance, as in 0.05.",
    "attribute": "Name of the attribute: the column's name in the source.",
    "attribute_set_id": "Key of attribute_set.",
    "base": "Name of the run that the other run is compared with.",
    "base_value": "Value of the base over all of its queries.",
    "base_version": "Version of the base.",
    "compared_at": "When the comparison was computed (UTC).",
    "comparison_id": "Key of comparison.",
    "curve": "Name of the curve with its parameters, as in ROC(rel=2).",
    "dataset": "Name of the dataset.",
    "dataset_id": "Key of dataset.",
    "difference": "Mean difference, value of the run minus that of the base, over the queries where both have a value.",
    "direction": "Whether 'higher' or 'lower' values are better; 'none' if neither is.",
    "doc_id": "Id of the document.",
    "effect_size": "Cohen's d of the pairs: the difference divided by its standard deviation over the queries. Null if "
    "undefined.",
    "engine_version": "Version of DuckDB that computed it.",
    "evaluated_at": "When the value was computed (UTC).",
    "evaluation_id": "Key of evaluation; join by it for the fingerprint and the versions of the programs.",
    "format": "Format in which it was read, such as 'trec' or 'csv'.",
    "high": "Upper end of the confidence interval of the difference, at level 1 - alpha. Null if undefined.",
    "ingested_at": "When it was loaded (UTC).",
    "is_current": "Whether neither the run nor the qrels have been replaced by a newer version.",
    "is_left_out": "Whether the queries that it was trained or tuned on were left out of the merged run.",
    "is_significant": "Whether p_adjusted is below alpha. Null if undefined.",
    "iteration": "Second column of TREC qrels: a subtopic or judgment group if qrels.kind is 'iterations', else mostly '0'.",
    "judged_only": "Whether unjudged documents were removed from the lists first; the values then differ from those in "
    "run_scores.",
    "label": "Label given with --label. Null if none was given.",
    "left_out": "Number of queries left out because the value of one of the two is undefined or missing.",
    "losses": "Number of queries where the base is better.",
    "low": "Lower end of the confidence interval of the difference, at level 1 - alpha. Null if undefined.",
    "method": "Fusion method with all of its parameters, as in rrf(k=60).",
    "metric": "Name of the metric with its parameters, as in nDCG@10 or P(rel=2)@5; write it exactly so.",
    "normalisation": "How the scores of each list were made comparable before merging; 'none' if they were not.",
    "normalise": "SQL expression that rewrote the document ids (--normalise). Null if none was given.",
    "num_answered": "Number of judged queries for which the run has at least one document.",
    "num_judged": "Number of judged queries.",
    "num_predictions": "Number of rows: the documents of all of the run's lists.",
    "num_trained": "Number of queries that it was trained or tuned on. Null if it was not.",
    "p": "Two-sided p-value before the correction: how likely a difference at least as large is if the runs do not "
    "differ. Null if undefined.",
    "p_adjusted": "p after the correction for all pairs and metrics of the comparison. Null if undefined.",
    "part": "Name of the part, as text; 'not_included' has the members for which the expression is null.",
    "position": "Order in which the runs were named, from 1.",
    "program_version": "Version of the warehouse program that wrote this row.",
    "protocol": "Name of the protocol: tie rule, score precision, depth, which queries count. Compare values of one protocol "
    "only.",
    "qrels_id": "Key of qrels: one version of a dataset's qrels.",
    "qrels_version": "Version of the dataset's qrels.",
    "queries": "Number of queries where both have a value.",
    "query_id": "Id of the query.",
    "relevance": "Grade of relevance. 1 and above is relevant, unless a metric sets rel; 0 and below is not.",
    "run": "Name of the run.",
    "run_at": "When the experiment was run (UTC), as given when it was loaded; else when that was.",
    "run_id": "Key of run: one version of a run.",
    "run_version": "Version of the run.",
    "score": "Score as given in the source. Higher is better, unless run.lower_is_better.",
    "slice": "Name of the slice.",
    "slice_id": "Key of slice: one version of a slice.",
    "slice_version": "Version of the slice.",
    "source": "Where it came from: a path, a URI, <stdin> or a kind of Python object.",
    "source_sha256": "SHA-256 of the file's content, decompressed. Null if the source is not a file.",
    "statistic": "Statistic of the test. Null if it has none, or it is undefined.",
    "system": "Name of the system that made the run. Null if none was given.",
    "test": "Test: 't', 'wilcoxon', 'sign', 'randomisation' or 'tukey'; all are two-sided.",
    "ties": "Number of queries where the two values are equal.",
    "training_id": "Key of training: one version of a dataset's training set.",
    "tuned_by": "Metric by which parameters or weights were chosen. Null if they were not tuned.",
    "value": "Value of the metric. Null if it is undefined.",
    "weight": "Weight of that run. Null if the method has no weights.",
    "wins": "Number of queries where the run is better.",
    "x": "Horizontal coordinate, as in a recall or a rank; `warehouse curves show` names it.",
    "y": "Vertical coordinate.",
}

# What a row of each view is, and what columns mean that COLUMNS lacks or that differ there.
VIEWS: dict[str, str] = {
    "leaderboard": "One row per dataset, metric, protocol and current run that has a value against the current qrels. A run that"
    " is not evaluated against them yet is missing (`warehouse status`). Values of slices are in slice_scores, "
    "replaced versions and earlier qrels in run_scores.",
    "leaderboard.place": "Place among the runs of the dataset, metric and protocol: 1 is the best; equal values share a place, "
    "undefined ones come last. If direction is 'none', 1 is the highest.",
    "run_scores": "One row per version of a run, version of the qrels, metric and protocol: the newest value over all queries. "
    "Where is_current, run and qrels are the newest versions. Earlier values are in score.",
    "run_scores.num_queries": "Number of queries that went into the value: those where it is defined.",
    "query_scores": "One row per version of a run, version of the qrels, metric, protocol and query: the newest value of the "
    "query. The protocol default has a row for each judged query, also where the run has no documents; other "
    "protocols may have fewer or more. A metric of all lists together, such as Coverage, has none.",
    "runs": "One row per current run, evaluated or not. Replaced versions are in the table run, removed runs in "
    "forgotten_run.",
    "runs.version": "Version of the run; elsewhere run_version.",
    "runs.source": "Where the run came from: a path, a URI, <stdin> or a kind of Python object; of a merged run, its method and runs.",
    "runs.tags": "Tags as a map: tags['stage'] is the value of the tag stage, or null. Null if the run has no tags.",
    "runs.num_queries": "Number of queries for which the run has at least one document.",
    "runs.ingested_at": "When the run was loaded (UTC).",
    "judgments": "One row per judgment in each version of a dataset's qrels: the relevance of a document for a query; one row "
    "per iteration as well if the qrels were loaded with --iterations. Preferences are in the table preference.",
    "judgments.is_current": "Whether this is the newest version of the dataset's qrels.",
    "rankings": "One row per version of a run, query and document in the list, with its rank under the protocol default, and "
    "its relevance. This view is large and ranks when it is read: filter by run, query_id or both. The table "
    "ranking has the lengths of the lists.",
    "rankings.rank": "Rank in the list, from 1: by score; equal scores by document id, descending in byte order.",
    "rankings.relevance": "Grade in the current qrels, the highest if there are several. Null if the document is unjudged.",
    "rankings.is_current": "Whether this is the newest version of the run.",
    "history": "One row per version of a run, version of the qrels, metric and protocol, with the best value so far. Steps "
    "are in the order of run_at and start anew for each dataset, version of the qrels, metric and protocol. "
    "Removed runs are missing.",
    "history.step": "1 for the earliest run, then 2, 3, …",
    "history.best_so_far": "Best value up to this step. Null if direction is 'none', or no value is defined yet.",
    "history.is_record": "Whether the value is better than all earlier ones; the first one counts, a tie does not.",
    "fused_runs": "One row per merged run and run that it was made of. The queries that it was trained or tuned on are in "
    "fusion_query.",
    "fused_runs.run": "Name of the merged run.",
    "fused_runs.run_version": "Version of the merged run.",
    "fused_runs.run_id": "Key of run: the merged run.",
    "fused_runs.queries": "'union' if it has the queries of any of the runs, 'common' if only those of all.",
    "fused_runs.source": "Name of the run that it was made of.",
    "fused_runs.source_version": "Version of that run.",
    "fused_runs.source_is_current": "Whether that version is still the newest one; false if it was replaced or removed.",
    "fused_runs.is_current": "Whether this is the newest version of the merged run.",
    "slice_scores": "One row per version of a run, version of the qrels, metric, protocol, version of a slice and part: the "
    "newest value over the part. Values over all queries are in run_scores.",
    "slice_scores.subject": "What the slice divides: 'document' or 'query'.",
    "slice_scores.num_queries": "Number of queries that went into the value: those of the part where it is defined.",
    "slice_scores.num_answered": "Number of queries judged in the part for which the run has at least one document there.",
    "slice_scores.num_judged": "Number of queries judged in the part.",
    "slice_scores.is_current": "Whether run, qrels and slice have not been replaced by a newer version.",
    "slice_query_scores": "One row per version of a run, version of the qrels, metric, protocol, version of a slice, part and query: "
    "the newest value of the query in the part.",
    "slice_query_scores.is_current": "Whether run, qrels and slice have not been replaced by a newer version.",
    "curve_points": "One row per version of a run, version of the qrels, curve, protocol, query and point: the newest curve. The "
    "curve over all queries is where query_id is null.",
    "curve_points.query_id": "Id of the query. Null for the curve over all queries.",
    "curve_points.position": "Order of the points along the curve, from 0.",
    "curve_points.evaluated_at": "When the curve was computed (UTC).",
    "comparisons": "One row per stored comparison, metric and pair of runs (`warehouse compare --store`). A pair that was "
    "compared again has several rows: choose by comparison_id or compared_at.",
    "comparisons.comparison_id": "Key of comparison, which also has the kind of interval, resamples and seed; later ones are higher.",
    "comparisons.value": "Value of the run over all of its queries.",
    "comparisons.correction": "Correction for many tests, over all pairs and metrics of the comparison: 'holm', 'bonferroni', 'bh' or "
    "'none'.",
    "comparisons.is_current": "Whether neither of the two runs nor the qrels have been replaced by a newer version.",
    "prediction": "One row per version of a run, query and document in the list, as loaded: the rows of prediction_by_text and "
    "prediction_by_number. The view rankings has names and ranks as well.",
    "prediction.position": "Number that orders the rows of one run as its source does.",
}

# The same of the tables.
TABLES: dict[str, str] = {
    "alembic_version": "One row: the version of this schema.",
    "alembic_version.version_num": "Number of the newest migration that this file has had.",
    "attribute": "One row per document or query and value of an attribute; one per element if the value is a list, none if it "
    "is empty.",
    "attribute.subject_id": "Id of the document or query; attribute_set.subject tells which.",
    "attribute.position": "Position in the list, from 1; 1 if the value is not a list.",
    "attribute.text": "The value as text.",
    "attribute.number": "The value as a number. Null if it is not one.",
    "attribute_column": "One row per attribute of a loaded table of attributes.",
    "attribute_column.type": "Type: 'number', 'text', 'boolean', 'date' or 'list'.",
    "attribute_set": "One row per version of a table of attributes of a dataset's documents or queries. Of each dataset, subject "
    "and name the highest version is current.",
    "attribute_set.attribute_set_id": "Key: one version of a table of attributes.",
    "attribute_set.subject": "What has the attributes: 'document' or 'query'.",
    "attribute_set.name": "Name of the table of attributes.",
    "attribute_set.version": "1 for the first table of this name, then 2, 3, …",
    "attribute_set.content_hash": "Hash of the attributes; the same for any order and format.",
    "attribute_set.num_subjects": "Number of documents or queries.",
    "comparison": "One row per stored comparison (`warehouse compare --store`): how the runs were compared. Its pairs are in "
    "comparison_pair; the view comparisons has both.",
    "comparison.comparison_id": "Key; later ones are higher.",
    "comparison.correction": "Correction for many tests, over all pairs and metrics: 'holm', 'bonferroni', 'bh' or 'none'.",
    "comparison.interval": "How the confidence interval of the difference was computed: 't' or 'bootstrap'.",
    "comparison.resamples": "Number of permutations or bootstrap samples. Null if nothing was resampled.",
    "comparison.seed": "Seed of the random numbers. Null if nothing was resampled.",
    "comparison_pair": "One row per stored comparison, metric and pair of runs.",
    "comparison_pair.base_id": "Key of run: the version of the run that the other is compared with.",
    "comparison_pair.value": "Value of the run over all of its queries.",
    "curve_point": "One row per computed curve and point, for single queries and for all. Earlier curves stay; the view "
    "curve_points has the newest.",
    "curve_point.evaluation_id": "Key of evaluation, whose metric is the name of the curve.",
    "curve_point.query_id": "Id of the query. Null for the curve over all queries.",
    "curve_point.position": "Order of the points along the curve, from 0.",
    "dataset": "One row per dataset: queries with their qrels, and the runs that are compared on them.",
    "dataset.dataset_id": "Key.",
    "dataset.name": "Name of the dataset, unique.",
    "dataset.created_at": "When something was first loaded into it (UTC).",
    "evaluation": "One row per computation of a metric or curve, for one version of a run and one of the qrels. Nothing is "
    "overwritten: of the rows for the same run_id, qrels_id, metric, protocol, kind and slice_id, the one with "
    "the highest evaluation_id counts; as of a past day, the highest among those with evaluated_at up to then.",
    "evaluation.evaluation_id": "Key; later ones are higher.",
    "evaluation.metric": "Name of the metric, or of the curve, with its parameters.",
    "evaluation.fingerprint": "Hash of the SQL that computed it; it changes with the formula, and then the value is stale.",
    "evaluation.evaluated_at": "When it was computed (UTC); the same for all that one command computed together.",
    "evaluation.kind": "'metric' if the values are in score and query_score, 'curve' if the points are in curve_point.",
    "evaluation.slice_id": "Key of slice, if the values are of its parts. Null if they are over all queries.",
    "example": "One row per training set, query and document: what a system was trained on, or what a user had seen before.",
    "example.query_id": "Id of the training query, such as a user or an instance.",
    "example.doc_id": "Id of the document, such as an item or a label.",
    "example.relevance": "Grade of relevance; 1 and above is relevant.",
    "forgotten_run": "One row per version of a run that was removed (`warehouse forget`). Its predictions, hits and values are "
    "gone; its tags are still in run_tag.",
    "forgotten_run.run_id": "Key that the run had; it is not used again.",
    "forgotten_run.version": "Version that the run had; it is not used again.",
    "forgotten_run.forgotten_at": "When the run was removed (UTC).",
    "forgotten_run.reason": "Why, as given with --reason. Null if it was not given.",
    "fusion": "One row per merged run (`warehouse fuse`): how it was made. The runs that it was made of are in "
    "fusion_source; the view fused_runs has both.",
    "fusion.run_id": "Key of run: the merged run.",
    "fusion.queries": "'union' if it has the queries of any of the runs, 'common' if only those of all.",
    "fusion.qrels_id": "Key of qrels: the version that it was trained or tuned on. Null if it was not.",
    "fusion.protocol": "Protocol of the metric in tuned_by. Null if nothing was tuned.",
    "fusion_query": "One row per merged run and query that it was trained or tuned on. Values on these queries flatter the run.",
    "fusion_query.run_id": "Key of fusion: the merged run.",
    "fusion_source": "One row per merged run and run that it was made of, as that was then; it may have been replaced or removed "
    "since.",
    "fusion_source.run_id": "Key of fusion: the merged run.",
    "fusion_source.source_run_id": "Key of run, or of forgotten_run: the run that it was made of.",
    "fusion_source.name": "Name of that run.",
    "fusion_source.version": "Version of that run.",
    "fusion_source.content_hash": "Hash of that run's predictions.",
    "gate_due": "One row per dataset and protocol with new values whose gates the next `warehouse sync` has to check; mostly "
    "empty.",
    "hit": "One row per version of a run, version of the qrels, ordering, query and judged document in the list. Metrics"
    " are computed from these; a judged document without a row was not retrieved.",
    "hit.ordering": "Score precision and tie rule of the rank, as in 'double/doc_desc'; a run has rows for each in use.",
    "hit.relevance": "Grade in these qrels, the highest if there are several.",
    "hit.rank": "Rank in the whole list, from 1; unjudged documents count.",
    "hit.rel_so_far": "Number of documents of relevance 1 and above up to this rank, this one included.",
    "hit.nonrel_so_far": "Number of documents of relevance 0 up to this rank, this one included.",
    "hit_set": "One row per version of a run, version of the qrels and ordering whose hits are stored.",
    "hit_set.ordering": "Score precision and tie rule of the ranks, as in 'double/doc_desc'.",
    "hit_set.num_hits": "Number of rows in hit.",
    "judgment": "One row per version of the qrels, query and document; one per iteration as well if qrels.kind is "
    "'iterations'. The view judgments has names and is_current.",
    "prediction_by_number": "One row per query and document of the runs whose document ids are all whole numbers. The view prediction has"
    " these and the other runs.",
    "prediction_by_number.doc_id": "Id of the document, stored as a number.",
    "prediction_by_text": "One row per query and document of the runs with a document id that is not a whole number. The view "
    "prediction has these and the other runs.",
    "preference": "One row per version of the qrels, query, group, subgroup and document, for qrels of kind 'preferences': "
    "within a subgroup, documents of a higher level are preferred to those of a lower one.",
    "preference.judgment_group": "Group: what one person judged.",
    "preference.judgment_subgroup": "Subgroup of documents that were judged together.",
    "preference.level": "Level of the document; only the order within the subgroup counts.",
    "qrels": "One row per version of a dataset's qrels (judgments or preferences). The highest version of a dataset is "
    "current; the earlier ones stay.",
    "qrels.qrels_id": "Key: one version of a dataset's qrels.",
    "qrels.version": "1 for the first qrels of the dataset, then 2, 3, …; elsewhere qrels_version.",
    "qrels.content_hash": "Hash of the judgments; the same for any order and format.",
    "qrels.num_queries": "Number of judged queries.",
    "qrels.num_judgments": "Number of rows in judgment, or in preference.",
    "qrels.kind": "'judgments': one per query and document; 'iterations': one per query, document and iteration; 'preferences':"
    " rows of the table preference.",
    "query_score": "One row per evaluation of a metric and query, and part if it is of a slice. Earlier values stay; the views "
    "query_scores and slice_query_scores have the newest.",
    "query_score.part": "Name of the part of the slice. Null if the evaluation is not of a slice.",
    "ranking": "One row per version of a run and query that it has documents for. A judged query without a row was not "
    "answered.",
    "ranking.num_ret": "Number of documents in the list.",
    "run": "One row per version of a run. Of each dataset and name the highest version is current; the earlier ones "
    "stay. The view runs has the current ones, with their tags.",
    "run.name": "Name of the run; one name has several rows if it was replaced.",
    "run.version": "1 for the first run of this name in the dataset, then 2, 3, …; the highest one in this table is current.",
    "run.content_hash": "Hash of the predictions; the same for any order and format.",
    "run.trec_tag": "Tag in the last line of a TREC file. Null for other formats.",
    "run.source": "Where the run came from: a path, a URI, <stdin> or a kind of Python object; of a merged run, its method and runs.",
    "run.ranked_by": "'score', or 'rank' if the source has no scores: then prediction.score is the rank.",
    "run.lower_is_better": "Whether low scores are good, as for distances and ranks.",
    "run.num_queries": "Number of queries for which the run has at least one document.",
    "run.ingested_at": "When the run was loaded (UTC).",
    "run.run_id": "Key: one version of a run; later ones are higher.",
    "run_tag": "One row per run and tag. The view runs has them as a map.",
    "run_tag.run_id": "Key of run, or of forgotten_run.",
    "run_tag.key": "Name of the tag.",
    "run_tag.value": "Value of the tag, as text.",
    "score": "One row per evaluation of a metric, and part if it is of a slice: the value over all queries. Earlier values"
    " stay; the views run_scores and slice_scores have the newest.",
    "score.value": "Value over all queries. Null if it is undefined for all of them.",
    "score.num_queries": "Number of queries that went into the value: those where it is defined.",
    "score.part": "Name of the part of the slice. Null if the evaluation is not of a slice.",
    "slice": "One row per version of a slice: a division of a dataset's queries or documents into parts. Of each dataset "
    "and name the highest version is current.",
    "slice.slice_id": "Key: one version of a slice.",
    "slice.name": "Name of the slice.",
    "slice.version": "1 for the first slice of this name; one more when its expression or its members changed.",
    "slice.subject": "What it divides: 'document' or 'query'.",
    "slice.definition": "SQL expression whose value is the part.",
    "slice.content_hash": "Hash of the expression and the members.",
    "slice.num_parts": "Number of parts.",
    "slice.made_at": "When this version was made (UTC).",
    "slice_member": "One row per version of a slice and document or query.",
    "slice_member.subject_id": "Id of the document or query; slice.subject tells which.",
    "slice_member.part": "Name of its part; 'not_included' if the expression is null for it.",
    "source_file": "One row per dataset, kind and file that `warehouse sync` has read, so that it reads only what has changed.",
    "source_file.kind": "What the file has: 'run', 'qrels', 'training', or attributes of 'docs' or of 'queries'.",
    "source_file.path": "Absolute path of the file.",
    "source_file.name": "Name of the run or of the attributes; for other kinds, of the dataset.",
    "source_file.size": "Size of the file in bytes, when it was read.",
    "source_file.mtime_ns": "Modification time of the file, in nanoseconds since 1970-01-01 UTC, when it was read.",
    "source_file.settings": "Settings from warehouse.toml, the path and the sidecar, as JSON.",
    "source_file.run_id": "Key of run: what was loaded from the file. Null for other kinds, and for removed runs.",
    "source_file.taken_at": "When the file was read (UTC).",
    "training": "One row per version of a dataset's training set. The highest version of a dataset is current.",
    "training.training_id": "Key: one version of a dataset's training set.",
    "training.version": "1 for the first training set of the dataset, then 2, 3, …",
    "training.content_hash": "Hash of the examples; the same for any order and format.",
    "training.num_queries": "Number of training queries, such as users or instances.",
    "training.num_examples": "Number of rows in example.",
}

# A table that has the columns of another, with their meaning.
LIKE = {"forgotten_run": "run"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    own = VIEWS | TABLES
    said = {f'view "{name}"': text for name, text in VIEWS.items() if "." not in name}
    said |= {f'table "{name}"': text for name, text in TABLES.items() if "." not in name}
    for relation, column in execute(
        "select table_name, column_name from duckdb_columns() "
        "where database_name = current_database() and not internal"
    ).fetchall():
        text = own.get(f"{relation}.{column}") or own.get(f"{LIKE.get(relation)}.{column}")
        said[f'column "{relation}"."{column}"'] = text or COLUMNS[column]
    for what, text in said.items():
        execute(f"comment on {what} is {_quoted(text)}")


def downgrade() -> None:
    """Go back; the comments stay, because they say of the older schema what they say of this one."""
