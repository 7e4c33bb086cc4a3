"""ranx's interface: `Qrels`, `Run`, `evaluate`, `compare`, `fuse` …, computed by the warehouse.

>>> from warehouse.extensions.peers.ranx import Qrels, Run, evaluate
>>> qrels = Qrels({"q_1": {"d_1": 1}, "q_2": {"d_2": 2}})
>>> run = Run({"q_1": {"d_1": 0.5, "d_3": 0.9}, "q_2": {"d_2": 0.7}}, name="bm25")
>>> evaluate(qrels, run, ["mrr", "recall@1"])
{'mrr': 0.75, 'recall@1': 0.5}
>>> dict(run.scores["mrr"])
{'q_1': 0.5, 'q_2': 1.0}
"""

from warehouse.extensions.peers.ranx.comparison import compare
from warehouse.extensions.peers.ranx.evaluation import evaluate
from warehouse.extensions.peers.ranx.lists import Qrels, Run
from warehouse.extensions.peers.ranx.merging import OptimizationReport, fuse, optimize_fusion
from warehouse.extensions.peers.ranx.normalization import normalize
from warehouse.extensions.peers.ranx.report import Report

__all__ = [
    "OptimizationReport",
    "Qrels",
    "Report",
    "Run",
    "compare",
    "evaluate",
    "fuse",
    "normalize",
    "optimize_fusion",
]
