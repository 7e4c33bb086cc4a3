"""The inputs of metrics: the runs and the ground truth in scope on a connection, as temporary tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from warehouse import readers
from warehouse.metrics.protocols import Protocol
from warehouse.readers.in_place import provide_predictions
from warehouse.readers.kinds import Subject
from warehouse.sql_text.quoting import ident, literal
from warehouse.sql_text.templates import render

PREFERENCES = "preferences"
# The attributes in scope, by their subject.
ATTRIBUTES: Mapping[Subject, str] = {
    "document": "scope_attribute",
    "query": "scope_query_attribute",
}
# The most queries whose ids are enumerated. Each statement that names the type makes a copy of it:
# with half a million queries that takes half a second, and more memory than the ids.
_ENUMERATED = 65_536
_KINDS = {"qrels": "judgments", "iterations": "iterations", "preferences": PREFERENCES}


class Scope:
    """The owner of the temporary tables and views that relations and metrics read.

    The same templates score stored runs, files, parts of slices and trial fusions, because each of
    them fills the same tables, by the methods of this class and nowhere else. The tables:

    | name | columns | contents |
    |---|---|---|
    | `scope_run` | run_id | the runs to evaluate |
    | `scope_ranking` | run_id, query_id, num_ret, whole_num_ret | the length of each ranked list, and \
that of the whole list where only a part of it is in scope |
    | `scope_hit` | run_id, query_id, doc_id, relevance, rank, whole_rank, rel_so_far, nonrel_so_far \
| judged documents that were retrieved; `rank` counts the documents of the part in scope, \
`whole_rank` the ones of the whole list; the last two count the documents down to this one with a \
relevance of 1 and above, and from 0 to below 1 |
    | `scope_prediction` | run_id, query_id, doc_id, score, position, lower_is_better | whole ranked \
lists, for metrics that read them |
    | `scope_judgment` | query_id, doc_id, relevance | the qrels: a document once per query, with the \
highest grade of its iterations; of preferences 1 where a group has it above 0, else 0 |
    | `scope_iteration` | query_id, doc_id, iteration, relevance | the judgments as they were loaded; \
of preferences one row per group |
    | `scope_preference` | query_id, judgment_group, judgment_subgroup, doc_id, level | the \
preferences; of judgments each iteration is a group of one subgroup, and the grade is the level |
    | `scope_document`, `scope_query` | doc_id; query_id | what the whole qrels judge, also where only \
a part of the qrels is in scope |
    | `scope_training` | query_id, doc_id, relevance | the training set, empty if there is none |
    | `scope_attribute`, `scope_query_attribute` | doc_id or query_id, attribute, position, text, \
number | attributes of documents and of queries |
    | `scope_assignment` | run_id, query_id, judge, nugget_id, importance, weight, part, assignment | \
what judges say of the answers of stored runs: which nuggets they state |
    | `scope_citation` | run_id, query_id, judge, sentence, doc_id, support | and whether the documents \
that they cite support their sentences |
    | `scope_member` | doc_id or query_id, part | the part of a slice that each belongs to |
    | `scope_part` | doc_id or query_id | the members of the part of a slice that is evaluated |
    | `list_place` | run_id, query_id, first_position, is_together | where the lists of the \
predictions begin in their source |
    | `query_key` | a type | the type of `query_id` in all of these but the predictions: an enumeration \
