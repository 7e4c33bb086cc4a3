"""`warehouse export`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from warehouse.cli import options, output
from warehouse.cli.progress import Progress

SECTION, PLACE = "Share", 4
EXAMPLES = {
    "export": (
        "warehouse export artifact -d dl19",
        "warehouse export artifact -d dl19 -m nDCG@10 -m AP --without-data",
    )
}


def export(
    target: Annotated[Path, "The folder to write; it must be new.", {"metavar": "BUNDLE"}],
    dataset: options.OneDataset = None,
    metric: options.Metrics = None,
    protocol: options.Protocol = "default",
    without_data: Annotated[
        bool, "Leave the judgments and runs out, and keep their digests."
    ] = False,
    sign: Annotated[
        Path | None,
        "Sign it with this SSH key, by ssh-keygen: a private key, or the public one of a key "
        "that the agent has.",
        {"metavar": "KEY"},
    ] = None,
    *,
    database: options.LimitedFile,
) -> None:
    """Write a bundle: a board with all that is needed to compute it again.

    The folder has the values of all runs and queries, hashes, versions, the protocol, the SQL of each
    metric, what is known of each run as ir_metadata, the judgments and runs, and an in-toto statement
    of the digests of all files. 'warehouse verify BUNDLE' computes it again and says whether all is
    equal.
    """
    from warehouse.errors import counted

    wh = database.open()
    with Progress("exporting"):
        made = wh.export(
            target, dataset, metrics=metric or (), protocol=protocol,
            with_data=not without_data, sign=sign,
        )  # fmt: skip
    output.say(
        f"{made.path}: {counted(made.num_runs, 'run')}, {counted(made.num_metrics, 'metric')}, "
        f"{counted(made.num_values, 'value')} of queries; to check it: "
        f"warehouse verify {shlex.quote(str(made.path))}"
    )
