"""pytrec_eval's interface: the same names of measures, the same keys, the same values.

>>> from warehouse.extensions.peers import pytrec_eval
>>> qrel = {"q1": {"d1": 0, "d2": 1}}
>>> evaluator = pytrec_eval.RelevanceEvaluator(qrel, {"map", "ndcg_cut.1,2"})
>>> evaluator.evaluate({"q1": {"d1": 1.0, "d2": 0.5}})
{'q1': {'map': 0.5, 'ndcg_cut_1': 0.0, 'ndcg_cut_2': 0.6309297535714575}}
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TypeVar

from warehouse.errors import InputError, nearest
from warehouse.evaluate import scoring
from warehouse.extensions.peers.scorers import Scorers
from warehouse.metrics import peer_names, protocols
from warehouse.metrics.notation import TREC_SETS, Requested

__all__ = [
    "RelevanceEvaluator", "compute_aggregated_measure", "parse_qrel", "parse_run",
    "supported_measures", "supported_nicknames",
]  # fmt: skip

_PROTOCOL = "trec_eval_9"
_LACKS = frozenset(protocols.get(_PROTOCOL).lacks)

supported_nicknames = {
    nickname: {name for name in names if name not in _LACKS}
    for nickname, names in TREC_SETS.items()
    if nickname in ("official", "set", "all_trec")  # the others need judgments of another form
}
supported_measures = frozenset(supported_nicknames["all_trec"])

_Number = TypeVar("_Number", int, float)
# Of these it returns the number 0: trec_eval has texts there.
_TEXTS = ("runid", "relstring")
# Their keys leave out the parameters, as trec_eval's do.
_BARE = ("11pt_avg", "set_F", "utility")
_NUMBERS = re.compile(r"[._](\d+(?:\.\d+)?(?:,\d+(?:\.\d+)?)*)")
# trec_eval's substitute for 0 in a geometric mean.
_FLOOR = 1e-5


class RelevanceEvaluator:
    """Judgments and measures that are ready to evaluate runs.

    `query_relevance` is `{query: {document: relevance}}` with whole numbers, `measures` are names of
    `supported_measures` and of `supported_nicknames`, also with parameters: `ndcg_cut_10`, `P.5,10`. A
    document is relevant from `relevance_level` on. With `judged_docs_only_flag`, unjudged documents are
    removed from the rankings first.

    Raises TypeError for relevances that are no whole numbers and for query ids that are no strings,
    and ValueError for a measure that is not supported.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
    ) -> None:
        self._qrel = _checked(query_relevance)
        names = _combined(measures)
        self._texts = [text for text in _TEXTS if any(name.startswith(text) for name in names)]
        numbers = [name for name in names if not name.startswith(_TEXTS)]
        self._asked: scoring.ScoringRequest | None = None
        if numbers:
            defaults = protocols.get(_PROTOCOL).defaults(relevance_level)
            self._asked = scoring.ask(
                peer_names.trec_lines(numbers, defaults), protocol=_PROTOCOL, level=relevance_level,
                complete=True, judged_only=judged_docs_only_flag, list_silent=True,
            )  # fmt: skip
        self._scorers = None if self._asked is None else Scorers(self._asked, self._qrel)

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
        """Return `{query: {measure: value}}` for the judged queries of a run, in the run's order.

        A query with an empty ranking has the values of one. Raises TypeError if the run is not of the
        form `{query: {document: score}}`, and InputError for a score that is not finite.
        """
        if not isinstance(scores, Mapping):
            raise TypeError("scores: is a dict {query: {document: score}}")
        for query, ranking in scores.items():
            if not isinstance(query, str) or not isinstance(ranking, Mapping):
                raise TypeError(
                    f"scores: {query!r}: is a query id, a string, with a dict of scores"
                )
        run = {query: ranking for query, ranking in scores.items() if query in self._qrel}
        found: dict[str, dict[str, float]] = {query: {} for query in run}
        if not run:
            return found
        if self._asked is not None and self._scorers is not None:
            keys = _keys(self._asked.requested)
            for query, metric, value in self._scorers(run)[0]:
                if query in found:
                    found[query].update((key, _value(key, value)) for key in keys[metric])
        for values in found.values():
            values.update((name, 0.0) for name in self._texts)
        return found


