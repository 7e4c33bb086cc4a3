"""The checks on the staged rows: what is refused, what is warned about, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import duckdb

from warehouse import templates
from warehouse.errors import InputError
from warehouse.readers.lines import count
from warehouse.readers.staged import KEYS, Kind

LIMIT = 10
# Row ids of a table made in the open transaction begin at a large number, not at 0.
PLACE = "rowid - (select min(rowid) from staged) + 1"
_SERVICE_COLUMNS = ("rank", "shown", "fault", "fields", "line")
# The check of the value by kind; the value of the others is a grade.
_VALUE_CHECKS: Mapping[Kind, str] = {
    "run": "score_not_a_number",
    "preferences": "score_not_a_number",
}
# What preferences that can be read may still be: asked last, for it says nothing of broken ones.
_CONTRADICTIONS = ("level_zero_and_not", "preferred_in_a_circle")


@dataclass(frozen=True)
class Problem:
    """One offending row: its place (a line or row number), its ids, what is wrong with it."""

    place: int
    query_id: str | None
    doc_id: str | None
    reason: str
    earlier: int | None


def rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    """Run SQL and fetch everything."""
    return con.execute(sql).fetchall()


def problems(
    con: duckdb.DuckDBPyConnection, kind: Kind, *, place: str, word: str = "score"
) -> tuple[list[Problem], int]:
    """Return the first problems of the table `staged` by place, and the count of all.

    `place` is the SQL of a row's place; `word` is what a run's value is called.
    """
    if not any_problem(con, kind):
        return _contradictions(con, kind, place, word)
    names = ["unreadable", "empty_id", "document_twice"]
    names.append(_VALUE_CHECKS.get(kind, "relevance_not_an_integer"))
    found, total = _failing(con, kind, names, place, word)
    return (found, total) if total else _contradictions(con, kind, place, word)


def any_problem(con: duckdb.DuckDBPyConnection, kind: Kind, *, faults: bool = True) -> bool:
    """Whether the table `staged` has a problem, asked as cheaply as can be.

    `faults` says that it has a column of what could not be read.
    """
    value = {"run": "score", "preferences": "level"}.get(kind, "relevance")
    sql = templates.render(
        "checks/any_problem",
        value=value,
        is_real=kind in _VALUE_CHECKS,
        faults=faults,
    )
    if rows(con, sql):
        return True
    if not rows(con, templates.render("checks/pair_twice", key=KEYS[kind])):
        return False
    keys = ", ".join(KEYS[kind])
    return bool(rows(con, f"select 1 from staged group by {keys} having count(*) > 1 limit 1"))


def _contradictions(
    con: duckdb.DuckDBPyConnection, kind: Kind, place: str, word: str
) -> tuple[list[Problem], int]:
    if kind != "preferences":
        return [], 0
    return _failing(con, kind, _CONTRADICTIONS, place, word)


def _failing(
    con: duckdb.DuckDBPyConnection, kind: Kind, names: Iterable[str], place: str, word: str
) -> tuple[list[Problem], int]:
    """Return the first problems that some checks find, and the count of all."""
    checks = [
        templates.render(
            f"checks/{name}",
            line=place,
            word=word,
            value="level" if kind == "preferences" else "score",
            key=KEYS[kind],
        )
        for name in names
    ]
    found = con.execute(templates.render("ingest/problems", checks=checks, limit=LIMIT)).fetchall()
    total = int(found[0][5]) if found else 0
    return [Problem(*row[:5]) for row in found], total


def refuse(
    source: str, found: Iterable[tuple[int | None, str]], total: int, *, opening: str = ""
) -> InputError:
    """Return the error for these problems, the first ones by line."""
    first = sorted(found, key=lambda problem: problem[0] or 0)[:LIMIT]
    message = opening or count(total, "problem")
    return InputError(f"{source}: {message}", problems=first, total=total)


def refuse_staged(
    con: duckdb.DuckDBPyConnection,
    kind: Kind,
    source: str,
    found: Iterable[tuple[int | None, str]],
    total: int,
    *,
    opening: str = "",
) -> InputError:
    """Return the error for these problems of the table `staged`, with what the table suggests."""
    message = opening or count(total, "problem")
    if kind == "qrels" and rows(con, templates.render("checks/iterations_differ")):
        message += (
            "; documents are judged again under another iteration: "
            "--iterations loads the judgments of each"
        )
    return refuse(source, found, total, opening=message)


def in_words(found: Iterable[Problem], where: Callable[[int], int] = int) -> list[tuple[int, str]]:
    """Return the problems as `(line, reason)`; `where` turns a place into a line number."""
    return [
        (
            where(problem.place),
            problem.reason
            + ("" if problem.earlier is None else f", first on line {where(problem.earlier)}"),
        )
        for problem in found
    ]


def in_words_by_row(found: Iterable[Problem]) -> list[tuple[None, str]]:
    """Return the problems of a source without lines: the reason names the row."""
    return [
        (
            None,
            f"row {problem.place:,}: {problem.reason}"
            + ("" if problem.earlier is None else f", first in row {problem.earlier:,}"),
        )
        for problem in found
    ]


def in_words_by_key(found: Iterable[Problem]) -> list[tuple[None, str]]:
    """Return the problems of a nested source: the reason names query and document."""
    return [
        (None, problem.reason if problem.earlier else f"{_keys(problem)}: {problem.reason}")
        for problem in found
    ]


def _keys(problem: Problem) -> str:
    query = f"query {(problem.query_id or '')[:80]!r}"
    return f"{query}, document {problem.doc_id[:80]!r}" if problem.doc_id else query


def warnings(con: duckdb.DuckDBPyConnection, kind: Kind, *, ranks: bool, word: str) -> list[str]:
    """Return the sentences about a run as a whole; `ranks` says that `staged` has a rank column."""
    if kind != "run":
        return []
    con.execute(templates.render("ingest/staged_rankings"))
    sentences: list[str] = []
    if ranks and rows(con, templates.render("checks/rank_out_of_step")):
        against = _size(con, "rank_against_score")
        if against:
            sentences.append(
                f"scores contradict the rank column in {_of_queries(con, against)}: "
                "the scores decide, the ranks are not used"
            )
    equal = _size(con, "scores_all_equal")
    if equal:
        sentences.append(
            f"all {word}s are equal in {_of_queries(con, equal)}: "
            "only the tie rule orders their documents"
        )
    return sentences


def _of_queries(con: duckdb.DuckDBPyConnection, some: int) -> str:
    queries = _number(con, "select count(*) from staged_ranking")
    return f"{some:,} of {queries:,} {'query' if queries == 1 else 'queries'}"


def _size(con: duckdb.DuckDBPyConnection, check: str) -> int:
    return _number(con, f"select count(*) from ({templates.render('checks/' + check)})")


def _number(con: duckdb.DuckDBPyConnection, sql: str) -> int:
    (row,) = con.execute(sql).fetchall()
    return int(row[0])


def row_count(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of staged rows."""
    return _number(con, "select count(*) from staged")


def has_column(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether the table `staged` has a column."""
    return name in _columns(con)


def drop_service_columns(con: duckdb.DuckDBPyConnection, kind: Kind) -> None:
    """Leave the columns of the contract; dropping a column moves no data."""
    present = _columns(con)
    for name in (*_SERVICE_COLUMNS, *(("iteration",) if kind == "training" else ())):
        if name in present:
            con.execute(f"alter table staged drop column {name}")


def _columns(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(row[0]) for row in rows(con, "describe staged")]
