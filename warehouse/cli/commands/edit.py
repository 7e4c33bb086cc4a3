"""`warehouse edit`."""

from __future__ import annotations

from typing import Annotated

from warehouse.cli import options, output

SECTION, PLACE = "Load", 5
EXAMPLES = {
    "edit": (
        "warehouse edit bm25 -d dl19 --name bm25_tuned",
        "warehouse edit bm25 -d dl19 --system BM25 --tag stage=first",
    )
}


def edit(
    run: options.OneRun,
    dataset: options.Dataset,
    name: Annotated[str | None, "Another name for the run, in all its versions."] = None,
    system: Annotated[str | None, "The system that made it; '' for none."] = None,
    tags: options.Tags = None,
    without: Annotated[list[str] | None, "Remove this tag; repeatable.", {"metavar": "KEY"}] = None,
    *,
    database: options.File,
) -> None:
    """Rename a run, or change its system and tags.

    Predictions and values stay, and there is no new version. System and tags belong to the
    current version; tags that are not named stay. 'warehouse sync' names runs by warehouse.toml:
    a run that it loads again has the name from there.
    """
    from warehouse.errors import UsageError

    if name is None and system is None and not tags and not without:
        raise UsageError("nothing to change: --name, --system, --tag or --without")
    found = database.open().edit(
        dataset, run, name=name, system=system, tags=options.pairs(tags, "--tag"),
        without=without or (),
    )  # fmt: skip
    fields = [f"system {found.system}"] if found.system else []
    fields += [f"{key}={value}" for key, value in found.tags.items()]
    output.say(f"{dataset}/{found.run}: {', '.join(fields) or 'no system and no tags'}")
