"""Ingest: staged rows become predictions, judgments and examples, each source in one transaction."""

from warehouse.ingest.attributes import LoadedAttributes, stage_table
from warehouse.ingest.deciles import make_deciles
from warehouse.ingest.qrels import stage_qrels, stage_training
from warehouse.ingest.runs import RunOptions, load_staged, stage_run
from warehouse.ingest.steps import Loaded

__all__ = [
    "Loaded",
    "LoadedAttributes",
    "RunOptions",
    "load_staged",
    "make_deciles",
    "stage_qrels",
    "stage_run",
    "stage_table",
    "stage_training",
]
