"""The keys of `warehouse.toml`, with their types, bounds and meaning, also as a JSON schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from warehouse.config import limits

# A text that is not blank.
Text = Annotated[str, Meta(pattern=r"\S")]
# One or several. The single one has no pattern: in a union with a list, msgspec 0.20 corrupts memory.
Texts = str | list[Text]
Tags = dict[str, str | int | float | bool]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Evaluate(_Table, frozen=True, kw_only=True):
    """The metrics to compute for the runs of a dataset."""

    metrics: list[Text] | None = None
    protocols: list[Text] | None = None
    slices: list[Text] | None = None


class Training(_Table, frozen=True, kw_only=True):
    """A training set: documents that a query already had; also the keys that qrels have in common."""

    file: Text
    label: str | None = None
    format: str | None = None
    columns: dict[str, str] | None = None
    relevance: str | None = None
    normalise: str | None = None
    where: str | None = None
    repeated: str | None = None


class Qrels(Training, frozen=True, kw_only=True):
    """A file of judgments."""

    iterations: bool | None = None
    is_global: bool = field(default=False, name="global")
    queries: Text | None = None


class Attributes(_Table, frozen=True, kw_only=True):
    """A file of attributes of documents or queries."""

    file: Text
    of: Literal["docs", "queries"]
    name: str | None = None
    id: str | None = None
    split: Tags = {}
    leave_out: list[Text] = []
    format: str | None = None
    normalise: str | None = None


class Dataset(Evaluate, frozen=True, kw_only=True):
    """A dataset: its files, and what to compute for its runs if not the same as for all."""

    qrels: Text | Qrels | None = None
    training: Text | Training | None = None
    attributes: list[Attributes] = []


class Runs(_Table, frozen=True, kw_only=True):
    """A source of runs: files, or patterns whose parts in braces describe each run."""

    files: Texts
    dataset: str | None = None
    name: str | None = None
    system: str | None = None
    tags: Tags = {}
    time: str | None = None
    sidecar: bool = False
    format: str | None = None
    columns: dict[str, str] | None = None
    normalise: str | None = None
    where: str | None = None
    repeated: str | None = None
    lower_is_better: bool | None = None
    missing: Literal["keep", "forget"] = "keep"


class Gate(_Table, frozen=True, kw_only=True):
    """The limits of a gate for new runs: a drop below its reference, or a value out of bounds."""

    dataset: str
    metric: Texts
    group: Text = "system"
    against: str = "last"
    max_drop: (
        Annotated[
            float, Meta(ge=0, le=sys.float_info.max, extra={"rule": "is 0 or more and finite"})
        ]
        | None
    ) = None
    alpha: Annotated[float, Meta(gt=0, lt=1)] | None = None
    strict: bool = False
    sequential: bool = False
    spend: bool = False
    min: float | None = None
    max: float | None = None
    protocol: str = ""
    auto_resolve: bool = False
    max_age: str | int | float | None = None


class Protocol(_Table, frozen=True, kw_only=True):
    """The rules of an evaluation; missing keys come from the protocol that it extends."""

    extends: str | None = None
    summary: str | None = None
    ties: Literal["doc_desc", "doc_asc", "input"] | None = None
    score_precision: Literal["double", "single"] | None = None
    queries: Literal["judged", "both", "run"] | None = None
    list_silent: bool | None = None
    depth: Annotated[int, Meta(ge=1)] | None = None
    judged_only: bool = False
    judged_only_first: bool = False
    relevant_only: bool = False
    grades: Literal["any", "whole"] = "any"
    lacks: tuple[str, ...] = ()
    names: str | None = None
    metrics: tuple[str, ...] = ()
    params: dict[str, dict[str, Any]] = {}
    undefined: dict[str, float | Literal["null"]] = {}


# A size in bytes.
Size = Annotated[str, Meta(pattern=limits.SIZE, extra={"rule": 'is a size, as in "50GB"'})]


class Limits(_Table, frozen=True, kw_only=True):
    """The most that a source may have: more is refused."""

    unpacked: Size = limits.UNPACKED
    line: Size = limits.LINE
    nesting: Annotated[int, Meta(ge=1, le=limits.NESTING)] = limits.NESTING
    rows: Annotated[int, Meta(ge=1)] = limits.ROWS


class ProjectFile(_Table, frozen=True, kw_only=True):
    """The contents of a project's warehouse; paths are relative to the file."""

    database: Text | None = None
    metrics: (
        Annotated[
            Text,
            Meta(
                extra={"hint": ", the folder of your own ones; [evaluate] says which are computed"}
            ),
        ]
        | None
    ) = None
    settle: str | int | float = "2s"
    publish: Text | None = None
    lake: Text | None = None
    report: Text | None = None
    on_fire: Text | None = None
    unchecked: Literal["fail", "warn", "pass"] | None = None
    aliases: dict[str, Text] = {}
    evaluate: Evaluate = Evaluate()
    datasets: dict[str, Dataset] = {}
    runs: list[Runs] = []
    gates: list[Gate] = []
    protocols: dict[str, Protocol] = {}
    limits: Limits = Limits()


_ABOVE = dict.fromkeys(
    ("database", "settle", "publish", "lake", "report", "on_fire", "unchecked"),
    "the lines above the first table",
)
_EVALUATE = dict.fromkeys(Evaluate.__struct_fields__, "[evaluate]")
# By struct, the tables that have keys which are looked for in it.
ELSEWHERE: Mapping[type, Mapping[str, str]] = {
    ProjectFile: {
        "qrels": "[datasets.NAME]",
        "training": "[datasets.NAME]",
        "attributes": "[[datasets.NAME.attributes]]",
        "files": "[[runs]]",
        "slices": "[evaluate]",
    },
    Dataset: _ABOVE | {key: f"[[{key}]] with its dataset" for key in ("runs", "gates")},
    Runs: _ABOVE | _EVALUATE,
    Gate: _ABOVE,
}


def json_schema() -> str:
    """Return the JSON schema of the file, with which editors complete and check it."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "warehouse.toml"}
    return json.dumps(head | msgspec.json.schema(ProjectFile), indent=2)
