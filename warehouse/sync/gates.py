"""The gates of a project's file: the runs that they have to check, their verdicts, and who is told."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb

from warehouse.analyze import gate_results, regressions
from warehouse.analyze.regressions import Comparison, Due, Gate
from warehouse.config import project
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, WarehouseError, counted, listing, no_such_run, none_yet
from warehouse.report.file_replacement import locked
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.clock import Clock
from warehouse.store.file import WarehouseFile
from warehouse.sync.declarations import Declarations, read_declarations

# Seconds that the command of `on_fire` can take.
_LONGEST = 60.0
# The most lines of its text, but for the one that says how many more there are.
_LINES = 10
# The selection of runs for gates: runs that no gate has checked, the newest of each group, or one run.
Which = Literal["new", "newest"]
# The columns that tell the verdicts of one gate from other gates' verdicts, as `Gate.key` has them.
KEY = ("metric", "protocol", "grouped_by", "against", "limits")


@dataclass(frozen=True)
class Verdict:
    """The verdict of a gate on a run."""

    due: Due
    one: Comparison
    is_accepted: bool = False

    @property
    def is_red(self) -> bool:
        """Whether the run is worse, and nobody has accepted it."""
        return self.one.verdict == "worse" and not self.is_accepted

    def as_dict(self) -> dict[str, Any]:
        """Return it as a dict for JSON; `text` is a sentence for people."""
        gate = self.due.gate
        found = self.one.as_dict(gate) | {"grouped_by": gate.group, "against": gate.against}
        if self.one.verdict != "good" and self.is_accepted:
            found |= {"verdict": "accepted", "text": f"{found['text']}, and accepted"}
        return found


def without_history(verdict: Verdict) -> Verdict:
    """Return a verdict of the sync that made the database, which may be there in place of a lost one."""
    if verdict.one.verdict != "unchecked" or verdict.one.reference_id is not None:
        return verdict
    why = f"{verdict.one.why}, as the database was made new in this sync"
    return replace(verdict, one=replace(verdict.one, why=why))


def find(
    con: duckdb.DuckDBPyConnection, gates: Sequence[Gate], which: Which, run: str | None = None
) -> list[Due]:
    """Return the runs that gates have to check, in the order in which the runs were loaded.

    "new" are runs that no sync has checked yet, and those whose last verdict is not of the present
    state: their judgments, their formula or the limits have changed. "newest" is that of each group.
    """
    found: list[tuple[Any, Due]] = []
    for gate in gates:
        runs = [one for one in regressions.seen(con, gate) if one.is_current]
        newest = {one.group: one.run_id for one in runs}
        for one in runs:
            if run is not None:
                is_due = one.run == run
            elif which == "newest":
                is_due = newest[one.group] == one.run_id
            else:
                is_due = (one.is_new or one.was_checked) and not one.is_up_to_date
            if is_due:
                found.append((one.turn, Due(gate, one.run, one.run_id)))
    return [due for _, due in sorted(found, key=lambda item: item[0])]


def check(
    con: duckdb.DuckDBPyConnection, asked: Sequence[Due]
) -> Iterator[tuple[Due, Verdict | WarehouseError | duckdb.Error]]:
    """Yield the verdict of each gate on each run, or why there is none.

    The runs come in the order of loading; one that is red is no reference of later ones.
    """
    accepted = gate_results.accepted(con)
    for due, found in regressions.judged(
        con, asked, gate_results.fired(con), accepted, _ordinals(con, asked)
    ):
        if isinstance(found, Comparison):
            yield due, Verdict(due, found, due.run_id in accepted)
        else:
            yield due, found


def _ordinals(con: duckdb.DuckDBPyConnection, asked: Sequence[Due]) -> dict[Due, int]:
    """Return the ordinal of each run among the runs that its gate has checked, if that spends alpha.

    A run keeps its ordinal when it is checked again, and so does its content when it was forgotten;
    new content follows in the order in which it comes, whatever the limits are.
    """
    ordinals: dict[Due, int] = {}
    taken: dict[tuple[str, ...], list[str]] = {}
    hashes: dict[int, str] = {}
    for due in asked:
        gate = due.gate
        if not gate.limits.spend or due.run == gate.against:
            continue
        if not hashes:
            hashes = dict(con.execute("select run_id, content_hash from run").fetchall())
        key = gate.dataset, *gate.key[:-1]
        if key not in taken:
            taken[key] = gate_results.checked_hashes(con, *key)
        if hashes[due.run_id] not in taken[key]:
            taken[key].append(hashes[due.run_id])
        ordinals[due] = taken[key].index(hashes[due.run_id]) + 1
    return ordinals


def keep(
    con: duckdb.DuckDBPyConnection,
    gates: Sequence[Gate],
    verdicts: Sequence[Verdict],
    failed: Collection[int],
) -> list[Verdict]:
    """Store verdicts inside the caller's transaction, without those that another process has stored.

    Runs of the gates' datasets are no longer new then, except the `failed` ones, which have these
    keys. Returns the stored verdicts.
    """
    still = set(find(con, gates, "new"))
    new = [verdict for verdict in verdicts if verdict.due in still]
    if new:
        con.execute(
            render("statements/gate_results"),
            {
                "rows": [_row(verdict) for verdict in new],
                "now": Clock(con).now(),
                "version": VERSION,
            },
        )
    for gate in gates:
        _resolve(con, gate, [one for one in new if one.due.gate == gate])
    for due, ordinal in _ordinals(con, [verdict.due for verdict in new]).items():
        alpha = due.gate.limits.at(ordinal).alpha
        given = dict(zip(KEY[:-1], due.gate.key, strict=False))
        con.execute(
            render("statements/gate_places"),
            given
            | {
                "run": due.run_id,
                "place": ordinal,
                "alpha": alpha,
                "now": Clock(con).now(),
                "version": VERSION,
            },
        )
    held = {verdict.due.run_id for verdict in verdicts} - set(failed)
    con.execute(
        "delete from gate_due where list_contains($held::integer[], run_id) "
        "or run_id in (select run_id from run_version where not is_current)",
        {"held": sorted(held)},
    )
    return new


def _resolve(con: duckdb.DuckDBPyConnection, gate: Gate, new: Sequence[Verdict]) -> None:
    """End the red verdicts of a gate with `auto_resolve` on runs before a good one of their group."""
    good = [one for one in new if one.one.verdict == "good"]
    if not gate.auto_resolve or not good:
        return
    red = [run_id for run_id, gates in gate_results.fired(con).items() if gate.key in gates]
    runs = {one.run_id: one for one in regressions.seen(con, gate)}
    for one in good:
        this = runs[one.due.run_id]
        before = [one for one in runs.values() if one.group == this.group and one.turn < this.turn]
        ended = [one.run_id for one in before if one.run_id in red]
        if ended:
            key = dict(zip(KEY, gate.key, strict=True))
            gate_results.end(
                con, ended, key, "resolved", f"{this.run} is good, which came after it"
            )
            red = [run_id for run_id in red if run_id not in ended]


def end_gone(file: WarehouseFile, asked: Declarations) -> list[str]:
    """End the verdicts of gates that the project's file has no longer; return sentences about them.

    If it has a gate on the same metric, its limits have changed: all runs are checked again by it.
    Verdicts that were stored after the file last changed are of a gate that it did not have then:
    one of another project's file on this database.
    """
    path = project.current().file
    assert path is not None
    its = path.stat()
    changed = dt.datetime.fromtimestamp(max(its.st_mtime, its.st_ctime), dt.UTC)
    with file.read() as con:
        rows = con.execute(
            "select dataset, metric, protocol, grouped_by, against, limits, list(run_id) "
            "from gate_versions where is_current group by all having max(checked_at) <= $1 order by all",
            [changed],
        ).fetchall()
    there = {(gate.dataset, *gate.key) for gate in asked.gates}
    gone = [row for row in rows if row[0] in asked.datasets and tuple(row[:-1]) not in there]
    if not gone:
        return []
    notes = []
    with file.transaction() as con:
        for dataset, *gate, run_ids in gone:
            new = [
                one for one in asked.gates if (one.dataset, *one.key[:3]) == (dataset, *gate[:3])
            ]
            now = ", ".join(f"{one.limits}, against {one.against}" for one in new)
            why = f"its gate was: {gate[4]}, against {gate[3]}; " + (
                f"it is now: {now}" if new else "it is no longer in warehouse.toml"
            )
            gate_results.end(con, run_ids, dict(zip(KEY, gate, strict=True)), "ended", why)
            runs = counted(len(run_ids), "run")
            notes.append(
                f"{dataset}: gate {gate[0]}: {why}: "
                + (f"{runs} checked again" if new else f"its verdicts on {runs} end")
            )
    return notes


def late(
    con: duckdb.DuckDBPyConnection, asked: Declarations, now: dt.datetime
) -> list[tuple[str, str]]:
    """Return the datasets that have got no run within `max_age`, each with a sentence about it."""
    found = []
    for dataset, age in asked.max_ages.items():
        ((last,),) = con.execute(
            "select max(ingested_at) from run join dataset using (dataset_id) where dataset.name = $1",
            [dataset],
        ).fetchall()
        if last is None or (now - last).total_seconds() > age:
            since = "yet" if last is None else f"since {last.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
            found.append(
                (dataset, f"{dataset}: late: no new run {since}, and max_age is {age / 3600:g}h")
            )
    return found


def alert(file: WarehouseFile, asked: Declarations, others: Sequence[Mapping[str, Any]]) -> None:
    """Give `on_fire` all that is wrong now, unless it got the same last time.

    These are the red runs and `others`: what failed, what is late. Raises UsageError if the command
    fails, which is then called again the next time.
    """
    if asked.on_fire is None:
        return
    # no lock of the database is held meanwhile: the command may read it
    with locked(project.current().file or asked.folder, file.lock_timeout, "calls on_fire"):
        with file.read() as con:
            wrong = [*gate_results.standing(con), *others]
            last = con.execute(
                "select told from gate_alert order by told_at desc limit 1"
            ).fetchall()
        keys = sorted(
            str([one.get(name) for name in ("dataset", "run", "version", *KEY)])
            if "run" in one
            else str(one["text"])
            for one in wrong
        )
        told = hashlib.sha256("\n".join(keys).encode()).hexdigest() if keys else ""
        if told == (str(last[0][0]) if last else ""):
            return
        if wrong:
            tell(asked.on_fire, wrong, asked.folder)
        with file.transaction() as con:
            con.execute(
                "insert into gate_alert by name select $1 as told, $2 as told_at, $3 as program_version",
                [told, Clock(con).now(), VERSION],
            )


def _row(verdict: Verdict) -> dict[str, Any]:
    same = ("run_id", "reference_id", "qrels_id", "fingerprint", "value", "difference", "low",
            "high", "could_see", "p", "verdict", "why")  # fmt: skip
    found = {name: getattr(verdict.one, name) for name in same}
    return found | {
        "reference_value": verdict.one.their_value,
        **dict(zip(KEY, verdict.due.gate.key, strict=True)),
    }


def remarks(verdicts: Sequence[Verdict], unchecked: str) -> list[str]:
    """Return the remarks on all verdicts: which runs are unchecked, which drops are not seen."""
    notes = []
    without = dict.fromkeys(v.due.run for v in verdicts if v.one.verdict == "unchecked")
    if without and unchecked == "warn":
        notes.append(
            f'{counted(len(without), "run")} unchecked: {listing(without, 4)}; with unchecked = "fail" '
            'a sync ends with exit code 1 then, with "pass" this is not reported'
        )
    blind: dict[Gate, Comparison] = {}
    for verdict in verdicts:
        budget, seen = verdict.due.gate.limits.budget, verdict.one.could_see
        if budget and seen is not None and seen > 2 * budget:
            blind.setdefault(verdict.due.gate, verdict.one)
    for gate, one in blind.items():
        notes.append(
            gate.prefixed(
                f"{counted(one.num_pairs, 'query')} show a drop of {one.could_see:.3f} in four of five "
                f"cases, and max_drop is {gate.limits.budget:g}: smaller drops mostly pass"
            )
        )
    return notes


def begin(con: duckdb.DuckDBPyConnection, dataset: str, asked: Declarations) -> None:
    """Let the runs of a dataset that has no gate yet be those that later ones are compared with."""
    if dataset not in {gate.dataset for gate in asked.gates}:
        con.execute(
            "delete from gate_due where run_id in (select run_id from run_version where dataset = $1)",
            [dataset],
        )


def tell(command: str, fired: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Give verdicts as JSON to the standard input of a command of the project's shell.

    Raises UsageError if the command fails, or takes longer than a minute.
    """
    lines = [str(verdict["text"]).partition("\n")[0] for verdict in fired]
    more = [f"and {len(lines) - _LINES:,} more"] if len(lines) > _LINES + 1 else []
    text = "\n".join([*lines[:_LINES], *more] if more else lines)
    given = json.dumps({"text": text, "verdicts": fired}, ensure_ascii=False)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, shell=True, cwd=folder, stdin=subprocess.PIPE, stdout=output, stderr=output,
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
            output.seek(0)
            lines = output.read().decode(errors="replace").strip().splitlines()
            because = f": {lines[-1]}" if lines else ""
            raise UsageError(f"on_fire: the command {problem}{because}")


