"""The data of the pages as JSON, by the calls of the commands; and its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from warehouse.analyze import comparison, metric_catalogue, paired_tests
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, check_word, no_such_run
from warehouse.extensions.server import console, live_board
from warehouse.extensions.server.live_board import View
from warehouse.extensions.server.snapshot import Snapshot
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.report.pages import site
from warehouse.report.pages.contents import ROWS, Contents, Record
from warehouse.store import database

Words = Sequence[tuple[str, str]]
_DATASET = {
    "dataset": "Name of the dataset.",
    "protocol": "Name of the protocol; by default the program's.",
    "metric": "A metric, as in nDCG@10; repeatable. By default those that are stored.",
}
_THEN = {"as_of": "A day or moment: the state of then.", "qrels": "A version of the qrels."}
_BOARD = {
    "sort": "A metric, run or answered.",
    "reverse": "1 turns the order around.",
    "text": "Only runs with this text in name, system or tag.",
    "system": "Only runs of this system.",
    "tag": "Only runs with this tag, as in stage=final.",
    "slice": "The board of each part of this slice.",
    "part": "Only this part of the slice.",
    "page": f"The number of a page of {ROWS} rows.",
}


@dataclass(frozen=True)
class Endpoint:
    """An address below /api: what it gives, its parameters, the keys of its answer, what reads it."""

    path: str
    summary: str
    parameters: Mapping[str, str]
    keys: tuple[str, ...]
    read: Callable[[Snapshot, Words], Mapping[str, Any]]


def _one(words: Words, name: str) -> str:
    values = [value for key, value in words if key == name]
    return values[-1] if values else ""


def _contents(snapshot: Snapshot, words: Words) -> Contents:
    known = [row["dataset"] for row in snapshot.state.datasets]
    dataset = _one(words, "dataset") or (known[0] if len(known) == 1 else "")
    if not dataset:
        raise UsageError("dataset: is missing; name one of the datasets")
    check_word("dataset", dataset, known)
    protocol = _one(words, "protocol") or protocols.DEFAULT
    metrics = tuple(value for key, value in words if key == "metric" and value)
    found = snapshot.contents(dataset, protocol, metrics, live_board.then(words))
    if found is None:
        raise UsageError(f"{dataset}: no run has a value under protocol {protocol} yet")
    return found


def _named(contents: Contents) -> dict[str, Any]:
    return {
        "dataset": contents.dataset,
        "protocol": contents.protocol,
        "qrels_version": contents.qrels["version"],
        "as_of": contents.then.as_of or None,
        "metrics": list(contents.names),
    }


def _run_name(contents: Contents, given: str) -> str:
    if given not in contents.runs:
        raise UsageError(
            no_such_run(given, contents.dataset, contents.runs) if given else "run: is missing"
        )
    return given


def _home(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    found = snapshot.state
    return {
        "datasets": found.datasets,
        "runs": found.runs,
        "due": found.due,
        "protocols": found.evaluated,
        "published_at": snapshot.published_at,
        "program_version": VERSION,
    }


def _board(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    view = View.of([(key, value) for key, value in words if key not in ("dataset", "protocol")])
    found = live_board.live_board(snapshot, contents, view)
    return {
        **_named(contents),
        "slice": view.slice or None,
        "sorted_by": found.sorted_by,
        "num_runs": found.total,
        "num_found": found.num_found,
        "num_pages": found.num_pages,
        "rows": [
            {
                "place": row.cells[contents.names[0]].place,
                "places": row.cells[contents.names[0]].places,
                **({"part": row.part} if view.slice else {}),
                "run": row.run,
                "system": row.system,
                "tags": list(row.tags),
                "answered": row.answered,
                "judged": row.judged,
                "values": {name: cell.value for name, cell in row.cells.items()},
                "half_widths": {name: cell.half_width for name, cell in row.cells.items()},
            }
            for row in found.board.rows
        ],
        "notes": found.board.notes,
    }


def _run(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    run = _run_name(contents, _one(words, "run"))
    return {
        **_named(contents),
        "run": run,
        "numbers": contents.numbers[run],
        "versions": contents.versions[run],
        "queries": {
            query: dict(zip(contents.names, values, strict=True))
            for query, values in contents.values_of_run(run).items()
        },
    }


def _queries(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    rows = [{k: v for k, v in row.items() if k != "num_queries"} for row in contents.queries]
    return {**_named(contents), "num_queries": contents.num_queries, "rows": rows}


def _query(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    query = _one(words, "query")
    check_word("query", query, [row["query_id"] for row in contents.queries])
    return {
        **_named(contents),
        "query": query,
        "values": {
            run: dict(zip(contents.names, values, strict=True))
            for run, values in contents.values_of_query(query).items()
        },
        "lists": {
            run: [
                {"rank": place + 1, "doc_id": document, "relevance": relevance, "part": part}
                for place, (document, relevance, part) in enumerate(rows)
            ]
            for run, rows in contents.lists(query).items()
        },
    }


def _compare(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    runs = [_run_name(contents, value) for key, value in words if key == "run"]
    if len(runs) < 2:
        raise UsageError("run: name at least two runs, as in run=bm25&run=tasb")
    found = comparison.compare(
        contents.file, contents.dataset, runs, contents.names, paired_tests.How(), bases=(),
        all_pairs=True, judged_only=False, judged=False, all_relevant=False, store=False,
        protocol=contents.protocol, on_step=None, **contents.past,
    )  # fmt: skip
    return {
        **_named(contents),
        "runs": runs,
        "pairs": database.records(found.pairs),
        "notes": (*found.notes, *found.without_relevant),
    }


def _history(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    return {
        **_named(contents),
        "rows": [
            {"metric": timeline.metric, **row}
            for timeline in contents.timelines
            for row in timeline.rows
        ],
    }


def _slices(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    return {
        **_named(contents),
        "rows": [
            {
                "slice": slice.name,
                "part": part["part"],
                "queries": part["queries"],
                "run": run,
                "values": {metric: row[metric] for metric in slice.metrics},
            }
            for slice in contents.slices
            for part in slice.parts
            for run, row in slice.values[part["part"]].items()
        ],
    }


def _curves(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    return {
        **_named(contents),
        "curves": [
            {
                "curve": curve.name,
                "x": curve.x,
                "y": curve.y,
                "area": curve.area,
                "areas": curve.areas,
                "points": curve.points,
                "notes": curve.notes,
            }
            for curve in contents.curves
        ],
    }


def _fusion(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    rows: list[Record] = []
    for run in contents.runs:
        merged = site.merged(contents, run)
        rows += [] if merged is None else [
            {
                "run": run,
                "method": merged.fused.method,
                "normalisation": merged.fused.normalisation,
                "tuned_by": merged.fused.tuned_by,
                "parent": parent.name,
                "parent_version": parent.about["source_version"],
                "weight": parent.about["weight"],
                "gain": parent.gain,
                "p_adjusted": None if parent.test is None else parent.test["p_adjusted"],
            }
            for parent in merged.parents
        ]  # fmt: skip
    return {**_named(contents), "rows": rows}


def _agreement(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    runs, metrics = contents.agreement_of_runs, contents.agreement_of_metrics
    return {
        **_named(contents),
        "depth": None if runs is None else runs.depth,
        "of_runs": [] if runs is None else list(runs.pairs.values()),
        "of_metrics": [] if metrics is None else list(metrics.pairs.values()),
    }


def _holes(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    contents = _contents(snapshot, words)
    found = contents.holes
    return {
        **_named(contents),
        "depth": None if found is None else found.depth,
        "total": 0 if found is None else found.total,
        "rows": [] if found is None else found.rows,
        "filled": [] if found is None else found.filled,
    }


def _metrics(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    rows: list[Record] = [
        {
            "metric": name,
            "usage": metric_catalogue.usage(found),
            "title": found.title,
            "summary": found.summary,
            "formula": found.formula,
            "direction": found.direction,
            "elsewhere": metric_catalogue.elsewhere(found),
        }
        for name, found in catalogue().items()
    ]
    return {
        "metrics": rows,
        "protocols": [
            {"protocol": one.name, "summary": one.summary} for one in protocols.catalogue().values()
        ],
    }


def _schema(snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    return {"views": console.schema(snapshot)}


_NAMED = ("dataset", "protocol", "qrels_version", "as_of", "metrics")
_ASKED = _DATASET | _THEN
_RUN = {"run": "Name of a run."}
ENDPOINTS = (
    Endpoint(
        "/api/home", "Datasets, newest runs, and missing or stale values.", {},
        ("datasets", "runs", "due", "protocols", "published_at", "program_version"), _home,
    ),
    Endpoint(
        "/api/board", "A leaderboard, as `warehouse leaderboard` has it.", _ASKED | _BOARD,
        (*_NAMED, "slice", "sorted_by", "num_runs", "num_found", "num_pages", "rows",
         "notes"), _board,
    ),
    Endpoint(
        "/api/run", "A run: its versions, its values and their origins, by query too.",
        _ASKED | _RUN, (*_NAMED, "run", "numbers", "versions", "queries"), _run,
    ),
    Endpoint(
        "/api/queries", "The queries, with the lowest, mean and highest value of the first metric.",
        _ASKED, (*_NAMED, "num_queries", "rows"), _queries,
    ),
    Endpoint(
        "/api/query", "A query: the value of every run, and the lists, as `warehouse explain` has them.",
        _ASKED | {"query": "Id of a query."}, (*_NAMED, "query", "values", "lists"), _query,
    ),
    Endpoint(
        "/api/compare", "All pairs of some runs, as `warehouse compare --all-pairs` has them.",
        _ASKED | {"run": "Name of a run; two or more."},
        (*_NAMED, "runs", "pairs", "notes"), _compare,
    ),
    Endpoint(
        "/api/history", "The values over time, as `warehouse history` has them.", _ASKED,
        (*_NAMED, "rows"), _history,
    ),
    Endpoint(
        "/api/slices", "The values in the parts of each slice, as `warehouse leaderboard --slice` "
        "has them.", _ASKED, (*_NAMED, "rows"), _slices,
    ),
    Endpoint(
        "/api/curves", "The stored curves of the best runs, as `warehouse curve` has them.",
        _ASKED, (*_NAMED, "curves"), _curves,
    ),
    Endpoint(
        "/api/fusion", "Each merged run and its parents; the gain is as in `warehouse compare`.",
        _ASKED, (*_NAMED, "rows"), _fusion,
    ),
    Endpoint(
        "/api/agreement", "How much the lists of the best runs agree, and the metrics on the order "
        "of the runs, as `warehouse agree` has them.", _ASKED,
        (*_NAMED, "depth", "of_runs", "of_metrics"), _agreement,
    ),
    Endpoint(
        "/api/judge-next", "The unjudged documents to judge next, as `warehouse holes` has them.",
        _ASKED, (*_NAMED, "depth", "total", "rows", "filled"), _holes,
    ),
    Endpoint("/api/metrics", "The catalogue of metrics and protocols.", {},
             ("metrics", "protocols"), _metrics),
    Endpoint("/api/schema", "The views for SQL, with their columns.", {}, ("views",), _schema),
)  # fmt: skip


def answer(endpoint: Endpoint, snapshot: Snapshot, words: Words) -> Mapping[str, Any]:
    """Return the data of an address. Raises UsageError for wrong words."""
    for name, _ in words:
        check_word("parameter", name, endpoint.parameters)
    return endpoint.read(snapshot, words)


def description() -> dict[str, Any]:
    """Return the description of the addresses in OpenAPI 3.1."""
    refusal = {
        "description": "What is wrong.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }

    def parameter(name: str, text: str) -> dict[str, Any]:
        kind: dict[str, Any] = {"type": "string"}
        is_list = "repeatable" in text or "two or more" in text
        return {
            "name": name,
            "in": "query",
            "description": text,
            "schema": {"type": "array", "items": kind} if is_list else kind,
        }

    paths: dict[str, Any] = {
        one.path: {
            "get": {
                "summary": one.summary,
                "parameters": [parameter(*item) for item in one.parameters.items()],
                "responses": {
                    "200": {
                        "description": "The data.",
                        "headers": {"ETag": {"schema": {"type": "string"}}},
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": list(one.keys),
                                    "properties": {key: {} for key in one.keys},
                                }
                            }
                        },
                    },
                    "304": {"description": "It is what If-None-Match names."},
                    "400": refusal,
                },
            }
        }
        for one in ENDPOINTS
    }
    statement = {
        "type": "object",
        "required": ["sql"],
        "properties": {
            "sql": {"type": "string"},
            "format": {"enum": list(console.FORMATS), "default": "json"},
        },
    }
    paths["/api/sql"] = {
        "post": {
            "summary": "The rows of one SQL statement, as `warehouse query` has them.",
            "requestBody": {"content": {"application/json": {"schema": statement}}},
            "responses": {
                "200": {
                    "description": f"The rows: the first {console.SHOWN:,} as JSON, or as cells: "
                    "a list of columns, and one of each row (NaN and numbers beyond 2^53 as "
                    f"{{number: text}}); the first {console.MOST:,} as CSV or Parquet.",
                    "content": {kind.partition(";")[0]: {} for kind in console.FORMATS.values()},
                },
                "400": refusal,
                "503": {"description": "Too many statements run; try again later."},
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Ranking warehouse", "version": VERSION},
        "paths": paths,
        "components": {
            "schemas": {"Error": {"type": "object", "properties": {"error": {"type": "string"}}}}
        },
    }


def plain(value: Any) -> Any:
    """Return a value as JSON can have it: times as texts, tuples as lists, no infinity."""
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if value is None or isinstance(value, str | int):
        return value
    return asdict(value) if hasattr(value, "__dataclass_fields__") else str(value)
