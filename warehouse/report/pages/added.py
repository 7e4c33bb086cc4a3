"""Pages that extensions add to the pages of each dataset with judgments."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from warehouse import extending
from warehouse.report import formats
from warehouse.report.charts import Spec

if TYPE_CHECKING:
    import duckdb

    from warehouse.report.pages.contents import Contents

_NAME = re.compile(r"[a-z][a-z0-9-]*")
# The names of this program's own pages.
_OURS = (
    "index", "compare", "history", "agreement", "judge-next", "slices", "curves", "fusion", "imported"
)  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A chart, with its label for those who cannot see it, and its caption."""

    spec: Spec
    label: str
    caption: str


@dataclass(frozen=True)
class Section:
    """A table: heads, each with whether its column has numbers, and rows; then notes and a chart."""

    name: str
    title: str
    heads: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    chart: Chart | None = None

    @classmethod
    def of(cls, name: str, title: str, relation: duckdb.DuckDBPyRelation) -> Section:
        """Return a section that shows a relation."""
        numeric = formats.are_numeric(relation.types)
        heads = list(zip(relation.columns, numeric, strict=True))
        rows = [[formats.cell(value, 4) for value in row] for row in relation.fetchall()]
        return cls(name, title, heads, rows)


@dataclass(frozen=True)
class Page:
    """A page: its heading, advice, sections, and a sentence about the command that it ends with."""

    heading: str
    sections: Sequence[Section]
    advice: Sequence[str] = ()
    sentence: str = ""
    command: str = ""


@dataclass(frozen=True)
class DatasetPage:
    """A page of each dataset that has judgments, in `NAME.html`; `make` returns its contents."""

    name: str
    title: str
    make: Callable[[Contents], Page]


@cache
def pages() -> dict[DatasetPage, str]:
    """Return the pages, each with the name of its extension."""
    found: dict[DatasetPage, str] = {}
    taken = {*_OURS}
    for extension, page in extending.objects("pages"):
        if not isinstance(page, DatasetPage) or not _NAME.fullmatch(page.name):
            extending.leave_out(
                extension, f"{page!r}: is no DatasetPage with a name in small letters"
            )
        elif page.name in taken:
            extending.leave_out(extension, f"page {page.name}: the name is taken")
        else:
            found[page] = extension
            taken.add(page.name)
    return found


def made(contents: Contents) -> dict[str, Page]:
    """Make the pages; a page that fails has one sentence, and a warning gives the reason."""
    found = {}
    for page, extension in pages().items():
        failed = Page(
            page.title, (), sentence=f"The extension {extension} could not make this page."
        )
        parts = extending.attempt(extension, f"page {page.name}", lambda: _made(page, contents))  # noqa: B023
        found[page.name] = next(parts, failed)
    return found


def _made(page: DatasetPage, contents: Contents) -> Page:
    done: object = page.make(contents)
    if not isinstance(done, Page):
        raise TypeError(f"its function returns {type(done).__name__}, and no Page")
    return done
