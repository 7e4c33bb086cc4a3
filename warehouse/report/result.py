"""The result of a method that reads: a table with notes, for programs, notebooks and papers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from warehouse.config.notebook import ROWS
from warehouse.errors import UsageError, visible
from warehouse.report import formats, pictures
from warehouse.report.facts import Facts
from warehouse.report.file_replacement import new_file
from warehouse.report.screens import Screen

if TYPE_CHECKING:
    import duckdb

    from warehouse.report.charts import Spec

# The media type of a Vega-Lite specification in notebooks.
VEGA_LITE = "application/vnd.vegalite.v5+json"
# The most columns of text that a result shows of itself.
WIDTH = 100
Format = Literal["table", "json", "jsonl", "csv", "tsv", "markdown", "latex", "html"]
Notes = Sequence[str] | Callable[[int], Sequence[str]]
Page = Callable[[formats.Writer], str]


class Row(tuple[Any, ...]):
    """A row: a tuple whose values are also found by their columns.

    >>> row = Row([1, 0.5], ["place", "nDCG@10"])
    >>> row.place, row["nDCG@10"], row[0], row == (1, 0.5)
    (1, 0.5, 1, True)
    """

    columns: Sequence[str]

    def __new__(cls, values: Sequence[Any], columns: Sequence[str]) -> Row:  # noqa: D102
        row = super().__new__(cls, values)
        row.columns = columns
        return row

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self), self.columns

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key not in self.columns:
            raise KeyError(key)
        return super().__getitem__(self.columns.index(key))

    def __getattr__(self, name: str) -> Any:
        if name == "columns" or name not in self.columns:
            raise AttributeError(f"no column {name}")
        return self[name]

    def __repr__(self) -> str:
        pairs = zip(self.columns, self, strict=True)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in pairs)})"

    def as_dict(self) -> dict[str, Any]:
        """Return the values by their columns."""
        return dict(zip(self.columns, self, strict=True))


class Result(Facts):
    """A table, with `notes` for people, that does not keep the database open.

    Iterating gives rows whose values are found by place, attribute or key: `row[0]`, `row.run`,
    `row["nDCG@10"]`. `.df()` needs pandas, `.pl()` polars, `.arrow()` pyarrow. `.relation` is the
    DuckDB relation, on a connection of its own. Results of some methods have other tables and facts
    as attributes, such as `compare(…).values` and `check(…).is_good`; their methods name them.

    Tables for people (printed, in notebooks, LaTeX and Markdown) round numbers, and show which
    direction is better and which values are best; CSV, JSON and Parquet keep every digit.
    """

    def __init__(
        self,
        relation: duckdb.DuckDBPyRelation,
        notes: Notes = (),
        *,
        titles: Mapping[str, str] | None = None,
        counts: Collection[str] = (),
        best: Mapping[str, str] | None = None,
        unneeded: Collection[str] = (),
        spare: Sequence[str] = (),
        shown: Mapping[str, Callable[[Any], str]] | None = None,
        nothing: str = "",
        page: Page | None = None,
        caption: tuple[str, str] | None = None,
        tables: Mapping[str, Result | None] | None = None,
        chart: Callable[[], Spec] | None = None,
        details: Any = None,
        places: int = 4,
    ) -> None:
        self.relation = relation
        self.details = details
        self.places = places
        self.tables = dict(tables or {})
        self._notes = notes
        self._page = page
        self._caption = caption
        self._nothing = nothing
        self._chart = chart
        self._style: dict[str, Any] = {
            "titles": titles or {}, "counts": counts, "best": best or {}, "unneeded": unneeded,
            "spare": spare, "shown": shown,
        }  # fmt: skip

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes for people below the table."""
        return self.rounded_notes()

    def rounded_notes(self, places: int | None = None) -> tuple[str, ...]:
        """Return the notes with so many digits after the point."""
        digits = self.places if places is None else places
        return tuple(self._notes(digits) if callable(self._notes) else self._notes)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.relation.columns)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        return self.relation.fetchall()

    def df(self) -> Any:
        """Return a pandas data frame."""
        return self.relation.df()

    def pl(self) -> Any:
        """Return a polars data frame."""
        return self.relation.pl()

    def arrow(self) -> Any:
        """Return an Arrow table."""
        return self.relation.to_arrow_table()

    def __len__(self) -> int:
        ((number,),) = self.relation.aggregate("count(*)").fetchall()
        return int(number)

    def __iter__(self) -> Iterator[Row]:
        columns = self.columns
        return (Row(values, columns) for values in self.fetchall())

    if not TYPE_CHECKING:  # these have the types of Facts

        def __getattr__(self, name: str) -> Any:
            own = self.__dict__
            if name in own.get("tables", ()):
                return self.tables[name]
            if not name.startswith("_") and hasattr(own.get("details"), name):
                return getattr(self.details, name)
            raise AttributeError(f"this result has no {name}")

    def __dir__(self) -> list[str]:
        more = [name for name in dir(self.details) if not name.startswith("_")]
        return [*super().__dir__(), *self.tables, *more]

    @property
    def chart(self) -> Spec | None:
        """Return the chart as a Vega-Lite specification, or None if the result has none.

        Raises UsageError if there is nothing to draw.
        """
        return None if self._chart is None else self._chart()

    def __repr__(self) -> str:
        notes = [visible(note, lines=True) for note in self.notes]
        screen = Screen(digits=self.places, width=WIDTH, hint="")
        text = self.on(screen, ROWS)
        missing = [screen.note()] if screen.note() else []
        return "\n".join([text.removesuffix("\n"), *self._more(), *notes, *missing])

    def _more(self) -> list[str]:
        left = len(self) - ROWS if self._page is None else 0
        return [f"… {left:,} more rows"] if left > 0 else []

    def _notebook(self, format: str, line: str) -> str:
        """Return the first rows in a format, and the notes, each as a line."""
        notes = (line.format(escape(formats.one_line(note))) for note in self.notes)
        text = self.on(formats.Writer(format, self.places), ROWS)
        return "".join([text, *map(line.format, self._more()), *notes])

    def _repr_html_(self) -> str | None:
        return None if self._chart_if_any() else self._notebook("html", "<div>{}</div>\n")

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return the forms for a notebook: the table, or the chart and the table as Markdown.

        JupyterLab prefers HTML to Vega-Lite, and Vega-Lite to Markdown, which others show.
        """
        chart = self._chart_if_any()
        ways: dict[str, Callable[[], Any]] = {"text/plain": self.__repr__}
        if chart is None:
            ways["text/html"] = self._repr_html_
        else:
            ways[VEGA_LITE] = lambda: chart
            ways["text/markdown"] = lambda: self._notebook("markdown", "\n{}\n")
        asked = {mime for mime in ways if not include or mime in include} - set(exclude or ())
        return {mime: make() for mime, make in ways.items() if mime in asked}

    def _chart_if_any(self) -> Spec | None:
        try:
            return self.chart
        except UsageError:  # there is nothing to draw
            return None

    def text(self, format: Format, places: int | None = None) -> str:
        """Return the table as text in a format: table, json, jsonl, csv, tsv, markdown, latex, html."""
        return self._text(format, places)

    def _text(self, format: str, places: int | None = None) -> str:
        if formats.check(format) in formats.FOR_PEOPLE:
            return self.on(formats.Writer(format, self.places if places is None else places))
        return formats.text(self.relation, format)

    def on(self, writer: formats.Writer, rows: int | None = None) -> str:
        """Return the table as a writer of tables for people makes it, with at most so many rows."""
        if self._page is not None:
            return self._page(writer)
        if self._nothing and writer.format == "table" and not len(self):
            return f"{self._nothing}\n"
        shown = self.relation if rows is None else self.relation.limit(rows)
        text = formats.text(shown, writer, **self._style)
        return text if self._caption is None else writer.captioned(text, *self._caption)

    def document(self, format: str, places: int | None = None) -> str:
        """Return the text of a file: of HTML a whole page."""
        text = self._text(format, places)
        return formats.page(text) if format == "html" else text

    def to_latex(self, places: int | None = None) -> str:
        """Return a LaTeX table, for the package booktabs, with the best values in bold."""
        return self.text("latex", places)

    def to_markdown(self, places: int | None = None) -> str:
        """Return a Markdown table with the best values in bold."""
        return self.text("markdown", places)

    def to_csv(self, *, safe: bool = False) -> str:
        """Return the rows as CSV with a header; if `safe`, a spreadsheet finds no formula in a text."""
        return self._text(formats.SAFE["csv"] if safe else "csv")

    def to_json(self) -> str:
        """Return the rows as a JSON array of objects."""
        return self.text("json")

    def save(self, path: str | Path, places: int | None = None) -> None:
        """Write a file whose suffix names the format: .csv, .tsv, .json, .parquet, .md, .tex, .html …

        A result with a chart can also be a picture: .svg, .png or .pdf, with the extra "plot". The
        file appears complete. Raises UsageError if it cannot be written.
        """
        path = Path(path)
        format = path.suffix[1:].lower()
        if self._chart is None or format not in pictures.FORMATS:
            format = formats.of_suffix(path)
        with new_file(path) as part:
            self.write(part, format, places)

    def write(self, path: Path, format: str, places: int | None = None) -> None:
        """Write the table, or the chart as a picture, to a file in a format."""
        if format in pictures.FORMATS and self._chart is not None:
            path.write_bytes(pictures.picture(self._chart(), format))
        elif format == "parquet":
            formats.write_parquet(self.relation, path)
        else:
            path.write_text(self.document(format, places), encoding="utf-8", newline="")
