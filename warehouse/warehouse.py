"""The class `Warehouse`: the verbs of the commands, for scripts and notebooks."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

import duckdb

from warehouse.agreeing import Agreeing
from warehouse.asking import Asking
from warehouse.boarding import Boarding
from warehouse.checking import Checking
from warehouse.comparing import Comparing
from warehouse.config.arguments import checked
from warehouse.config.project import request
from warehouse.config.settings import DEFAULT_METRICS
from warehouse.deciling import Deciling
from warehouse.enumerating import Enumerating
from warehouse.errors import WarehouseError
from warehouse.evaluate import scoring
from warehouse.evaluate.plan import plan
from warehouse.evaluate.scoring import Scores
from warehouse.fusing import Fusing
from warehouse.importing import Importing
from warehouse.metrics import notation, protocols
from warehouse.metrics.notation import Metrics
from warehouse.opened import Texts, texts
from warehouse.remembering import Remembering
from warehouse.store import database
from warehouse.syncing import Syncing
from warehouse.tracing import Tracing

if TYPE_CHECKING:
    from warehouse.evaluate.stored_runs import Outcome
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
    """A warehouse database; its methods are the commands of the command line.

    `path` is the database file; without it, `WAREHOUSE_DB` or `warehouse.toml` names the file, else
    it is warehouse.duckdb. It stays the same file if the current folder changes. `memory_limit` (as
    in "1GB"), `threads` and `temp_directory` are passed to DuckDB. `lock_timeout` is how many
    seconds to wait while another process writes.

    Every method opens the file, does its work in one transaction and closes the file again. Results
    are DuckDB relations with `.df()`, `.pl()`, `.arrow()` and `.fetchall()`; they hold no lock.

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
        """Make the database, or upgrade its schema; return whether anything changed.

        With `own`, a replica that was restored as the database becomes writable again.
        """
        was_replica = (
            own
            and self.path.exists()
            and database.disown(self.path, lock_timeout=self.lock_timeout)
        )
        return self._ensure() or was_replica

    def _ready_for(self, source: object) -> None:
        """Make the database if it does not exist, or upgrade its schema.

        If the source does not exist either, no database is made: both names may be wrong.
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
        With `iterations`, a document can be judged once per iteration (a subtopic or a judgment
        group). The format "prefs" reads preferences. With `is_global`, all `queries` (default: the
        queries of the loaded runs) share one set of judged documents. Raises InputError for bad
        content, and ConflictError if other qrels are already loaded; `replace` loads them as a new
        version.

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

        Sources and errors are those of `ingest_qrels`. Columns: `query_id, doc_id[, relevance]`;
        without a relevance column, every relevance is 1.

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

        Columns: `query_id, doc_id, score[, rank]`, or a rank without a score. `run_at` is when the
        experiment was run (default: now); without a zone it is UTC. Raises InputError for bad
        content, and ConflictError if the name is taken by other content; `replace` loads a new
        version of the run, also if only its system, tags or time differ.

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
        """Load many runs, in batches of one transaction each; faster than one by one.

        Returns the outcome of each source, in order. A source that cannot be loaded, or that would
        be the same run as an earlier one, has an error as its outcome; the others are still loaded.
        `on_run` is called with each source and its outcome as it is done. `sources` can also be one
        path or table. The other arguments are those of `ingest_run`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> one, other = wh.path.with_name("one.run"), wh.path.with_name("other.run")
        >>> _ = one.write_text("q1 Q0 a 1 2.5 one\\n"), other.write_text("q1 Q0\\n")
        >>> [type(done).__name__ for done in wh.ingest_runs([one, other], "tiny")]
        ['Loaded', 'InputError']
        """
        from warehouse.ingest import load_staged
        from warehouse.ingest.runs import check_names, given
        from warehouse.readers import batches
        from warehouse.readers.files import missing

        options = given(None, name_from, system, tags, run_at, lower_is_better)
        check_names(dataset, options)
        each = batches.source_list(sources)
        tell = on_run or (lambda source, done: None)
        if not self.path.exists():
            absent = [error for error in map(missing, each) if error is not None]
            if absent and len(absent) == len(each):  # as in `_ready_for`
                for source, error in zip(each, absent, strict=True):
                    tell(source, error)
                return [*absent]
        self.init()

        def load(group: batches.Group) -> list[Loaded | WarehouseError]:
            done: list[Loaded | WarehouseError] = []
            with self._write() as connection:
                for batch in group.read(database.raw(connection)):
                    if isinstance(batch, batches.Refusal):
                        done.append(batch.error)
                    else:
                        of_each = [options] * len(batch.runs)
                        done += load_staged(connection, batch, dataset, of_each, replace, named)
            return done

        every: list[Loaded | WarehouseError] = []
        named: dict[str, str] = {}
        for group in batches.groups(each, format=format, columns=columns, normalise=normalise):
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

        `id` names the column with the ids; by default it is `doc_id` or `query_id`. A dict is
        `{id: {attribute: value}}`. `split={"genres": "|"}` splits the text of a column into lists.

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
        """Compute the metrics that are missing or stale; all values become visible together.

        Without `metrics`, these are the metrics that a dataset has values of, including its slices,
        as `status` lists them, or `DEFAULT_METRICS` if it has no values yet. Runs are evaluated
        against the current qrels, or against the version `qrels` of one dataset. `slices` are
        evaluated in addition to the whole: each is the name of an attribute or of an existing
        slice, or a definition "name = expression", in SQL over the attributes of the queries or of
        the documents.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels({"q1": {"a": 1}, "q2": {"b": 1}}, "tiny")
        >>> _ = wh.ingest_run({"q1": {"a": 1.0}, "q2": {"a": 1.0}}, "tiny", name="first")
        >>> wh.evaluate(metrics="RR", slices="first = query_id = 'q1'").slices
        ['slice first: 2 parts of the queries']
        >>> wh.leaderboard("tiny", slice="first").project("part, RR").fetchall()
        [('false', 0.0), ('true', 1.0)]
        """
        from warehouse.evaluate.status import due
        from warehouse.evaluate.stored_runs import Job

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
        """Return the SQL that computes some metrics, as a script that runs on a replica."""
        rules = protocols.get(protocol)
        return (
            plan(notation.parse(*texts(metrics), defaults=rules.defaults()), rules).script() + "\n"
        )

    # ------------------------------------------------------------------ files in, numbers out

    score = staticmethod(scoring.score)
