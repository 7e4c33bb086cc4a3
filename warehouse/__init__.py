"""The warehouse for ranking evaluation: runs and qrels in DuckDB, every metric one SQL template.

>>> from warehouse import Warehouse
>>> Warehouse.score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR").means()
{'RR': 0.5}
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from warehouse.config.settings import VERSION

if TYPE_CHECKING:
    from warehouse.errors import WarehouseError
    from warehouse.evaluate.scorer import Scorer
    from warehouse.evaluate.scoring import Scores
    from warehouse.ingest.logged_run import log_run
    from warehouse.metrics.python_metrics import metric
    from warehouse.readers.arguments import Source
    from warehouse.report.result import Result
    from warehouse.warehouse import Warehouse

__version__ = VERSION
__all__ = [
    "Result",
    "Scorer",
    "Scores",
    "Source",
    "Warehouse",
    "WarehouseError",
    "__version__",
    "log_run",
    "metric",
]

# Imported on demand, so that the command line's help does not wait for DuckDB.
_MODULES = {
    "Result": "warehouse.report.result",
    "Scorer": "warehouse.evaluate.scorer",
    "Scores": "warehouse.evaluate.scoring",
    "Source": "warehouse.readers.arguments",
    "Warehouse": "warehouse.warehouse",
    "WarehouseError": "warehouse.errors",
    "log_run": "warehouse.ingest.logged_run",
    "metric": "warehouse.metrics.python_metrics",
}


if not TYPE_CHECKING:  # a wrong name is an error

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(_MODULES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
