"""The gates of a project's file: the runs that they have to check, their verdicts, and who is told."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import duckdb
import sqlalchemy as sa

from warehouse.analyze import gate_results, regressions
from warehouse.analyze.regressions import Comparison, Limits
from warehouse.config import project
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, WarehouseError, no_such_run, none_yet
from warehouse.evaluate import requirements
from warehouse.metrics import protocols
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.clock import Clock
from warehouse.store.file import WarehouseFile
from warehouse.sync.declarations import Declarations, Gate, read_declarations

# Seconds that the command of `on_fire` can take.
_LONGEST = 60.0
# What is asked of gates: runs that no gate has checked, the newest of each group, or one run.
Which = Literal["new", "newest"]


@dataclass(frozen=True)
class Due:
    """A gate, and a run that it has to check."""

    gate: Gate
    run: str
    run_id: int


@dataclass(frozen=True)
class Verdict:
    """The verdict of a gate on a run; `one` is None for the run that others are compared with."""

    due: Due
    one: Comparison | None
    is_accepted: bool = False

    @property
    def is_red(self) -> bool:
        """Whether the gate fired, and nobody has accepted the run."""
        return self.one is not None and self.one.verdict == "regressed" and not self.is_accepted

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dict for JSON; `text` is a sentence for people."""
        gate = self.due.gate
        asked = {"grouped_by": gate.group, "against": gate.against}
        if self.one is not None:
            found = self.one.as_dict(gate.dataset, gate.protocol, gate.limits) | asked
            if found["verdict"] == "regressed" and self.is_accepted:
                found |= {"verdict": "accepted", "text": f"{found['text']}, and accepted"}
            return found
        by = "" if gate.protocol == protocols.DEFAULT else f" by protocol {gate.protocol}"
        itself = f"{gate.against} is good: it is the run that others are compared with"
        return asked | {
            "dataset": gate.dataset,
            "protocol": gate.protocol,
            "metric": gate.metric,
            "run": self.due.run,
            "reference": None,
            "verdict": "first",
            "text": f"{gate.dataset}: gate {gate.metric}{by}: {itself}",
        }


def find(
    con: duckdb.DuckDBPyConnection, gates: Sequence[Gate], which: Which, run: str | None = None
) -> list[Due]:
    """Return what gates have to check, in the order in which the runs were loaded.

    "new" are runs that no sync has checked yet, and the newest run of each group if its values are
    others than those that were checked: its judgments or its formula have changed.
    """
    found: list[tuple[int, Due]] = []
    for gate in gates:
        rows = con.execute(
            render(
                "statements/gate_runs",
                grouped_by=gate.group,
                assessed=requirements.assessed_metrics([gate.metric]),
            ),
            {
                "dataset": gate.dataset,
                "metric": gate.metric,
                "protocol": gate.protocol,
                "against": gate.against,
                "limits": str(gate.limits),
            },
        ).fetchall()
        for turn, name, run_id, is_new, is_newest, was_checked, is_up_to_date in rows:
            if run is not None:
                is_due = name == run
            elif which == "newest":
                is_due = is_newest
            else:
                is_due = (is_new or (is_newest and was_checked)) and not is_up_to_date
            if is_due:
                found.append((turn, Due(gate, name, run_id)))
    return [due for _, due in sorted(found, key=lambda item: item[0])]


def check(
    con: duckdb.DuckDBPyConnection, asked: Sequence[Due]
) -> Iterator[tuple[Due, Verdict | WarehouseError | duckdb.Error]]:
    """Yield the verdict of each gate on each run, or why there is none.

    The runs come in the order of loading; one of which a gate fires is no reference of later ones.
    """
    accepted, fired = gate_results.accepted(con), set(gate_results.fired(con))
    places = _places(con, asked)

    def kind(due: Due) -> tuple[int, Gate, int]:
        return due.run_id, replace(due.gate, metric=""), places.get(due, 1)

    for (_, _, place), alike in groupby(asked, key=kind):
        for due, found in _check_alike(con, list(alike), fired, place):
            if not isinstance(found, Comparison | None):
                yield due, found
                continue
            verdict = Verdict(due, found, due.run_id in accepted)
            if verdict.is_red:
                fired.add(due.run_id)
            yield due, verdict


