"""Judgments of persons, language models and crowd workers: of documents, and of answers.

Each judge of documents has a version of the qrels: it is loaded, compared with others, made into qrels,
and corrects the board of another judge. Of answers, judges say which nuggets they state, and whether
their citations support them; metrics read this.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from warehouse.analyze import run_choice
    from warehouse.extensions.answers.assessments import LoadedAssessments, LoadedNuggets
    from warehouse.extensions.answers.comparisons import Found
    from warehouse.ingest.steps import Loaded
    from warehouse.metrics.notation import Metrics
    from warehouse.report.result import Result
    from warehouse.warehouse import Names, Warehouse

# The functions import what they need: the command line's help does not wait for DuckDB.
_DEFAULT = "default"


def ingest_nuggets(
    warehouse: Warehouse,
    dataset: str | None = None,
    source: object = None,
    *,
    replace: bool = False,
) -> LoadedNuggets:
    """Load the nuggets of queries: the facts that an answer should state.

    `source` is a file of JSON Lines as nuggetizer writes them, a rubric of TREC DRAGUN, a table with
    the columns `query_id, nugget_id, text, importance, weight, part`, or a list of dicts. Raises
    ConflictError if the dataset has other nuggets, unless `replace` puts these in their place.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> nuggets = [{"text": "Owls fly.", "importance": "vital"},
    ...            {"text": "Owls hoot.", "importance": "okay"}]
    >>> ingest_nuggets(wh, "tiny", [{"qid": "q1", "nuggets": nuggets}]).num_nuggets
    2
    """
    from warehouse.extensions.answers import assessments

    return warehouse.load(
        dataset, source,
        lambda con, chosen: assessments.stage_nuggets(con, source, chosen, replace=replace),
    )  # fmt: skip


def ingest_assignments(
    warehouse: Warehouse,
    dataset: str | None = None,
    source: object = None,
    *,
    name: str | None = None,
    judge: str | None = None,
    replace: bool = False,
) -> LoadedAssessments:
    """Load which nuggets the answers of runs state, as a judge assigned them.

    `source` is a file of JSON Lines as nuggetizer writes them, a table with the columns `run,
    query_id, nugget_id` or `text`, and `assignment`, or a list of dicts. What names no run is of the
    run `name`, or of the run that is called as the file. Each answer has an assignment for every
    nugget of its query. Raises ConflictError if other assignments by the judge are there, unless
    `replace` puts these in their place.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="first")
    >>> nuggets = [{"text": "Owls fly.", "importance": "vital", "assignment": "support"},
    ...            {"text": "Owls hoot.", "importance": "okay", "assignment": "partial_support"}]
    >>> lines = [{"qid": "q1", "run_id": "first", "nuggets": nuggets}]
    >>> _ = ingest_nuggets(wh, "tiny", lines)
    >>> _ = ingest_assignments(wh, "tiny", lines, judge="human")
    >>> wh.leaderboard("tiny", metrics="NuggetScore(judge=human)").fetchall()
    [(1, 'first', None, 0.75, 1, 1)]
    """
    return _ingest_assessments(
        warehouse, dataset, source, "assignments", name=name, judge=judge, replace=replace
    )


def ingest_citations(
    warehouse: Warehouse,
    dataset: str | None = None,
    source: object = None,
    *,
    name: str | None = None,
    judge: str | None = None,
    replace: bool = False,
) -> LoadedAssessments:
    """Load whether the documents that answers cite support their sentences, as a judge says.

    `source` is a file of TREC RAG's support evaluation, a table with the columns `run, query_id,
    sentence, doc_id, support`, or a list of dicts; a sentence that cites nothing has a row without a
    document. The rest is as in `ingest_assignments`.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="first")
    >>> rows = [{"query_id": "q1", "sentence": 1, "doc_id": "a", "support": "support"},
    ...         {"query_id": "q1", "sentence": 2}]
    >>> _ = ingest_citations(wh, "tiny", rows, name="first")
    >>> wh.leaderboard("tiny", metrics="CitationPrecision CitationRecall").fetchall()
    [(1, 'first', None, 1.0, 0.5, 1, 1)]
    """
    return _ingest_assessments(
        warehouse, dataset, source, "citations", name=name, judge=judge, replace=replace
    )


def _ingest_assessments(
    warehouse: Warehouse,
    dataset: str | None,
    source: object,
    kind: Literal["assignments", "citations"],
    **how: Any,
) -> LoadedAssessments:
    from warehouse.extensions.answers import assessments

    return warehouse.load(
        dataset, source,
        lambda con, chosen: assessments.stage_assessments(con, source, chosen, kind, **how),
    )  # fmt: skip


def ingest_judgments(
    warehouse: Warehouse,
    dataset: str | None = None,
    source: object = None,
    *,
    judge: str | None = None,
    by: str | None = None,
    kind: str | None = None,
    model: str | None = None,
    prompt: str | None = None,
    label: str | None = None,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    relevance: str | None = None,
    normalise: str | None = None,
    where: str | None = None,
    repeated: str | None = None,
    replace: bool = False,
) -> list[Loaded]:
    """Load judgments of a named judge, or of several, and return the outcome for each.

    Sources, errors and the other arguments are as in `ingest_qrels`. `judge` names who judged;
    or `by` is the column that names the judge of each row, and a document may have a judgment of
    each. `kind` is "human", "llm" (the default if `model` or `prompt` are given) or "crowd".

    The judgments of a judge are a version of the qrels that is never current, so that they change
    no board: `judges_agree`, `judges_swap` and `judges_correct` read the newest of each judge,
    and `combine_judges` makes qrels of them. `leaderboard(qrels=…)` and `evaluate(qrels=…)` take
    their versions too. Other judgments of the same judge need `replace`.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> rows = [("ann", "q", "a", 1), ("ann", "q", "b", 0), ("ben", "q", "a", 1)]
    >>> names = ("worker", "query_id", "doc_id", "relevance")
    >>> table = [dict(zip(names, row)) for row in rows]
    >>> loaded = ingest_judgments(wh, "tiny", table, by="worker", kind="crowd")
    >>> [(one.name, one.num_rows) for one in loaded]
    [('ann', 2), ('ben', 1)]
    """
    from warehouse.extensions.answers.judgments import stage_judgments

    return warehouse.load(
        dataset, source,
        lambda con, name: stage_judgments(
            con, source, name,
            judge=judge, by=by, kind=kind, model=model, prompt=prompt, label=label,
            format=format, columns=columns, relevance=relevance, normalise=normalise,
            where=where, repeated=repeated, replace=replace,
        ),
    )  # fmt: skip


def combine_judges(
    warehouse: Warehouse,
    dataset: str | None = None,
    judges: Names = (),
    *,
    rule: str = "majority",
    label: str | None = None,
    replace: bool = False,
) -> Loaded:
    """Make qrels of the newest judgments of some `judges` (default: all), and store them.

    Of several judgments of a document, the `rule` makes one: "majority" (of grades that equally
    many judges gave, the lowest), "mean", "median", "max" or "min". The name "qrels" stands for
    the current qrels. The result is a version of the qrels like any other and becomes the current
    one; if the dataset has qrels, this needs `replace`.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> for name, grade in (("ann", 2), ("ben", 2), ("gpt", 0)):
    ...     _ = ingest_judgments(wh, "tiny", {"q": {"a": grade}}, judge=name)
    >>> combine_judges(wh, "tiny").version
    4
    >>> wh.query("select relevance from qrels").fetchall()
    [(2.0,)]
    """
    from warehouse.extensions.answers.judgments import combine
    from warehouse.store import datasets

    with warehouse.file.transaction() as con:
        name = datasets.chosen(con, dataset)
        return combine(con, name, judges, rule=rule, label=label, replace=replace)


def judges(warehouse: Warehouse, dataset: str | None = None, *, level: float = 1) -> Result:
    """Return the judges of one dataset or of all, with their newest judgments.

    Columns: `dataset, judge, kind, model, prompt, version, queries, judgments, relevant,
    ingested_at, source`. A judgment is `relevant` from `level` on.
    """
    from warehouse.extensions.answers import comparisons
    from warehouse.report import presentation

    with warehouse.file.read() as con:
        return presentation.listed(
            comparisons.listed(con, dataset, level),
            "no judges yet: warehouse judgments load FILE --judge NAME -d DATASET",
            {"ingested_at": "loaded"},
        )


def judges_agree(
    warehouse: Warehouse, dataset: str | None = None, judges: Names = (), *, level: float = 1
) -> Result:
    """Measure how far judges agree on the documents that both of them judged.

    Columns, for every two `judges` (default: all; "qrels" is the current qrels): `judge, other,
    common` (judgments), `queries, agreement` (the share with the same grade), `kappa,
    kappa_linear, kappa_quadratic` (Cohen's, plain and weighted by the difference of the grades or
    its square), `alpha_nominal, alpha_ordinal, alpha_interval` (Krippendorff's), `jaccard` (of
    the documents with a grade of at least `level`), `adjusted_rand`. With more than two judges, a
    last row has the alphas of all. Undefined is None. The table `confusion` has `judge, other,
    grade, other_grade, judgments`. Judgments below 0 are left out.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = ingest_judgments(wh, "tiny", {"q": {"a": 1, "b": 1, "c": 0, "d": 0}}, judge="ann")
    >>> _ = ingest_judgments(wh, "tiny", {"q": {"a": 1, "b": 0, "c": 0, "d": 0}}, judge="ben")
    >>> found = judges_agree(wh, "tiny")
    >>> [(row.agreement, row.kappa, row.jaccard) for row in found]
    [(0.75, 0.5, 0.5)]
    >>> len(found.confusion)
    3
    """
    from warehouse.extensions.answers import comparisons

    with warehouse.file.read() as con:
        return _shown(comparisons.agreement(con, dataset, judges, level=level))


def judges_swap(
    warehouse: Warehouse,
    dataset: str | None = None,
    judges: Names = (),
    *,
    metrics: Metrics = (),
    top: int = 10,
    alpha: float = 0.05,
    protocol: str = _DEFAULT,
    run: Names = (),
    system: Names = (),
    tag: run_choice.Tags = (),
) -> Result:
    """Measure the effect of another judge on the board, over the queries that both judged.

    The first of two `judges` (default: every two; "qrels" is the current qrels) counts as the
    truth. Columns: `judge, other, metric, runs, queries, tau_b, tau_b_top` (of the first judge's
    best `top` runs), `tau_ap, tau_gap, spearman, pearson, swapped_pairs`, and of the paired
    t-tests between two runs at `alpha`, each by itself: `same_decisions` (a share),
    `significant, significant_other, opposite` (numbers of pairs). Values that are not stored are
    computed. The metrics must be means over the queries with a better direction.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> for name, first in (("one", "a"), ("two", "b")):
    ...     _ = wh.ingest_run("tiny", {"q": {first: 2.0, "c": 1.0}}, name=name)
    >>> _ = ingest_judgments(wh, "tiny", {"q": {"a": 1, "b": 0}}, judge="ann")
    >>> _ = ingest_judgments(wh, "tiny", {"q": {"a": 0, "b": 1}}, judge="ben")
    >>> [(row.tau_b, row.swapped_pairs) for row in judges_swap(wh, "tiny", metrics="RR")]
    [(-1.0, 1)]
    """
    from warehouse.analyze import run_choice
    from warehouse.extensions.answers import comparisons

    with warehouse.file.read() as con:
        return _shown(
            comparisons.swap(
                con, dataset, judges, metrics=metrics, top=top, alpha=alpha,
                protocol=protocol, choice=run_choice.choice(run, system, tag),
            )
        )  # fmt: skip


def judges_correct(
    warehouse: Warehouse,
    dataset: str | None = None,
    judge: str = "",
    by: str = "qrels",
    *,
    metrics: Metrics = (),
    alpha: float = 0.05,
    tuned: bool = False,
    protocol: str = _DEFAULT,
    run: Names = (),
    system: Names = (),
    tag: run_choice.Tags = (),
) -> Result:
    """Return the board of a judge, such as a model, corrected by another who judged few queries.

    This is prediction-powered inference (Angelopoulos and others 2023): the mean over the queries
    that `judge` alone judged, plus the mean difference between `by` and `judge` over those that
    both judged; the variances are added, and the interval, at 1 - `alpha`, is a normal one. With
    `tuned`, the judge's values have the weight between 0 and 1 that makes the variance least
    (PPI++). Columns: `metric, place, run, value, low, high, judge_mean` (over all queries of the
    judge), `correcting_mean, correcting_low, correcting_high` (of `by` alone), `weight,
    queries_alone, queries_both`. The interval holds if the queries of `by` are a random choice.

    >>> import tempfile
    >>> from warehouse import Warehouse
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> _ = wh.ingest_run("tiny", {q: {"a": 1.0} for q in "1234"}, name="one")
    >>> _ = ingest_judgments(wh, "tiny", {q: {"a": 1} for q in "1234"}, judge="gpt", kind="llm")
    >>> _ = ingest_judgments(wh, "tiny", {"1": {"a": 1}, "2": {"a": 0}}, judge="ann")
    >>> [row.value for row in judges_correct(wh, "tiny", "gpt", "ann", metrics="RR")]
    [0.5]
    """
    from warehouse.analyze import run_choice
    from warehouse.extensions.answers import comparisons

    with warehouse.file.read() as con:
        return _shown(
            comparisons.corrected(
                con, dataset, judge, by, metrics=metrics, alpha=alpha, tuned=tuned,
                protocol=protocol, choice=run_choice.choice(run, system, tag),
            )
        )  # fmt: skip


def _shown(found: Found) -> Result:
    """Return how judges agree or their effect on the board; `confusion` counts by their grades."""
    from warehouse.report.result import Result

    confusion = None if found.confusion is None else Result(found.confusion, found.notes)
    return Result(found.relation, found.notes, tables={"confusion": confusion}, details=found)
