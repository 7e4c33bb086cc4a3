"""Ingest: staged rows become predictions, judgments and examples, each source in one transaction."""

from warehouse.ingest.attributes import LoadedAttributes, load_attributes
from warehouse.ingest.deciles import make_deciles
from warehouse.ingest.qrels import load_qrels, load_training
from warehouse.ingest.runs import RunOptions, load_run, load_staged
from warehouse.ingest.steps import Loaded

__all__ = [
    "Loaded",
    "LoadedAttributes",
    "RunOptions",
    "load_attributes",
    "load_qrels",
    "load_run",
    "load_staged",
    "load_training",
    "make_deciles",
]
