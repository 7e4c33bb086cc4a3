"""Judgments and runs as ranx holds them: `{query: {document: number}}`, each list highest first."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from warehouse import readers
from warehouse.config import installation
from warehouse.errors import InputError, UsageError
from warehouse.readers.kinds import Kind
from warehouse.sql_text.quoting import ident, literal
from warehouse.store import database

_Number = TypeVar("_Number", int, float)
_KINDS = {"json": "ranx", "trec": "trec", "gz": "trec", "parquet": "parquet"}
_SUFFIXES = {"txt": "trec", "parq": "parquet"}


class Lists(ABC, Generic[_Number]):
    """The common part of `Qrels` and `Run`."""

    KIND: ClassVar[Kind]
    COLUMN: ClassVar[str]

    def __init__(
        self, given: Mapping[str, Mapping[str, _Number]] | None = None, name: str | None = None
    ) -> None:
        self._lists: dict[str, dict[str, _Number]] = {}
        self.name = name
        self.sorted = False
        for query, numbers in (given or {}).items():
            self._lists[query] = {doc: self._number(value) for doc, value in numbers.items()}
        if given is not None:
            self.sort()

    @staticmethod
    @abstractmethod
    def _number(value: Any) -> _Number:
        """Return a number as these lists hold it."""

    def keys(self) -> Any:
        """Return the ids of the queries."""
        return self._lists.keys()

    def add_score(self, q_id: str, doc_id: str, score: _Number) -> None:
        """Set the number of a document for a query."""
        self._lists.setdefault(q_id, {})[doc_id] = self._number(score)
        self.sorted = False

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[_Number]) -> None:
        """Set the list of a query."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self,
        q_ids: Iterable[str],
        doc_ids: Iterable[Iterable[str]],
        scores: Iterable[Iterable[_Number]],
    ) -> None:
        """Set the lists of several queries."""
        for query, docs, values in zip(q_ids, doc_ids, scores, strict=True):
            numbers = map(self._number, values)
            self._lists[query] = dict(zip(docs, numbers, strict=True))
        self.sort()

    def get_query_ids(self) -> list[str]:
        """Return the ids of the queries."""
        return list(self._lists)

    def get_doc_ids_and_scores(self) -> list[dict[str, _Number]]:
        """Return the list of each query."""
        return list(self._lists.values())

    def sort(self) -> None:
        """Order the queries by id and each list by its numbers, highest first; equal ones by id."""
        self._lists = {
            query: dict(sorted(docs.items(), key=lambda one: (one[1], one[0]), reverse=True))
            for query, docs in sorted(self._lists.items())
        }
        self.sorted = True

    def to_dict(self) -> dict[str, dict[str, _Number]]:
        """Return a copy: `{query: {document: number}}`."""
        return {query: dict(docs) for query, docs in self._lists.items()}

    def to_typed_list(self) -> Self:
        """Return these lists, which the functions of `metrics` take; nothing is made for numba."""
        return self

    def to_dataframe(self) -> Any:
        """Return a data frame of pandas with the columns `q_id`, `doc_id` and `score`."""
        try:
            import pandas as pd
        except ImportError:
            raise UsageError(
                f"to_dataframe: needs pandas: {installation.adding('pandas')}"
            ) from None
        return pd.DataFrame(self._rows(), columns=["q_id", "doc_id", "score"])

    def save(self, path: str, kind: str | None = None) -> None:
        """Write a file; `kind` is json, trec or parquet, or the suffix says it (.txt is trec)."""
        kind = get_file_kind(path, kind)
        self.sort()
        if kind == "json":
            Path(path).write_text(json.dumps(self._lists, indent=2), encoding="utf-8")
        elif kind == "parquet":
            with closing(database.scratch(database.Resources())) as con:
                columns = ("q_id", "doc_id", "score")
                kept = dict(zip(columns, zip(*self._rows(), strict=True), strict=False))
                if not kept:
                    raise UsageError(f"{path}: there is no list to write")
                types = ("varchar", "varchar", "bigint" if self.KIND == "qrels" else "double")
                unnested = ", ".join(
                    f"unnest(${column}::{type}[]) as {ident(column)}"
                    for column, type in zip(columns, types, strict=True)
                )
                con.execute(
                    f"create temp table written as select {unnested}",
                    {column: list(values) for column, values in kept.items()},
                )
                con.execute(f"copy written to {literal(str(path))} (format parquet)")
                con.execute("drop table written")
        elif kind == "trec":
            with Path(path).open("w", encoding="utf-8", newline="\n") as file:
                for query, docs in self._lists.items():
                    for rank, (doc, value) in enumerate(docs.items(), start=1):
                        file.write(self._line(query, doc, rank, value) + "\n")
        else:
            raise UsageError(f"{path}: is written as json, trec or parquet, not as {kind}")

    @abstractmethod
    def _line(self, query: str, doc: str, rank: int, value: _Number) -> str:
        """Return a line of a TREC file."""

    def _rows(self) -> list[tuple[str, str, _Number]]:
        return [(q, doc, value) for q, docs in self._lists.items() for doc, value in docs.items()]

    @classmethod
    def _read(
        cls,
        source: Any,
        name: str | None,
        format: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Self:
        """Read a source with the warehouse's own readers, which check each line."""
        mapping = None
        if columns is not None:
            ours = ("query_id", "doc_id", cls.COLUMN)
            mapping = dict(zip(ours, columns, strict=True))
        with closing(database.scratch(database.Resources())) as con:
            staged = readers.stage(con, source, cls.KIND, format=format, columns=mapping)
            rows = con.execute(f"select query_id, doc_id, {cls.COLUMN} from staged").fetchall()
            readers.clear(con)
        if staged.ranked_by == "rank":  # the best has the lowest rank
            rows = [(query, doc, -value) for query, doc, value in rows]
        found: dict[str, dict[str, _Number]] = {}
        for query, doc, value in rows:
            found.setdefault(query, {})[doc] = value
        return cls(found, staged.tag if name is None else name)

    @classmethod
    def from_dict(cls, d: Mapping[str, Mapping[str, _Number]], name: str | None = None) -> Self:
        """Take `{query: {document: number}}`."""
        return cls(d, name)

    @classmethod
    def from_file(cls, path: str, kind: str | None = None, name: str | None = None) -> Self:
        """Read a file; `kind` is json, trec, gz (of trec) or parquet, or the suffix says it.

        Without a name, a run has the tag that is in a TREC file.
        """
        return cls._read(path, name, _format(path, kind))

    @classmethod
    def from_df(
        cls,
        df: Any,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        name: str | None = None,
    ) -> Self:
        """Read a data frame of pandas or polars, or an Arrow table."""
        return cls._read(df, name, columns=(q_id_col, doc_id_col, score_col))

    @classmethod
    def from_parquet(
        cls,
        path: str,
        q_id_col: str = "q_id",
        doc_id_col: str = "doc_id",
        score_col: str = "score",
        name: str | None = None,
    ) -> Self:
        """Read a Parquet file."""
        return cls._read(path, name, "parquet", (q_id_col, doc_id_col, score_col))

    @property
    def size(self) -> int:
        """Return the number of queries."""
        return len(self._lists)

    def __getitem__(self, q_id: str) -> dict[str, _Number]:
        return dict(self._lists[q_id])

    def __len__(self) -> int:
        return len(self._lists)

    def __repr__(self) -> str:
        return repr(self._lists)


class Qrels(Lists[int]):
    """Judgments.

    >>> Qrels({"q1": {"d1": 1, "d2": 2}})
    {'q1': {'d2': 2, 'd1': 1}}
    """

    KIND = "qrels"
    COLUMN = "relevance"

    @staticmethod
    def _number(value: Any) -> int:
        if int(value) != value:
            raise InputError(f"the relevance {value!r} is no whole number")
        return int(value)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Return the judgments."""
        return self._lists

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """Lower every relevance, so that what was `rel_lvl` is 1."""
        self._lists = {
            query: {doc: value - (rel_lvl - 1) for doc, value in docs.items()}
            for query, docs in self._lists.items()
        }

    def _line(self, query: str, doc: str, rank: int, value: int) -> str:
        return f"{query} 0 {doc} {value}"

    @staticmethod
    def from_ir_datasets(dataset_id: str) -> Qrels:
        """Read the judgments of a collection by its name in ir_datasets (extra ir)."""
        found = Qrels._read(f"ir_datasets:{dataset_id}", dataset_id)
        found.name = dataset_id
        return found


class Run(Lists[float]):
    """A run, with the values that `evaluate` has saved in it: `mean_scores`, `std_scores`, `scores`.

    >>> Run({"q1": {"d1": 0.5, "d2": 0.7}}, name="bm25")
    {'q1': {'d2': 0.7, 'd1': 0.5}}
    """

    KIND = "run"
    COLUMN = "score"

    def __init__(
        self, run: Mapping[str, Mapping[str, float]] | None = None, name: str | None = None
    ) -> None:
        super().__init__(run, name)
        self.metadata: dict[str, Any] = {}
        self.scores: dict[str, dict[str, float]] = defaultdict(dict)
        self.mean_scores: dict[str, float] = {}
        self.std_scores: dict[str, float] = {}

    @staticmethod
    def _number(value: Any) -> float:
        return float(value)

    @property
    def run(self) -> dict[str, dict[str, float]]:
        """Return the lists."""
        return self._lists

    def make_comparable(self, qrels: Qrels) -> Run:
        """Give judged queries that are missing an empty list, remove the others; return the run."""
        self._lists = {query: self._lists.get(query, {}) for query in qrels.keys()}  # noqa: SIM118
        self.sort()
        return self

    def _line(self, query: str, doc: str, rank: int, value: float) -> str:
        return f"{query} Q0 {doc} {rank} {value} {self.name}"


def get_file_kind(path: str, kind: str | None = None) -> str:
    """Return the kind of a file by its suffix, unless it is given.

    >>> get_file_kind("run.txt"), get_file_kind("run.parq"), get_file_kind("run.txt", "json")
    ('trec', 'parquet', 'json')
    """
    if kind is None:
        suffix = Path(path).suffix[1:]
        kind = _SUFFIXES.get(suffix, suffix)
    if kind not in (*_KINDS, "lz4"):
        raise UsageError(
            f"{path}: the kind is json, trec, gz, lz4 or parquet, not {kind or 'nothing'}"
        )
    return kind


def _format(path: str, kind: str | None) -> str:
    found = get_file_kind(path, kind)
    if found == "lz4":
        raise UsageError(f"{path}: LZ4 is not read here; save the run as JSON with ranx")
    return _KINDS[found]
