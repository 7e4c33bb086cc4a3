"""`warehouse pull`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options
from warehouse.cli.output import say_loaded

SECTION, PLACE = "Share", 7
EXAMPLES = {"pull": ("warehouse pull --lake lake --db mine.duckdb",)}


def pull(
    lake: Annotated[
        str, "The lake: a folder, or a URL as s3://bucket/lake.", "--lake", {"metavar": "URL"}
    ],
    dataset: options.AnyDataset = None,
    runs: options.Runs = None,
    *,
    database: options.LimitedFile,
) -> None:
    """Load runs and qrels of colleagues from a lake, to compute other metrics.

    The runs are those whose predictions somebody has pushed with 'warehouse push --with-runs', and the
    qrels those that are current in the lake. Each is loaded only if its rows have the hash that the
    lake knows it by. What 'warehouse evaluate' then computes can be pushed. Needs the extra "lake".
    """
    from warehouse.extensions.lake import pulled_contents

    for done in pulled_contents.pull(database.open(), lake, dataset, runs or ()):
        say_loaded(done)
