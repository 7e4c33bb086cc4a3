"""The class `Warehouse`: the verbs of the commands, for scripts and notebooks."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from warehouse.analyze import meant_metrics, sql_query
from warehouse.config import project
from warehouse.config.explicit import explicit
from warehouse.config.settings import LOCK_TIMEOUT
from warehouse.errors import (
    UsageError,
    check_at_least,
    check_names,
    check_several,
    check_text,
    option,
)
from warehouse.evaluate import scoring
from warehouse.evaluate.scorer import Scorer, scorer
from warehouse.evaluate.scoring import Scores
from warehouse.ingest.arguments import Qrels, Run, Runs, Training
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, Metrics
from warehouse.report import replica
from warehouse.report.result import Result
from warehouse.store import database
from warehouse.store.file import WarehouseFile

if TYPE_CHECKING:
    import duckdb

    from warehouse.analyze import across_datasets, past_state, run_choice
    from warehouse.errors import WarehouseError
    from warehouse.evaluate.stored_runs import Outcome
    from warehouse.fuse.fused_run import Fused
    from warehouse.ingest.attributes import LoadedAttributes
    from warehouse.ingest.edit import Edited
    from warehouse.ingest.folder import Folder
    from warehouse.ingest.forget import Forgotten, ForgottenDataset
    from warehouse.ingest.scores import ForgottenScores, LoadedScores
    from warehouse.ingest.steps import Loaded, Outcomes
    from warehouse.ingest.texts import ForgottenTexts, LoadedTexts
    from warehouse.readers.arguments import Source
    from warehouse.report.bundles import Exported
    from warehouse.report.formats import Writer
    from warehouse.report.pages.folder import Report
    from warehouse.report.query_process import Answer
    from warehouse.sync.events import Event, Synced

__all__ = ["Result", "Scorer", "Scores", "Warehouse"]

Names = str | Iterable[str]
_T = TypeVar("_T")


class Warehouse:
    """A warehouse database; its methods are the commands of the command line.

    `path` is the database file; without it, `WAREHOUSE_DB` or `warehouse.toml` names the file, else
    it is warehouse.duckdb. It stays the same file if the current folder changes. `memory_limit` (as
    in "1GB"), `threads` and `temp_directory` are passed to DuckDB. `lock_timeout` is how many
    seconds to wait, from the head of the queue, for a program that has the file open. `metrics` is a
    folder of your own metrics, which the whole program knows from then on, as a project's are known
    below the folder of its `warehouse.toml`.

    Every method opens the file, does its work in one transaction and closes the file again. What
    reads returns a `Result`, which holds no lock. The dataset comes first, and can be left out if
    the file has only one; a method whose default is all datasets says so.

    >>> import tempfile
    >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
    >>> wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}}).status
    'loaded'
    >>> wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}}, name="first").status
    'loaded'
    >>> wh.evaluate(metrics="AP RR").computed
    2
    >>> wh.leaderboard()
    #  run      AP ↑    RR ↑
    -  -----  ------  ------
    1  first  0.5000  0.5000
    mean over queries; 1 of 1 judged query answered by every run
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        memory_limit: str | None = None,
        threads: int | None = None,
        temp_directory: str | None = None,
        lock_timeout: float = LOCK_TIMEOUT,
        metrics: str | os.PathLike[str] | None = None,
    ) -> None:
        check_at_least(1, threads=threads)
        if metrics is not None:
            project.add_metrics(metrics)
        resources = database.Resources(memory_limit, threads, temp_directory)
        self.file = WarehouseFile(path, resources, lock_timeout)

    @property
    def path(self) -> Path:
        """Return the path as it was given, or the absolute path if the current folder has changed."""
        return self.file.path

    @property
    def is_collected(self) -> bool:
        """Whether the file was collected from a lake, and so has values alone."""
        with self.file.read() as con:
            return database.is_collected(con)

    def __repr__(self) -> str:
        return f"Warehouse({str(self.path)!r})"

    # ---------------------------------------------------------------------------------- Begin

    score = staticmethod(scoring.score)
    scorer = staticmethod(scorer)

    def init(self, *, own: bool = False, allow_place: bool = False) -> bool:
        """Make the database, or upgrade its schema; return whether anything changed.

        With `own`, a replica that was restored as the database becomes writable again. With
        `allow_place`, predictions are read from wherever the database says that they lie.
        """
        from warehouse.readers import in_place

        is_replica = own and self.path.exists()
        disowned = is_replica and database.disown(self.path, lock_timeout=self.file.lock_timeout)
        changed = self.file.ensure() or disowned
        if allow_place:
            with self.file.read() as con:
                in_place.allow(con)
        return changed

    # ----------------------------------------------------------------------------------- Load

    @overload
    def ingest_qrels(self, dataset: str | None, source: Source, **how: Unpack[Qrels]) -> Loaded: ...
    @overload
    def ingest_qrels(
        self, *, source: Source, dataset: str | None = None, **how: Unpack[Qrels]
    ) -> Loaded: ...
    @explicit(Qrels)
    def ingest_qrels(
        self, dataset: str | None = None, source: Source | None = None, **how: Any
    ) -> Loaded:
        """Load judgments: a path, '-' for stdin, a dict, a data frame, Arrow table, relation or Result.

        "ir_datasets:NAME" is the collection of that name in ir_datasets (extra ir).

        Columns: `query_id, doc_id, relevance[, iteration]`; `columns` maps these to other names.
        `relevance` is an SQL expression that gives the relevance, as in "rating >= 4", and `where` a
        condition over the columns of a table that chooses its rows, as in "year >= 2020"; where columns
        have no names, they have ours. `repeated` says which row counts where a document is there several
        times for a query, "first", "last" or "max", or that the "sum" or the "count" of its rows does.
        With `iterations`, a document can be judged once per iteration (a subtopic or a judgment
        group). The format "prefs" reads preferences. With `is_global`, all `queries` (default: the
        queries of the loaded runs) share one set of judged documents. Raises InputError for bad
        content, and ConflictError if other qrels are already loaded; `replace` loads them as a new
        version. The first source of a dataset must name it.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> path = folder + "/subtopics.txt"
        >>> _ = open(path, "w").write("q 1 a 1\\nq 2 a 0\\n")
        >>> Warehouse(folder + "/it.duckdb").ingest_qrels("tiny", path, iterations=True).num_rows
        2
        """
        from warehouse.ingest.qrels import stage_qrels

        return self.load(dataset, source, lambda con, name: stage_qrels(con, source, name, **how))

    @overload
    def ingest_training(
        self, dataset: str | None, source: Source, **how: Unpack[Training]
    ) -> Loaded: ...
    @overload
    def ingest_training(
        self, *, source: Source, dataset: str | None = None, **how: Unpack[Training]
    ) -> Loaded: ...
    @explicit(Training)
    def ingest_training(
        self, dataset: str | None = None, source: Source | None = None, **how: Any
    ) -> Loaded:
        """Load a training set: what a system was trained on, or what users had seen before.

        Sources and errors are as in `ingest_qrels`. Columns: `query_id, doc_id[, relevance]`;
        without a relevance column, every relevance is 1. `relevance` and `where` are as in
        `ingest_qrels`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_training("films", {"ann": {"alien": 1}}).status
        'loaded'
        """
        from warehouse.ingest.qrels import stage_training

        return self.load(
            dataset, source, lambda con, name: stage_training(con, source, name, **how)
        )

    @overload
    def ingest_run(self, dataset: str | None, source: Source, **how: Unpack[Run]) -> Loaded: ...
    @overload
    def ingest_run(
        self, *, source: Source, dataset: str | None = None, **how: Unpack[Run]
    ) -> Loaded: ...
    @explicit(Run, name_from="stem")
    def ingest_run(
        self, dataset: str | None = None, source: Source | None = None, **how: Any
    ) -> Loaded:
        """Load a run; sources are as in `ingest_qrels`.

        Columns: `query_id, doc_id, score[, rank]`, or a rank without a score. A row may have lists of
        documents and scores, or a ranked list of documents alone. `run_at` is when the
        experiment was run (default: now); without a zone it is UTC. Raises InputError for bad
        content, and ConflictError if the name is taken by other content; `replace` loads a new
        version of the run, also if only its system, tags or time differ. With `where_it_lies`, the
        predictions stay in their file, whose hash is kept: hits and values are stored, and what needs
        whole lists later reads the file again. Raises UsageError if the source is not one file.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> done = wh.ingest_run("tiny", {"q1": {"d1": 2.5}}, name="bm25", system="BM25")
        >>> done.status, done.name, done.num_rows
        ('loaded', 'bm25', 1)
        >>> wh.ingest_run(source={"q1": {"d2": 1.5}}, name="tasb").dataset
        'tiny'
        """
        from warehouse.ingest.runs import stage_run, take_description

        options = take_description(how)
        return self.load(
            dataset, source, lambda con, chosen: stage_run(con, source, chosen, options, **how)
        )

    @overload
    def ingest_runs(
        self, dataset: str | None, sources: Source, **how: Unpack[Runs]
    ) -> Outcomes[Loaded | WarehouseError]: ...
    @overload
    def ingest_runs(
        self, *, sources: Source, dataset: str | None = None, **how: Unpack[Runs]
    ) -> Outcomes[Loaded | WarehouseError]: ...
    @explicit(Runs, name_from="stem")
    def ingest_runs(
        self, dataset: str | None = None, sources: Source | None = None, **how: Any
    ) -> Outcomes[Loaded | WarehouseError]:
        """Load many runs, in batches of one transaction each; faster than one by one.

        Returns the outcome of each source, in order. A source that cannot be loaded, or that would
        be the same run as an earlier one, has an error as its outcome; the others are still loaded.
        `on_run` is called with each source and its outcome as it is done. `sources` can also be one
        path or table. The other arguments are as in `ingest_run`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> one, other = wh.path.with_name("one.run"), wh.path.with_name("other.run")
        >>> _ = one.write_text("q1 Q0 a 1 2.5 one\\n"), other.write_text("q1 Q0\\n")
        >>> [type(done).__name__ for done in wh.ingest_runs("tiny", [one, other])]
        ['Loaded', 'InputError']
        """
        from warehouse.ingest.many_runs import load_runs
        from warehouse.ingest.runs import take_description
        from warehouse.readers import batches

        options = take_description(how)
        name = self.to_load(dataset, sources)
        return load_runs(self.file, batches.source_list(sources), name, options, **how)

    def ingest_folder(
        self,
        dataset: str | None = None,
        folder: str | os.PathLike[str] | None = None,
        *,
        replace: bool = False,
        on_found: Callable[[Folder], None] | None = None,
        on_file: Callable[[object, Loaded | LoadedAttributes | WarehouseError], None] | None = None,
    ) -> Outcomes[Loaded | LoadedAttributes | WarehouseError]:
        """Load the qrels and the runs below a folder, whatever their formats.

        What a file is, its beginning says: as what it can be read. If that is both, it is qrels if
        its name has qrel, judg, truth, rating or label in it, else a run. Ratings of a test are qrels,
        and those of training, `train.csv`, are the training set. Runs are named after their
        files. Of a folder of BEIR (`corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`), the qrels of the
        test and the texts of the queries are loaded. Returns the outcome of each source; `on_found` is
        called with the files before they are loaded, `on_file` with each and its outcome. Raises
        UsageError if nothing in the folder can be loaded, or if it has several qrels.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "truth.txt").write_text("q1 0 a 1\\n")
        >>> _ = (folder / "one.run").write_text("q1 Q0 a 1 2.5 one\\n")
        >>> done = Warehouse(folder / "example.duckdb").ingest_folder("tiny", folder)
        >>> [(one.kind, one.name) for one in done]
        [('qrels', 'tiny'), ('run', 'one')]
        """
        from warehouse.ingest.folder import attribute_keys, look_into
        from warehouse.ingest.steps import Outcomes

        name = self.to_load(dataset, folder)
        files = look_into(Path(folder or ""), name)
        if on_found is not None:
            on_found(files)
        tell = on_file or (lambda source, done: None)
        done: Outcomes[Loaded | LoadedAttributes | WarehouseError] = Outcomes()
        if files.qrels is not None:
            done.append(self.ingest_qrels(name, files.qrels, replace=replace))
            tell(files.qrels, done[0])
        if files.training is not None:
            done.append(self.ingest_training(name, files.training, replace=replace))
            tell(files.training, done[-1])
        if files.queries is not None:
            done.append(
                self.ingest_attributes(
                    name, files.queries, of="queries", leave_out=attribute_keys(files.queries),
                    replace=replace,
                )
            )  # fmt: skip
            tell(files.queries, done[-1])
        done += self.ingest_runs(name, files.runs, replace=replace, on_run=tell)
        return done

    def ingest_attributes(
        self,
        dataset: str | None = None,
        source: Source | None = None,
        *,
        of: Literal["docs", "queries"],
        name: str | None = None,
        id: str | None = None,
        split: Mapping[str, str] | None = None,
        leave_out: Names = (),
        format: str | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> LoadedAttributes:
        """Load attributes of documents or queries: any table with one row per id.

        `id` names the column with the ids; by default it is `doc_id` or `query_id`. A dict is
        `{id: {attribute: value}}`. `split={"genres": "|"}` splits the text of a column into lists;
        the columns of `leave_out` are not read.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_attributes("films", {"up": {"year": 2009}}, of="docs", name="years").columns
        {'year': 'number'}
        """
        from warehouse.ingest.attributes import stage_table

        return self.load(
            dataset, source,
            lambda con, chosen: stage_table(
                con, source, chosen, of, name=name, id=id, split=split,
                leave_out=check_names("leave_out", leave_out), format=format,
                normalise=normalise, replace=replace,
            ),
        )  # fmt: skip

    def ingest_text(
        self,
        dataset: str | None = None,
        source: Source | None = None,
        *,
        of: Literal["docs", "queries"],
        name: str | None = None,
        id: str | None = None,
        title: str | None = None,
        text: str | None = None,
        format: str | None = None,
        normalise: str | None = None,
        replace: bool = False,
    ) -> LoadedTexts:
        """Load the texts of queries or documents: a table with one row per id.

        `id`, `title` and `text` name the columns, by default as in BEIR (`_id, title, text`),
        MS MARCO and others; a TSV file without a header has the id first and the text last. A dict
        is `{id: {"title": title, "text": text}}`. The texts are shown next to queries and documents;
        replicas leave them out unless they are asked for. `name` is by default the
        file's stem; other texts of the same name need `replace`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> wh.ingest_text("tiny", {"q1": {"text": "what is an owl"}}, of="queries", name="q").num_texts
        1
        >>> wh.query("select query_id, text from query_text").fetchall()
        [('q1', 'what is an owl')]
        """
        from warehouse.ingest import texts

        return self.load(
            dataset, source,
            lambda con, chosen: texts.stage(
                con, source, chosen, of, name=name, id=id, title=title, text=text,
                format=format, normalise=normalise, replace=replace,
            ),
        )  # fmt: skip

    def ingest_scores(
        self,
        dataset: str | None = None,
        source: Source | None = None,
        *,
        name: str | None = None,
        judge: str | None = None,
        metrics: Names = (),
        lower_is_better: Names = (),
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        replace: bool = False,
    ) -> LoadedScores:
        """Load values by query that another program computed.

        `source` is a file with the lines of `trec_eval -q` or `ir_measures -q`, a table with the columns
        `run, query_id, metric, value`, also in memory, a result of MTEB, a log of Inspect or the samples
        of lm-evaluation-harness. Without a column of runs, the values are
        of the run `name`, or of the run that is called as the file. They stand under the protocol
        `imported`, or `imported:JUDGE` with a `judge`, and against the current qrels, and keep the names
        that the other program gave them. `metrics` takes some of them. Higher values are better, unless
        a metric is in `lower_is_better`, or a metric of its name has another direction here. Raises
        ConflictError if other values are there, unless `replace` puts these in their place.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, name="first")
        >>> rows = [{"query_id": "q1", "metric": "nuggets", "value": 0.5},
        ...         {"query_id": "q2", "metric": "nuggets", "value": 0.25}]
        >>> wh.ingest_scores("tiny", rows, name="first", judge="human").protocol
        'imported:human'
        >>> wh.leaderboard("tiny", protocol="imported:human").fetchall()
        [(1, 'first', None, 0.375, 2, 2)]
        """
        from warehouse.ingest import scores

        chosen = self.to_load(dataset, source)
        self.file.ensure()
        with self.file.staging() as staging:
            with staging.read() as con:
                store = scores.stage(
                    con, source, chosen, run=name, judge=judge,
                    metrics=check_names("metrics", metrics),
                    lower_is_better=check_names("lower_is_better", lower_is_better),
                    format=format, columns=columns, replace=replace,
                )  # fmt: skip
            with staging.transaction() as con:
                return store(con)

    def make_deciles(
        self,
        dataset: str | None = None,
        *,
        origin: str | None = None,
        by: Literal["mass", "count"] = "mass",
        parts: int = 10,
        name: str = "decile",
        replace: bool = False,
    ) -> LoadedAttributes:
        """Divide the labels (documents) of a dataset into `parts` by how often they occur.

        The part of each label is stored as its attribute `name`: the highest part, 10 by default,
        has the most frequent labels, and part 1 the rarest. `by="mass"` makes parts with equal
        numbers of occurrences, `by="count"` parts with equal numbers of labels. `origin` is
        "training", "qrels" or an attribute with the number of occurrences; default: the training
        set, or without one the qrels. `replace` stores other deciles of that name as a new version.
        The answer's `warnings` name parts that stay empty, as one label has their occurrences.
        Raises UsageError if there is nothing to count, or if there are fewer labels than parts.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_training("tiny", {"1": {"a": 1, "b": 1}, "2": {"a": 1}})
        >>> wh.make_deciles("tiny", parts=2).columns
        {'decile': 'number', 'decile_frequency': 'number'}
        >>> [(row.name, row.parts, row.labels) for row in wh.deciles("tiny")]
        [('decile', 2, 2)]
        >>> wh.decile_sizes("tiny").fetchall()
        [('2', 1, 2.0, 0.6666666666666666, 'a', 'a'), ('1', 1, 1.0, 0.3333333333333333, 'b', 'b')]
        """
        from warehouse.ingest.deciles import make_deciles
        from warehouse.store import datasets

        with self.file.staging() as staging:
            with staging.read() as con:
                store = make_deciles(
                    con, datasets.chosen(con, dataset),
                    origin=origin, by=by, parts=parts, name=name, replace=replace,
                )  # fmt: skip
            with staging.transaction() as con:
                return store(con)

    def fuse(
        self,
        dataset: str | None = None,
        runs: Names = (),
        method: str = "rrf",
        *,
        name: str,
        normalise: str | None = None,
        weights: Iterable[float] | None = None,
        queries: str = "union",
        train_queries: object | None = None,
        train_share: float | None = None,
        leave_out_training: bool = False,
        tune: str | None = None,
        protocol: str = protocols.DEFAULT,
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        run_at: dt.datetime | None = None,
        replace: bool = False,
    ) -> Fused:
        """Merge current runs of a dataset into a new run, `name`, and record what it was made of.

        `method` is a name that `warehouse fusions` lists, as in "rrf(k=20)". `normalise` is the name
        of a normalisation, by default min-max if the method reads scores.
        `weights` are in the order of the runs. `queries` is "union" (of any run) or "common"
        (of all runs). Trained methods, and `tune` by a metric under `protocol`, use the
        judged queries of `train_queries` (ids, or a file of them) or a `train_share` of the judged
        queries; the new run has these queries too, unless `leave_out_training`. Its documents stand
        by score, then by id, both descending. The other arguments are as in `ingest_run`. Raises
        UsageError for wrong names and missing arguments, and ConflictError if the name is taken by
        other content.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run("tiny", {"q": {"x": 3.0, "y": 2.0}}, name="one")
        >>> _ = wh.ingest_run("tiny", {"q": {"z": 2.0, "x": 1.0}}, name="two")
        >>> made = wh.fuse("tiny", ["one", "two"], "CombSUM", normalise="none", name="both")
        >>> made.method, made.loaded.num_rows
        ('sum', 3)
        >>> found = wh.query("select doc_id, score from predictions where run = 'both' order by rank")
        >>> found.fetchall()
        [('x', 4.0), ('z', 2.0), ('y', 2.0)]
        """
        from warehouse.fuse.fused_run import fuse
        from warehouse.ingest.runs import RunOptions

        options = RunOptions(name=name, system=system, tags=dict(tags or {}), run_at=run_at)
        return fuse(
            self.file, dataset, runs, method, options,
            normalise=normalise, weights=weights, queries=queries, train_queries=train_queries,
            train_share=train_share, leave_out_training=leave_out_training, tune=tune,
            protocol=protocol, replace=replace,
        )  # fmt: skip

    def forget(
        self,
        dataset: str | None = None,
        run: str | None = None,
        *,
        version: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a run, or one `version` of it: its predictions, hits and values.

        The table forgotten_run keeps what the run was, with `reason`. The newest version that is
        left becomes the current one. `ingest_run` can load the same content again; `sync` and
        `ingest mlflow` do not. Raises UsageError if there is no such run or version.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="wrong")
        >>> wh.forget("tiny", "wrong", reason="trained on the test set").versions
        (1,)
        >>> len(wh.runs())
        0
        """
        from warehouse.ingest.forget import forget

        how = {"version": version, "reason": reason}
        return self._remove(forget, dataset, dry_run, _required("run", run), **how)

    def _remove(
        self,
        remove: Callable[..., _T],
        dataset: str | None,
        dry_run: bool,
        *names: str,
        **how: object,
    ) -> _T:
        """Remove a part of a dataset; wrong names are refused without the lock of a writer."""
        from warehouse.store import datasets

        with self.file.read() as con:
            dataset = datasets.chosen(con, dataset)
            found = remove(con, *names, dataset, dry_run=True, **how)
        if dry_run:
            return found
        with self.file.transaction() as con:
            return remove(con, *names, dataset, **how)

    def forget_dataset(
        self, dataset: str, *, reason: str | None = None, dry_run: bool = False
    ) -> ForgottenDataset:
        """Remove a dataset whole: runs, qrels, values, training sets, attributes, texts, nuggets.

        The table forgotten_run keeps the record of each run, as after `forget`, so that a lake hides
        them and `sync` does not load them again. Raises UsageError if there is no such dataset.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="first")
        >>> wh.forget_dataset("tiny", reason="a test").num_predictions
        1
        >>> wh.datasets().fetchall()
        []
        """
        from warehouse.ingest.forget import forget_dataset

        return self._remove(forget_dataset, _required("dataset", dataset), dry_run, reason=reason)

    def edit(
        self,
        dataset: str | None = None,
        run: str | None = None,
        *,
        name: str | None = None,
        system: str | None = None,
        tags: Mapping[str, str] | None = None,
        without: Iterable[str] = (),
    ) -> Edited:
        """Rename a run, or change its system and tags, without another version of its predictions.

        All its versions share a `name`; system and tags belong to the current one. An empty
        `system` removes it, and `without` names tags to remove. Raises UsageError if there is no such
        run or tag, or if another run has the name.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="frist", tags={"seed": "1"})
        >>> wh.edit("tiny", "frist", name="first", tags={"seed": "2"})
        Edited(dataset='tiny', run='first', system=None, tags={'seed': '2'})
        """
        from warehouse.ingest.edit import edit
        from warehouse.store import datasets

        run = _required("run", run)
        with self.file.read() as con:
            dataset = datasets.chosen(con, dataset)
        with self.file.transaction() as con:
            return edit(
                con, run, dataset, name=name, system=system, tags=tags,
                without=check_several("without", without),
            )  # fmt: skip

    def forget_scores(
        self,
        dataset: str | None = None,
        run: str | None = None,
        *,
        judge: str | None = None,
        dry_run: bool = False,
    ) -> ForgottenScores:
        """Remove the imported values of a run, of one judge or of all; the run stays.

        Raises UsageError if there are none.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="first")
        >>> _ = wh.ingest_scores("tiny", [{"query_id": "q1", "metric": "m", "value": 1}], name="first")
        >>> wh.forget_scores("tiny", "first").metrics
        ('m',)
        """
        from warehouse.ingest import scores

        return self._remove(scores.forget, dataset, dry_run, _required("run", run), judge=judge)

    def forget_text(
        self,
        dataset: str | None = None,
        name: str | None = None,
        *,
        of: Literal["docs", "queries"],
        dry_run: bool = False,
    ) -> ForgottenTexts:
        """Remove all versions of a table of texts. Raises UsageError if there is none of that name.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_text("tiny", {"q1": {"text": "what is an owl"}}, of="queries", name="q")
        >>> wh.forget_text("tiny", "q", of="queries").num_texts
        1
        """
        from warehouse.ingest import texts

        return self._remove(texts.forget, dataset, dry_run, _required("name", name), of=of)

    def sync(
        self,
        config: str | os.PathLike[str] | None = None,
        *,
        dry_run: bool = False,
        check_content: bool = False,
        on_event: Callable[[Event], None] | None = None,
        on_file: Callable[[str, int], None] | None = None,
    ) -> Synced:
        """Load new and changed files of `warehouse.toml`, evaluate what is due, and run the gates.

        Runs that can be read together are loaded in one transaction, every other file in its own. A
        file with a problem does not stop the others: it becomes a failed event and is tried again
        at the next sync, because the cause may lie elsewhere. A file is read again only if its
        size, its time or its settings have changed, or with `check_content` its content alone. A
        run whose file is gone stays, or is forgotten with `missing = "forget"`; if another file has
        its content, the run is renamed. If `config` names a database, it must be this
        one, unless this one was given by its path or by `WAREHOUSE_DB`. `on_event` is called with
        each event as it happens, `on_file` with each file to come and the number of files. Raises
        UsageError if there is no project file, DefinitionError if it is wrong, DatabaseError if the
        database cannot be used, and LockedError if its lock is not released in time.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "qrels.txt").write_text("q1 0 a 1\\n")
        >>> _ = (folder / "first.run").write_text("q1 Q0 a 1 0.5 tag\\n")
        >>> _ = (folder / "warehouse.toml").write_text(
        ...     'settle = 0\\n[datasets.tiny]\\nqrels = "qrels.txt"\\nmetrics = ["AP"]\\n'
        ...     '[[runs]]\\nfiles = "*.run"\\ndataset = "tiny"\\n')
        >>> wh = Warehouse(folder / "tiny.duckdb")
        >>> [event.status for event in wh.sync(folder / "warehouse.toml").events]
        ['loaded', 'loaded', 'computed']
        >>> wh.sync(folder / "warehouse.toml").changed
        False
        """
        from warehouse.sync.sync import sync

        return sync(
            self.file, config, dry_run=dry_run, check_content=check_content,
            on_event=on_event, on_file=on_file,
        )  # fmt: skip

    def load(
        self,
        dataset: str | None,
        source: object,
        stage: Callable[
            [duckdb.DuckDBPyConnection, str], Callable[[duckdb.DuckDBPyConnection], _T]
        ],
    ) -> _T:
        """Stage a source for a dataset, then open the file to store it; return the outcome.

        The database is made if it does not exist, unless the source does not exist either: both
        names may be wrong.
        """
        from warehouse.readers.registry import missing

        name = self.to_load(dataset, source)
        error = None if self.path.exists() else missing(source)
        if error is not None:
            raise error
        self.file.ensure()
        with self.file.staging() as staging:
            store = stage(staging.con, name)
            with staging.transaction() as con:
                return store(con)

    def to_load(self, dataset: str | None, source: object) -> str:
        """Return the name of the dataset to load into, which may be new, or the only one."""
        from warehouse.ingest.steps import check_name
        from warehouse.store import datasets

        first = "the dataset comes first, then what to load"
        name = None if dataset is None else check_name("dataset", dataset, f": {first}")
        if source is None:
            raise UsageError(f"there is nothing to load: {first}")
        if name is not None:
            return name
        if not self.path.exists():
            raise UsageError("there is no dataset yet: name the first one")
        self.file.ensure()
        with self.file.read() as con:
            return datasets.chosen(con, None)

    # ------------------------------------------------------------------------------- Evaluate

    def evaluate(
        self,
        dataset: str | None = None,
        *,
        runs: Names = (),
        metrics: Metrics = (),
        slices: Names = (),
        protocol: str = protocols.DEFAULT,
        exclude: object = None,
        qrels: int | None = None,
        dry_run: bool = False,
        on_metric: Callable[[str], None] | None = None,
        engine: object = "local",
        master: str | None = None,
        by: Literal["run", "query"] = "run",
        buckets: int | None = None,
        exchange: str | os.PathLike[str] | None = None,
    ) -> Outcome:
        """Compute the metrics that are missing or stale; all values become visible together.

        The default is all datasets. Without `metrics`, these are the metrics that a dataset has
        values of, including its slices, as `status` lists them, or the default metrics if it has no
        values yet. Runs are evaluated against the current qrels, or against the version `qrels` of
        one dataset. `slices` are evaluated in addition to the whole: each is the name of an
        attribute or of an existing slice, or a definition "name = expression", in SQL over the
        attributes of the queries or of the documents.

        `exclude` leaves documents out of the rankings, whose ranks close up: with "self" the document
        that has the id of its query, with "training" those that the training set has for the query,
        else those that an attribute of the queries names. A file, a dict or a table of pairs (query_id,
        doc_id), or of a list for each query, is stored first, as such an attribute. The values belong to
        a protocol of their own, such as "default~self", by which boards and comparisons show them.

        `engine` says where the values are computed: "local" in this process, "spark" in the tasks of
        the active session or of a new one on the `master`, or in those of an object with
        `map(function, parts)`. Stored values are the same to the bit. The tasks read predictions and
        write values in `exchange`, a folder that they see too (default: the one of the database).
        Work is divided `by` run or, for runs that are too large for one task, by query, into a number
        of `buckets` (32). The parts of slices are evaluated in this process.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q1": {"a": 1}, "q2": {"b": 1}})
        >>> _ = wh.ingest_run("tiny", {"q1": {"a": 1.0}, "q2": {"a": 1.0}}, name="first")
        >>> wh.evaluate(metrics="RR", slices="first = query_id = 'q1'").slices
        ['slice first: 2 parts of the queries']
        >>> [(row.part, row.RR) for row in wh.leaderboard("tiny", slice="first")]
        [('false', 0.0), ('true', 1.0)]
        >>> _ = wh.evaluate(metrics="RR", exclude={"q1": ["a"]})
        >>> [row.RR for row in wh.leaderboard("tiny", protocol="default~excluded")]
        [0.0]
        """
        from warehouse.evaluate import evaluation

        protocol = protocols.without(protocol, self._excluded(dataset, exclude, dry_run))
        done = evaluation.evaluate(
            self.file, dataset, runs=runs, metrics=metrics, slices=slices, protocol=protocol,
            qrels=qrels, dry_run=dry_run, on_metric=on_metric, engine=engine, master=master, by=by,
            buckets=buckets, exchange=exchange,
        )  # fmt: skip
        done.protocol = protocol
        return done

    def _excluded(self, dataset: str | None, exclude: object, dry_run: bool) -> str | None:
        """Return the name of a rule of what is left out; a list is stored first, under its own."""
        from warehouse.readers.files import default_name
        from warehouse.readers.registry import is_file_name

        if isinstance(exclude, str) and not (is_file_name(exclude) or Path(exclude).is_file()):
            return exclude
        if exclude is None:
            return None
        if dry_run:
            raise UsageError(
                f"{option('dry-run')}: stores nothing, and a list to exclude is stored first; leave "
                f"out {option('dry-run', None)}, or name a list that was stored before"
            )
        from warehouse.ingest.excluded import stage_list
        from warehouse.store import datasets

        with self.file.read() as con:
            datasets.check(con, dataset)
        is_path = isinstance(exclude, str | os.PathLike)
        name = default_name(str(exclude)) if is_path else "excluded"
        self.load(dataset, exclude, lambda con, chosen: stage_list(con, exclude, chosen, name))
        return name

    def status(self, dataset: str | None = None) -> Result:
        """Return the missing, stale, red or orphaned values, and the rows that `evaluate` would read.

        Columns: `dataset, state, what, protocol, number, predictions, detail`. A value is missing
        if a current run has none against the current qrels for a metric that the dataset has values
        of (for the default metrics, if the dataset has no values yet). A run is red in a metric if a
        gate fired and nobody has accepted the run. The default is all datasets;
        orphaned rows are searched only then. Attributes: `num_missing, num_stale, num_up_to_date,
        num_red, num_orphaned, num_predictions, commands`.
        """
        from warehouse.evaluate import status
        from warehouse.report import presentation
        from warehouse.store import datasets

        with self.file.read() as con:
            datasets.check(con, dataset)
            return presentation.status(status.status(con, dataset), dataset)

    def verify(
        self,
        dataset: str | None = None,
        *,
        sample: int | None = None,
        seed: int = 0,
        renew: bool = False,
        on_group: Callable[[str], None] | None = None,
    ) -> Result:
        """Recompute stored values from the stored predictions and compare every bit.

        It recomputes all evaluations, or a `sample` of that many, each with its queries. Nothing is
        stored, but with `renew` the current values are first derived again if they are wrong. Whatever
        the dataset (default: all), the whole database is searched for rows that cannot be right. Returns
        the numbers that differ: `dataset, run, metric, protocol, part, query_id, position, what, stored,
        computed, evaluation_id`. Attributes: `is_good,
        num_verified, num_stored, skipped` and the table `problems`.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first")
        >>> _ = wh.evaluate(metrics="AP RR")
        >>> found = wh.verify("tiny")
        >>> found.is_good, found.num_verified
        (True, 2)
        """
        from warehouse.evaluate import verify
        from warehouse.report import presentation
        from warehouse.store import datasets

        if renew:
            verify.renew(self.file)
        with self.file.read() as con:
            datasets.check(con, dataset)
            found = verify.verify(con, dataset, sample=sample, seed=seed, on_group=on_group)
            return presentation.verified(found, None if sample is None else seed)

    @staticmethod
    def verify_bundle(
        bundle: str | os.PathLike[str],
        data: str | os.PathLike[str] | None = None,
        signers: str | os.PathLike[str] | None = None,
    ) -> Result:
        """Compute the values of a bundle again from its files, and compare every bit.

        `data` is the folder with its judgments and runs, if they were left out. `signers` is a file of
        allowed signers, as `ssh-keygen -Y verify` reads it: one of them must have signed the bundle.
        Returns the values that differ: `what, run, metric, query_id, stored, computed`. Attributes:
        `is_good`, false also if a file of the bundle has changed, and `problems`. Raises InputError if
        it is no bundle. See `export`.
        """
        from warehouse.report import bundles, presentation

        found = bundles.verify(
            Path(bundle), *(None if path is None else Path(path) for path in (data, signers))
        )
        return presentation.checked(found)

    # ----------------------------------------------------------------------------------- Look

    def leaderboard(
        self,
        dataset: Names | None = None,
        *,
        metrics: Metrics = (),
        slice: str | None = None,
        sort: str | None = None,
        top: int | None = None,
        protocol: str = protocols.DEFAULT,
        weights: across_datasets.Weights = "equal",
        by: Literal["run", "system"] = "run",
        each: bool = False,
        ci: bool = False,
        ties: bool = False,
        ranks: bool = False,
        together: bool = False,
        alpha: float = 0.05,
        resamples: int = 2000,
        seed: int = 0,
        as_of: past_state.Moment | None = None,
        qrels: int | None = None,
        run: Names = (),
        system: Names = (),
        tag: run_choice.Tags = (),
        columns: Names = (),
        label: Mapping[str, str] | None = None,
        percent: bool = False,
        places: int | None = None,
    ) -> Result:
        """Return the board of a dataset, best first by `sort` (default: the first metric).

        Metrics that are not stored are computed from the stored hits, and not stored; the notes say
        so. `run` and `system` are names or patterns, as in "tas*", and `tag` has them by the tag's
        name, as in `{"stage": "first"}`: the board then has the runs that fit all of these.

        Columns: `place` (null without a value), `run, system`, one per metric, and the number of
        queries `answered` and `judged`. With `slice`, which must have been evaluated, there is one
        board for each part; the first column is then `part`. Attributes: `metrics` (by column),
        `directions`, `datasets`.

        With several datasets (a list, or a pattern as in 'proj*'), the board has the runs that have
        values in all of them, matched by name or `by="system"`. A value is then the mean over the
        datasets. `weights` are "equal", "relevant" (by relevant judgments), "queries" (by judged
        queries) or given, as in `{"A": 2, "B": 1}`. `each=True` adds the value in each dataset, in
        columns such as 'AP A'.

        `as_of` returns the board as it was then: the run versions, qrels and values of that time. A
        day ends at midnight UTC, and a time without a zone is UTC. `qrels` selects a version of the
        qrels; no board mixes versions.

        With `ci`, a column 'AP ±' next to each metric has the half-width of the t-interval of the
        mean over the queries, at 1 - `alpha`. With `ties`, a column `group` numbers the runs that
        cannot be told apart: a group is its best run and the runs that do not differ from it by
        `sort`, in a paired t-test with Holm's correction over all pairs of the whole board, whatever
        `top` is.

        With `ranks`, the columns `rank_low, rank_high, p_first` say how far the ranks by `sort`, a
        mean, depend on the choice of queries. The queries are drawn with replacement `resamples`
        times from `seed`, and each time all runs are ranked by their means over the drawn queries;
        equal means share the best rank. Leaving out `alpha` / 2 of the draws at either end, the run
        ranks from `rank_low` to `rank_high`. `p_first` is the share of draws in which it is first,
        alone or tied, so that the shares may add up to more than 1. Sources: Goldstein and
        Spiegelhalter 1996, League tables and their limitations; Sakai 2006, Evaluating evaluation
        metrics based on the bootstrap. These intervals are each run's own. If they are to hold
        `together`, a run ranks below those that are significantly better in Tukey's randomised test of
        all pairs, and above those that are significantly worse (Klein, Wright and Wieczorek 2020, A
        joint confidence region for an overall ranking of populations).

        With `ranks` and several datasets, `mean_rank, borda, standard_score` take their place: the
        mean of the ranks by `sort` in the datasets, how often the run is better than another in a
        dataset (a tie counts half), and the mean of its values less the runs' mean in the dataset, by
        their deviation. The board is then ordered by the mean rank, and notes have Friedman's test and
        Nemenyi's critical difference at `alpha`. The result has the table `wins`: `run, other, wins,
        ties, losses`, in datasets, and `diagram`, whose chart is the critical-difference diagram.
        Source: Demšar 2006, Statistical comparisons of
        classifiers over multiple data sets.

        `ci` and `ties` work on one dataset, and with `ranks` not on a slice.

        For a paper, `columns` names those to show, in their order, `label` has names to show in
        place of those of runs, `percent` shows values of metrics between -1 and 1 times 100, and
        `places` are the digits after the point in tables (default: 4, or 2 in percent).

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {q: {"a": 1} for q in "pqrstu"})
        >>> for name, score in (("good", 2.0), ("bad", 0.0)):
        ...     one = {"a": score, "b": 1.0}
        ...     _ = wh.ingest_run("tiny", {q: one for q in "pqrstu"}, name=name)
        >>> board = wh.leaderboard("tiny", metrics="RR", ranks=True)
        >>> [(row.run, row.rank_low, row.rank_high, row.p_first) for row in board]
        [('good', 1, 1, 1.0), ('bad', 2, 2, 0.0)]
        """
        from warehouse.analyze import leaderboard, run_choice
        from warehouse.report import layout, presentation

        how = layout.layout(columns, label, percent=percent, places=places)
        with self.file.read() as con:
            found = leaderboard.leaderboard(
                con, dataset, metrics=metrics, slice=slice, sort=sort, top=top, protocol=protocol,
                weights=weights, by=by, each=each, ci=ci, ties=ties, ranks=ranks, together=together,
                alpha=alpha,
                resamples=resamples, seed=seed, as_of=as_of, qrels=qrels,
                runs=run_choice.choice(run, system, tag),
            )  # fmt: skip
            layout.check_label(con, found.datasets, how.label)
            return presentation.leaderboard(found, protocol, top, how)

    def queries(
        self,
        dataset: str | None = None,
        run: str | None = None,
        *,
        metrics: Metrics = (),
        slice: str | None = None,
        worst: int | None = None,
        protocol: str = protocols.DEFAULT,
        as_of: past_state.Moment | None = None,
        qrels: int | None = None,
    ) -> Result:
        """Return a run's values for each query, with its counts of documents.

        Columns: `query_id`, one per metric, `retrieved, relevant_retrieved, relevant,
        unjudged_at_10`, where a judgment below 0 is none, and `text` if the dataset has texts of
        queries. `worst=N` returns the N worst by the first
        metric, worst first. With `slice`, which must have been evaluated, the columns are `part,
        query_id` and one per metric, and `worst=N` applies to each part. `as_of` and `qrels` are
        those of `leaderboard`.
        """
        from warehouse.analyze import query_values
        from warehouse.report import presentation

        with self.file.read() as con:
            found, computed, labels = query_values.queries(
                con, dataset, _required("run", run), metrics=metrics, slice=slice, worst=worst,
                protocol=protocol, as_of=as_of, qrels=qrels,
            )  # fmt: skip
            return presentation.queries(found, slice, protocol, computed, labels)

    def explain(
        self,
        dataset: str | None = None,
        run: str | None = None,
        query: str | None = None,
        metric: str | Metric | None = None,
        *,
        top: int | None = None,
        protocol: str = protocols.DEFAULT,
        qrels: int | None = None,
    ) -> Result:
        """Explain a current run's value for a query: where it came from, and each document's part.

        A metric that is not stored is computed.

        After the run come the query and the metric, or the metric and the query, as in the command.

        Columns: `rank, doc_id, score, relevance, value_so_far, part`, and `text` if the dataset has
        texts of documents. A document's part is the value of the list cut after it, minus the value of
        the list cut before it; the parts add up to the value. `metric` is by default the first that
        the dataset has values of. `top` is how many documents are shown; default: the metric's
        cutoff, or 20 without one. Attributes: `value, recomputed, is_stale, relevant_missed,
        query_text, fingerprint` and the rest of the provenance.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1, "c": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, name="first")
        >>> _ = wh.evaluate(metrics="AP")
        >>> [(row.doc_id, row.part) for row in wh.explain("tiny", "first", "q")]
        [('a', 0.5), ('b', 0.0), ('c', 0.33333333333333326)]
        >>> wh.explain("tiny", "first", "AP", "q").value
        0.8333333333333333
        """
        from warehouse.analyze import explain
        from warehouse.report import presentation

        with self.file.read() as con:
            found = explain.explain(
                con, dataset, _required("run", run), _required("query", query), metric,
                top=top, protocol=protocol, qrels=qrels,
            )  # fmt: skip
            return presentation.explanation(found)

    def curve(
        self,
        dataset: str | None = None,
        curve: str | None = None,
        *,
        runs: Names = (),
        query: str | None = None,
        store: bool = False,
        protocol: str = protocols.DEFAULT,
        on_curve: Callable[[str], None] | None = None,
    ) -> Result:
        """Return the points of a curve over all queries or of one.

        Missing and stale points are computed from the stored hits. They are not stored, unless
        `store` is true, and the notes say so.

        Columns: `run, position, x, y`, with the runs in the given order, else by name. If not every
        query has a point at every x, a column `queries` says how many have one. Attributes:
        `areas` by run, `best(number)`, `computed`. Raises UsageError for wrong names.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first")
        >>> wh.curve("tiny", "ROC").fetchall()
        [('first', 0, 0.0, 0.0), ('first', 1, 1.0, 0.0), ('first', 2, 1.0, 1.0)]
        """
        from warehouse.analyze import curves
        from warehouse.report import presentation

        found = curves.curve(
            self.file, dataset, _required("curve", curve),
            runs=runs, query=query, store=store, protocol=protocol, on_curve=on_curve,
        )  # fmt: skip
        return presentation.curve(found)

    def holes(
        self,
        dataset: str | None = None,
        runs: Names = (),
        *,
        depth: int = 10,
        top: int | None = None,
        per_query: bool = False,
        order: str = "popularity",
        p: float = 0.95,
        protocol: str = protocols.DEFAULT,
        run: Names = (),
        system: Names = (),
        tag: run_choice.Tags = (),
    ) -> Result:
        """List the unjudged documents among the first `depth` of `runs` (default: all).

        The `runs` can be patterns; those that fit `run`, `system` and `tag`, as in `leaderboard`,
        come after them.

        Columns: `query_id, doc_id, runs, best_rank, mean_reciprocal_rank`, and `error` or
        `nonrel_above` by the order. There are at most `top`, or with `per_query` at most `top` for
        each query. The `order` is "popularity" (those that most runs have come first),
        "average-error" (those whose judgment takes most off the mean error of RBP with the
        persistence `p`; `error` is how much), "greatest-error" (always the first unjudged document of
        the run with the greatest error; needs `top`; `error` is the greatest one that is left) or
        "move-to-front" (those with the fewest documents judged as not relevant above them come first).
        The table `filled` says what judging them would fill in each run. Raises UsageError for
        wrong names and numbers.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 3.0, "a": 2.0}}, name="one")
        >>> _ = wh.ingest_run("tiny", {"q": {"c": 3.0, "b": 2.0}}, name="two")
        >>> wh.holes("tiny", top=1).fetchall()
        [('q', 'b', 2, 1, 0.75)]
        """
        from warehouse.analyze import holes, run_choice
        from warehouse.report import presentation

        with self.file.read() as con:
            found = holes.holes(
                con, dataset, runs, depth=depth, top=top, per_query=per_query, order=order, p=p,
                protocol=protocol, choice=run_choice.choice(run, system, tag),
            )  # fmt: skip
            return presentation.holes(found)

    # -------------------------------------------------------------------------------- Compare

    def compare(
        self,
        dataset: str | None = None,
        runs: Names = (),
        metrics: Metrics = (),
        *,
        bases: Names = (),
        all_pairs: bool = False,
        test: str = "t",
        correction: str | None = None,
        alpha: float = 0.05,
        interval: str = "t",
        resamples: int = 10_000,
        seed: int = 0,
        family: str = "metric",
        power: bool = False,
        rope: float | None = None,
        scale: str | None = None,
        judged_only: bool = False,
        judged: bool = True,
        all_relevant: bool = False,
        store: bool = False,
        protocol: str = protocols.DEFAULT,
        as_of: past_state.Moment | None = None,
        qrels: int | None = None,
        run: Names = (),
        system: Names = (),
        tag: run_choice.Tags = (),
        sort: str | None = None,
        columns: Names = (),
        label: Mapping[str, str] | None = None,
        percent: bool = False,
        places: int | None = None,
        on_step: Callable[[str], None] | None = None,
    ) -> Result:
        """Compare runs with each other, or with a base, on stored values that are joined by query.

        All pairs of the runs are compared, or those with the `bases`, which need not be among the
        runs. A run that is named alone is a base, compared with all others of the dataset that have
        values; `all_pairs` compares those with each other, too. The runs can be patterns, as in
        "tas*"; those that fit `run`, `system` and `tag`, as in `leaderboard`, come after them.

        Every pair and metric is one hypothesis, except of Judged, which says what is known and not
        how good a run is. `test` is two-sided: "t", "wilcoxon" (extra "stats"), "sign",
        "randomisation", "bootstrap" (of the studentised differences), "tukey" or "tukey-anova" (extra
        "stats"), which has simultaneous intervals and effect sizes by the error of a two-way analysis
        of variance. `correction` is "holm",
        "bonferroni", "bh" or "none", over a `family`: the pairs of one "metric", or "all" pairs and
        metrics. For a pair that differs in no query, "t" and "wilcoxon" have no p, and the pair is
        not a hypothesis; the other tests have p = 1. `interval` is "t", "bootstrap"
        (percentiles) or "bca" (corrected for bias and acceleration; Efron 1987, Better bootstrap
        confidence intervals). Resampling is
        repeated `resamples` times from `seed`, with the same bits on any number of threads.

        `judged_only` removes unjudged documents from the lists first. `judged` adds the share of
        judged documents, and `all_relevant` the values that the runs would have if all unjudged
        documents had the highest grade: no bound for metrics such as nDCG that divide by the
        ideal. `store` keeps the comparison in the database, for the view `comparisons`.
        `as_of` and `qrels` are as in `leaderboard`. Raises UsageError for wrong names and
        missing values.

        The result has a row for each hypothesis: `metric, base, run, base_value, value, difference,
        low, high, effect_size, wins, ties, losses, queries, left_out, statistic, p, p_adjusted,
        is_significant`. Of a metric whose value of a run is no mean over the queries, `difference` is
        that of the values: sums are tested as means are, a geometric mean by logarithms and without
        an interval, others not at all. With `power`, `detectable` is the smallest difference that a
        paired t-test over as many queries finds significant in 80 % of cases, and `queries_needed`
        the number of queries for a difference as large as this one, both before the correction (Sakai
        2016, Topic set size design). With `rope`, `p_worse, p_equal, p_better` are the posterior
        probabilities that the run is worse than the base, differs by at most `rope`, or is better: with
        a flat prior the difference has Student's t about its mean (Benavoli and others 2017, Time for
        a change).
        `scale` standardises the values of each query over the compared runs first: "z" (distances
        from their mean in standard deviations), "normal" (the share of the normal distribution below
        z; Webber and others 2008) or "uniform" (the share of the runs that are below; Urbano and
        others 2019). Its table `values` has a row for each metric and run: `metric, run, letter,
        value, place, better_than, judged, if_all_relevant, queries`. With `sort`, a metric, the runs
        stand best first. `columns`, `label`, `percent` and `places` are as in `leaderboard`; each of
        the two tables has only its own columns.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {q: {"a": 1} for q in "pqr"})
        >>> _ = wh.ingest_run("tiny", {q: {"b": 2.0, "a": 1.0} for q in "pqr"}, name="low")
        >>> _ = wh.ingest_run("tiny", {"p": {"a": 1.0}, "q": {"a": 1.0}, "r": {"b": 1.0}}, name="high")
        >>> _ = wh.evaluate(metrics="RR")
        >>> found = wh.compare("tiny", ["low", "high"], "RR", test="sign")
        >>> [(row.base, row.run, row.wins, row.ties, row.losses, row.p) for row in found]
        [('low', 'high', 2, 0, 1, 1.0)]
        """
        from warehouse.analyze import comparison, paired_tests, run_choice
        from warehouse.report import layout, presentation

        shown = layout.layout(columns, label, percent=percent, places=places)
        how = paired_tests.How(
            test, correction, alpha, interval, resamples, seed, family, power, rope, scale
        )
        found = comparison.compare(
            self.file, dataset, runs, metrics, how, bases=bases, all_pairs=all_pairs,
            judged_only=judged_only, judged=judged, all_relevant=all_relevant, store=store,
            protocol=protocol, as_of=as_of, qrels=qrels, on_step=on_step,
            choice=run_choice.choice(run, system, tag), sort=sort,
        )  # fmt: skip
        if shown.label:
            with self.file.read() as con:
                layout.check_label(con, [found.dataset], shown.label)
        return presentation.compare(found, shown)

    def side_by_side(
        self,
        dataset: str | None = None,
        base: str | None = None,
        run: str | None = None,
        metric: str = "nDCG@10",
        *,
        queries: int = 5,
        depth: int = 10,
        protocol: str = protocols.DEFAULT,
        as_of: past_state.Moment | None = None,
        qrels: int | None = None,
    ) -> Result:
        """Return the queries on which two runs differ most, with both lists down to `depth`.

        Columns: `place, query_id, base_value, value, difference, rank, base_document,
        base_relevance, document, relevance`. `as_of` and `qrels` are as in `leaderboard`.
        """
        from warehouse.analyze import side_by_side
        from warehouse.report import presentation

        with self.file.read() as con:
            found = side_by_side.side_by_side(
                con, dataset, _required("base", base), _required("run", run), metric, queries=queries,
                depth=depth, protocol=protocol, as_of=as_of, qrels=qrels,
            )  # fmt: skip
            return presentation.side_by_side(found)

    def check(
        self,
        dataset: str | None = None,
        metrics: Metrics = (),
        *,
        against: str = "last",
        run: str | None = None,
        group: str | None = None,
        max_drop: float | None = None,
        alpha: float | None = None,
        min: float | None = None,
        max: float | None = None,
        strict: bool = False,
        sequential: bool = False,
        protocol: str = protocols.DEFAULT,
        new: bool = False,
        unchecked: str = "warn",
    ) -> Result:
        """Compare a run (default: the newest) with an earlier one, or run the gates of warehouse.toml.

        `against` is "last" or "best", among the runs that were loaded before it and its own earlier
        versions, "baseline", which `baseline` sets, or the name of a run. `group` is "system" or a
        tag: then only runs that have it in common are compared. A red run is left out until it is
        accepted. The run is worse if its values have dropped by more than `max_drop` (0), and a
        one-sided paired t-test over the queries says at `alpha` (0.05) that this is not chance; with
        `strict`, if the value over all queries is worse by more than `max_drop`, untested; or if the
        value is below `min` or above `max`. With these alone, any drop is good. Of runs that are not
        worse, night after night, at most alpha are called worse, also against the best of many; with
        several metrics, alpha is divided by their number. With `sequential`, p is of a test that may
        be repeated as judgments of more queries come in: if the run is not worse, p is ever below
        `alpha` with a chance of at most `alpha`. It needs a metric whose range is known. A run is
        unchecked if nothing can be said: there is no reference, too few queries, or no defined value;
        with `unchecked="fail"`, this is not good. Columns: `metric, run, against, value, their_value,
        difference, low, high, p, wins, ties, losses, verdict`.
        Attributes: `is_good, run, comparisons, verdicts`.

        Without `metrics`, the gates of warehouse.toml check the `run`, or the newest run of each
        group. With `new`, they check every run whose verdict is not of the present state, as `sync`
        does, and the verdicts are stored. Columns: `dataset, metric, protocol, run, reference, value,
        reference_value, difference, low, high, p, verdict, why`; runs that are red already are included.
        Attributes: `is_good, verdicts`. Raises UsageError for wrong names and missing values.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="first")
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="second")
        >>> _ = wh.evaluate(metrics="RR")
        >>> found = wh.check("tiny", "RR", max_drop=0.1, strict=True)
        >>> found.is_good, [(row.against, row.difference, row.verdict) for row in found]
        (False, [('first', -0.5, 'worse')])
        """
        from warehouse.analyze import regressions
        from warehouse.report import presentation
        from warehouse.sync import gates

        limits = regressions.Limits(max_drop, alpha, min, max, strict=strict, sequential=sequential)
        asked = check_several("metrics", metrics)
        if not asked:
            if (against, group, limits, protocol) != (
                "last",
                None,
                regressions.Limits(),
                "default",
            ):
                raise UsageError(
                    "limits go with a metric; without one, those of warehouse.toml count"
                )
            found = gates.check_project(self.file, dataset, run, new=new, unchecked=unchecked)
            return presentation.gate_check(found)
        if new:
            raise UsageError("new: is for the gates of warehouse.toml, so name no metric")
        with self.file.read() as con:
            return presentation.check(
                regressions.check(
                    con, dataset, asked, against=against, run=run, limits=limits, group=group,
                    protocol=protocol, unchecked=unchecked,
                )
            )  # fmt: skip

    def gates(self, dataset: str | None = None, *, red: bool = False) -> Result:
        """Return the verdicts of the gates of warehouse.toml on current runs, newest first.

        Columns: `dataset, verdict, run, metric, reference, difference, low, high, since, value,
        reference_value, p, could_see, why, accepted_by, accepted_why, accepted_at, is_red,
        checked_at, version, reference_version, protocol, grouped_by, against, limits`. The verdict is
        good, worse, unchecked, accepted, or resolved where a red one has ended. A run is red if it was
        worse when a gate last checked it, and nobody has accepted it; with `red`, only the verdicts
        on red runs are returned. The default is all datasets.
        """
        from warehouse.analyze import gate_results
        from warehouse.report import presentation

        with self.file.read() as con:
            return presentation.gates(gate_results.listed(con, dataset, red=red), red=red)

    def gate_log(self, run: str, dataset: str | None = None) -> Result:
        """Return all verdicts on a run, oldest first, with what has changed since the one before.

        Columns: as in `gates`, and `changes` after `checked_at`: new qrels, a new formula, new
        limits, another reference.
        """
        from warehouse.analyze import gate_results
        from warehouse.report import presentation

        with self.file.read() as con:
            return presentation.gate_log(gate_results.story(con, dataset, run), run)

    def baseline(self, run: str, dataset: str | None = None, *, why: str) -> None:
        """Make a run the baseline of its group: gates with against = "baseline" compare with it.

        `why` is stored, with the user and the host. Raises UsageError if the run is red.
        """
        from warehouse.analyze import gate_results

        with self.file.transaction() as con:
            gate_results.set_baseline(con, dataset, run, why)

    def accept(
        self, dataset: str | None = None, runs: Names | None = None, *, why: str
    ) -> list[str]:
        """Accept runs although a gate fired, or all red ones of a dataset; return their names.

        They are no longer red then, and later runs are compared with them. `why` is stored. Raises
        UsageError if one of the runs is not red.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "qrels.txt").write_text("q1 0 a 1\\n")
        >>> _ = (folder / "1.run").write_text("q1 Q0 a 1 0.5 tag\\n")
        >>> _ = (folder / "2.run").write_text("q1 Q0 b 1 0.5 tag\\n")
        >>> config = folder / "warehouse.toml"
        >>> _ = config.write_text(
        ...     'settle = 0\\n[datasets.tiny]\\nqrels = "qrels.txt"\\nmetrics = ["AP"]\\n'
        ...     '[[runs]]\\nfiles = "*.run"\\ndataset = "tiny"\\n'
        ...     '[[gates]]\\ndataset = "tiny"\\nmetric = "AP"\\nstrict = true\\n')
        >>> wh = Warehouse(folder / "tiny.duckdb")
        >>> wh.sync(config).exit_code
        1
        >>> [(row.run, row.reference, row.why) for row in wh.gates(red=True)]
        [('2', '1', 'it fell by 1.0000')]
        >>> wh.accept("tiny", "2", why="the index was cut on purpose")
        ['2']
        >>> wh.sync(config).exit_code
        0
        """
        from warehouse.analyze import gate_results

        names = None if runs is None else check_names("runs", runs)
        with self.file.transaction() as con:
            return gate_results.accept(con, dataset, names, why)

    def agree(
        self,
        dataset: Names | None = None,
        runs: Names = (),
        *,
        of: str = "documents",
        metrics: Metrics = (),
        against: str | None = None,
        depth: int | None = None,
        p: float = 0.9,
        over: str = "intersection",
        protocol: str = protocols.DEFAULT,
        run: Names = (),
        system: Names = (),
        tag: run_choice.Tags = (),
    ) -> Result:
        """Measure how much rankings agree: Kendall's tau-b, tau-AP and rank-biased overlap.

        `of="documents"` compares the document lists of every two of the `runs` (default: all), in
        the order of the protocol, down to `depth`; judgments are not needed. tau is `over` the
        "intersection" or the "union" of two lists. The columns are then `run, other, tau_b, tau_ap,
        tau_ap_b, rbo_ext, rbo_min, rbo_residual, common, queries, undefined, only_one`, and the
        table `queries` has the measures of each query.

        `of="runs"` compares the orders in which the `metrics` (default: all that have values) rank
        the runs or, with several datasets, the orders in which each metric ranks them there. The
        columns are then `metric[, dataset], other, tau_b, tau_ap, tau_ap_b, rbo_ext, runs,
        swapped_pairs, left_out`.

        `of="queries"` correlates an attribute of the queries, such as a prediction of how well they
        will do, with the values of the runs: `attribute, run, metric, pearson, spearman, tau_b, queries,
        left_out`. Without `against`, that is each attribute that is a number.

        `against` names the run, metric, dataset or attribute to compare all others with. The `runs`
        can be patterns; those that fit `run`, `system` and `tag`, as in `leaderboard`, come after
        them. Raises UsageError for wrong names and numbers.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run("tiny", {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, name="one")
        >>> _ = wh.ingest_run("tiny", {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, name="two")
        >>> [(round(row.tau_b, 4), row.tau_ap, round(row.rbo_ext, 3)) for row in wh.agree("tiny")]
        [(0.3333, 0.5, 0.955)]
        """
        from warehouse.analyze import agreement, run_choice
        from warehouse.report import presentation

        with self.file.read() as con:
            found = agreement.agree(
                con, dataset, runs, of=of, metrics=metrics, against=against, depth=depth, p=p,
                over=over, protocol=protocol, choice=run_choice.choice(run, system, tag),
            )  # fmt: skip
            return presentation.agreement(found)

    # -------------------------------------------------------------------------------- History

    def history(
        self,
        dataset: str | None = None,
        metric: str | Metric | None = None,
        *,
        run: Names = (),
        system: Names = (),
        tag: run_choice.Tags = (),
        protocol: str = protocols.DEFAULT,
        as_of: past_state.Moment | None = None,
        qrels: int | None = None,
    ) -> Result:
        """Return the runs of a dataset over time, each version with its value of a metric.

        Columns: `run_at, run, version, system, value, best_so_far, is_record, gain`, oldest first.
        A record is a value that is better than all before it; `gain` is the difference. The metric
        is by default the first that the dataset has values of. Values are against the current
        qrels, or the version `qrels`. `run`, `system` and `tag` are as in `leaderboard`, here of each
        version of a run. Attributes: `metric, direction, qrels_version`. Raises
        UsageError for wrong names.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first")
        >>> _ = wh.ingest_run("tiny", {"q": {"a": 1.0}}, name="second")
        >>> _ = wh.evaluate(metrics="RR")
        >>> [(row.run, row.value, row.best_so_far, row.gain) for row in wh.history("tiny", "RR")]
        [('first', 0.5, 0.5, None), ('second', 1.0, 1.0, 0.5)]
        """
        from warehouse.analyze import history, run_choice
        from warehouse.report import presentation

        with self.file.read() as con:
            found = history.history(
                con, dataset, metric, protocol=protocol, as_of=as_of, qrels=qrels,
                runs=run_choice.choice(run, system, tag, of_versions=True),
            )  # fmt: skip
            return presentation.history(found)

    def show(self, dataset: str | None = None, run: str | None = None) -> Result:
        """Return where a run came from: one row per version, newest first, forgotten ones included.

        Columns: `run, version, system, tags, source, source_sha256, content_hash, format,
        normalise, trec_tag, ranked_by, lower_is_better, queries, predictions, run_at, ingested_at,
        program_version, fusion, fused_from, metrics, forgotten_at, reason`. `fusion` and
        `fused_from` say how a run was merged and from which runs; they are null for a run that was
        not merged.
        """
        from warehouse.analyze import listings

        with self.file.read() as con:
            return Result(listings.run_versions(con, dataset, _required("run", run)))

    def qrels(self, dataset: str | None = None) -> Result:
        """Return the versions of the qrels of one dataset or of all.

        Columns: `dataset, version, is_current, kind, label, judge, queries, judgments, relevant, runs,
        ingested_at, source`. `judge` is who made a version alone, and `runs` is how
        many runs have values against this version.
        """
        from warehouse.analyze import listings
        from warehouse.report import presentation

        with self.file.read() as con:
            return presentation.listed(
                listings.listing(con, "qrels", dataset),
                "no qrels yet: warehouse ingest qrels FILE -d DATASET",
                {"is_current": "current", "ingested_at": "loaded"},
            )

    def qrels_diff(
        self,
        dataset: str | None = None,
        before: int | None = None,
        after: int | None = None,
        *,
        metrics: Metrics = (),
        protocol: str = protocols.DEFAULT,
    ) -> Result:
        """Compare two versions of the qrels, and the boards under them.

        The result counts what differs: `change, judgments, queries, documents`. Its table `rows` has
        `query_id, doc_id, iteration, change, before, after`. The tables `boards` (`metric, run,
        before, after, change, place_before, place_after`) and `taus` (`metric, runs, tau_b,
        swapped_pairs`) are for the metrics that have values against both versions by the same
        formula. Call `evaluate(dataset, qrels=1)` to compute values against an older version.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1, "b": 0}})
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 2, "c": 1}}, replace=True)
        >>> [(row.doc_id, row.change) for row in wh.qrels_diff("tiny", 1, 2).rows]
        [('a', 'changed'), ('b', 'removed'), ('c', 'added')]
        """
        from warehouse.analyze import history
        from warehouse.report import presentation

        before, after = _required("before", before), _required("after", after)
        with self.file.read() as con:
            found = history.qrels_diff(
                con, dataset, before, after, metrics=metrics, protocol=protocol
            )
            return presentation.qrels_diff(found, before, after, protocol)

    # ---------------------------------------------------------------------------------- Share

    def query(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        /,
        *,
        timeout: float | None = None,
        **named: object,
    ) -> Result:
        """Run one SQL statement, read-only, with `$name` bound from `params` and the keywords.

        The statement has no access to files, network or settings. It can use 4 GB of memory, or
        half of the machine's if that is less; `Warehouse(memory_limit=…)` sets another limit. It
        runs in this process: after `timeout` seconds it is asked to stop, and a crash of DuckDB
        would crash this process. For SQL that you do not trust, use `stream`. Raises
        WarehouseError.

        >>> import tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.query("select $a + 1 as b, count(*) as runs from runs", a=1).fetchall()
        [(2, 0)]
        """
        given = database.bindable({**(params or {}), **named})
        with self.file.read(sql_query.caps(self.file.resources)) as con:
            found = sql_query.query(con, check_text("sql", sql), given, timeout)
            words = [] if len(found) else meant_metrics.words(sql, given)
            meant = meant_metrics.note(con, words) if words else ""
            left_out = sql_query.left_out(con, sql)
            return Result(found, [note for note in (meant, left_out) if note])

    def stream(
        self,
        sql: str,
        params: Mapping[str, object] | None = None,
        *,
        write: Callable[[str], object],
        format: str | Writer = "csv",
        limit: int | None = None,
        places: int = 4,
        timeout: float | None = sql_query.TIMEOUT,
    ) -> Answer:
        """Run one SQL statement in a process of its own and write its rows as text, as they come.

        It is like `query`, but the statement cannot harm this process, and after `timeout` seconds
        its process is ended. `write` is called with each piece of the text. At most `limit` rows
        are written. `format` can also be a writer of tables, as for a screen. Returns the number of
        rows, and whether there were more.

        >>> import sys, tempfile
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.stream("select unnest([3, 4, 5]) as i", write=sys.stdout.write, limit=2)
        i
        3
        4
        Answer(rows=2, truncated=True)
        """
        from warehouse.report import formats, query_process

        if isinstance(format, str) and formats.check(format) == "parquet":
            raise UsageError("parquet is not text; use stream_parquet")
        return query_process.answer(
            self.file, sql, params, write, format=format, limit=limit, places=places,
            timeout=timeout,
        )  # fmt: skip

    def stream_parquet(
        self,
        sql: str,
        path: str | os.PathLike[str],
        params: Mapping[str, object] | None = None,
        *,
        limit: int | None = None,
        timeout: float | None = sql_query.TIMEOUT,
    ) -> Answer:
        """Run one SQL statement as `stream` does, and write its rows to a Parquet file.

        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> wh = Warehouse(folder / "example.duckdb")
        >>> _ = wh.init()
        >>> wh.stream_parquet("select unnest([3, 4, 5]) as i", folder / "i.parquet").rows
        3
        """
        from warehouse.report import file_replacement, query_process

        with file_replacement.new_file(Path(path)) as part:
            return query_process.answer(
                self.file, sql, params, limit=limit, output=part, timeout=timeout
            )

    def publish(
        self,
        path: str | os.PathLike[str],
        *,
        with_text: bool = False,
        storage_version: str = replica.STORAGE_VERSION,
    ) -> replica.Published:
        """Write a replica that other programs can keep open.

        The new replica is written completely before it replaces the old one. It has every table,
        view and comment, but the texts of queries and documents only `with_text`, as their licences
        may not allow it. `storage_version` is the oldest DuckDB version that can read it. A file
        that is not a replica is never replaced. Raises UsageError and LockedError.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.init()
        >>> wh.publish(folder + "/replica.duckdb").path.name
        'replica.duckdb'
        """
        timeout = self.file.lock_timeout
        with self.file.read() as con:
            return replica.publish(
                con, self.path, Path(path), with_text=with_text, storage_version=storage_version,
                lock_timeout=timeout,
            )  # fmt: skip

    def export(
        self,
        target: str | os.PathLike[str],
        dataset: str | None = None,
        *,
        metrics: Metrics = (),
        protocol: str = protocols.DEFAULT,
        with_data: bool = True,
        sign: str | os.PathLike[str] | None = None,
    ) -> Exported:
        """Write a bundle into a new folder: a board, and all that is needed to compute it again.

        It has the current values of the `metrics` (default: all that are stored), of all runs and
        queries, hashes, versions, the protocol, the SQL of each metric, what is known of each run as
        ir_metadata, the judgments, the runs and what else the metrics read (unless `with_data` is
        false), and an in-toto statement of the digests of all files, which `ssh-keygen` signs with the
        key `sign`. Raises UsageError if the folder is there, and for preferences.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first")
        >>> _ = wh.evaluate(metrics="AP RR")
        >>> wh.export(folder + "/bundle", "tiny").num_values
        2
        >>> Warehouse.verify_bundle(folder + "/bundle").is_good
        True
        """
        from warehouse.report import bundles

        with self.file.read() as con:
            return bundles.export(
                con, Path(target), dataset, metrics, protocol,
                with_data=with_data, sign=None if sign is None else Path(sign),
                lock_timeout=self.file.lock_timeout,
            )  # fmt: skip

    def publish_parquet(
        self, folder: str | os.PathLike[str], *, with_text: bool = False
    ) -> replica.Published:
        """Write every table and view as a Parquet file, with `manifest.json`, to a folder.

        `folder` is a link to the newest files, which is replaced in one step. Texts of queries and
        documents are left out, unless `with_text`.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.init()
        >>> (wh.publish_parquet(folder + "/replica").path / "leaderboard.parquet").is_file()
        True
        """
        timeout = self.file.lock_timeout
        with self.file.read() as con:
            return replica.publish_parquet(
                con, self.path, Path(folder), with_text=with_text, lock_timeout=timeout
            )

    def report(
        self,
        path: str | os.PathLike[str],
        datasets: Names = (),
        *,
        metrics: Metrics = (),
        depth: int = 20,
        with_text: bool = False,
        on_dataset: Callable[[str], None] | None = None,
    ) -> Report:
        """Write a folder of plain HTML pages that open in a browser, without a server or a network.

        The pages show the boards of the `datasets` (default: all) under every protocol that they
        have values of, their runs, queries, comparisons and history, and what each value was
        computed from. `metrics` are by default all that have values; what is not stored is computed
        for the pages. `depth` is how many documents of each list are shown, and `with_text` shows the
        texts of queries and documents; their licences have to allow it. The folder must be new,
        empty, or an earlier report, which is replaced. The boards have intervals and groups of runs
        that cannot be told apart. Returns the path of the first page,
        and the number and size of the files. Raises UsageError for wrong names and for a folder
        that cannot be written.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> wh = Warehouse(folder + "/example.duckdb")
        >>> _ = wh.ingest_qrels("tiny", {"q": {"a": 1}})
        >>> _ = wh.ingest_run("tiny", {"q": {"b": 2.0, "a": 1.0}}, name="first")
        >>> _ = wh.evaluate(metrics="RR")
        >>> wh.report(folder + "/site").path.name
        'index.html'
        """
        from warehouse.report.pages import folder

        return folder.write(
            self.file, Path(path), check_names("datasets", datasets),
            metrics=metrics, depth=depth, with_text=with_text, on_dataset=on_dataset,
        )  # fmt: skip

    # ------------------------------------------------------------------------------ Catalogue

    def datasets(self) -> Result:
        """Return the datasets with their qrels and the number of runs.

        Columns: `dataset, qrels, kind, label, queries, judgments, training, runs, metrics`. `qrels`
        is the current version, followed by its kind, label and counts; `training` is the number of
        examples in the training set; `runs` and `metrics` are counts too.
        """
        from warehouse.analyze import listings
        from warehouse.report import presentation

        nothing = "no datasets yet: warehouse ingest qrels FILE -d DATASET"
        with self.file.read() as con:
            return presentation.listed(listings.all_datasets(con), nothing)

    def runs(self, dataset: str | None = None) -> Result:
        """Return the current runs of one dataset or of all.

        Columns: `dataset, run, version, system, tags, queries, predictions, run_at, source`. Tags
        are text of `key=value`; times are in UTC.
        """
        from warehouse.analyze import listings
        from warehouse.report import presentation

        nothing = "no runs yet: warehouse ingest run FILE -d DATASET"
        with self.file.read() as con:
            found = listings.listing(con, "runs", dataset)
        spare = ["dataset", "version", "queries", "predictions", "source"]
        return presentation.listed(found, nothing, spare=spare)

    def attributes(self, dataset: str | None = None) -> Result:
        """Return the current attributes of documents and queries, with their types and counts.

        Columns: `dataset, of, name, version, attribute, type, ids, present, values, different`. Of
        all `ids`, `present` have the attribute; they have that many `values`, of which that many
        are `different`. The default is all datasets.
        """
        from warehouse.analyze import listings
        from warehouse.report import presentation

        nothing = "no attributes yet: warehouse ingest attributes FILE -d DATASET --of docs"
        with self.file.read() as con:
            return presentation.listed(listings.listing(con, "attributes", dataset), nothing)

    def slices(self, dataset: str | None = None, name: str | None = None) -> Result:
        """Return the slices that have been evaluated, or the parts of one slice of a dataset.

        The default is all datasets; for one slice, it is the only one.

        Columns: `dataset, slice, of, version, parts, members, definition`; for one slice `part,
        members, queries, judgments, relevant`, by the current qrels.
        """
        from warehouse.analyze import listings
        from warehouse.report import presentation

        nothing = "no slices yet: warehouse evaluate -d DATASET --slice 'NAME = EXPRESSION'"
        with self.file.read() as con:
            return presentation.listed(listings.slices(con, dataset, name), nothing)

    def deciles(self, dataset: str | None = None) -> Result:
        """Return the mappings of labels to deciles, with their origin, of one dataset or of all.

        Columns: `dataset, name, version, parts, labels, origin, made_at`. They include loaded
        attributes of documents with the name "decile".
        """
        from warehouse.analyze import deciles
        from warehouse.report import presentation

        nothing = "no deciles yet: warehouse deciles make -d DATASET"
        with self.file.read() as con:
            return presentation.listed(deciles.deciles(con, dataset), nothing)

    def decile_sizes(self, dataset: str | None = None, name: str = "decile") -> Result:
        """Return the size of each part of a mapping, the most frequent labels first.

        Columns: `decile, labels, occurrences, share, most_frequent, least_frequent`.
        """
        from warehouse.analyze import deciles

        with self.file.read() as con:
            return Result(deciles.sizes(con, dataset, name))

    def schema(self) -> Result:
        """Return every view and table with its columns, their meaning, and an example for each view.

        Columns: `kind, relation, column, type, comment, example`. The row of a view or table itself
        has no `column`. The main views come first.
        """
        from warehouse.analyze import listings

        with self.file.read() as con:
            return Result(listings.schema(con))

    @staticmethod
    def sql(
        metrics: Metrics,
        *,
        run: str = "run",
        qrels: str = "qrels",
        dataset: str | None = None,
        protocol: str = protocols.DEFAULT,
        by_query: bool = False,
        dialect: str | None = None,
        form: Literal["query", "macro", "model"] = "query",
    ) -> str:
        """Return the SQL that computes some metrics, for a plain DuckDB: macros and one statement.

        It reads two tables: `run`, with the columns run, query_id, doc_id and score, and `qrels`, with
        the columns query_id, doc_id and relevance. With a `dataset`, it reads the current runs and qrels
        of that dataset in a warehouse or a replica. It returns metric, run, value, and with `by_query`
        query_id. In a `dialect`, it is one statement without macros. The `form` macro makes a table
        macro of each metric, and the form model a model of dbt, over the models `run` and `qrels`; both
        need the extra `sql`.
        """
        from warehouse.evaluate.compose import compose

        return compose(
            metrics, protocol, run=run, qrels=qrels, dataset=dataset, by_query=by_query,
            dialect=dialect, form=form,
        )  # fmt: skip

    @staticmethod
    def sql_macros(protocol: str = protocols.DEFAULT) -> str:
        """Return SQL that makes a table macro of each established metric in any DuckDB database.

        `from nDCG('my_run', 'my_qrels', k := 10)` then returns metric, run and value, of two tables as
        `sql` reads them, and `from evaluate('my_run', 'my_qrels', ['AP', 'nDCG@10'])` those of several.
        It needs the extra `sql`.
        """
        from warehouse.evaluate.compose import macros

        return macros(protocol)


def _required(what: str, value: _T | None) -> _T:
    """Return an argument that stands after the dataset, and so has a default, but is needed."""
    if value is None:
        raise UsageError(f"{what} is missing: it comes after the dataset, or by its name")
    return value
