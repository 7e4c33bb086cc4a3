"""JSON files that wrap judgments or a run: MTEB's predictions, and rank-eval's requests."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, listing
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Confidence, FileFormat, Head, Reading
from warehouse.readers.ir_metadata import Description
from warehouse.readers.jsonl import TOO_DEEP, is_deep
from warehouse.readers.kinds import ColumnNames, Kind
from warehouse.readers.lines import refuse_if_not_text
from warehouse.readers.ranx import read_dict, without_repetition

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

_META = "mteb_model_meta"
_REQUEST = r'\{\s*"requests"\s*:\s*\['
_RESPONSE = r'(?s)\{\s*"metric_score"\s*:.*"details"\s*:\s*\{'


class Mteb(FileFormat):
    """MTEB's predictions: {mteb_model_meta: …, subset: {split: {query: {document: score}}}}."""

    name = "mteb"
    contents = ("run",)

    def sniff(self, head: Head) -> Confidence:
        """Go by the description of the model at its beginning."""
        is_one = re.match(rf'\s*\{{\s*"{_META}"\s*:', head.text) is not None
        return Confidence.NAMED if is_one else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the one split of a file; the model becomes the system."""
        whole = _load(source)
        meta = whole.pop(_META, None)
        splits = {
            f"{subset}, {split}": lists
            for subset, of_subset in whole.items()
            for split, lists in _object(source, of_subset, subset).items()
        }
        if len(splits) != 1:
            found = listing(splits) if splits else "none"
            raise InputError(
                f"{source.source}: a run is one split of one subset; found are: {found}"
            )
        ((where, lists),) = splits.items()
        about = None
        if isinstance(meta, Mapping):
            system, revision = meta.get("model_name"), meta.get("revision")
            tags = {"revision": str(revision)} if revision else {}
            about = Description(str(system) if system else None, None, tags)
        read_dict(con, _object(source, lists, where), source.source, kind)
        return Reading(about=about)


class RankEval(FileFormat):
    """A request of rank-eval (Elasticsearch, OpenSearch), which has judgments, or a response, a run."""

    name = "rank_eval"
    contents = ("qrels", "training", "run")

    def sniff(self, head: Head) -> Confidence:
        """Go by the first key of a request, or the first two of a response."""
        text = head.text.lstrip()
        is_one = re.match(_REQUEST, text) or re.match(_RESPONSE, text)
        return Confidence.NAMED if is_one else Confidence.NONE

    def read(self, con: Connection, source: LocalFile, kind: Kind, mapping: ColumnNames) -> Reading:
        """Read the ratings of a request, or the hits of a response in their order."""
        whole = _load(source)
        if kind == "run":
            if "details" not in whole:
                raise InputError(
                    f"{source.source}: is a request of rank-eval, which has judgments; a run is in the "
                    "response"
                )
            read_dict(con, dict(_ranked(source, whole["details"])), source.source, kind)
            return Reading()
        if "requests" not in whole:
            raise InputError(
                f"{source.source}: is a response of rank-eval, which has a run; all judgments are in "
                "the request"
            )
        read_dict(con, _rated(source, whole["requests"]), source.source, kind)
        return Reading()


def _rated(source: LocalFile, requests: object) -> dict[str, dict[str, Any]]:
    """Return the ratings of each request by its id."""
    found: dict[str, dict[str, Any]] = {}
    for number, request in enumerate(_list(source, requests, "requests")):
        where = f"requests[{number}]"
        query = str(_key(source, request, "id", where))
        if query in found:
            raise InputError(f"{source.source}: {where}: the id {query!r} is there twice")
        of_query: dict[str, Any] = found.setdefault(query, {})
        for position, rated in enumerate(
            _list(source, _key(source, request, "ratings", where), where)
        ):
            at = f"{where}.ratings[{position}]"
            doc = str(_key(source, rated, "_id", at))
            if doc in of_query:
                raise InputError(
                    f"{source.source}: {at}: the document {doc!r} is there twice, perhaps of two indices"
                )
            of_query[doc] = _key(source, rated, "rating", at)
    return {query: ratings for query, ratings in found.items() if ratings}


def _ranked(source: LocalFile, details: object) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the hits of each request, with their scores, or with their places where one has none."""
    for query, detail in _object(source, details, "details").items():
        where = f"details.{query}"
        hits = [
            _key(source, one, "hit", f"{where}.hits[{n}]")
            for n, one in enumerate(_list(source, _key(source, detail, "hits", where), where))
        ]
        docs = [
            str(_key(source, hit, "_id", f"{where}.hits[{n}].hit")) for n, hit in enumerate(hits)
        ]
        if len(set(docs)) < len(docs):
            (twice, _), *_ = Counter(docs).most_common(1)
            raise InputError(f"{source.source}: {where}: the document {twice!r} is there twice")
        scores = [hit.get("_score") for hit in hits]
        if any(score is None for score in scores):
            scores = [float(-position) for position in range(1, len(hits) + 1)]
        yield query, dict(zip(docs, scores, strict=True))


def _load(source: LocalFile) -> dict[str, Any]:
    """Read a file of one JSON object, in which no key is there twice."""
    refuse_if_not_text(source)
    given = Path(source.path).read_bytes()
    if is_deep(given):
        raise InputError(f"{source.source}: {TOO_DEEP}")
    try:
        whole = json.loads(given.decode("utf-8-sig"), object_pairs_hook=without_repetition)
    except json.JSONDecodeError as error:
        problem = (error.lineno, f"not JSON: {error.msg}")
        raise InputError(f"{source.source}: 1 problem", problems=[problem]) from None
    except ValueError as error:
        raise InputError(f"{source.source}: {error}; keep one of them") from None
    return _object(source, whole, "it")


def _object(source: LocalFile, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{source.source}: {where}: is no JSON object")
    return value


def _list(source: LocalFile, value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{source.source}: {where}: holds no list")
    return value


def _key(source: LocalFile, value: object, key: str, where: str) -> Any:
    found = _object(source, value, where)
    if key not in found:
        raise InputError(f"{source.source}: {where}: has no {key!r}")
    return found[key]
