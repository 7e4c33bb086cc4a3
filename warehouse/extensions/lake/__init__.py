"""A lake: Delta tables on a folder or an object store, into which many push and from which all collect.

Commands and scripts call these functions; the core calls `shared_lake`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from warehouse.extensions.lake.shared_lake import Pushed
    from warehouse.ingest.steps import Loaded
    from warehouse.report.replica import Published
    from warehouse.warehouse import Warehouse


def push(
    warehouse: Warehouse,
    lake: str | os.PathLike[str],
    *,
    make_current: bool = False,
    with_runs: bool = False,
) -> Pushed:
    """Add the runs and values that a lake does not have; return the numbers of rows by table.

    A lake is a folder, or a URL as s3://bucket/lake, of Delta tables to which many may push at once.
    Slices and curves are not pushed, nor predictions and judgments unless `with_runs`. The same push
    twice changes nothing, and nobody sees an evaluation by half. Other qrels than those that are
    current in the lake become so only to `make_current`. The `notes` of the answer say so, and which
    runs the lake has with other predictions. Needs the extra "lake". Raises UsageError and
    DatabaseError.
    """
    from warehouse.extensions.lake import shared_lake

    return shared_lake.push(
        warehouse.file, os.fspath(lake), make_current=make_current, with_runs=with_runs
    )


def pull(
    warehouse: Warehouse,
    lake: str | os.PathLike[str],
    dataset: str | None = None,
    *,
    run: str | Iterable[str] = (),
) -> list[Loaded]:
    """Load the current qrels and runs of a lake, of one dataset or of all; return the outcomes.

    The runs are those that were pushed `with_runs`; `run` chooses by names or patterns. Each content is
    loaded only if its rows have the hash that the lake knows it by. Raises UsageError for runs whose
    predictions nobody has pushed, after the others are loaded, and ConflictError for a name that has
    other content here. Needs the extra "lake".
    """
    from warehouse.extensions.lake import pulled_contents

    runs = [run] if isinstance(run, str) else list(run)
    return list(pulled_contents.pull(warehouse, os.fspath(lake), dataset, runs))


def collect(
    warehouse: Warehouse, lake: str | os.PathLike[str], *, version: int | None = None
) -> Published:
    """Make the file of a warehouse from the values that were pushed into a lake.

    The file is a replica, with runs and values and without predictions and judgments; it must be
    new, or from an earlier collect, which is replaced. `version` is the lake's: each push is
    one, the first is 0, and None is the newest. Needs the extra "lake". Raises UsageError, as for a
    version that does not exist, and DatabaseError.
    """
    from warehouse.extensions.lake import shared_lake

    return shared_lake.collect(
        os.fspath(lake), warehouse.path, version=version, lock_timeout=warehouse.file.lock_timeout
    )
