"""The report on a collection as tables for people, each below its title and above how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import duckdb

from warehouse.extensions.collections.report import SECTIONS, Collection
from warehouse.report import formats
from warehouse.report.formats import Writer
from warehouse.report.result import Result
from warehouse.sql_text.quoting import ident

_TITLES: Mapping[str, str] = {
    "queries_without": "queries without", "runs_judged": "runs wholly judged",
    "tied_lists": "tied lists", "tied_share": "share tied", "relevant_last": "relevant last",
    "relevant_first": "relevant first", "largest_not_separated": "largest not separated",
    "rank_low": "from", "rank_high": "to", "p_first": "P(first)", "tau_b": "tau-b",
    "rank_loss": "rank loss", "left_out": "left out", "unique_relevant": "mean unique relevant",
    "swapped_pairs": "swapped pairs", "queries_needed": "needed",
}  # fmt: skip
# Columns that only programs need.
_UNNEEDED: Mapping[str, Sequence[str]] = {
    "topics": ("queries",),
    "power": ("undefined",),
    "resolution": ("runs", "deviation"),
    "uniques": ("groups",),
}
# Columns that a narrow screen lacks first.
_SPARE: Mapping[str, Sequence[str]] = {"resolution": ("settled", "anova_needed")}


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _brief(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


_SHOWN = {"median": _short, "relevance": _short, "unique_relevant": _brief}
_NUMBERS = ("tinyint", "smallint", "integer", "bigint", "hugeint", "double")
# Sections with a row for each run, and how many of these the report shows.
_LONG, _MOST_ROWS = ("tied",), 10


@dataclass(frozen=True)
class Section:
    """A section: its table, the heads of its columns, and how it was made."""

    name: str
    title: str
    relation: duckdb.DuckDBPyRelation
    titles: Mapping[str, str]
    unneeded: Sequence[str]
    spare: Sequence[str]
    notes: Sequence[str]

    @property
    def shown(self) -> duckdb.DuckDBPyRelation:
        """The rows that a report shows: the first ones of a section with a row for each run."""
        return self.relation.limit(_MOST_ROWS) if self.name in _LONG else self.relation

    def cells(self, digits: int = 4) -> tuple[list[tuple[str, bool]], list[list[str]]]:
        """Return the heads, each with whether its column has numbers, and the rows as texts."""
        shown = [name for name in self.relation.columns if name not in self.unneeded]
        relation = self.shown.project(", ".join(map(ident, shown)))
        numeric = [kind.id in _NUMBERS for kind in relation.types]
        heads = [self.titles.get(name, name) for name in shown]
        ways = [_SHOWN.get(name) for name in shown]
        rows = [
            [formats.cell(value if way is None else way(value), digits) for value, way in pairs]
            for row in relation.fetchall()
            for pairs in [zip(row, ways, strict=True)]
        ]
        return list(zip(heads, numeric, strict=True)), rows


def sections(found: Collection, difference: float) -> list[Section]:
    """Return the sections in their order."""
    titles = {**_TITLES, "queries_needed": f"for {difference:g}", "anova_needed": "by ANOVA"}
    by_run = {"uniques": ("left_out",)} if found.by == "run" else {}
    return [
        Section(
            name,
            SECTIONS[name],
            relation,
            titles,
            (*_UNNEEDED.get(name, ()), *by_run.get(name, ())),
            _SPARE.get(name, ()),
            tuple(found.section_notes.get(name, ())),
        )
        for name, relation in found.sections.items()
    ]


def _page(found: Collection, asked: Sequence[Section], writer: Writer) -> str:
    """Write all sections, and the advice below them in documents (a terminal has it as notes)."""
    parts = []
    for one in asked:
        table = formats.text(
            one.shown,
            writer,
            titles=one.titles,
            unneeded=one.unneeded,
            spare=one.spare,
            shown=_SHOWN,
        )
        if writer.format == "latex":
            parts.append(writer.captioned(table, f"{one.title}.", f"{found.dataset}-{one.name}"))
        else:
            parts.append(f"{_headed(one.title, writer.format)}{table}")
    if found.advice and writer.format in ("markdown", "html"):
        parts.append(_headed("Advice", writer.format) + _listed(found.advice, writer.format))
    return "\n".join(parts)


def _headed(title: str, format: str) -> str:
    if format == "markdown":
        return f"## {title}\n\n"
    return f"<h2>{escape(title)}</h2>\n" if format == "html" else f"{title}\n"


def _listed(sentences: Sequence[str], format: str) -> str:
    if format == "html":
        items = "".join(f"<li>{escape(formats.one_line(one))}</li>\n" for one in sentences)
        return f"<ul>\n{items}</ul>\n"
    return "".join(f"- {formats.one_line(one)}\n" for one in sentences)


def result(found: Collection, difference: float) -> Result:
    """Return the report on a collection: for people a table for each section, below its title."""
    parted = sections(found, difference)
    parts: dict[str, Result | None] = {
        one.name: Result(
            one.relation, one.notes, titles=one.titles, unneeded=one.unneeded, spare=one.spare
        )
        for one in parted
    }

    def page(writer: Writer) -> str:
        return _page(found, parted, writer)

    return Result(found.relation, found.advice, page=page, tables=parts, details=found)
