"""The checks of staged rows: errors, warnings, and their wording."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from warehouse.errors import InputError, counted
from warehouse.readers.lines import count
from warehouse.readers.staged import FIELDS, KEYS, RUN_NUMBER, Kind
from warehouse.sql_text import templates

LIMIT = 10
# The most steps of ranked lists that one walk keeps.
STEPS = 1_000_000
# From so many rows on, ranked lists are walked in pieces, in parallel.
_WALK = 1_000_000
# The most rows searched for duplicates at once, and the most pieces per statement; this bounds the
# memory.
_PIECE = 200_000
_PIECES = 8
# Row ids of a table made in the open transaction start at a large number, not at 0.
PLACE = "rowid - (select min(rowid) from staged) + 1"
# The problem of a row that could not be read, if there is the column.
UNREAD = "fault is not null"
_SERVICE_COLUMNS = ("rank", "shown", "fault", "fields", "line")
# The check of the value, by kind; for other kinds the value is a grade.
_VALUE_CHECKS: Mapping[Kind, str] = {
    "run": "score_not_a_number",
    "preferences": "score_not_a_number",
}
# What may be wrong with readable preferences: checked last, because it makes no sense for broken
# ones.
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
    con: duckdb.DuckDBPyConnection,
    kind: Kind,
    *,
    place: str,
    word: str = "score",
    unread: str | None = UNREAD,
    unique: bool = False,
) -> tuple[list[Problem], int]:
    """Return the first problems of the table `staged` by place, and the count of all.

    `place` is the SQL of a row's place; `word` is the name of a run's value; the rest is as in
    `any_problem`.
    """
    if not any_problem(con, kind, unread=unread, unique=unique):
        return _contradictions(con, kind, place, word)
    _complete(con)
    names = ["unreadable", "empty_id", "document_twice"]
    names.append(_VALUE_CHECKS.get(kind, "relevance_not_an_integer"))
    found, total = _failing(con, kind, names, place, word)
    return (found, total) if total else _contradictions(con, kind, place, word)


def any_problem(
    con: duckdb.DuckDBPyConnection,
    kind: Kind,
    *,
    unread: str | None = UNREAD,
    together: bool = False,
    unique: bool = False,
) -> bool:
    """Whether the table `staged` has a problem, checked as cheaply as possible.

    `unread` is an SQL condition for rows that could not be read, or None if all could. `together`
    says that it holds several runs, `unique` that no key can occur twice. For runs, it leaves the
    table `staged_ranking` behind, unless it finds a problem first.
    """
    value = {"run": "score", "preferences": "level"}.get(kind, "relevance")
    sql = templates.render(
        "checks/any_problem",
        value=value,
        is_real=kind in _VALUE_CHECKS,
        unread=unread,
    )
    if rows(con, sql):
        return True
    if kind == "run":
        make_rankings(con, together=together)
    if unique:
        return False
    key = (RUN_NUMBER, *KEYS[kind]) if together else KEYS[kind]
    pieces = _pieces(con, "staged_ranking", _PIECE) if kind == "run" else []
    return _is_any_twice(con, key, pieces)


def list_key(together: bool) -> tuple[str, ...]:
    """Return the columns that distinguish the ranked lists of the staged runs."""
    return (RUN_NUMBER, "query_id") if together else ("query_id",)


def _pieces(
    con: duckdb.DuckDBPyConnection,
    lists: str,
    size: int,
    stretch: tuple[int, int] | None = None,
) -> list[tuple[int, int]]:
    """Divide ranked lists, or those of a stretch, into pieces of about so many rows.

    No list is divided. If a list does not stand together, there is one piece.
    """
    words = {"lists": lists, "size": size, "stretch": stretch}
    return con.execute(templates.render("statements/list_pieces", **words)).fetchall()


def _is_any_twice(
    con: duckdb.DuckDBPyConnection, key: Sequence[str], pieces: Sequence[tuple[int, int]]
) -> bool:
    """Whether two staged rows, of one piece if there are pieces, have the same key."""
    if not pieces:
        words = {"pieces": [None], "rows": row_count(con)}
        return bool(rows(con, templates.render("checks/key_twice", key=key, **words)))
    for start in range(0, len(pieces), _PIECES):
        some = pieces[start : start + _PIECES]
        words = {"pieces": some, "rows": sum(last - first + 1 for first, last in some)}
        if rows(con, templates.render("checks/key_twice", key=key, **words)):
            return True
    return False


def _complete(con: duckdb.DuckDBPyConnection) -> None:
    """Add the columns that checks name to `staged`, if a table of numbers was read without them."""
    present = columns(con)
    if "fault" not in present:
        con.execute("alter table staged add column fault varchar")
    if "shown" not in present:
        con.execute("alter table staged add column shown varchar")
        con.execute("update staged set shown = cast(score as varchar) where not isfinite(score)")


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
    """Return the error for these problems of the table `staged`, with hints from the table."""
    message = opening or count(total, "problem")
    if kind == "qrels" and rows(con, templates.render("checks/iterations_differ")):
        message += (
            "; documents are judged again under another iteration: "
            "--iterations loads the judgments of each"
        )
    return refuse(source, found, total, opening=message)


def in_words(found: Iterable[Problem], where: Callable[[int], int] = int) -> list[tuple[int, str]]:
    """Return the problems as `(line, reason)`; `where` converts a place to a line number."""
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


def make_rankings(con: duckdb.DuckDBPyConnection, *, together: bool = False) -> None:
    """Make the table `staged_ranking` of the staged lists."""
    con.execute(templates.render("ingest/staged_rankings", list_key=list_key(together)))


def walk_staged(con: duckdb.DuckDBPyConnection, *, ranks: bool, lowest_first: bool) -> None:
    """Make the table `list_step` in one walk down the staged lists, checking `ranks` on request.

    It reads `staged_ranking`.
    """
    make_steps(con)
    walk(con, "staged", "staged_ranking", ranks=ranks, lowest_first=lowest_first)


def make_steps(con: duckdb.DuckDBPyConnection) -> None:
    """Make the table `list_step`, to which walks add, again."""
    con.execute("create or replace temp table list_step (position bigint, step varchar)")


def walk(
    con: duckdb.DuckDBPyConnection,
    source: str,
    lists: str,
    *,
    lowest_first: bool,
    ranks: bool = False,
    stretch: tuple[int, int] | None = None,
) -> None:
    """Add the steps met on a walk down a table of ranked lists, or a stretch of it, to `list_step`.

    `lists` has the `first_position` and `last_position` of each, and whether it `is_together`. From
    STEPS steps on, not all are kept: such lists are not in order.
    """
    extent = (
        "min(first_position), max(last_position), count(*), current_setting('threads')::integer"
    )
    ((first, last, num_lists, threads),) = con.execute(f"select {extent} from {lists}").fetchall()
    if not num_lists:
        return
    first, last = stretch or (first, last)
    size = max(_WALK, (last - first) // threads + 1)
    stretches = [(first, last)]
    if last - first >= size:
        stretches = _pieces(con, lists, size, (first, last))
    words = {"source": source, "lists": lists, "ranks": ranks, "stretches": stretches}
    # the first row of a list is met as well, before it is recognised as such
    limit = STEPS + num_lists
    sql = templates.render("statements/list_steps", lowest_first=lowest_first, limit=limit, **words)
    con.execute(sql)


def run_warnings(
    con: duckdb.DuckDBPyConnection, *, ranks: bool, word: str, together: bool = False
) -> dict[int, list[str]]:
    """Return the warnings about each run as a whole, by its number; a single run has the number 0.

    `ranks` says that `staged` has a rank column. It leaves the table `list_step` behind.
    """
    key = list_key(together)
    number = RUN_NUMBER if together else "0"
    found: dict[int, list[str]] = {}

    def lists(source: str) -> dict[int, int]:
        sql = f"select {number}, count(*) from {source} group by all having count(*) > 0"
        return dict(con.execute(sql).fetchall())

    def told(check: str, sentence: str) -> None:
        for run, some in lists(f"({templates.render(check, list_key=key)})").items():
            all_ = counted(lists("staged_ranking")[run], "query")
            found.setdefault(run, []).append(sentence.format(f"{some:,} of {all_}"))

    walk_staged(con, ranks=ranks, lowest_first=word == "rank")
    if ranks and rows(con, templates.render("checks/rank_out_of_step", limit=STEPS)):
        told(
            "checks/rank_against_score",
            "scores contradict the rank column in {}: the scores decide, the ranks are not used",
        )
    told(
        "checks/scores_all_equal",
        f"all {word}s are equal in {{}}: only the tie rule orders their documents",
    )
    return found


def long_tags(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the warning about lines of a run whose tag has blanks, as lines joined by mistake do."""
    sql = "select count(*), min(line) from staged where fields > $1"
    ((number, line),) = con.execute(sql, [FIELDS["run"]]).fetchall()
    if not number:
        return []
    have, first = ("has", "") if number == 1 else ("have", " first")
    return [
        f"{counted(number, 'line')} {have} more than {FIELDS['run']} fields (line {line:,}{first}): "
        "the sixth is the tag, and nothing behind it is read"
    ]


def row_count(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of staged rows."""
    ((number,),) = con.execute("select count(*) from staged").fetchall()
    return int(number)


def columns(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the columns of the staged rows."""
    return [str(row[0]) for row in rows(con, "describe staged")]


def drop_service_columns(
    con: duckdb.DuckDBPyConnection, kind: Kind, present: Sequence[str]
) -> None:
    """Keep only the columns of the contract; dropping a column moves no data."""
    for name in (*_SERVICE_COLUMNS, *(("iteration",) if kind == "training" else ())):
        if name in present:
            con.execute(f"alter table staged drop column {name}")
