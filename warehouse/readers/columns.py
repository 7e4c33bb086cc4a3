"""Mapping the columns of a table to ours: choices, refusals, nearest names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from warehouse.errors import InputError, listing, nearest
from warehouse.readers.kinds import COLUMNS, Kind, Ranking


def choose(
    source: str, kind: Kind, available: Sequence[str], mapping: Mapping[str, str]
) -> tuple[dict[str, str], Ranking]:
    """Return `{our name: their name}` for the columns to read, and what ranks a run.

    The value is under `value`: of a run its score, or its rank if it has no score. A training set
    may lack a value; judgments by iteration must have their iteration. Raises InputError if a
    requested or required column is missing.
    """
    for ours, theirs in mapping.items():
        if theirs not in available:
            raise InputError(
                f"{source}: there is no column {theirs!r} (asked for as {ours})"
                f"{nearest(theirs, available)} (the source has: {_names(available)})"
            )
    for name in available:
        if list(available).count(name) > 1 and name in (*COLUMNS[kind], *mapping.values()):
            raise InputError(f"{source}: the column {name!r} is there twice")
    found = {ours: mapping.get(ours, ours) for ours in COLUMNS[kind]}
    found = {ours: theirs for ours, theirs in found.items() if theirs in available}
    ranking: Ranking = "score" if "score" in found else "rank"
    value = ranking if kind == "run" else "relevance"
    needed = ["query_id", "doc_id"]
    needed += [value] if kind != "training" else []
    needed += ["iteration"] if kind == "iterations" else []
    missing = [ours for ours in needed if ours not in found]
    if missing:
        _refuse(source, kind, available, missing, found)
    if value in found:
        found["value"] = found.pop(value)
    return found, ranking


def _refuse(
    source: str, kind: Kind, available: Sequence[str], missing: list[str], found: Mapping[str, str]
) -> NoReturn:
    if missing == ["rank"] and "relevance" in available:
        raise InputError(
            f"{source}: this looks like qrels (columns {_names(available)}): "
            "use 'warehouse ingest qrels', or say which column is the score: "
            "'warehouse ingest run --column score=NAME'"
        )
    if missing == ["relevance"] and ("score" in available or "rank" in available):
        raise InputError(
            f"{source}: this looks like a run (columns {_names(available)}): "
            "use 'warehouse ingest run', or say which column is the grade: "
            "'warehouse ingest qrels --column relevance=NAME'"
        )
    if len(available) == 1 and ";" in available[0]:
        raise InputError(
            f"{source}: semicolons stand between its columns ({available[0]}): put commas or tabs there"
        )
    words = ["score (or rank)" if name == "rank" else name for name in missing]
    free = [name for name in available if name not in {*COLUMNS[kind], *found.values()}]
    example = "score" if missing[0] == "rank" else missing[0]
    theirs = _nearest_column(example, free) or (free[0] if free else "NAME")
    raise InputError(
        f"{source}: missing column{'s' if len(words) > 1 else ''} {', '.join(words)}; "
        f"the source has: {_names(available)}. Rename them, or say which is which when you load it, "
        f"e.g. --column {example}={theirs}"
    )


def _nearest_column(ours: str, free: Sequence[str]) -> str:
    """Return the unused column whose name is nearest to ours, or an empty text."""
    hint = nearest(ours, free)
    return hint.removeprefix("; did you mean ").removesuffix("?") if hint else ""


def _names(available: Sequence[str]) -> str:
    return listing(available) or "no columns"