def parse_run(f_run: Iterable[str]) -> dict[str, dict[str, float]]:
    """Read the lines of a TREC run into `{query: {document: score}}`.

    Raises InputError for a line without six fields, a score that is no number, and a document that is
    twice in a ranking.

    >>> parse_run(["q1 Q0 d1 1 2.5 bm25"])
    {'q1': {'d1': 2.5}}
    """
    return _parsed(f_run, "run", 6, 4, float)


def parse_qrel(f_qrel: Iterable[str]) -> dict[str, dict[str, int]]:
    """Read the lines of TREC qrels into `{query: {document: relevance}}`.

    Raises InputError for a line without four fields, a relevance that is no whole number, and a document
    that is judged twice.

    >>> parse_qrel(["q1 0 d1 1"])
    {'q1': {'d1': 1}}
    """
    return _parsed(f_qrel, "qrels", 4, 3, int)


def compute_aggregated_measure(measure: str, values: Sequence[float]) -> float:
    """Return the value over queries: a sum of counts, exp of a mean for `gm_`, else the mean.

    >>> compute_aggregated_measure("num_ret", [2, 3]), compute_aggregated_measure("map", [0.5, 1.0])
    (5.0, 0.75)
    """
    total = math.fsum(values)
    if measure.startswith("num_"):
        return total
    mean = total / len(values) if values else math.nan
    return math.exp(mean) if measure.startswith("gm_") else mean


def _value(key: str, value: float | None) -> float:
    """Return the values that go into the mean: the measures of geometric means in their logarithms."""
    number = 0.0 if value is None else value
    return math.log(max(number, _FLOOR)) if key.startswith("gm_") else number


def _keys(requested: Iterable[Requested]) -> dict[str, list[str]]:
    """Return the keys of each metric, by its canonical name."""
    keys: dict[str, list[str]] = {}
    for one in requested:
        name = one.trec_name or str(one.metric)
        bare = next((measure for measure in _BARE if name.startswith(measure)), name)
        keys.setdefault(str(one.metric), []).append(bare)
    return keys


def _checked(query_relevance: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Return a copy of judgments without the queries that have none."""
    if not isinstance(query_relevance, Mapping):
        raise TypeError("query_relevance: is a dict {query: {document: relevance}}")
    for query, judged in query_relevance.items():
        if not isinstance(query, str) or not isinstance(judged, Mapping):
            raise TypeError(
                f"query_relevance: {query!r}: is a query id, a string, with a dict of relevances"
            )
        for document, relevance in judged.items():
            if not isinstance(relevance, Integral):
                raise TypeError(
                    f"query_relevance: {query!r}, {document!r}: the relevance {relevance!r} is no "
                    "whole number"
                )
    return {query: dict(judged) for query, judged in query_relevance.items() if judged}


def _combined(measures: Iterable[str]) -> list[str]:
    """Return trec_eval's names of some measures: `P.5,10` for P_5 and P.10.

    A measure that is there with parameters is not also computed with its usual ones.
    """
    given: dict[str, set[str]] = {}
    for measure in measures:
        for name in supported_nicknames.get(measure, (measure,)):
            stem, numbers = _split(name)
            given.setdefault(stem, set()).update(numbers)
    return [
        stem + ("." + ",".join(sorted(numbers)) if numbers else "")
        for stem, numbers in sorted(given.items())
    ]


def _split(name: str) -> tuple[str, list[str]]:
    if name in supported_measures:
        return name, []
    for stem in supported_measures:
        numbers = _NUMBERS.fullmatch(name.removeprefix(stem)) if name.startswith(stem) else None
        if numbers:
            return stem, numbers[1].split(",")
    raise ValueError(f"unsupported measure {name}{nearest(name, supported_measures)}")


def _parsed(
    lines: Iterable[str], what: str, width: int, index: int, read: Callable[[str], _Number]
) -> dict[str, dict[str, _Number]]:
    kind = "whole number" if read is int else "number"
    found: dict[str, dict[str, _Number]] = {}
    for number, line in enumerate(lines, start=1):
        fields = line.split()
        if len(fields) != width:
            raise InputError(f"{what}, line {number}: has {len(fields)} fields, not {width}")
        query, document = fields[0], fields[2]
        try:
            value = read(fields[index])
        except ValueError:
            raise InputError(f"{what}, line {number}: {fields[index]!r} is no {kind}") from None
        of_query = found.setdefault(query, {})
        if document in of_query:
            raise InputError(
                f"{what}, line {number}: {document} is there twice for the query {query}"
            )
        of_query[document] = value
    return found