def _places(con: duckdb.DuckDBPyConnection, asked: Sequence[Due]) -> dict[Due, int]:
    """Return, of gates that spend alpha, which place a run has among those that the gate has checked.

    A run keeps its place when it is checked again; new ones follow in the order in which they come.
    """
    places: dict[Due, int] = {}
    checked: dict[Gate, list[int]] = {}
    for due in asked:
        gate = due.gate
        if not gate.limits.spend or due.run == gate.against:
            continue
        if gate not in checked:
            rows = con.execute(
                render("statements/gate_places"),
                {
                    "dataset": gate.dataset,
                    "metric": gate.metric,
                    "protocol": gate.protocol,
                    "grouped_by": gate.group,
                    "against": gate.against,
                    "limits": str(gate.limits),
                },
            ).fetchall()
            checked[gate] = [int(run_id) for (run_id,) in rows]
        if due.run_id not in checked[gate]:
            checked[gate].append(due.run_id)
        places[due] = checked[gate].index(due.run_id) + 1
    return places


def _check_alike(
    con: duckdb.DuckDBPyConnection, asked: Sequence[Due], fired: Collection[int], place: int
) -> list[tuple[Due, Comparison | WarehouseError | duckdb.Error | None]]:
    """Check a run by gates that differ only in their metrics, together if that is possible."""
    gate, run = asked[0].gate, asked[0].run
    is_itself = run == gate.against
    if is_itself and gate.limits.bounds == Limits():
        return [(due, None) for due in asked]
    try:
        found = regressions.check_metrics(
            con, gate.dataset, [due.gate.metric for due in asked], protocols.of_values(gate.protocol),
            gate.limits.bounds if is_itself else gate.limits.at(place), gate.against, run, gate.group,
            fired,
        )  # fmt: skip
    except (WarehouseError, duckdb.Error) as error:
        if len(asked) == 1:
            return [(asked[0], error)]
        return [one for due in asked for one in _check_alike(con, [due], fired, place)]
    return list(zip(asked, found.comparisons, strict=True))


def keep(
    con: duckdb.DuckDBPyConnection,
    gates: Sequence[Gate],
    verdicts: Sequence[Verdict],
    failed: Collection[int],
) -> list[Verdict]:
    """Store verdicts inside the caller's transaction, without those that another process has stored.

    Runs of the gates' datasets are no longer new then, except the `failed` ones, which have these
    keys. Returns what was stored.
    """
    still = set(find(con, gates, "new"))
    new = [verdict for verdict in verdicts if verdict.due in still and verdict.one is not None]
    rows = [_row(verdict) for verdict in new]
    if rows:
        con.execute(
            render("statements/gate_results"),
            {"rows": rows, "now": Clock(con).now(), "version": VERSION},
        )
    held = {verdict.due.run_id for verdict in verdicts} - set(failed)
    con.execute(
        "delete from gate_due where list_contains($held::integer[], run_id) "
        "or run_id in (select run_id from run_version where not is_current)",
        {"held": sorted(held)},
    )
    return new


def _row(verdict: Verdict) -> dict[str, Any]:
    one, gate = verdict.one, verdict.due.gate
    assert one is not None
    same = ("run_id", "reference_id", "qrels_id", "fingerprint", "metric", "value", "difference",
            "p", "verdict", "why")  # fmt: skip
    return {name: getattr(one, name) for name in same} | {
        "reference_value": one.their_value,
        "protocol": gate.protocol,
        "grouped_by": gate.group,
        "against": gate.against,
        "limits": str(gate.limits),
    }


def begin(connection: sa.Connection, dataset: str, asked: Declarations) -> None:
    """Let the runs of a dataset that has no gate yet be those that later ones are compared with."""
    if dataset not in {gate.dataset for gate in asked.gates}:
        database.raw(connection).execute(
            "delete from gate_due where run_id in (select run_id from run_version where dataset = $1)",
            [dataset],
        )


