"""Mapping the columns of a table to ours: names of other programs, choices, refusals, nearest names."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from warehouse.errors import InputError, listing, nearest, option
from warehouse.readers import row_rules
from warehouse.readers.kinds import COLUMNS, Kind, Ranking
from warehouse.readers.meanings import Sample, advice, is_value, meanings

# How other programs call our columns, folded as by `_folded`. Of two lines the first one decides, as
# docno, an id, where docid counts documents; two names of one line could each be the column.
_QUERY = ("queryid qid userid uid useridx sessionid reviewerid topicid", "query user topic session")
_DOCUMENT = (
    "docno",
    "docid documentid corpusid passageid itemid iid itemidx movieid productid pid asin parentasin",
    "doc document passage item movie product",
)
_GRADE = ("rel label grade judgment rating",)
_NAMES: Mapping[Kind, Mapping[str, tuple[str, ...]]] = {
    "run": {
        "query_id": _QUERY,
        "doc_id": _DOCUMENT,
        "score": ("score", "prediction pred est", "rating"),
        "rank": (),
    },
    "qrels": {"query_id": _QUERY, "doc_id": _DOCUMENT, "relevance": _GRADE},
    "training": {"query_id": _QUERY, "doc_id": _DOCUMENT, "relevance": _GRADE},
    "iterations": {
        "query_id": _QUERY,
        "doc_id": _DOCUMENT,
        "relevance": _GRADE,
        "iteration": ("subtopicid",),
    },
}
# What may tell apart the systems whose runs, or the splits whose judgments, are in one table, the surest
# name first.
_TAGS: Mapping[Kind, str] = {
    "run": "system systemid systemname run runid runname runtag tag model modelid modelname method "
    "methodname retriever ranker algorithm algo approach experiment engine config configuration variant "
    "seed trial fold name",
    "qrels": "split splits subset partition fold",
}
# The separators of the ids in a cell of several.
_PARTS = r"[ |;,]|\[.*\]\Z"
# RecBole writes the type of a column after its name.
_TYPED = r":(token|float)(_seq)?\Z"


def candidates(
    kind: Kind, ours: str, available: Sequence[str], taken: Collection[str] = ()
) -> list[str]:
    """Return the columns that are ours by a name of another program; several could each be it.

    >>> candidates("qrels", "doc_id", ["query-id", "corpus-id", "score"])
    ['corpus-id']
    >>> candidates("run", "doc_id", ["qid", "docid", "docno"]), candidates("run", "rank", ["place"])
    (['docno'], [])
    """
    free = [name for name in dict.fromkeys(available) if name not in taken]
    for line in _NAMES.get(kind, {}).get(ours, ()):
        if found := [name for name in free if not _names(name).isdisjoint(line.split())]:
            return found
    return []


def is_header(cells: Sequence[str]) -> bool:
    """Whether cells name a query and a document in the way of another program.

    >>> is_header(["userId", "movieId"]), is_header(["q1", "item"])
    (True, False)
    """
    return all(candidates("run", ours, cells) for ours in ("query_id", "doc_id"))


def _names(name: str) -> set[str]:
    """Return a folded name, and its singular: a column of lists is called items."""
    folded = _folded(name)
    return {folded, folded.removesuffix("s")}


def _folded(name: str) -> str:
    """Return a name without case, separators and the type that RecBole adds.

    >>> _folded("user_id:token"), _folded("query-id"), _folded("movieId")
    ('userid', 'queryid', 'movieid')
    """
    return re.sub(r"[-_ ]", "", re.sub(_TYPED, "", name.strip())).lower()


def choose(
    source: str,
    kind: Kind,
    available: Sequence[str],
    mapping: Mapping[str, str],
    *,
    has_places: bool = False,
    sample: Sample = lambda name: (),
) -> tuple[dict[str, str], Ranking]:
    """Return `{our name: their name}` for the columns to read, and the column that ranks a run.

    A column that may name several systems or splits holds their tags, `tag`. Another is known by
    the mapping, by our name, or by one of another program (see `candidates`). The value is under
    `value`: of a run its score, or its rank if it has no score. A training set may lack a value, and so
    may a source whose lists have places (`has_places`) and qrels whose relevance is one number for all
    rows; judgments by iteration must have their iteration. Raises InputError if a requested or required
    column is missing, or if two columns could each be one of ours; what it then proposes was tried on
    the first values of a column, which `sample` returns.

    >>> choose("ratings.csv", "qrels", ["userId", "movieId", "rating", "timestamp"], {})
    ({'query_id': 'userId', 'doc_id': 'movieId', 'value': 'rating'}, 'rank')
    """
    for ours, theirs in mapping.items():
        if theirs not in available:
            raise InputError(
                f"{source}: there is no column {theirs!r} (asked for as {ours})"
                f"{nearest(theirs, available)} (the source has: {_listed(available)})"
            )
    found = {ours: mapping.get(ours, ours) for ours in COLUMNS[kind]}
    found = {ours: theirs for ours, theirs in found.items() if theirs in available}
    _add_candidates(source, kind, available, mapping, found, sample)
    for name in available:
        if list(available).count(name) > 1 and name in (*COLUMNS[kind], *found.values()):
            raise InputError(f"{source}: the column {name!r} is there twice")
    ranking: Ranking = "score" if "score" in found else "rank"
    value = ranking if kind == "run" else "relevance"
    needed = ["query_id", "doc_id"]
    is_given = kind == "training" or has_places or (kind != "run" and row_rules.all_alike())
    needed += [] if is_given else [value]
    needed += ["iteration"] if kind == "iterations" else []
    missing = [ours for ours in needed if ours not in found]
    if missing:
        _refuse(source, kind, available, missing, found, sample)
    if kind != "run" and row_rules.all_alike():
        found.pop(value, None)
    if value in found:
        found["value"] = found.pop(value)
    free = {_folded(name): name for name in available if name not in found.values()}
    tags = [free[word] for word in _TAGS.get(kind, "").split() if word in free]
    return {**found, **({"tag": tags[0]} if tags else {})}, ranking


def _add_candidates(
    source: str,
    kind: Kind,
    available: Sequence[str],
    mapping: Mapping[str, str],
    found: dict[str, str],
    sample: Sample,
) -> None:
    """Add the columns that are known by a name of another program. Raises InputError if in doubt."""
    taken = {*COLUMNS[kind], *mapping.values()}
    for ours in COLUMNS[kind]:
        if ours in found:
            continue
        named = candidates(kind, ours, available, {*mapping.values(), *found.values()})
        if ours == "relevance" and not named and _folded(found.get("doc_id", "")) == "corpusid":
            named = [name for name in available if name == "score"]  # as in qrels of BEIR
        if ours == "score" and named and "rank" in mapping:
            continue
        ranks = [name for name in available if meanings(name) == {"rank"}]
        if ours == "score" and ranks and named and _folded(named[0]) == "rating":
            raise InputError(
                f"{source}: the column {named[0]!r} could be the score, or a rating beside the rank: "
                f"say what ranks: {option('column', ('score', named[0]))} or "
                f"{option('column', ('rank', ranks[0]))}"
            )
        if named and ours in ("score", "relevance"):  # as proba beside prediction
            named += [
                name for name in available
                if name not in (*taken, *named)
                and meanings(name) == {ours} and is_value(ours, name, sample(name))
            ]  # fmt: skip
        if len(named) > 1:
            each = " or ".join(option("column", (ours, name)) for name in named)
            raise InputError(
                f"{source}: {' and '.join(map(repr, named))} could each be the {ours}: say which "
                f"one is: {each}"
            )
        if named:
            found[ours] = named[0]


def _refuse(
    source: str,
    kind: Kind,
    available: Sequence[str],
    missing: list[str],
    found: Mapping[str, str],
    sample: Sample,
) -> NoReturn:
    free = [name for name in available if name not in {*COLUMNS[kind], *found.values()}]
    for what, ours, theirs in (
        ("qrels", "rank", ["relevance"]),
        ("a run", "relevance", ["score", "rank"]),
    ):
        there = [name for name in theirs if name in available]
        if missing == [ours] and there:
            value = "score" if ours == "rank" else ours
            pair = (value, "NAME" if len(free) > 1 else [*free, *there][0])
            raise InputError(
                f"{source}: this looks like {what} (columns {_listed(available)}): use "
                f"'warehouse ingest {what.removeprefix('a ')}', or say which column is the {value}: "
                f"{option('column', pair)}"
            )
    for name in available if kind != "training" else ():
        is_documents = name == found.get("doc_id")
        if is_documents or (len(available) == 2 and meanings(name) & {"doc_id", "score"}):
            cells = [text for value in sample(name) if (text := str(value).strip())]
            lists = [cell for cell in cells if re.search(_PARTS, cell)]
            if 2 * len(lists) > len(cells):
                raise several_ids(source, name, lists[0])
    if len(available) == 1 and ";" in available[0]:
        raise InputError(
            f"{source}: semicolons stand between its columns ({available[0]}): put commas or tabs there"
        )
    words = ["score (or rank)" if name == "rank" else name for name in missing]
    raise InputError(
        f"{source}: missing column{'s' if len(words) > 1 else ''} {', '.join(words)}; "
        f"the source has: {_listed(available)}; {advice(kind, missing, free, found, sample)}"
    )


def several_ids(source: str, name: str, cell: str) -> InputError:
    """Return the error about a column whose cells hold several ids each, as Kaggle has them."""
    return InputError(
        f"{source}: a cell of {name!r} seems to hold several ids ({cell[:80]!r}): "
        "give each document a row of its own, with a rank or a relevance beside it"
    )


def _listed(available: Sequence[str]) -> str:
    return listing(available) or "no columns"
