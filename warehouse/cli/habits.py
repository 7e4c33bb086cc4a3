"""trec_eval's options that are spelled differently here, with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

_VERSION = "the version is printed by 'warehouse --version'"
# command: option: what to write
_ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    "score": {
        "-a": "the set all_trec has all of trec_eval's measures",
        "-D": "what each document adds to a value is shown by 'warehouse explain', of a stored run",
        "-n": "the values over all queries always come along: with -q as the query all, at the end",
        "-N": "the metric has the size of the collection, as in 'Utility(collection=1000)'",
        "-T": "the format of the run is said by --run-format, as in --run-format trec",
        "-v": _VERSION,
        "--version": _VERSION,
    }
}


def instead(command: str | None, option: str) -> str | None:
    """Return what to write instead of an option that a command lacks, or None for unknown ones.

    >>> instead("score", "-T")
    'the format of the run is said by --run-format, as in --run-format trec'
    """
    return _ELSEWHERE.get(command or "", {}).get(option)
