"""`warehouse verify`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import typer

from warehouse.cli import options
from warehouse.cli.progress import Progress
from warehouse.errors import UsageError

SECTION, PLACE = "History", 4
EXAMPLES = {"verify": ("warehouse verify -d dl19 --sample 5 --seed 1", "warehouse verify --all")}

# How many evaluations are recomputed by default.
_SAMPLE = 100


def verify(
    bundle: Annotated[
        Path | None,
        typer.Argument(help="A bundle of 'warehouse export' to verify, in place of the database."),
    ] = None,
    data: Annotated[
        Path | None, "Where the data of a bundle is that has none.", {"metavar": "FOLDER"}
    ] = None,
    signers: Annotated[
        Path | None,
        "Who may have signed the bundle: a file of allowed signers of ssh-keygen.",
        {"metavar": "FILE"},
    ] = None,
    dataset: options.AnyDataset = None,
    every: Annotated[bool, "Check every stored value, not a sample.", "--all"] = False,
    sample: Annotated[
        int | None, "How many evaluations to recompute.", {"min": 1, "show_default": "100"}
    ] = None,
    seed: Annotated[
        int | None, "Seed of the sample, to take the same one again.", {"show_default": "a new one"}
    ] = None,
    renew: Annotated[
        bool,
        "First derive the stored current values anew, if they are not those of the newest "
        "versions.",
    ] = False,
    *,
    table: options.Table,
    database: options.LimitedFile,
) -> None:
    """Recompute stored values and compare every bit.

    Values are recomputed from the stored predictions. Without --renew, nothing is stored. The whole
    database is searched for rows that occur twice, belong to nothing, hold no number, or are not what
    was loaded or computed. The exit code is 1 if anything is wrong.

    A bundle is computed again from the judgments and runs in it, without a database: every value is
    compared to the last bit, and every file with the digest that it was written with. With --signers,
    one of the allowed signers must have signed it.
    """
    from warehouse.warehouse import Warehouse

    if bundle is not None:
        _refuse_with_bundle(dataset=dataset, all=every, sample=sample, seed=seed, renew=renew)
        with Progress("verifying"):
            checked = Warehouse.verify_bundle(bundle, data, signers)
        table.show(checked, 17)
        if not checked.is_good:
            raise typer.Exit(1)
        return
    for option, path in (("--data", data), ("--signers", signers)):
        if path is not None:
            raise UsageError(
                f"{option}: goes with a bundle, as in: warehouse verify BUNDLE {option} PATH"
            )

    for option, given in (("--sample", sample), ("--seed", seed)):
        if every and given is not None:
            raise UsageError(f"{option}: goes with a sample; with --all there is none")
    chosen = random.SystemRandom().randrange(1_000_000) if seed is None else seed
    wh = database.open()
    with Progress("verifying", "step") as step:
        found = wh.verify(
            dataset, sample=None if every else sample or _SAMPLE, seed=chosen, renew=renew,
            on_group=step,
        )  # fmt: skip
    table.show(found, 17)
    if not found.is_good:
        raise typer.Exit(1)


def _refuse_with_bundle(**given: object) -> None:
    """Refuse options about a database together with a bundle."""
    for name, value in given.items():
        if value:
            raise UsageError(f"--{name}: a bundle is verified by itself; leave it out")
