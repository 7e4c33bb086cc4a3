"""The warehouse for ranking evaluation: runs and qrels in DuckDB, every metric one SQL template.

>>> from warehouse import Warehouse
>>> Warehouse.score({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "RR").means()
{'RR': 0.5}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warehouse.config.settings import VERSION

if TYPE_CHECKING:
    from warehouse.compat.pyterrier import pyterrier
    from warehouse.ingest.logged_run import log_run
    from warehouse.report.result import Result
    from warehouse.warehouse import Warehouse

__version__ = VERSION
__all__ = ["Result", "Warehouse", "__version__", "log_run", "pyterrier"]


def __getattr__(name: str) -> Any:
    # Imported on demand, so that the command line's help does not wait for DuckDB.
    if name == "Warehouse":
        from warehouse.warehouse import Warehouse

        return Warehouse
    if name == "Result":
        from warehouse.report.result import Result

        return Result
    if name == "log_run":
        from warehouse.ingest.logged_run import log_run

        return log_run
    if name == "pyterrier":
        from warehouse.compat.pyterrier import pyterrier

        return pyterrier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