@dataclass(frozen=True)
class GateCheck:
    """The verdicts of the gates of the project's file on some runs, and those that stand.

    `relation` has the columns `dataset, metric, protocol, run, reference, value, reference_value,
    difference, low, high, p, verdict, why`.
    """

    relation: duckdb.DuckDBPyRelation
    verdicts: tuple[Mapping[str, Any], ...]
    unchecked: str = "warn"

    @property
    def is_good(self) -> bool:
        """Whether no run is red, nor unchecked where this fails."""
        bad = {"worse", "unchecked"} if self.unchecked == "fail" else {"worse"}
        return not bad.intersection(str(one["verdict"]) for one in self.verdicts)


COLUMNS = {
    "dataset": "varchar", "metric": "varchar", "protocol": "varchar", "run": "varchar",
    "reference": "varchar", "value": "double", "reference_value": "double", "difference": "double",
    "low": "double", "high": "double", "p": "double", "verdict": "varchar", "why": "varchar",
}  # fmt: skip


@project.request()
def check_project(
    file: WarehouseFile, dataset: str | None, run: str | None, *, new: bool, unchecked: str
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
            keep(con, gates, verdicts, ())
        alert(file, asked, ())
    dicts = [verdict.as_dict() for verdict in verdicts]
    there = {_key(one) for one in dicts}
    with file.read() as con:
        for one in gate_results.standing(con, dataset):
            if _key(one) not in there and run in (None, one["run"]):
                dicts.append(one | _lost(con, gates, one))
        rows = [{column: one.get(column) for column in COLUMNS} for one in dicts]
        relation = database.keep(
            con, render("analyses/gate_check", columns=COLUMNS), {"rows": rows}, name="checked"
        )
    return GateCheck(relation, tuple(dicts), asked.unchecked or unchecked)


def _key(one: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the key of the verdict of one gate on one run."""
    return tuple(str(one.get(name)) for name in ("dataset", "run", *KEY))


def _lost(
    con: duckdb.DuckDBPyConnection, gates: Sequence[Gate], one: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the queries that lost most in a run that is red, if its gate is still there."""
    for gate in gates:
        if one["dataset"] != gate.dataset or gate.key != tuple(str(one[name]) for name in KEY):
            continue
        for _, verdict in check(con, find(con, [gate], "newest", one["run"])):
            if isinstance(verdict, Verdict):
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
