"""The meaning of the columns of a table, by the words of their names and by their first values.

Errors propose a column only if both fit; a distance is proposed as such, and a place as a rank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from warehouse.errors import column_options, listing, option
from warehouse.readers.kinds import Kind
from warehouse.readers.lines import is_number

# The first values of a column of a source.
Sample = Callable[[str], Iterable[object]]

_WORDS: Mapping[str, str] = {
    "query_id": "query qid question topic user uid reader person customer member reviewer session "
    "visitor",
    "doc_id": "doc document docno docid pid passage item iid movie book product article song paper",
    "score": "score similarity similarities sim prediction predicted pred est probability probabilities "
    "prob proba logit yhat cosine",
    "relevance": "relevance relevant rel grade label rating star judgment judgement gain click clicked "
    "liked",
    "distance": "distance dist loss cost error perplexity nll l2 euclidean hamming manhattan",
    "rank": "rank ranking position pos place",
}
# A number with such a word in its name is something else, whatever the other words are.
_OTHER_WORDS = (
    "id time timestamp date day month year hour created updated category cat genre class group type "
    "index key count num number price split fold age version length size page chunk offset start end "
    "max min total mean"
)
_OTHER = frozenset(_OTHER_WORDS.split())
_TRUTHS = frozenset(("true", "false", "yes", "no", "y", "n"))
_IDS = ("query_id", "doc_id")
# Substitutes for a missing column of ours; a run without a score has ranks.
_FOR: Mapping[str, tuple[str, ...]] = {"rank": ("score", "distance", "rank")}
_LABEL = re.compile(r"[A-Za-z][\w -]{0,40}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def meanings(name: str) -> set[str]:
    """Return the possible meanings of a column by its name: our columns, and distance.

    >>> meanings("my stars"), meanings("bookTitle"), meanings("category_id"), meanings("score_time")
    ({'relevance'}, {'doc_id'}, set(), set())
    >>> meanings("cosine_distance"), meanings("l2"), meanings("max_score")
    ({'distance'}, {'distance'}, set())
    """
    parts = {part.lower() for part in _PART.findall(name)}
    words = (
        parts | {part.removesuffix("s") for part in parts} | {"".join(_PART.findall(name)).lower()}
    )
    if words & {"not", "non", "negative"}:
        return set()
    found = {ours for ours, known in _WORDS.items() if not words.isdisjoint(known.split())}
    if "distance" in found:  # as cosine_distance
        found.discard("score")
    return found & {*_IDS} if words & _OTHER else found


def advice(
    kind: Kind, missing: Sequence[str], free: Sequence[str], found: Collection[str], sample: Sample
) -> str:
    """Return advice about missing columns of ours: options that were tried, or the ones to give.

    `free` are the columns of the source that are not read, and `found` ours that are.

    >>> advice("qrels", ["relevance"], ["year", "stars"], ["query_id"], lambda name: ["4"])
    "say which is which: columns={'relevance': 'stars'}"
    >>> both = ["stars", "user_rating"]
    >>> advice("qrels", ["relevance"], both, ["query_id"], lambda name: ["4"])
    "say which column is the relevance: columns={'relevance': 'NAME'}"
    """
    named: list[tuple[str, str]] = []
    unknown: list[str] = []
    is_distance = False
    for ours in missing:
        fitting = [
            (meant, name)
            for name in free
            for meant in _FOR.get(ours, (ours,))
            if meant in meanings(name)
            and (_fits(meant, sample(name)) or (meant == "relevance" and _are_labels(sample(name))))
        ]
        # a name with two meanings has none that is sure, and leaves no other one sure
        if len(fitting) == 1 and len(meanings(fitting[0][1])) == 1:
            meant, name = fitting[0]
            is_distance = is_distance or meant == "distance"
            named.append(("score" if meant == "distance" else meant, name))
        else:
            unknown.append("score" if ours == "rank" else ours)
    if not unknown:
        how = column_options(named)
        return f"say which is which: {how}" + (
            f" {option('lower-is-better')}" if is_distance else ""
        )
    example = column_options([*named, *((ours, "NAME") for ours in unknown)])
    text = f"say which column is the {' and the '.join(unknown)}: {example}"
    if unknown == ["relevance"] and kind == "qrels" and not named and {*_IDS} <= {*found}:
        is_other = not any(
            "relevance" in meanings(name) or is_value("relevance", name, sample(name))
            for name in free
        )
        if is_other:
            return f"if each row is a relevant document, say so: {option('relevance', '1')}"
    if len(free) >= len(named) + len(unknown):
        return text
    if len(free) == len(named):
        add = "it" if len(unknown) == 1 else "them"
        return f"no other column could be the {' and the '.join(unknown)}: add {add}"
    if unknown == ["doc_id", "relevance"] and kind == "qrels":
        pairs = f"{column_options([*named, ('doc_id', 'NAME')])} {option('relevance', '1')}"
        return f"if each row is a relevant document, say which column has it: {pairs}"
    rest = listing(name for name in free if name not in dict(named).values())
    return f"only {rest} could be the {' or the '.join(unknown)}: add what is missing"


def is_value(meant: str, name: str, values: Iterable[object]) -> bool:
    """Whether a column could be a relevance or a score: numbers that are nothing else.

    >>> is_value("score", "foo", ["0.5"]), is_value("score", "year", ["1990"])
    (True, False)
    """
    words = {part.lower() for part in _PART.findall(name)}
    words |= {word.removesuffix("s") for word in words}
    return words.isdisjoint(_OTHER) and _fits(meant, values)


def _are_labels(values: Iterable[object]) -> bool:
    """Whether values are words, of which an expression can make a relevance."""
    given = [value for value in values if value is not None and value != ""]
    return bool(given) and all(isinstance(one, str) and _LABEL.fullmatch(one) for one in given)


def _fits(meant: str, values: Iterable[object]) -> bool:
    """Whether values could be ids, whole ranks or numbers."""
    given = [value for value in values if value is not None and value != ""]
    if meant in _IDS:
        return bool(given)
    if meant == "relevance" and given and {str(one).lower() for one in given} <= _TRUTHS:
        return True
    numbers = [str(value) for value in given if not isinstance(value, bool)]
    if not numbers or len(numbers) < len(given) or not all(map(is_number, numbers)):
        return False
    return meant != "rank" or all(float(number) % 1 == 0 <= float(number) for number in numbers)
