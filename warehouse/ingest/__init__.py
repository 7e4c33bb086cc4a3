"""Ingest: staged rows become predictions and judgments, each source in one transaction."""

from warehouse.ingest.attributes import LoadedAttributes, load_attributes
from warehouse.ingest.load import Loaded, RunOptions, load_qrels, load_run

__all__ = [
    "Loaded",
    "LoadedAttributes",
    "RunOptions",
    "load_attributes",
    "load_qrels",
    "load_run",
]
