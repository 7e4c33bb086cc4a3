"""The events of a sync: everything that it did, found or failed at."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from warehouse.errors import command, counted, listing

if TYPE_CHECKING:
    from warehouse.ingest.steps import Loaded
    from warehouse.sync.gates import Verdict
    from warehouse.sync.loading import Taken

_UNITS = {"run": "prediction", "qrels": "judgment", "training": "example"}

Status = Literal[
    "loaded",
    "replaced",
    "unchanged",
    "forgotten",
    "renamed",
    "missing",
    "removed",
    "due",
    "waiting",
    "computed",
    "passed",
    "worse",
    "unchecked",
    "late",
    "published",
    "pushed",
    "red",
    "failed",
]


@dataclass(frozen=True)
class Event:
    """Something that a sync did, found or failed at; `text` is the line for people.

    `status` is loaded, replaced (a new version), unchanged (read again, same content), forgotten (a
    run with this content was forgotten: not loaded), renamed (a file has the content of one that is
    gone), missing (a file is gone, and its run kept), removed (a file is gone, and its run
    forgotten), due (in a dry run: it would be read, computed or forgotten), waiting (still being
    written), computed, passed, worse or unchecked (gates), late (no run
    was loaded within max_age), red (runs that nobody has accepted although a
    gate fired, in this sync or an earlier one), published, pushed (into the lake) or failed.
    """

    status: Status
    text: str
    dataset: str | None = None
    file: str | None = None
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0


@dataclass(frozen=True)
class Synced:
    """The events of a sync, in order, and remarks on the project's file."""

    events: tuple[Event, ...]
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was loaded or computed."""
        return any(
            event.status in ("loaded", "replaced", "renamed", "removed", "computed")
            for event in self.events
        )

    @property
    def exit_code(self) -> int:
        """Return 0 if all is good, else the worst exit code of the failures."""
        return max((event.exit_code for event in self.events), default=0)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dict for JSON."""
        return {
            "changed": self.changed,
            "exit_code": self.exit_code,
            "events": [asdict(event) for event in self.events],
            "remarks": list(self.remarks),
        }


def waiting(dataset: str, file: str) -> Event:
    """Return the event of a file that is not read yet."""
    text = f"{dataset}: {file} is still being written, left for the next time"
    return Event("waiting", text, dataset, file)


def taken(done: Taken, file: str) -> Event:
    """Return the event of a file that was read."""
    from warehouse.ingest.steps import Loaded

    if isinstance(done, Loaded):
        what = {"run": f"run {done.name}", "training": "training set"}.get(done.kind, done.kind)
        size = f"{counted(done.num_rows, _UNITS[done.kind])}, {counted(done.num_queries, 'query')}"
        about = {"kind": done.kind, "name": done.name, "version": done.version}
        warnings = done.warnings
        if done.status == "forgotten":
            text = left_away(done, file, file)
            gone = {**about, "reason": done.reason}
            return Event("forgotten", text, done.dataset, file, details=gone)
    else:
        what, size = f"attributes {done.name} of {done.of}", counted(done.num_values, "value")
        about = {"kind": "attributes", "name": done.name, "version": done.version}
        warnings = ()
    version = f" as version {done.version}" if done.status == "replaced" else ""
    if isinstance(done, Loaded) and done.renamed is not None:
        what = f"run {done.renamed}, whose file is gone,"
        version = f" to {done.name}" + (f", {version.strip()}," if version else "")
    return Event(
        done.status,
        f"{done.dataset}: {what} {done.status}{version} from {file} ({size})",
        done.dataset,
        file,
        warnings,
        about,
    )


def checked(verdict: Verdict, unchecked: str) -> Event:
    """Return the event of a gate's verdict on a run; `unchecked` says whether it may be that."""
    found = verdict.as_dict()
    text, dataset = str(found.pop("text")), str(found["dataset"])
    if verdict.is_red:
        return Event("worse", text, dataset, details=found, exit_code=1)
    if found["verdict"] == "unchecked":
        code = 1 if unchecked == "fail" else 0
        return Event("unchecked", text, dataset, details=found, exit_code=code)
    return Event("passed", text, dataset, details=found)


def red(standing: Sequence[Mapping[str, Any]]) -> Event:
    """Return the event of the runs that are red, which says how to look at and accept them."""
    metrics: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in standing:
        metrics[one["dataset"], one["run"]].append(one["metric"])
    runs = [f"{run} of {of} ({listing(dict.fromkeys(m))})" for (of, run), m in metrics.items()]
    are = "run is" if len(runs) == 1 else "runs are"
    (dataset, run), *_ = metrics
    accept = command(shlex.join(["gates", "accept", run, "--why", "…"]), dataset)
    text = f"{len(runs):,} {are} red: {listing(runs, 4)}; see: warehouse gates; to accept: {accept}"
    return Event("red", text, details={"verdicts": list(standing)}, exit_code=1)


def left_away(done: Loaded, shown: str, file: str) -> str:
    """Return the event of a forgotten run, which says how to load it all the same."""
    from warehouse.readers.files import default_name

    words = ["ingest", "run", file]
    words += [] if default_name(file) == done.name else ["--name", done.name]
    words += ["--replace"] if done.id else []
    load = command(shlex.join(words), done.dataset)
    why = "" if done.reason is None else f" ({done.reason})"
    return (
        f"{done.dataset}: run {done.name} was forgotten{why}: {shown} is not loaded again; to load it: "
        f"{load}"
    )


def gone(dataset: str, run: str, file: str, *, is_forgotten: bool, dry_run: bool) -> Event:
    """Return the event of a run whose file is gone."""
    about = {"kind": "run", "name": run}
    if is_forgotten:
        done = "would be forgotten" if dry_run else "forgotten"
        text = f"{dataset}: run {run} {done}: its file {file} is gone"
        return Event("due" if dry_run else "removed", text, dataset, file, details=about)
    remove = command(shlex.join(["forget", run]), dataset)
    text = f"{dataset}: run {run} stays, though its file {file} is gone; to remove it: {remove}"
    return Event("missing", text, dataset, file, details=about)
