"""What goes to stdout (data) and to stderr (narration)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import duckdb

from warehouse.errors import UsageError, listing
from warehouse.report import formats


def say(text: str) -> None:
    """Tell the person something on stderr."""
    print(text, file=sys.stderr)


def warn(text: str) -> None:
    """Warn on stderr."""
    say(f"warning: {text}")


def emit(text: str, output: Path | None) -> None:
    """Write a result to stdout or to a file."""
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
    say(f"wrote {output}")


def show(
    relation: duckdb.DuckDBPyRelation,
    format: str,
    output: Path | None,
    *,
    places: int = 4,
    titles: Mapping[str, str] | None = None,
    counts: Collection[str] = (),
) -> None:
    """Write a relation in one of the formats; see `formats.text`."""
    if format == "parquet":
        if output is None:
            raise UsageError("-f parquet needs a file: -o FILE")
        formats.write_parquet(relation, output)
        say(f"wrote {output}")
        return
    text = formats.text(
        relation, formats.check(format), places=places, titles=titles, counts=counts
    )
    emit(text, output)


def show_board(
    board: duckdb.DuckDBPyRelation, format: str, output: Path | None, *, places: int = 4
) -> None:
    """Write a leaderboard, in tables with an arrow for each metric's better direction."""
    from warehouse.analyze.board import known_metric

    found = {name: known_metric(name) for name in board.columns[3:-2]}
    known = {name: metric.definition for name, metric in found.items() if metric is not None}
    titles = {name: f"{name} {metric.arrow}".strip() for name, metric in known.items()}
    counts = {name for name, metric in known.items() if metric.aggregate == "sum"}
    show(board, format, output, places=places, titles=titles | {"place": "#"}, counts=counts)


def say_forgotten(metrics: Sequence[str], protocol: str) -> list[str]:
    """Tell which values are of something that is gone; return the metrics that can be computed."""
    from warehouse.analyze.board import forgotten

    gone = forgotten(metrics, protocol)
    if gone:
        say(f"not defined any more, the values are those stored: {listing(gone)}")
    return [] if f"protocol {protocol}" in gone else [name for name in metrics if name not in gone]


class Progress:
    """A counter on stderr, drawn only when it is a terminal."""

    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.active = sys.stderr.isatty() and total > 1

    def step(self, label: str) -> None:
        """Count one more."""
        self.done += 1
        if self.active:
            sys.stderr.write(f"\r\x1b[K{self.what} {self.done}/{self.total}  {label}")
            sys.stderr.flush()

    def close(self) -> None:
        """Take the line away."""
        if self.active:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def __enter__(self) -> Callable[[str], None]:
        return self.step

    def __exit__(self, *_: object) -> None:
        self.close()
