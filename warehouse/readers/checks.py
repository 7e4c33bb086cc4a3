"""The checks of staged rows: errors, warnings, and their wording."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, counted, listing, option
from warehouse.readers import row_rules
from warehouse.readers.kinds import KEYS, RUN_NUMBER, VALUES, Kind, Ranking
from warehouse.readers.lines import LIMIT, BadLines
from warehouse.readers.meanings import meanings
from warehouse.readers.staging import render, run, types_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

# The most steps of ranked lists that one walk keeps.
STEPS = 1_000_000
# From so many rows on, ranked lists are walked in pieces, in parallel.
_WALK = 1_000_000
# The most rows searched for duplicates at once, and the most pieces per statement; this bounds the
# memory.
_PIECE = 100_000
_PIECES = 8
# The number of first rows that say whether the lists may have their own queries, or rising scores.
_FIRST = 20_000
_FEW = 2_000
# Row ids of a table made in the open transaction start at a large number, not at 0.
POSITION = "rowid - (select min(rowid) from staged) + 1"
# The problem of a row that could not be read, if there is the column.
UNREAD = "fault is not null"
_SERVICE_COLUMNS = ("rank", "shown", "fault", "fields", "line", "tag", "place")
# Problems of readable preferences: checked last, because it makes no sense for broken
# ones.
_CONTRADICTIONS = ("level_zero_and_not", "preferred_in_a_circle")

# Problems as `(line, reason)`, without a line where the source has none.
LineProblems = list[tuple[int | None, str]]
Words = Callable[[Iterable["Problem"]], LineProblems]
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class SeveralSystemsError(InputError):
    """A source with the rows of several systems, or splits, for one query."""


@dataclass(frozen=True)
class Problem:
    """One offending row: its position (a line or row number), its ids, what is wrong with it."""

    position: int
    query_id: str | None
    doc_id: str | None
    reason: str
    earlier: int | None


def problems(
    con: Connection,
    kind: Kind,
    *,
    position: str,
    word: str = "score",
    unread: str | None = UNREAD,
    unique: bool = False,
) -> tuple[list[Problem], int]:
    """Return the first problems of the table `staged` by position, and the count of all.

    `position` is the SQL of a row's position; `word` is the name of a run's value; the rest is as in
    `any_problem`.
    """
    if not any_problem(con, kind, unread=unread, unique=unique):
        return _contradictions(con, kind, position, word)
    complete(con)
    names = ["unreadable", "empty_id", "document_twice", "value_not_a_number"]
    found, total = _failing(con, kind, names, position, word)
    return (found, total) if total else _contradictions(con, kind, position, word)


def any_problem(
    con: Connection,
    kind: Kind,
    *,
    unread: str | None = UNREAD,
    together: bool = False,
    unique: bool = False,
    hashed: bool = False,
) -> bool:
    """Whether the table `staged` has a problem, checked as cheaply as possible.

    `unread` is an SQL condition for rows that could not be read, or None if all could. `together`
    says that it holds several runs, `unique` that no key can occur twice. For runs, it leaves the
    table `staged_ranking` behind, unless it finds a problem first. With `hashed`, it also leaves the
    hashes of the keys behind, as `staged_key`, and counts keys with the same hash as one.
    """
    if run(con, "checks/any_problem", value=_value(kind), unread=unread):
        return True
    if kind == "run":
        make_rankings(con, together=together)
    if unique:
        return False
    key = (RUN_NUMBER, *KEYS[kind]) if together else KEYS[kind]
    pieces = _pieces(con, "staged_ranking", _PIECE) if kind == "run" else []
    if not hashed:
        return _is_any_twice(con, "staged", key, pieces)
    con.execute(
        f"create temp table staged_key as select hash({', '.join(key)}) as key_hash from staged"
    )
    return _is_any_twice(con, "staged_key", ["key_hash"], pieces)


def list_key(together: bool) -> tuple[str, ...]:
    """Return the columns that distinguish the ranked lists of the staged runs."""
    return (RUN_NUMBER, "query_id") if together else ("query_id",)


def _pieces(
    con: Connection, lists: str, size: int, stretch: tuple[int, int] | None = None
) -> list[tuple[int, int]]:
    """Divide ranked lists, or the lists of a stretch, into pieces of about so many rows.

    No list is divided. If a list does not stand together, there is one piece.
    """
    return run(con, "statements/list_pieces", lists=lists, size=size, stretch=stretch)


def _is_any_twice(
    con: Connection, rows: str, key: Sequence[str], pieces: Sequence[tuple[int, int]]
) -> bool:
    """Whether two rows of a table, of one piece if there are pieces, have the same key."""
    if len(pieces) <= 1:
        return bool(run(con, "checks/key_twice", source=rows, key=key, pieces=[None], rows=None))
    for start in range(0, len(pieces), _PIECES):
        some = pieces[start : start + _PIECES]
        number = sum(last - first + 1 for first, last in some)
        if run(con, "checks/key_twice", source=rows, key=key, pieces=some, rows=number):
            return True
    return False


def complete(con: Connection) -> None:
    """Add the columns that checks name to `staged`, if it was read without them.

    Every check but `any_problem` and checks of ranked lists is run on a complete table.
    """
    present = types_of(con)
    if "fault" not in present:
        con.execute("alter table staged add column fault varchar")
    if "shown" not in present:
        con.execute("alter table staged add column shown varchar")
        con.execute("update staged set shown = cast(score as varchar) where not isfinite(score)")


def _contradictions(
    con: Connection, kind: Kind, position: str, word: str
) -> tuple[list[Problem], int]:
    if kind != "preferences":
        return [], 0
    return _failing(con, kind, _CONTRADICTIONS, position, word)


def _value(kind: Kind) -> str:
    return VALUES.get(kind, "relevance")


def _failing(
    con: Connection, kind: Kind, names: Iterable[str], position: str, word: str
) -> tuple[list[Problem], int]:
    """Return the first problems that some checks find, and the count of all."""
    value = _value(kind)
    words = {"line": position, "word": word if kind == "run" else value, "value": value}
    checks = [render(f"checks/{name}", key=KEYS[kind], **words) for name in names]
    found = run(con, "ingest/problems", checks=checks, limit=LIMIT)
    total = int(found[0][5]) if found else 0
    return [Problem(*row[:5]) for row in found], total


def refuse(
    source: str, found: Iterable[tuple[int | None, str]], total: int, *, opening: str = ""
) -> InputError:
    """Return the error for these problems, the first ones by line."""
    first = sorted(found, key=lambda problem: problem[0] or 0)[:LIMIT]
    message = opening or counted(total, "problem")
    return InputError(f"{source}: {message}", problems=first, total=total)


def check_staged(
    con: Connection,
    kind: Kind,
    source: str,
    *,
    position: str = POSITION,
    words: Words | None = None,
    bad: BadLines | None = None,
    diagnosis: Callable[[], str] = str,
    columns: Mapping[str, str] | None = None,
    **how: Any,
) -> None:
    """Raise InputError for the problems of the table `staged` and the `bad` lines outside it.

    The rules for rows are applied first; what is wrong in a row that they leave out does not matter.
    `words` says each problem with its position, the line by default; `diagnosis` says what the source
    as a whole is, if anything; `columns` maps our columns to a table's. The other
    arguments are as in `problems`.
    """
    rules = row_rules.current()
    tag = None if columns is None else columns.get("tag")
    if tag is not None or (kind == "run" and columns is None):
        _refuse_several_systems(con, kind, source, rules.where if rules else None, tag)
    if rules is not None:
        complete(con)
        position = rules.apply(con, kind, source, position, how.get("word", "score"))
        how |= {"unread": UNREAD, "unique": False}
    if kind != "run" and row_rules.reads_words():
        run(con, "ingest/words_kept")
    found, total = problems(con, kind, position=position, **how)
    total += bad.total if bad else 0
    if not total:
        return
    complete(con)
    whole = diagnosis()
    message = f"{whole}; {counted(total, 'problem')}" if whole else counted(total, "problem")
    if kind == "qrels" and run(con, "checks/iterations_differ"):
        message += (
            "; documents are judged again under another iteration: "
            f"{option('iterations')} loads the judgments of each"
        )
    elif any(problem.earlier is not None for problem in found) and row_rules.current() is None:
        known = listing(rule for rule in row_rules.REPEATED if kind != "run" or rule != "count")
        message += f"; {option('repeated', None)} says which row counts: {known}"
    if kind == "run" and any(problem.reason.endswith("finite number") for problem in found):
        name = _written((columns or {}).get("value", "score"))
        message += f"; {option('where', f'isfinite({name})')} leaves such rows out"
    word = None if kind in ("run", "preferences") else run(con, "checks/first_word")
    if word:
        # the help of commands names the formats, and does without the engine
        from warehouse.sql_text.quoting import literal

        name = _written((columns or {}).get("value", "relevance"))
        chosen = option("relevance", f"{name} = {literal(word[0][0])}")
        message += f"; {chosen} gives the rows with this word the relevance 1, and others 0"
    line_problems = [*(words or in_words)(found), *(bad.problems if bad else ())]
    raise refuse(source, line_problems, total, opening=message)


def several_systems(
    con: Connection, *, together: bool = False, named: bool = True
) -> list[tuple[Any, ...]]:
    """Return a query whose list has rows of several systems, their tags, and whether a document repeats.

    `named` says that the tags come from a column of a table, which may as well name the documents.
    """
    present = types_of(con)
    if "tag" not in present:
        return []
    key, has_faults = list_key(together), "fault" in present
    return run(con, "checks/several_tags", key=key, named=named, has_faults=has_faults)


def _refuse_several_systems(
    con: Connection, kind: Kind, source: str, where: str | None, column: str | None
) -> None:
    """Refuse a query with rows of several systems or splits, unless a condition chose among these."""
    found = several_systems(con, named=column is not None and kind == "run")
    name = column or "tag"
    if not found and column is not None:
        found = run(con, "checks/tags_apart", kind=kind)
    if not found or (where is not None and row_rules.chooses(con, where, name)):
        return
    # the help of commands names the formats, and does without the engine
    from warehouse.sql_text.quoting import literal

    query, tags, repeats = found[0]
    of_query = "" if query is None else f" for query {query[:80]!r}"
    listed = listing((str(tag)[:40] for tag in tags), 4)
    what = "systems" if kind == "run" else "splits"
    tag = next((tag for tag in tags if "test" in tag.lower()), min(tags, key=len))
    one = option("where", f"{_written(name)} = {literal(tag[:80])}")
    together = "all as one run" if kind == "run" else "all"
    every = "" if repeats else f", or {together}, {option('where', 'true')}"
    raise SeveralSystemsError(
        f"{source}: holds rows of several {what} (the column {name} has {listed}{of_query}): "
        f"read one of them, {one}{every}"
    )


def _written(name: str) -> str:
    """Return a column as people write it in SQL."""
    from warehouse.sql_text.quoting import ident

    return name if _NAME.fullmatch(name) else ident(name)


def in_words(found: Iterable[Problem], where: Callable[[int], int] = int) -> LineProblems:
    """Return the problems as `(line, reason)`; `where` converts a position to a line number."""
    return [
        (
            where(problem.position),
            problem.reason
            + ("" if problem.earlier is None else f", first on line {where(problem.earlier)}"),
        )
        for problem in found
    ]


def in_words_by_row(found: Iterable[Problem], row_of: Callable[[int], int] = int) -> LineProblems:
    """Return the problems of a source without lines: the reason names the row.

    `row_of` converts a position to the number of a row.
    """
    return [
        (
            None,
            f"row {row_of(problem.position):,}: {problem.reason}"
            + ("" if problem.earlier is None else f", first in row {row_of(problem.earlier):,}"),
        )
        for problem in found
    ]


def in_words_by_key(found: Iterable[Problem]) -> LineProblems:
    """Return the problems of a nested source: the reason names query and document."""
    return [
        (None, problem.reason if problem.earlier else f"{_keys(problem)}: {problem.reason}")
        for problem in found
    ]


def _keys(problem: Problem) -> str:
    query = f"query {(problem.query_id or '')[:80]!r}"
    return f"{query}, document {problem.doc_id[:80]!r}" if problem.doc_id else query


def make_rankings(con: Connection, *, together: bool = False) -> None:
    """Make the table `staged_ranking` of the staged lists."""
    run(con, "ingest/staged_rankings", list_key=list_key(together))


def any_empty(con: Connection) -> bool:
    """Whether a query of a nested source is there without a document."""
    con.execute("create temp table if not exists staged_empty (query_id varchar)")
    return bool(con.execute("select 1 from staged_empty limit 1").fetchall())


def add_empty(con: Connection) -> None:
    """Add the lists without a document to `staged_ranking`, which is walked before: they count."""
    if any_empty(con):
        con.execute(
            "insert into staged_ranking by name "
            "select query_id, 0 as num_ret, true as is_together from staged_empty"
        )


def add_untrained(con: Connection) -> None:
    """Add a row for each query of a training set that is there without a document: they count."""
    if any_empty(con):
        con.execute(
            "insert into staged by name "
            "select distinct query_id from staged_empty anti join staged using (query_id)"
        ).fetchall()


def walk_staged(con: Connection, *, ranks: bool, lowest_first: bool) -> None:
    """Make the table `list_step` in one walk down the staged lists, checking `ranks` on request.

    It reads `staged_ranking`.
    """
    make_steps(con)
    walk(con, "staged", "staged_ranking", ranks=ranks, lowest_first=lowest_first)


def make_steps(con: Connection) -> None:
    """Make the table `list_step`, to which walks add, again."""
    con.execute("create or replace temp table list_step (position bigint, step varchar)")


def walk(
    con: Connection,
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
    is_part = stretch is not None
    first, last = stretch or (first, last)
    size = max(_WALK, (last - first) // threads + 1)
    stretches: list[tuple[int, int] | None] = [(first, last) if is_part else None]
    if last - first >= size:
        stretches = [*_pieces(con, lists, size, (first, last))]
    run(
        con, "statements/list_steps", source=source, lists=lists, ranks=ranks, stretches=stretches,
        lowest_first=lowest_first,
        # the first row of a list is met as well, before it is recognised as such
        limit=STEPS + num_lists,
    )  # fmt: skip


def run_warnings(
    con: Connection,
    *,
    ranks: bool,
    ranked_by: Ranking,
    value: str | None = None,
    together: bool = False,
) -> dict[int, list[str]]:
    """Return the warnings about each run as a whole, by its number; a single run has the number 0.

    `ranks` says that `staged` has a rank column, `value` is the name of the column of scores. It leaves
    the table `list_step` behind.
    """
    key = list_key(together)
    number = RUN_NUMBER if together else "0"
    found: dict[int, list[str]] = {}

    def lists(source: str) -> dict[int, int]:
        sql = f"select {number}, count(*) from {source} group by all having count(*) > 0"
        return dict(con.execute(sql).fetchall())

    def those(check: str, **words: object) -> dict[int, int]:
        return lists(f"({render(check, list_key=key, **words)})")

    def warn(some: dict[int, int], sentence: str) -> None:
        every = lists("staged_ranking") if some else {}
        for number, count in some.items():
            of = f"{count:,} of {counted(every[number], 'query')}"
            found.setdefault(number, []).append(sentence.format(of))

    walk_staged(con, ranks=ranks, lowest_first=ranked_by == "rank")
    if ranks and run(con, "checks/rank_out_of_step", limit=STEPS):
        against = those("checks/rank_against_score", sign=1)
        other = those("checks/rank_against_score", sign=-1) if against else {}
        warn(
            {number: some for number, some in against.items() if number in other},
            "scores contradict the rank column in {}: the scores decide, the ranks are not used",
        )
        rising = {number: some for number, some in against.items() if number not in other}
        warn(rising, f"in {{}} the scores rise with the ranks, which are not used: {_lowest()}")
    warn(
        those("checks/scores_all_equal"),
        f"all {ranked_by}s are equal in {{}}: only the tie rule orders their documents",
    )
    if ranked_by == "score" and meanings(value or "") in ({"distance"}, {"rank"}):
        for one in lists("staged_ranking"):
            found.setdefault(one, []).append(f"the column {value!r} is read as scores: {_lowest()}")
    elif ranked_by == "score":
        rise = render("checks/scores_rise", list_key=key, number=number, rows=_FEW)
        warning = f"the scores rise from the first to the last document of each list: {_lowest()}"
        found |= {one: [warning] for one, _ in con.execute(rise).fetchall() if one not in found}
    sign = -1 if ranked_by == "rank" else 1
    own = those("checks/own_document", sign=sign) if _may_find_itself(con) else {}
    every = lists("staged_ranking") if own else {}
    many = {number: some for number, some in own.items() if 2 * some >= every[number]}
    warn(many, f"in {{}} {_own_document()}")
    return found


def _may_find_itself(con: Connection) -> bool:
    """Whether a fourth of the first lists have the document with the id of their query."""
    first = f"(select query_id, doc_id from staged limit {_FIRST})"
    ((own,),) = con.execute(f"select count_if(query_id = doc_id) from {first}").fetchall()
    if not own:  # as usual, so that no lists are counted
        return False
    ((lists,),) = con.execute(f"select count(distinct query_id) from {first}").fetchall()
    return bool(4 * own >= lists)


def holding(
    warnings: Iterable[str], lower_is_better: bool, excludes: bool = False
) -> tuple[str, ...]:
    """Return the warnings without those whose advice is taken."""
    taken = [_lowest()] if lower_is_better else []
    taken += [_own_document()] if excludes else []
    return tuple(one for one in warnings if not one.endswith(tuple(taken)))


def _lowest() -> str:
    return (
        "the highest counts as the best; of distances and ranks the lowest is the best: "
        f"{option('lower-is-better')}"
    )


def other_forms(
    con: Connection,
    judged: str = "scope_judgment",
    predicted: str = "scope_prediction",
    number: str = "run_id",
) -> dict[int, str]:
    """Return a warning for each run with judged ids in another Unicode form, as é of two characters."""
    if not run(con, "checks/several_bytes", relation=judged):  # as usual, so that no run is read
        return {}
    alike = option("normalise", "nfc_normalize(doc_id)")
    found = run(con, "checks/other_unicode_form", judged=judged, predicted=predicted, number=number)
    return {
        one: f"the ids of {counted(documents, 'judged document')}, or of their queries, have another "
        f"Unicode form in the run than in the qrels, and do not match: {alike} makes ids of "
        "documents alike"
        for one, documents in found
    }


def _own_document() -> str:
    return (
        "the document with the query's own id is among the first three: if it is the query itself, "
        f"{option('exclude', 'self')} of score and evaluate leaves it out"
    )


def any_gap(con: Connection) -> bool:
    """Whether the ranks of a staged run have gaps."""
    return bool(run(con, "checks/rank_gaps", limit=1))


def refuse_gaps(con: Connection, source: str, name: str = "rank") -> None:
    """Refuse a run ranked by ranks that have gaps: the documents in the gaps are unknown.

    `name` is the name of their column.
    """
    found = run(con, "checks/rank_gaps", limit=LIMIT)
    if not found:
        return
    total = int(found[0][4])
    gaps = [
        (
            None,
            f"query {query[:80]!r}: {counted(documents, 'document')} with the ranks {low:g} to {high:g}",
        )
        for query, documents, low, high, _ in found
    ]
    as_scores = option("column", ("score", name))
    opening = (
        f"the ranks have gaps in {counted(total, 'query')}, and there are no scores: "
        "give every rank its document, or, if only the order counts, read the ranks as scores "
        f"({as_scores} and {option('lower-is-better')})"
    )
    if any(low < 0 or low % 1 or high % 1 for _, _, low, high, _ in found):
        opening = (
            f"the ranks are not whole numbers from 1 up in {counted(total, 'query')}: if they are "
            f"scores, say so: {as_scores}, and {option('lower-is-better')} if the lowest is the best"
        )
    raise refuse(source, gaps, total, opening=opening)


def drop_service_columns(con: Connection, kind: Kind, columns: Iterable[str]) -> None:
    """Keep only those `columns` that are of the contract; dropping a column moves no data."""
    names = (*_SERVICE_COLUMNS, "iteration") if kind == "training" else _SERVICE_COLUMNS
    for name in columns:
        if name in names:
            con.execute(f"alter table staged drop column {name}")
