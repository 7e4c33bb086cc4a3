"""The class `Warehouse`: the verbs of the commands, for scripts and notebooks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import duckdb

from warehouse import database, protocols
from warehouse import metrics as notation
from warehouse.agreeing import Agreeing
from warehouse.arguments import checked
from warehouse.asking import Asking
from warehouse.boarding import Boarding
from warehouse.checking import Checking
from warehouse.comparing import Comparing
from warehouse.deciling import Deciling
from warehouse.enumerating import Enumerating
from warehouse.errors import WarehouseError
from warehouse.evaluate import scoring
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scoring import Scores
from warehouse.fusing import Fusing
from warehouse.importing import Importing
from warehouse.metrics import Metrics
from warehouse.opened import Texts, texts
from warehouse.project import request
from warehouse.remembering import Remembering
from warehouse.settings import DEFAULT_METRICS
from warehouse.syncing import Syncing
from warehouse.tracing import Tracing

if TYPE_CHECKING:
    from warehouse.evaluate.stored import Outcome
    from warehouse.ingest import Loaded, LoadedAttributes

__all__ = ["DEFAULT_METRICS", "Scores", "Warehouse"]


class Warehouse(
    Boarding,
    Enumerating,
    Tracing,
    Deciling,
    Remembering,
    Checking,
    Comparing,
    Agreeing,
    Fusing,
    Asking,
    Importing,
    Syncing,
):
    """A warehouse file and what can be done with it.

    Every verb opens the file, does its work in one transaction and lets go of it again; results are
    DuckDB relations with `.df()`, `.pl()`, `.arrow()` and `.fetchall()` that hold no lock. It stays the
    same file when the current folder becomes another.

    >>> import tempfile
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> wh.ingest_qrels({"q1": {"a": 1, "b": 0}}, "tiny").status
    'loaded'
    >>> wh.ingest_run({"q1": {"b": 2.0, "a": 1.0}}, "tiny", name="first").status
    'loaded'
    >>> wh.evaluate(metrics="AP RR").computed
    2
    >>> wh.leaderboard("tiny").fetchall()
    [(1, 'first', None, 0.5, 0.5, 1, 1)]
    """

    # ------------------------------------------------------------------ writing

    def init(self, *, own: bool = False) -> bool:
        """Make the file, or bring it to this program's schema; tell whether anything changed.

        Where the file is a replica, as one that was put back, it becomes a warehouse of its `own`.
        """
        from warehouse import schema

        was_replica = (
            own
            and self.path.exists()
            and database.disown(self.path, lock_timeout=self.lock_timeout)
        )
        return schema.ensure(self.path, lock_timeout=self.lock_timeout) or was_replica

    def _ready_for(self, source: object) -> None:
        """Make the file where it is not there, or bring it to this program's schema.

        For a source that is not there either no file is made: its name may be as wrong as the source's.
        """
        from warehouse.readers.files import missing

        error = None if self.path.exists() else missing(source)
        if error is not None:
            raise error
        self.init()

    def ingest_qrels(
        self,
        source: object,
        dataset: str,
        *,
        label: str | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        is_global: bool = False,
        queries: object | None = None,
        iterations: bool = False,
        replace: bool = False,
    ) -> Loaded:
        """Load judgments: a path, '-' for stdin, a dict, a data frame, an Arrow table or a relation.

        Columns: `query_id, doc_id, relevance[, iteration]`; `columns` maps these to other names.
        With `iterations` a document may be judged once per iteration (a subtopic, a judgment group);
        the format "prefs" is a file of preferences. With `is_global` they are one set of documents for
        every query of `queries`, else of the runs. Raises InputError for bad content and ConflictError
        where other qrels are loaded already; `replace` makes them a new version.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> path = folder + "/subtopics.txt"
        >>> _ = open(path, "w").write("q 1 a 1\\nq 2 a 0\\n")
        >>> Warehouse(folder + "/it.duckdb").ingest_qrels(path, "tiny", iterations=True).num_rows
        2
        """
        from warehouse.ingest import load_qrels

        self._ready_for(source)
        with self._write() as connection:
            return load_qrels(
                connection, source, dataset,
                label=label, format=format, columns=columns, normalise=normalise,
                is_global=is_global, queries=queries, iterations=iterations, replace=replace,
            )  # fmt: skip

    def ingest_training(
        self,
        source: object,
        dataset: str,
        *,
        label: str | None = None,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> Loaded:
        """Load a training set: what a system was trained on, or what users had seen before.

        Sources and errors are those of `ingest_qrels`; the columns are `query_id, doc_id[, relevance]`,
        and relevance is 1 in a table without it.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_training({"ann": {"alien": 1}}, "films").status
        'loaded'
        """
        from warehouse.ingest import load_training

        self._ready_for(source)
        with self._write() as connection:
            return load_training(
                connection, source, dataset,
                label=label, format=format, columns=columns, normalise=normalise, replace=replace,
            )  # fmt: skip

    def ingest_run(
        self,
        source: object,
        dataset: str,
        *,
        name: str | None = None,
        name_from: Literal["stem", "tag"] = "stem",
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_at: dt.datetime | None = None,
        lower_is_better: bool = False,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> Loaded:
        """Load a run: a path, '-' for stdin, a dict, a data frame, an Arrow table or a relation.

        Columns: `query_id, doc_id, score[, rank]`, or a rank and no score. `run_at` says when the
        experiment was run, in UTC where it has no zone; else that is now. Raises InputError for bad
        content and ConflictError where the name is taken by other content; `replace` makes a new
        version of the run, also where only what is said of it is another.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> done = wh.ingest_run({"q1": {"d1": 2.5}}, "tiny", name="bm25", system="BM25")
        >>> done.status, done.name, done.num_rows
        ('loaded', 'bm25', 1)
        """
        from warehouse.ingest import load_run
        from warehouse.ingest.runs import check_names, given

        options = given(name, name_from, system, tags, run_at, lower_is_better)
        check_names(dataset, options)
        self._ready_for(source)
        with self._write() as connection:
            return load_run(
                connection, source, dataset, options,
                format=format, columns=columns, normalise=normalise, replace=replace,
            )  # fmt: skip

    def ingest_runs(
        self,
        sources: Iterable[object],
        dataset: str,
        *,
        name_from: Literal["stem", "tag"] = "stem",
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_at: dt.datetime | None = None,
        lower_is_better: bool = False,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        normalise: str | None = None,
        replace: bool = False,
        on_run: Callable[[object, Loaded | WarehouseError], None] | None = None,
    ) -> list[Loaded | WarehouseError]:
        """Load many runs, as many in one transaction as are read at once; faster than one by one.

        It returns, for each source in its order, what became of it: of one that cannot be taken the
        error, which undoes no other; so of one that would be the same run as another before it.
        `on_run` is told of each as it is done. One path or table by itself is the only source. The rest
        is as of `ingest_run`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> one, other = wh.path.with_name("one.run"), wh.path.with_name("other.run")
        >>> _ = one.write_text("q1 Q0 a 1 2.5 one\\n"), other.write_text("q1 Q0\\n")
        >>> [type(done).__name__ for done in wh.ingest_runs([one, other], "tiny")]
        ['Loaded', 'InputError']
        """
        from warehouse.ingest import load_staged
        from warehouse.ingest.runs import check_names, given
        from warehouse.readers import together
        from warehouse.readers.files import missing

        options = given(None, name_from, system, tags, run_at, lower_is_better)
        check_names(dataset, options)
        each = together.listed(sources)
        tell = on_run or (lambda source, done: None)
        if not self.path.exists():
            absent = [error for error in map(missing, each) if error is not None]
            if absent and len(absent) == len(each):  # as in `_ready_for`
                for source, error in zip(each, absent, strict=True):
                    tell(source, error)
                return [*absent]
        self.init()

        def load(group: together.Group) -> list[Loaded | WarehouseError]:
            done: list[Loaded | WarehouseError] = []
            with self._write() as connection:
                for batch in group.staged(database.raw(connection)):
                    if isinstance(batch, together.Refused):
                        done.append(batch.error)
                    else:
                        of_each = [options] * len(batch.runs)
                        done += load_staged(connection, batch, dataset, of_each, replace, named)
            return done

        every: list[Loaded | WarehouseError] = []
        named: dict[str, str] = {}
        for group in together.groups(each, format=format, columns=columns, normalise=normalise):
            try:
                done = load(group)
            except duckdb.TransactionException:
                # one that cannot be read has ended the transaction of all
                done = [one for single in group.each() for one in load(single)]
            for source, one in zip(each[len(every) :], done, strict=False):
                tell(source, one)
            every += done
        return every

    def ingest_attributes(
        self,
        source: object,
        dataset: str,
        of: Literal["docs", "queries"],
        *,
        name: str | None = None,
        id: str | None = None,
        split: Mapping[str, str] | None = None,
        format: str | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> LoadedAttributes:
        """Load attributes of documents or queries: any table with one row per id.

        The ids are in the column `doc_id` or `query_id`, else in the column `id`. A dict is
        `{id: {attribute: value}}`; `split={"genres": "|"}` makes lists of a column of text.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_attributes({"up": {"year": 2009}}, "films", "docs", name="years").columns
        {'year': 'number'}
        """
        from warehouse.ingest import load_attributes

        self._ready_for(source)
        with self._write() as connection:
            return load_attributes(
                connection, source, dataset, of, name=name, id=id, split=split,
                format=format, normalise=normalise, replace=replace,
            )  # fmt: skip

    @request()
    def evaluate(
        self,
        dataset: str | None = None,
        *,
        runs: Texts = (),
        metrics: Metrics = (),
        slices: Texts = (),
        protocol: str = protocols.DEFAULT,
        qrels: int | None = None,
        dry_run: bool = False,
        on_metric: Callable[[str], None] | None = None,
    ) -> Outcome:
        """Compute the metrics that are missing or stale; all of them become visible together.

        Without `metrics` it is those that a dataset has values of, by its slices too, as `status` lists
        them; `DEFAULT_METRICS` where it has none yet. It is against the current qrels of each dataset,
        or against a version of those of one: `qrels`. `slices` are evaluated part by part beside the
        whole. Each is the name of an attribute or of a slice that is there, or a definition, "name =
        expression": SQL over the attributes of the queries or of the documents.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q1": {"a": 1}, "q2": {"b": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, "tiny", name="first")
        >>> wh.evaluate(metrics="RR", slices="first = query_id = 'q1'").slices
        ['slice first: 2 parts of the queries']
        >>> wh.leaderboard("tiny", slice="first").project("part, RR").fetchall()
        [('false', 0.0), ('true', 1.0)]
        """
        from warehouse.evaluate.standing import due
        from warehouse.evaluate.stored import Job

        rules, words, by = protocols.get(protocol), texts(metrics), texts(slices)
        wanted = notation.parse(*(words or DEFAULT_METRICS), defaults=rules.defaults())
        if words:
            jobs = [Job(plan(wanted, rules), by=by)]
        else:
            with self._read() as con:
                jobs = due(con, dataset, rules, wanted, by)
        return self._evaluate(
            jobs, dataset, texts(runs), qrels=qrels, dry_run=dry_run, on_metric=on_metric
        )

    @staticmethod
    @checked
    @request()
    def sql(metrics: Metrics, *, protocol: str = protocols.DEFAULT) -> str:
        """Return the SQL that computes some metrics, as readable scripts."""
        rules = protocols.get(protocol)
        work = plan(notation.parse(*texts(metrics), defaults=rules.defaults()), rules)
        return "\n\n".join(work.script(metric) for metric in work.queries) + "\n"

    # ------------------------------------------------------------------ files in, numbers out

    score = staticmethod(scoring.score)