that sorts as the ids do, or text if there are very many |

    Apart from these, `pending` says what is computed, and `query_score`, `score` and `curve_point` take
    the values: see evaluate/engine.py. The tables of a reader, `staged` and its neighbours, belong
    to the readers.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    # ------------------------------------------------------------------ runs

    def runs(self, run_ids: Sequence[int]) -> None:
        """Put stored runs in scope: fills `scope_run`."""
        self._con.execute(
            "create or replace temp table scope_run as select unnest($ids::integer[]) as run_id",
            {"ids": list(run_ids)},
        )

    def pending_runs(self) -> list[int]:
        """Put the runs with pending values in scope, and return them: fills `scope_run`."""
        self._con.execute(
            "create or replace temp table scope_run as select distinct run_id from pending"
        )
        rows = self._con.execute("select run_id from scope_run order by run_id").fetchall()
        return [int(row[0]) for row in rows]

    def rankings(self, protocol: Protocol, *, of_part: bool = False) -> None:
        """Put the stored list lengths of the runs in scope, or of a part: `scope_ranking`.

        Where the protocol leaves documents out, the predictions must be in scope.
        """
        words = {"of_part": of_part, "exclude": protocol.exclude}
        self._con.execute(render("scope/rankings", **words))

    def hits(self, protocol: Protocol, qrels_id: int, *, of_part: bool = False) -> None:
        """Put the stored hits of the runs in scope, or of a part: fills `scope_hit`."""
        self._con.execute(
            render("scope/hits", qrels_id=qrels_id, ordering=protocol.ordering, of_part=of_part)
        )

    def predictions(self, run_ids: Sequence[int], *, of_part: bool = False) -> None:
        """Put the stored predictions of some runs in scope, or of a part: `scope_prediction`."""
        provide_predictions(self._con, run_ids)
        self._con.execute(render("scope/predictions", of_part=of_part, **self.batch(run_ids)))

    def stored_lists(self, run_ids: Sequence[int], table: str, *, lower_is_better: bool) -> None:
        """Put predictions in scope as one table stores them: `scope_prediction` and `list_place`."""
        provide_predictions(self._con, run_ids)
        words = {"table": table, "lower_is_better": lower_is_better, **self.batch(run_ids)}
        self._con.execute(render("scope/stored_lists", **words))

    def batch(self, run_ids: Sequence[int]) -> dict[str, int]:
        """Make the table `batch` of some runs; return the first and the last of them."""
        self._con.execute(
            "create or replace temp table batch as select unnest($ids::integer[]) as run_id",
            {"ids": list(run_ids)},
        )
        return {"first": min(run_ids), "last": max(run_ids)}

    def read_runs(
        self,
        runs: Sequence[int],
        *,
        first: int,
        together: bool,
        lower_is_better: bool,
        exclude: str | None = None,
        again: bool = False,
    ) -> None:
        """Put the staged runs in scope, with empty tables for the values.

        `runs` are their ids; a run may have no prediction. The first one that is staged has the id
        `first`. If runs of the same ids were put in scope in the same way before, this is done
        `again`: what they are, and what is pending for them, stays.
        """
        if not again:
            self.runs(runs)
        words = {
            "first": first, "together": together, "lower_is_better": lower_is_better,
            "exclude": exclude, "again": again,
        }  # fmt: skip
        self._con.execute(render("scope/read_runs", **words))

    def read_hits(self, matched: str) -> None:
        """Put the hits of the staged runs in scope; `matched` is the query that finds them."""
        self._con.execute(
            "create or replace temp table scope_hit as "
            "select * replace (query_id::query_key as query_id), rank as whole_rank "
            f"from (\n{matched}\n) as matched"
        )

    def near_hits(self) -> None:
        """Keep the predictions in scope from which the hits of a run follow; `staged` is a view of it.

        The run must be in order: see `hits.out_of_order`.
        """
        self._con.execute(render("scope/near_hits"))

    def trial_runs(self, matched: str, *, num_runs: int, aggregate: str) -> None:
        """Put the runs in `trial_entry` in scope, with empty tables for the values."""
        self._con.execute(
            render("scope/trial_runs", matched=matched, num_runs=num_runs, aggregate=aggregate)
        )

    def fused_runs(self, run_ids: Sequence[int]) -> None:
        """Put the predictions of the runs to merge in scope, numbered in the order of their ids."""
        provide_predictions(self._con, run_ids)
        self._con.execute(render("scope/fused_runs", run_ids=run_ids))

    def prefixes(
        self, run_id: int, query_id: str, ranked: str, *, top: int, aggregate: str
    ) -> None:
        """Put one ranked list in scope, cut after each rank: a run for each length up to `top`.

        `ranked` is the query that ranks predictions. It also makes `listed`, the whole list.
        """
        provide_predictions(self._con, [run_id])
        words = {"run_id": run_id, "query_id": query_id, "top": top, "aggregate": aggregate}
        self._con.execute(render("scope/prefixes", ranked=ranked, **words))

    def cut_lists(self, ranked: str, *, top: int, deepest: int, aggregate: str) -> None:
        """Put the lists of the runs in scope, cut after each rank down to `deepest`, a run for each.

        `ranked` is the query that ranks predictions. It also makes `listed`, the first `top`
        documents of each list, and `cut`, the numbers of the cut runs.
        """
        words = {"top": top, "deepest": deepest, "aggregate": aggregate}
        self._con.execute(render("scope/cut_lists", ranked=ranked, **words))

    # ------------------------------------------------------------------ ground truth

    def stored_truth(self, qrels_id: int) -> None:
        """Put a version of the qrels in scope, with the dataset's training set and attributes.

        The runs must be in scope.
        """
        ((dataset, num_queries),) = self._con.execute(
            "select name, greatest(num_queries, "
            "(select max(num_queries) from run semi join scope_run using (run_id))) "
            "from dataset join qrels using (dataset_id) where qrels_id = $id",
            {"id": qrels_id},
        ).fetchall()
        kind = qrels_kind(self._con, qrels_id)
        rows = stored_qrels(qrels_id, kind)
        self.answers()
        lists = (
            "(select query_id from ranking semi join scope_run using (run_id) "
            "union all select query_id from scope_assignment "
            "union all select query_id from scope_citation)"
        )
        self._query_keys(rows, lists, num_queries)
        self.qrels(kind, rows)
        self.whole_qrels(rows)
        self.other_data(dataset)

    def other_data(self, dataset: str) -> None:
        """Put the attributes and the training set of a dataset in scope."""
        self.attributes(dataset)
        found = current_training(self._con, dataset)
        self._training(
            f"(select * from example where training_id = {literal(found[0])})" if found else None
        )

    def qrels(self, kind: str, rows: str) -> None:
        """Put judgments or preferences in scope; `rows` is SQL of the relation that holds them."""
        self._con.execute(render("scope/qrels", kind=kind, rows=rows))

    def whole_qrels(self, rows: str) -> None:
        """Put the documents and queries of the whole qrels in scope; `rows` is as of `qrels`."""
        self._con.execute(render("scope/whole_qrels", rows=rows))

    def judged_documents(self, rows: str) -> None:
        """Put the documents of the whole qrels in scope, where only some of their queries are."""
        self._con.execute(
            "create or replace temp view scope_document as select distinct doc_id "
            f"from {ident(rows)}"
        )

    def attributes(self, dataset: str) -> None:
        """Put the current attributes of a dataset's documents and queries in scope."""
        self._con.execute(render("scope/attributes", dataset=dataset))

    def answers(self, *, of_part: bool = False) -> None:
        """Make the assessments of the answers of the selected runs available to metrics."""
        self._con.execute(render("scope/answers", of_part=of_part))

    def read_qrels(
        self, read: readers.Staged, rows: str, num_rows: int | None = None, *, more: bool = False
    ) -> None:
        """Put qrels from a table of read rows in scope; the runs must be staged.

        `num_rows` is the number of rows of qrels and runs together, if it is known. `more` says that
        more runs follow, whose queries are not known yet.
        """
        number = num_rows
        if more:
            number = _ENUMERATED + 1
        elif number is None or number > _ENUMERATED:
            each = (
                f"(select count(distinct query_id) from {of})" for of in (rows, "staged_ranking")
            )
            ((number,),) = self._con.execute(f"select greatest({', '.join(each)})").fetchall()
        self._query_keys(rows, "staged_ranking", number)
        self.qrels(_KINDS[read.kind], rows)
        self.whole_qrels(rows)

    def given_truth(self, kind: str, rows: str) -> None:
        """Put judgments or preferences from a table in scope; `ranking` has the lists of the runs."""
        lists = "ranking"
        ((number,),) = self._con.execute(
            f"select greatest((select count(distinct query_id) from {ident(rows)}), "
            f"(select count(distinct query_id) from {lists}))"
        ).fetchall()
        self._query_keys(ident(rows), lists, number)
        self.qrels(kind, ident(rows))
        self.whole_qrels(ident(rows))

    def read_training(self, read: readers.Staged | None) -> None:
        """Put the training set that was just staged in scope, or an empty one."""
        self._training(None if read is None else self.rename_staged("given_training"))

    def rename_staged(self, name: str) -> str:
        """Rename the staged table, so that the next source can be staged; return the name."""
        self._con.execute(f"drop table if exists temp.{ident(name)}")
        self._con.execute(f"alter table staged rename to {ident(name)}")
        return name

    def _query_keys(self, rows: str, lists: str, number: int) -> None:
        """Make the type of the ids of about so many queries, those in the qrels and in the lists."""
        words = {"rows": rows, "lists": lists, "is_enumeration": number <= _ENUMERATED}
        self._con.execute(render("scope/query_keys", **words))

    def _training(self, rows: str | None) -> None:
        self._con.execute(render("scope/training", rows=rows))

    # ------------------------------------------------------------------ a part of a slice

    def members(self, id: str) -> None:
        """Put the members of all parts in scope: fills `scope_member`, whose ids are of this kind."""
        self._con.execute(
            "create or replace temp table scope_member as "
            f"select subject_id as {id}, part from slice_row"
        )

    def part(self, id: str, members: str, **params: object) -> None:
        """Put the members of a part in scope: fills `scope_part`; `members` is SQL of their ids."""
        self._con.execute(
            f"create or replace temp table scope_part as select {id} from {members}", params
        )

    def part_predictions(self, ranked: str, *, rest: str, depth: int | None) -> None:
        """Rank the predictions in scope within each part of the documents: `part_prediction`."""
        self._con.execute(render("scope/part_predictions", ranked=ranked, rest=rest, depth=depth))

    def document_part(self, part: str, protocol: Protocol) -> None:
        """Put hits and list lengths of one part of the documents in scope."""
        self._con.execute(render("scope/document_part", part=part, exclude=protocol.exclude))


def qrels_kind(con: duckdb.DuckDBPyConnection, qrels_id: int) -> str:
    """Return the kind of stored qrels: judgments, iterations or preferences."""
    rows = con.execute("select kind from qrels where qrels_id = $id", {"id": qrels_id}).fetchall()
    return str(rows[0][0])


def stored_qrels(qrels_id: int, kind: str) -> str:
    """Return SQL of the relation that holds a version of the qrels."""
    table = "preference" if kind == PREFERENCES else "judgment"
    return f"(select * from {table} where qrels_id = {literal(qrels_id)})"


def current_training(con: duckdb.DuckDBPyConnection, dataset: str) -> tuple[int, str] | None:
    """Return the id and content hash of a dataset's current training set, if it has one."""
    rows = con.execute(
        "select training_id, content_hash from training join training_version using (training_id) "
        "where dataset = $name and is_current",
        {"name": dataset},
    ).fetchall()
    return (int(rows[0][0]), str(rows[0][1])) if rows else None