def tell(command: str, fired: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Give verdicts as JSON to the standard input of a command of the project's shell.

    Raises UsageError if the command fails, or takes longer than a minute.
    """
    text = "\n".join(str(verdict["text"]) for verdict in fired)
    given = json.dumps({"text": text, "verdicts": fired}, ensure_ascii=False)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, shell=True, cwd=folder, stdin=subprocess.PIPE, stdout=said, stderr=said,
            start_new_session=True,
        )  # fmt: skip
        try:
            process.communicate(given.encode(), timeout=_LONGEST)
            problem = f"ended with {process.returncode}" if process.returncode else ""
        except subprocess.TimeoutExpired:
            problem = f"took longer than {_LONGEST:g} seconds"
        finally:
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if problem:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            because = f": {lines[-1]}" if lines else ""
            raise UsageError(f"on_fire: the command {problem}{because}")


@dataclass(frozen=True)
class GateCheck:
    """The verdicts of the gates of the project's file on some runs, and those that stand.

    `relation` has the columns `dataset, metric, protocol, run, reference, value, reference_value,
    difference, p, verdict, why`.
    """

    relation: duckdb.DuckDBPyRelation
    verdicts: tuple[Mapping[str, Any], ...]

    @property
    def is_good(self) -> bool:
        """Whether no run is red."""
        return all(one["verdict"] != "regressed" for one in self.verdicts)


COLUMNS = {
    "dataset": "varchar", "metric": "varchar", "protocol": "varchar", "run": "varchar",
    "reference": "varchar", "value": "double", "reference_value": "double", "difference": "double",
    "p": "double", "verdict": "varchar", "why": "varchar",
}  # fmt: skip


@project.request()
def check_project(
    file: WarehouseFile, dataset: str | None, run: str | None, *, new: bool
) -> GateCheck:
    """Run the gates of the project's file; see `Warehouse.check`."""
    if run is not None and new:
        raise UsageError("new: is for all runs that no gate has checked, so name no run")
    here = project.current()
    asked = read_declarations()
    gates = [gate for gate in asked.gates if dataset in (None, gate.dataset)]
    if not gates:
        of_it = "" if dataset is None else f" of {dataset}"
        lacks = (
            f"there is no {here.where}" if here.file is None else f"{here.where} has no gate{of_it}"
        )
        raise UsageError(f"{lacks}: name a metric to compare the runs by, or add a table [[gates]]")
    with file.read() as con:
        found = [verdict for _, verdict in check(con, _asked(con, gates, run, new=new))]
    for verdict in found:
        if not isinstance(verdict, Verdict):
            raise verdict
    verdicts = [verdict for verdict in found if isinstance(verdict, Verdict)]
    if new and verdicts:
        with file.transaction() as con:
            stored = keep(con, gates, verdicts, ())
        fired = [verdict.as_dict() for verdict in stored if verdict.is_red]
        if fired and asked.on_fire is not None:
            tell(asked.on_fire, fired, asked.folder)
    said = [verdict.as_dict() for verdict in verdicts]
    there = {_key(one) for one in said}
    with file.read() as con:
        for one in gate_results.standing(con, dataset):
            if _key(one) not in there and run in (None, one["run"]):
                said.append(one | _lost(con, gates, one))
        rows = [{column: one.get(column) for column in COLUMNS} for one in said]
        relation = database.keep(
            con, render("analyses/gate_check", columns=COLUMNS), {"rows": rows}, name="checked"
        )
    return GateCheck(relation, tuple(said))


def _key(one: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells the verdict of one gate on one run from others."""
    names = ("dataset", "run", "metric", "protocol", "grouped_by", "against", "limits")
    return tuple(str(one.get(name)) for name in names)


def _lost(
    con: duckdb.DuckDBPyConnection, gates: Sequence[Gate], one: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the queries that lost most in a run that is red, if its gate is still there."""
    keys = ("dataset", "metric", "protocol", "group", "against", "limits")
    for gate in gates:
        like = {name: str(getattr(gate, name)) for name in keys} | {"run": one["run"]}
        if _key(like | {"grouped_by": gate.group}) != _key(one):
            continue
        for _, verdict in check(con, [Due(gate, one["run"], 0)]):
            if isinstance(verdict, Verdict) and verdict.one is not None:
                return {"lost_most": verdict.one.lost_most}
    return {}


def _asked(
    con: duckdb.DuckDBPyConnection, gates: Sequence[Gate], run: str | None, *, new: bool
) -> list[Due]:
    """Return what to check; refuse a run that no dataset of the gates has, and datasets without runs."""
    asked = find(con, gates, "new" if new else "newest", run)
    if not asked and not new:
        names = sorted({gate.dataset for gate in gates})
        rows = con.execute(
            "select dataset, run from runs where list_contains($1::varchar[], dataset)", [names]
        ).fetchall()
        if run is None or not rows:
            raise UsageError(none_yet("run", names[0]))
        raise UsageError(no_such_run(run, ", ".join(names), [str(name) for _, name in rows]))
    return asked
