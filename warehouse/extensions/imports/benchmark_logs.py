"""Logs of benchmarks of language and embedding models: a value by sample or task, and metric.

It reads the shapes of MTEB 2.26 (a task's result: `TaskResult.to_disk`), Inspect 0.3.285 (a log as
JSON, or as a zip archive `.eval`) and lm-evaluation-harness 0.4.13 (`samples_TASK_DATE.jsonl`).
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError
from warehouse.readers.files import LocalFile
from warehouse.readers.formats import Table

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

FORMATS = ("mteb", "inspect", "lm_eval")
# The numbers that Inspect's `value_to_float` makes of words.
_WORDS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
# A value by query and metric; None is undefined.
_Row = tuple[str, str, float | None]


def guess(file: LocalFile) -> str | None:
    """Return the format of a file if it is one of these."""
    if zipfile.is_zipfile(file.path):
        with zipfile.ZipFile(file.path) as archive:
            names = archive.namelist()
        is_log = "header.json" in names or any(name.startswith("samples/") for name in names)
        return "inspect" if is_log else None
    head = file.text.lstrip()
    if not head.startswith("{"):
        return None
    first = head.split("\n", 1)[0]
    if '"doc_id"' in first and ('"filtered_resps"' in first or '"arguments"' in first):
        return "lm_eval"
    if '"mteb_version"' in head and '"scores"' in head:
        return "mteb"
    return "inspect" if '"eval"' in head and '"status"' in head and '"version"' in head else None


def read_table(con: Connection, file: LocalFile, format: str) -> tuple[Table, tuple[str, ...]]:
    """Read a file into `staged_table (query_id, metric, value)`; return it, and what is no number.

    A task of MTEB is a query `TASK/SPLIT`, or `TASK/SPLIT/SUBSET` if it has subsets; a sample of Inspect
    is one by its id, with the mean over the epochs; so is a document of lm-evaluation-harness. Raises
    InputError.
    """
    left: dict[str, None] = {}
    read = {"mteb": _mteb, "inspect": _inspect, "lm_eval": _lm_eval}[format]
    rows = list(read(file, left))
    con.execute(
        "create temp table staged_table as select unnest($1::varchar[]) as query_id, "
        "unnest($2::varchar[]) as metric, unnest($3::double[])::varchar as value",
        [[query for query, _, _ in rows], [metric for _, metric, _ in rows],
         [value for *_, value in rows]],
    )  # fmt: skip
    columns = dict.fromkeys(("query_id", "metric", "value"), "VARCHAR")
    return Table(file.source, format, file.sha256, columns, typed=False), tuple(left)


def _json(file: LocalFile, text: bytes, where: str = "") -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InputError(f"{file.source}: {where}is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{file.source}: {where}is JSON, but no object")
    return found


def _number(value: object) -> float | None:
    """Return a finite number, or None."""
    if isinstance(value, int | float) and isfinite(value):
        return float(value)
    return None


def _mteb(file: LocalFile, left: dict[str, None]) -> Iterator[_Row]:
    result = _json(file, Path(file.path).read_bytes())
    scores = result.get("scores")
    task = result.get("task_name") or Path(file.source).name.partition(".")[0]
    if not isinstance(scores, dict) or not all(
        isinstance(subsets, list) and all(isinstance(one, dict) for one in subsets)
        for subsets in scores.values()
    ):
        raise InputError(
            f"{file.source}: is no result of MTEB 1.11 or later: under scores there is not a list of "
            "subsets for each split"
        )
    for split, subsets in scores.items():
        for one in subsets:
            subset = one.get("hf_subset", "default")
            query = f"{task}/{split}" if subset == "default" else f"{task}/{split}/{subset}"
            for metric, value in one.items():
                if metric in ("hf_subset", "languages", "mteb_version"):
                    continue
                number = _number(value)
                if number is None:
                    left[metric] = None
                else:
                    yield query, metric, number


def _lm_eval(file: LocalFile, left: dict[str, None]) -> Iterator[_Row]:
    with Path(file.path).open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            sample = _json(file, line, f"line {number} ")
            metrics = sample.get("metrics")
            if "doc_id" not in sample or not isinstance(metrics, list):
                raise InputError(
                    f"{file.source}: line {number} is no sample of lm-evaluation-harness: it has no "
                    "doc_id, or no list of metrics, which early versions did not write"
                )
            chosen = sample.get("filter", "none")
            for metric in metrics:
                value = _number(sample.get(metric))
                if value is None:
                    left[metric] = None
                else:
                    name = metric if chosen == "none" else f"{metric}({chosen})"
                    yield str(sample["doc_id"]), name, value


def _samples(file: LocalFile) -> Iterator[dict[str, Any]]:
    """Yield the samples of an Inspect log."""
    if not zipfile.is_zipfile(file.path):
        log = _json(file, Path(file.path).read_bytes())
        samples = log.get("samples")
        if not isinstance(samples, list):
            raise InputError(f"{file.source}: is an Inspect log without samples")
        yield from samples
        return
    with zipfile.ZipFile(file.path) as archive:
        names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
        if not names:
            raise InputError(f"{file.source}: is an Inspect log without samples")
        for name in names:
            try:
                text = archive.read(name)
            except NotImplementedError:
                raise InputError(
                    f"{file.source}: is packed with Zstandard, which is not read: make it JSON with "
                    "inspect log convert --to json"
                ) from None
            except (zipfile.BadZipFile, zlib.error) as error:
                raise InputError(f"{file.source}: {name}: {error}") from None
            yield _json(file, text, f"{name} ")


def _inspect(file: LocalFile, left: dict[str, None]) -> Iterator[_Row]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    queries: dict[str, None] = {}
    metrics: dict[str, None] = {}
    for number, sample in enumerate(_samples(file), 1):
        if not isinstance(sample, Mapping) or "id" not in sample:
            raise InputError(f"{file.source}: sample {number} has no id")
        query = str(sample["id"])
        queries[query] = None
        for scorer, score in (sample.get("scores") or {}).items():
            value = score.get("value") if isinstance(score, Mapping) else score
            parts = value if isinstance(value, Mapping) else {"": value}
            for part, one in parts.items():
                metric = f"{scorer}.{part}" if part else scorer
                metrics[metric] = None
                if one is not None:
                    found[query, metric].append(_value(file, query, metric, one))
    for query in queries:
        for metric in metrics:
            epochs = found.get((query, metric))
            yield query, metric, sum(epochs) / len(epochs) if epochs else None


def _value(file: LocalFile, query: str, metric: str, value: object) -> float:
    """Return the number that Inspect makes of a score."""
    if isinstance(value, str):
        word = _WORDS.get(value, _WORDS.get(value.lower() if len(value) > 1 else value))
        if word is not None:
            return word
        with suppress(ValueError):
            value = float(value)
    number = _number(value)
    if number is None:
        raise InputError(
            f"{file.source}: sample {query}: the score {metric} is neither a number nor C, I, P or N: "
            f"{str(value)[:80]}"
        )
    return number
