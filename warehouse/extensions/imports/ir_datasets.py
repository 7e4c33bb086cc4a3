"""Datasets of the package ir_datasets, by name: qrels, runs to rerank, texts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warehouse.config import installation
from warehouse.errors import InputError, UsageError, WarehouseError, first_line, listing, nearest
from warehouse.readers import reshaped
from warehouse.readers.files import BY_NAME
from warehouse.readers.formats import ObjectFormat, Reading, Table
from warehouse.readers.kinds import IDS, ColumnNames, Contents, Kind
from warehouse.readers.records import read_records

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# What a dataset calls what is wanted of it; of attributes, the column of the ids tells.
_PARTS: Mapping[str, str] = {
    "run": "scoreddocs", "qrels": "qrels", "iterations": "qrels", "training": "qrels",
    IDS["document"]: "docs", IDS["query"]: "queries",
}  # fmt: skip
_ALL = tuple(dict.fromkeys(_PARTS.values()))


@dataclass(frozen=True)
class Named:
    """A dataset by the name that the user gave, with its prefix, and what is wanted of it."""

    source: str
    contents: Contents

    @property
    def name(self) -> str:
        """Its name in ir_datasets."""
        return self.source.removeprefix(BY_NAME)


class IrDatasets(ObjectFormat):
    """A dataset of ir_datasets, which downloads what it does not have yet."""

    name = "ir_datasets"
    contents = ("run", "qrels", "iterations", "training", "attributes")
    names_columns = True

    def takes(self, source: Any) -> bool:
        """Take names of datasets."""
        return isinstance(source, Named)

    def source_name(self, source: Named) -> str:
        """Return the name as given."""
        return source.source

    def meant(self, source: Any, contents: Contents) -> Any:
        """Return the dataset that a text names.

        >>> IrDatasets().meant("ir_datasets:vaswani", "qrels").name
        'vaswani'
        """
        is_name = isinstance(source, str) and source.startswith(BY_NAME)
        return Named(source, contents) if is_name else source

    def missing(self, source: Named) -> WarehouseError | None:
        """Return the error for a name that no dataset has."""
        try:
            _load(source)
        except WarehouseError as error:
            return error
        return None

    def read(self, con: Connection, source: Named, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the judgments, or the scored documents as a run."""
        table = self.read_table(con, source, "query_id", ["query_id", "doc_id"])
        return reshaped.read(con, table, kind, mapping)

    def read_table(self, con: Connection, source: Named, key: str, ids: Collection[str]) -> Table:
        """Read all fields, one record after another."""
        part = _PARTS[key if source.contents == "attributes" else source.contents]
        return read_records(con, source.source, self.name, _records(source, part), ids)


def _load(source: Named) -> Any:
    """Return the dataset of ir_datasets. Raises UsageError if there is none of this name."""
    try:
        import ir_datasets
    except ImportError:
        raise UsageError(
            f"{source.source}: needs ir_datasets: {installation.adding('ir')}"
        ) from None
    try:
        return ir_datasets.load(source.name)
    except KeyError:
        near = nearest(source.name, ir_datasets.registry)
        raise UsageError(
            f"{source.source}: ir_datasets has no dataset of this name"
            f"{near or '; it lists its datasets with: ir_datasets list'}"
        ) from None


def _records(source: Named, part: str) -> Iterator[Any]:
    """Yield the records of a part of a dataset. Raises UsageError if it has no such part."""
    dataset = _load(source)
    if not dataset.has(part):
        raise UsageError(f"{source.source}: has no {part}{_others(source, dataset, part)}")
    try:
        yield from getattr(dataset, f"{part}_iter")()
    except Exception as error:  # of the network, of a disk, of a file that is not what it was
        text = error.args[0] if error.args and isinstance(error.args[0], str) else first_line(error)
        raise InputError(
            f"{source.source}: ir_datasets cannot read its {part}: {first_line(ValueError(text))}"
        ) from error


def _others(source: Named, dataset: Any, part: str) -> str:
    """Say which datasets below this one have the part; if there are none, what this one has."""
    import ir_datasets

    below = [name for name in ir_datasets.registry if name.startswith(f"{source.name}/")]
    having = [name for name in below if ir_datasets.load(name).has(part)]
    if having:
        return f"; these have them: {listing(having, 4)}"
    return f"; it has {listing([one for one in _ALL if dataset.has(one)]) or 'nothing to load'}"
