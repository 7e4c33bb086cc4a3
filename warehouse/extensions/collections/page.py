"""The page of a dataset with the report on its collection."""

from __future__ import annotations

import contextlib

from warehouse.analyze import paired_tests
from warehouse.errors import UsageError, command
from warehouse.extensions.collections import levels, report, tables
from warehouse.report.pages.added import Chart, DatasetPage, Page, Section
from warehouse.report.pages.contents import Contents

# The most values by query, of one metric, that the page is made of, and how often they are resampled.
_MOST_VALUES, _RESAMPLES = 20_000, 500


def _page(contents: Contents) -> Page:
    """Return the report, as `warehouse collection` makes it, or the command for a large collection."""
    heading = f"What {contents.dataset} can tell"
    asked = command(
        f"collection --resamples {_RESAMPLES}", contents.dataset, metrics=contents.names,
        protocol=contents.protocol,
    )  # fmt: skip
    found = None
    if contents.then.is_now and contents.num_queries * len(contents.runs) <= _MOST_VALUES:
        with contextlib.suppress(UsageError):
            found = report.collection(
                contents.file, contents.dataset, contents.runs, contents.names,
                paired_tests.How("tukey", "none", resamples=_RESAMPLES), by="run", depth=report.DEPTH,
                difference=report.DIFFERENCE, protocol=contents.protocol,
            )  # fmt: skip
    if found is None:
        sentence = (
            "There is no report here: the page of a large collection, or of a past day, would take too "
            "long. The command makes it:"
        )
        return Page(heading, (), sentence=sentence, command=asked)
    shown = [
        Section(
            one.name, one.title, *one.cells(), one.notes, _chart(found) if one.name == "power" else None
        )
        for one in tables.sections(found, report.DIFFERENCE)
    ]  # fmt: skip
    sentence = "The command that makes this report:"
    return Page(heading, shown, found.advice, sentence, asked)


def _chart(found: report.Collection) -> Chart | None:
    """Return the chart of significance levels; None if no pair of runs has so low a level."""
    if found.levels is None:
        return None
    with contextlib.suppress(UsageError):
        return Chart(
            levels.significance_levels(found.levels),
            "Achieved significance levels by metric; warehouse discriminate --by-pair has them",
            "The p of every pair of runs, the highest first: a curve for each metric. The nearer it is "
            "to the origin, the more pairs the metric tells apart.",
        )
    return None


COLLECTION = DatasetPage("collection", "Collection", _page)
