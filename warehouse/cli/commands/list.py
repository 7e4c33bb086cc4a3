"""List the catalogue: metrics, curves, fusions, protocols and views."""

from __future__ import annotations

from warehouse.cli.commands.curves import curves
from warehouse.cli.commands.fusions import fusions
from warehouse.cli.commands.metrics import metrics
from warehouse.cli.commands.protocols import protocols
from warehouse.cli.commands.schema import schema as views

__all__ = ["curves", "fusions", "metrics", "protocols", "views"]
SECTION, PLACE = "Catalogue", 0
EXAMPLES = {
    "list metrics": ("warehouse list metrics",),
    "list curves": ("warehouse list curves",),
    "list fusions": ("warehouse list fusions",),
    "list protocols": ("warehouse list protocols",),
    "list views": ("warehouse list views", "warehouse list views predictions"),
}
