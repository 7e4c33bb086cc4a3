"""Whether runs are worse than ones before them, or pass a bound, over stored values."""

from __future__ import annotations

import math
import shlex
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

import duckdb

from warehouse.analyze import gate_results, stored_metrics
from warehouse.analyze.significance import equal_or_below, probability
from warehouse.errors import (
    UsageError,
    WarehouseError,
    check_several,
    command,
    counted,
    listing,
    nearest,
    no_such_run,
    none_yet,
    option,
)
from warehouse.evaluate import requirements
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Metrics, known_metric
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets

BEST, LAST, BASELINE = "best", "last", "baseline"
# The references that are chosen for each run; any other word is the name of a run.
CHOSEN = (LAST, BEST, BASELINE)
# The default grouping of runs, without a tag.
SYSTEM = "system"
ALPHA = 0.05
# How many of the queries that lost most are kept.
LOST = 5
Verdict = Literal["good", "worse", "unchecked"]
# Keys of a file, which say nothing elsewhere.
_NOT_IN_JSON = ("run_id", "reference_id", "qrels_id", "fingerprint", "against", "their_value")
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Limits:
    """What is still good: a drop of at most `max_drop`, by default 0, and a value from `min` to `max`.

    A drop counts only if a one-sided test says at `alpha`, by default 0.05, that it is larger than
    `max_drop`; with `strict`, any larger drop counts, and nothing is tested. With `min` or `max` alone,
    any drop is good. With `sequential`, the test may be repeated as more queries come in. With
    `spend` too, alpha is spent over all runs that a gate checks: see `at`. A gate of several metrics
    divides alpha by their number, `num_metrics`.
    """

    max_drop: float | None = None
    alpha: float | None = None
    min: float | None = None
    max: float | None = None
    strict: bool = False
    sequential: bool = False
    spend: bool = False
    num_metrics: int = 1

    def __post_init__(self) -> None:
        if self.max_drop is not None and not 0 <= self.max_drop < math.inf:
            raise UsageError(f"max-drop is 0 or more, not {self.max_drop}")
        if self.alpha is not None and not 0 < self.alpha < 1:
            raise UsageError(f"alpha lies between 0 and 1, not {self.alpha}")
        if self.strict and (self.alpha is not None or self.sequential):
            raise UsageError("strict tests nothing, so it goes without alpha and sequential")
        if self.spend and not self.sequential:
            raise UsageError("spend divides the alpha of a sequential test: give sequential too")
        for name, bound in (("min", self.min), ("max", self.max)):
            if bound is not None and not math.isfinite(bound):
                raise UsageError(f"{name} is a finite number, not {bound}")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise UsageError(f"min is at most max, and {self.min:g} is above {self.max:g}")

    @property
    def bounds(self) -> Limits:
        """Return the limits of the value itself alone."""
        return Limits(min=self.min, max=self.max)

    @property
    def are_bounds(self) -> bool:
        """Whether there is a limit, and every limit is of the value itself."""
        return replace(self, num_metrics=1) == self.bounds != Limits()

    @property
    def are_tested(self) -> bool:
        """Whether a drop counts only if it is significant."""
        return not self.are_bounds and not self.strict

    @property
    def budget(self) -> float:
        """Return the largest drop that is good."""
        return self.max_drop or 0.0

    def at(self, ordinal: int) -> Limits:
        """Return the limits for the run that a gate checks as its `ordinal`-th, from 1.

        If alpha is spent, it is alpha / (ordinal * (ordinal + 1)), which adds up to alpha over runs:
        by Bonferroni's inequality, the chance that any run that is not worse ever passes it is at most
        alpha, however many runs come, and however their values depend on each other.

        >>> [round(Limits(alpha=0.05, sequential=True, spend=True).at(n).alpha, 4) for n in (1, 2, 3)]
        [0.025, 0.0083, 0.0042]
        """
        if not self.spend:
            return self
        return replace(self, alpha=(self.alpha or ALPHA) / (ordinal * (ordinal + 1)), spend=False)

    def level(self, against: str) -> float:
        """Return the level of the test of one pair with which alpha holds for runs night after night.

        A run that was good by luck stays the last accepted one while others are red, and each of these
        is compared with it. Of runs that are all equal, a test at level a then calls more than a red:
        the share comes from a Markov chain, whose state is the value of the reference. At the level
        alpha / (1 + 2.1 sqrt(alpha)) it is at most alpha, for alpha from 0.001 to 0.2.

        >>> round(Limits().level("last"), 4), round(Limits(num_metrics=2).level("a run"), 4)
        (0.034, 0.025)
        """
        alpha = self.alpha or ALPHA
        if against == LAST and not self.sequential:
            alpha /= 1 + 2.1 * math.sqrt(alpha)
        return alpha / self.num_metrics

    def __str__(self) -> str:
        how = " over all runs" if self.spend else ""
        how += f" over {self.num_metrics} metrics" if self.num_metrics > 1 else ""
        valid = "anytime-valid " if self.sequential else ""
        drop = f"a drop of more than {self.budget:.12g}" if self.budget else "any drop"
        tested = f" at {valid}alpha {self.alpha or ALPHA:.12g}{how}" if self.are_tested else ""
        parts = [] if self.are_bounds else [drop + tested]
        parts += [] if self.min is None else [f"a value below {self.min:.12g}"]
        parts += [] if self.max is None else [f"a value above {self.max:.12g}"]
        return " or ".join(parts)

    def passed(self, value: float) -> list[str]:
        """Return which bounds a value passes, in words."""
        value = round(value, stored_metrics.DIGITS)
        found = []
        if self.min is not None and value < self.min:
            found.append(f"{value:.4f} is below {self.min:g}")
        if self.max is not None and value > self.max:
            found.append(f"{value:.4f} is above {self.max:g}")
        return found


@dataclass(frozen=True)
class Gate:
    """A gate for new runs of a dataset, in one metric; see `Warehouse.check`."""

    dataset: str
    metric: str
    group: str | None
    against: str
    limits: Limits
    protocol: str
    auto_resolve: bool = field(default=False, compare=False)

    @property
    def key(self) -> tuple[str, ...]:
        """The values that tell its verdicts from other gates' verdicts."""
        return self.metric, self.protocol, str(self.group), self.against, str(self.limits)

    def prefixed(self, text: object) -> str:
        """Return a sentence about it."""
        by = "" if self.protocol == protocols.DEFAULT else f" by protocol {self.protocol}"
        return f"{self.dataset}: gate {self.metric}{by}: {text}"


@dataclass(frozen=True)
class Due:
    """A gate, and a run that it has to check."""

    gate: Gate
    run: str
    run_id: int


@dataclass(frozen=True)
class LoadedRun:
    """A version of a run as a gate sees it; `turn` is higher for what was loaded later."""

    turn: Any
    run: str
    version: int
    run_id: int
    is_current: bool
    group: str | None
    direction: str | None
    aggregate: str | None
    value: float | None
    evaluation_id: int | None
    qrels_id: int | None
    fingerprint: str | None
    checked_as: str | None
    is_new: bool
    was_checked: bool
    is_up_to_date: bool

    @property
    def name(self) -> str:
        """Its name; an earlier version's name says which."""
        return self.run if self.is_current else f"{self.run} (version {self.version})"

    @property
    def better(self) -> int:
        """Return 1 if higher values are better, else -1."""
        return -1 if self.direction == "lower" else 1


@dataclass(frozen=True)
class Comparison:
    """One metric of a run and of its reference; None where there is none.

    `run_id`, `reference_id`, `qrels_id` and `fingerprint` are the keys of the two runs, and of what
    the value is of. `against` is the name of the reference; of an earlier version of a run it is
    "NAME (version 1)". `num_versions_left_out` of the run's own have no value by the same formula
    against the current qrels.

    `p` comes from a one-sided test that the drop is larger than the limit, over the `num_pairs`
    queries that both have a value of; None where nothing was tested. `low` and `high` are the ends of
    the interval of the difference, whose level fits the test: the drop is larger than the limit if
    the whole interval is. `could_see` is the drop that the test finds in four of five cases.
    `lost_most` has the queries that lost most, with both values. `why` says which limits were passed,
    or why the run is unchecked.
    """

    metric: str
    run: str
    run_id: int
    reference_id: int | None
    qrels_id: int
    fingerprint: str
    against: str | None
    value: float | None
    their_value: float | None
    difference: float | None
    direction: str
    verdict: Verdict
    why: str | None
    p: float | None = None
    low: float | None = None
    high: float | None = None
    could_see: float | None = None
    num_pairs: int = 0
    wins: int = 0
    ties: int = 0
    losses: int = 0
    num_left_out: int = 0
    num_versions_left_out: int = 0
    lost_most: tuple[tuple[str, float, float], ...] = ()

    def __str__(self) -> str:
        value = "" if self.value is None else f" {self.value:.4f}"
        if self.verdict == "unchecked":
            return f"{self.run}{value} is unchecked: {self.why}"
        if self.against is None:
            out = "out of bounds" if self.verdict == "worse" else "good"
            return f"{self.run}{value} is {out}"
        p = "" if self.p is None else f", p {equal_or_below(self.p)}"
        how = "good compared with"
        if self.verdict == "worse":
            is_worse = self.difference and (self.difference > 0) == (self.direction == "lower")
            how = "worse than" if is_worse else "out of bounds compared with"
        return f"{self.run}{value} is {how} {self.against} {self.their_value:.4f}{p}"

    def as_dict(self, gate: Gate) -> dict[str, Any]:
        """Return it as a dict for JSON; `text` is a sentence for people."""
        kept = {key: value for key, value in asdict(self).items() if key not in _NOT_IN_JSON}
        why = f" (not good: {gate.limits})" if self.verdict == "worse" else ""
        return {
            "dataset": gate.dataset,
            "protocol": gate.protocol,
            "reference": self.against,
            "reference_value": self.their_value,
            "limits": str(gate.limits),
            "text": gate.prefixed(f"{self}{why}"),
        } | kept

    @property
    def versions_left_out(self) -> str:
        """Name the earlier versions that it is not compared with, and why."""
        return _left_out(self.num_versions_left_out)


@dataclass(frozen=True)
class Check:
    """The outcome of comparing a run with another.

    `relation` has the columns `metric, run, against, value, their_value, difference, low, high, p,
    wins, ties, losses, verdict`, and `verdicts` the same as dicts, with more about each.
    """

    relation: duckdb.DuckDBPyRelation
    comparisons: tuple[Comparison, ...]
    gates: tuple[Gate, ...]
    unchecked: str = "warn"

    @property
    def run(self) -> str:
        """The run that was checked."""
        return self.comparisons[0].run

    @property
    def dataset(self) -> str:
        """Its dataset."""
        return self.gates[0].dataset

    @property
    def limits(self) -> Limits:
        """The limits of a good run."""
        return self.gates[0].limits

    @property
    def verdicts(self) -> list[dict[str, Any]]:
        """Return the verdict of each metric as a dict for JSON."""
        pairs = zip(self.comparisons, self.gates, strict=True)
        return [one.as_dict(gate) for one, gate in pairs]

    @property
    def is_good(self) -> bool:
        """Whether the run is not worse in any metric, nor unchecked where this fails."""
        bad = {"worse", "unchecked"} if self.unchecked == "fail" else {"worse"}
        return not bad.intersection(one.verdict for one in self.comparisons)


COLUMNS = {
    "metric": "varchar", "run": "varchar", "against": "varchar", "value": "double",
    "their_value": "double", "difference": "double", "low": "double", "high": "double",
    "p": "double", "wins": "bigint", "ties": "bigint", "losses": "bigint", "verdict": "varchar",
}  # fmt: skip


def check(
    con: duckdb.DuckDBPyConnection,
    dataset: str | None,
    metrics: Metrics,
    *,
    against: str,
    run: str | None,
    limits: Limits,
    group: str | None,
    protocol: str,
    unchecked: str,
) -> Check:
    """Compare a run with an earlier one; the arguments are as in `Warehouse.check`."""
    asked = check_several("metrics", metrics)
    if not asked:
        raise UsageError("name a metric to compare the runs by")
    dataset = datasets.chosen(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    names = stored_metrics.names(con, [dataset], asked, rules)
    limits = replace(limits, num_metrics=len(names))
    gates = [Gate(dataset, name, group, against, limits, protocol) for name in names]
    due = _checked_run(con, gates[0], run)
    made = []
    dues = [Due(gate, *due) for gate in gates]
    for _, found in judged(con, dues, gate_results.fired(con)):
        if not isinstance(found, Comparison):
            raise found
        made.append(found)
    rows = [{column: getattr(one, column) for column in COLUMNS} for one in made]
    relation = database.keep(
        con, render("analyses/gate_check", columns=COLUMNS), {"rows": rows}, name="checked"
    )
    return Check(relation, tuple(made), tuple(gates), unchecked)


def _checked_run(con: duckdb.DuckDBPyConnection, gate: Gate, run: str | None) -> tuple[str, int]:
    """Return the run to check; refuse names that no current run has."""
    rows = con.execute(
        "select run.name, run_id from run join run_version using (run_id) "
        "where dataset = $1 and is_current order by recency(run.ingested_at, content_hash) desc",
        [gate.dataset],
    ).fetchall()
    known = {str(name): int(run_id) for name, run_id in rows}
    if not known:
        raise UsageError(none_yet("run", gate.dataset))
    checked = next(iter(known)) if run is None else run
    _check_name(checked, gate.dataset, known)
    if checked == gate.against and not gate.limits.are_bounds:
        newest = "" if run else ", the newest run"
        raise UsageError(f"{checked}{newest}: cannot be compared with itself; name another run")
    return checked, known[checked]


def _check_name(name: str, dataset: str, known: Collection[str], words: Sequence[str] = ()) -> None:
    """Refuse the name of a run that a dataset does not have, unless it is one of some words."""
    every = [*words, *known]
    if name not in every:
        raise UsageError(no_such_run(name, dataset, every if nearest(name, every) else known))


def judged(
    con: duckdb.DuckDBPyConnection,
    dues: Sequence[Due],
    fired: Mapping[int, Collection[tuple[str, ...]]],
    accepted: Collection[int] = (),
    ordinals: Mapping[Due, int] | None = None,
) -> Iterator[tuple[Due, Comparison | WarehouseError | duckdb.Error]]:
    """Yield the verdict of each gate on each run, in the given order, or why there is none.

    `fired` has the gates that have made runs red; a red run is the reference of no other. The verdicts
    that are asked for replace those: they are given one after another, and each counts for the next.

    Which run is the reference depends on the verdicts before, but all pairs of a gate are computed
    in one statement: first as if no run were red, then, where one was, the pairs that are needed
    instead. Where several red runs follow each other, the pairs of as many runs after them are
    computed as well, so that a long row of red runs needs few statements.
    """
    lines: dict[Gate, _Line | WarehouseError | duckdb.Error] = {}
    before = {run_id: set(gates) for run_id, gates in fired.items()}
    for due in dues:
        before.get(due.run_id, set()).discard(due.gate.key)
        if due.gate not in lines:
            try:
                lines[due.gate] = _Line(con, due.gate)
            except (WarehouseError, duckdb.Error) as error:
                lines[due.gate] = error
    while True:
        red = {run_id for run_id, gates in before.items() if gates}
        found: list[tuple[Due, Comparison | WarehouseError | duckdb.Error]] = []
        needed = False
        for one in lines.values():
            if isinstance(one, _Line):
                one.streaks.clear()
                one.bests.clear()
        for due in dues:
            line = lines[due.gate]
            if not isinstance(line, _Line):
                found.append((due, line))
                continue
            try:
                verdict = line.verdict(due, red, (ordinals or {}).get(due, 1))
            except WarehouseError as error:
                found.append((due, error))
                continue
            if verdict is None:
                needed = True
                continue
            if verdict.verdict == "worse" and due.run_id not in accepted:
                red.add(due.run_id)
            found.append((due, verdict))
        if not needed:
            yield from found
            return
        for gate, line in lines.items():
            try:
                if isinstance(line, _Line):
                    line.compute(con)
            except (WarehouseError, duckdb.Error) as error:
                lines[gate] = error


class _Line:
    """The versions of a dataset's runs as one gate sees them, in the order of loading."""

    def __init__(self, con: duckdb.DuckDBPyConnection, gate: Gate) -> None:
        self.con, self.gate = con, gate
        _check_group(con, gate.dataset, gate.group)
        self.by_id = {one.run_id: one for one in seen(con, gate)}
        self.current = {one.run: one for one in self.by_id.values() if one.is_current}
        self.groups: dict[str | None, list[LoadedRun]] = defaultdict(list)
        self.versions: dict[str, list[LoadedRun]] = defaultdict(list)
        self.indices: dict[int, int] = {}
        for one in self.by_id.values():
            self.versions[one.run].append(one)
            if one.is_current:
                self.indices[one.run_id] = len(self.groups[one.group])
                self.groups[one.group].append(one)
        if gate.against not in CHOSEN:
            _check_name(gate.against, gate.dataset, self.current, CHOSEN)
        self.baselines = (
            gate_results.baselines(con, gate.dataset) if gate.against == BASELINE else []
        )
        self.has_interval = gate.limits.are_tested and not gate.limits.sequential
        self.width = _width(gate) if gate.limits.sequential else None
        self.tests: dict[tuple[int, int], dict[str, Any]] = {}
        self.needed: dict[tuple[int, int], None] = {}
        self.streaks: dict[str | None, int] = {}
        self.bests: dict[str | None, tuple[int, LoadedRun | None]] = {}

    def _candidates(self, run: LoadedRun, red: Collection[int]) -> Iterator[LoadedRun]:
        """Yield the runs of the group before it, and its own versions, newest first, if not red."""
        index, group = self.indices[run.run_id], self.groups[run.group]
        own = [one for one in self.versions[run.run] if one.turn < run.turn]
        while index or own:
            if own and (not index or own[-1].turn > group[index - 1].turn):
                one = own.pop()
            else:
                index -= 1
                one = group[index]
            # what was replaced before it was evaluated cannot be any more
            if one.run_id not in red and (one.is_current or _is_alike(one, run)):
                yield one

    def _reference(self, run: LoadedRun, red: Collection[int]) -> LoadedRun | None:
        """Return the run's reference. Raises UsageError if values are missing."""
        against = self.gate.against
        if against == LAST:
            return self._evaluated(next(self._candidates(run, red), None), run)
        if against == BEST:
            best = self._evaluated(self._best_of_group(run, red), run)
            found = [one for one in self.versions[run.run] if one.turn < run.turn]
            found = [one for one in found if one.run_id not in red and _is_alike(one, run)]
            found += [] if best is None else [best]
            return max(sorted(found, key=lambda one: one.turn), key=_goodness, default=None)
        named = [self.current.get(name) for name in self.baselines or [against]]
        if against == BASELINE:
            named = [one for one in named if one is not None and one.group == run.group]
        other = next(iter(named), None)
        if other is None or other is run:
            return other
        if other.run_id in red:
            accept = shlex.join(["gates", "accept", other.run, "--why", "…"])
            raise UsageError(
                f"{other.run}: a gate fired when it was checked, so nothing is compared with it until "
                f"it is accepted: {command(accept, self.gate.dataset)}"
            )
        return self._evaluated(other, run)

    def _best_of_group(self, run: LoadedRun, red: Collection[int]) -> LoadedRun | None:
        """Return the best run of a group before a run, going on from the run that was checked before."""
        index, group = self.indices[run.run_id], self.groups[run.group]
        first, best = self.bests.get(run.group, (0, None))
        if first > index:
            first, best = 0, None
        for one in group[first:index]:
            if one.run_id not in red and _goodness(self._evaluated(one, run)) > _goodness(best):
                best = one
        self.bests[run.group] = index, best
        return best

    def _evaluated(self, one: LoadedRun | None, run: LoadedRun) -> LoadedRun | None:
        """Return a run; refuse one that has no value by the same formula."""
        if one is None or _is_alike(one, run):
            return one
        gate = self.gate
        rules = stored_metrics.stored_rules(self.con, gate.protocol)
        evaluate = stored_metrics.evaluate_command(self.con, gate.dataset, [gate.metric], rules)
        raise MissingValueError(
            f"{gate.dataset}: no value of {gate.metric} for {one.name}, or none by the same formula, "
            f"under protocol {gate.protocol} yet: {evaluate}"
        )

    def verdict(self, due: Due, red: Collection[int], ordinal: int) -> Comparison | None:
        """Return the verdict on a run; None if its test is needed first, which is then asked for."""
        run, limits = self.by_id[due.run_id], self.gate.limits.at(ordinal)
        self._evaluated(run, run)
        self._check(run)
        if run.value is None:
            return self._result(run, None, "unchecked", f"{run.run} has no defined value")
        why = limits.passed(run.value)
        other = None if limits.are_bounds else self._reference(run, red)
        if limits.are_bounds or other is run:
            return self._result(run, None, "worse" if why else "good", " and ".join(why) or None)
        found: dict[str, Any] | None = {}
        if other is not None:
            found = self.tests.get((run.run_id, other.run_id))
            if found is None:
                self._ask(run, other)
                return None
        assert found is not None
        cannot = self._cannot(run, other, found, limits)
        if cannot is None:
            found = self._tested(run, found, limits)
            if found["is_worse"]:
                valid = "anytime-valid " if limits.sequential else ""
                p = "" if found["p"] is None else f" with {valid}p {equal_or_below(found['p'])}"
                why = [f"it fell by {found['drop']:.4f}{p}", *why]
        else:
            found = {**found, "p": None}
        verdict: Verdict = "worse" if why else "good" if cannot is None else "unchecked"
        self.streaks[run.group] = self.streaks.get(run.group, 0) + 1 if verdict == "worse" else 0
        return self._result(run, other, verdict, " and ".join(why) or cannot, found)

    def _ask(self, run: LoadedRun, other: LoadedRun) -> None:
        """Ask for a test of a run; after red runs, for as many more, which may be red as well."""
        more = self.streaks.pop(run.group, 0) if self.gate.against == LAST else 0
        index = self.indices[run.run_id]
        for one in self.groups[run.group][index : index + 1 + more]:
            if _is_alike(one, other):
                self.needed[one.run_id, other.run_id] = None

    def _check(self, run: LoadedRun) -> None:
        """Refuse metrics that have no better direction, and tests of what is no mean over queries."""
        name, limits = self.gate.metric, self.gate.limits
        metric = known_metric(name)
        if run.direction == "none" and not limits.are_bounds:
            raise UsageError(f"{name}: neither higher nor lower is better, so no run is worse")
        if limits.are_tested and metric is not None and metric.name == "Judged":
            raise UsageError(
                f"{name}: says how much is judged, not how good a run is, so it is not tested: give "
                f"{option('strict')}"
            )
        if limits.are_tested:
            check_tested(name, str(run.aggregate))

    def _cannot(
        self, run: LoadedRun, other: LoadedRun | None, found: Mapping[str, Any], limits: Limits
    ) -> str | None:
        """Return why a drop cannot be tested, or None."""
        if other is None:
            if self.gate.against == BASELINE:
                return "its group has no baseline yet: warehouse gates baseline RUN"
            left = self._num_versions_left_out(run)
            but = f" but {_left_out(left)}" if left else ""
            return (
                "every run before it is red"
                if self.indices[run.run_id]
                else f"no run was before it{but}"
            )
        if other.value is None:
            return f"{other.name} has no defined value"
        pairs, alone = found["num_pairs"], found["num_left_out"]
        if pairs < max(1, alone):
            of = counted(pairs + alone, "query")
            return f"{other.name} has a value of only {pairs:,} of their {of} in common"
        if not limits.are_tested:
            return None
        level = limits.level(self.gate.against)
        least = 2.0**-pairs if self.width is None else _least_p(pairs, self.width, limits.budget)
        if least < level:
            return None
        return (
            f"cannot be resolved with these queries: no p of {counted(pairs, 'query')} can be below "
            f"{probability(least)}, and the level is {level:.3g}"
        )

    def _tested(self, run: LoadedRun, found: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Return a test with its verdict, its interval and its p against a chosen reference."""
        if not limits.are_tested:
            drop = round(found["drop"], stored_metrics.DIGITS)
            return found | {"p": None, "is_worse": drop > limits.budget}
        level, p = limits.level(self.gate.against), found["p"]
        if self._is_chosen_by_value:
            p = chosen_p(p, self._num_others(run))
        found = found | {"p": p, "is_worse": p < level}
        if found["bound"] is not None and found["standard_error"]:
            error, bound = found["standard_error"], found["bound"]
            mean = -run.better * found["mean_drop"]
            found |= {"low": mean - bound * error, "high": mean + bound * error}
            found["could_see"] = limits.budget + (bound + found["power_bound"]) * error
        return found

    @property
    def _is_chosen_by_value(self) -> bool:
        return self.gate.against == BEST and not self.gate.limits.sequential

    def _num_others(self, run: LoadedRun) -> int:
        """Return how many runs the best one before a run was chosen among, red ones too."""
        own = [one for one in self.versions[run.run] if one.turn < run.turn]
        return self.indices[run.run_id] + len(own)

    def _level(self, run: LoadedRun) -> float | None:
        """Return the level of the t-test of a run and its reference."""
        if not self.has_interval:
            return None
        level = self.gate.limits.level(self.gate.against)
        return pair_level(level, self._num_others(run)) if self._is_chosen_by_value else level

    def compute(self, con: duckdb.DuckDBPyConnection) -> None:
        """Compute the tests that are needed, all in one statement."""
        asked, self.needed = list(self.needed), {}
        if not asked:
            return
        limits = self.gate.limits
        sides = [(self.by_id[run_id], self.by_id[other_id]) for run_id, other_id in asked]
        sql = render(
            "analyses/regressions", lost=LOST, has_interval=self.has_interval, width=self.width
        )
        pairs = [
            {
                "pair": n,
                "evaluation_id": one.evaluation_id,
                "their_evaluation_id": its.evaluation_id,
                "level": self._level(one),
            }
            for n, (one, its) in enumerate(sides)
        ]
        given = {"pairs": pairs, "better": sides[0][0].better, "max_drop": limits.budget}
        for key in asked:
            self.tests[key] = {"num_pairs": 0, "num_left_out": 0}
        for row in database.records(database.keep(con, sql, given)):
            run, other = sides[row["pair"]]
            drop = None
            if run.value is not None and other.value is not None:
                drop = run.better * (other.value - run.value)
            self.tests[run.run_id, other.run_id] = row | {"drop": drop}

    def _num_versions_left_out(self, run: LoadedRun) -> int:
        own = self.versions[run.run]
        return sum(one.turn < run.turn and not _is_alike(one, run) for one in own)

    def _result(
        self,
        run: LoadedRun,
        other: LoadedRun | None,
        verdict: Verdict,
        why: str | None,
        found: Mapping[str, Any] | None = None,
    ) -> Comparison:
        known = {key: (found or {}).get(key) for key in _OF_TEST}
        lost = (found or {}).get("lost_most") or ()
        is_chosen = self.gate.against in (LAST, BEST) and not self.gate.limits.are_bounds
        has_both = other is not None and run.value is not None and other.value is not None
        return Comparison(
            metric=self.gate.metric,
            run=run.run,
            run_id=run.run_id,
            reference_id=None if other is None else other.run_id,
            qrels_id=run.qrels_id or 0,
            fingerprint=run.checked_as or "",
            against=None if other is None else other.name,
            value=run.value,
            their_value=None if other is None else other.value,
            difference=run.value - other.value if has_both else None,  # type: ignore[operator,union-attr]
            direction=run.direction or "none",
            verdict=verdict,
            why=why,
            num_versions_left_out=self._num_versions_left_out(run) if is_chosen else 0,
            lost_most=tuple((q["query_id"], q["value"], q["their_value"]) for q in lost),
            **{key: value for key, value in known.items() if value is not None},
        )


_OF_TEST = (
    "p", "low", "high", "could_see", "num_pairs", "wins", "ties", "losses", "num_left_out",
)  # fmt: skip


class MissingValueError(UsageError):
    """A run has no value yet."""


def _is_alike(one: LoadedRun, other: LoadedRun) -> bool:
    """Whether a run has a value by the same formula as another."""
    return one.evaluation_id is not None and one.fingerprint == other.fingerprint


def _goodness(run: LoadedRun | None) -> float:
    if run is None or run.value is None:
        return -math.inf
    return round(run.better * run.value, stored_metrics.DIGITS)


def seen(con: duckdb.DuckDBPyConnection, gate: Gate) -> list[LoadedRun]:
    """Return the versions of a dataset's runs as a gate sees them, in the order of loading."""
    sql = render(
        "statements/gate_runs",
        grouped_by=gate.group,
        assessed=requirements.assessed_metrics([gate.metric]),
    )
    names = ("metric", "protocol", "grouped_by", "against", "limits")
    given = {"dataset": gate.dataset} | dict(zip(names, gate.key, strict=True))
    return [LoadedRun(*row) for row in con.execute(sql, given).fetchall()]


def check_tested(metric: str, aggregate: str) -> None:
    """Refuse to test a metric that is no mean over queries."""
    if aggregate != "mean":
        raise UsageError(
            f"{metric}: is no mean over the queries ({aggregate.replace('_', ' ')}), so no test says "
            f"whether a drop is chance: give strict, min or max"
        )


def _width(gate: Gate) -> float:
    """Return how far apart two values of a metric can be. Raises UsageError if that is not known."""
    metric = None if protocols.is_imported(gate.protocol) else known_metric(gate.metric)
    low, high = (-math.inf, math.inf) if metric is None else catalogue()[metric.name].range
    if not math.isfinite(high - low):
        raise UsageError(
            f"{gate.metric}: has no greatest and lowest value, and the sequential test is of metrics "
            "that have both, as nDCG@10: leave sequential out"
        )
    return high - low


def _least_p(queries: int, width: float, budget: float) -> float:
    """Return the least p of the sequential test: each of so many queries lost as much as it can.

    >>> round(_least_p(4, 1, 0), 3), round(_least_p(4, 1, 0.6), 3)
    (0.163, 0.61)
    """
    lost = (width - budget) / (width + budget)
    return 31 / sum((1 + share / 32 * lost) ** queries for share in range(1, 32))


# Points and masses of the normal distribution, which turn an integral over it into a sum.
_POINTS = [(step / 4, _NORMAL.pdf(step / 4) / 4) for step in range(-36, 37)]


def chosen_p(p: float, number: int) -> float:
    """Return the one-sided p of a run against the best of `number` others, from the p of the pair.

    It is Dunnett's for one run against many, by the normal distribution: the chance that the best of
    `number` runs that are all equal to it is as far above it.

    >>> round(chosen_p(0.05, 1), 12), round(chosen_p(0.05, 2), 3)
    (0.05, 0.088)
    """
    z = -_NORMAL.inv_cdf(min(max(p, 1e-300), 1 - 1e-16))
    total = 0.0
    for point, mass in _POINTS:
        above = math.erfc(z + point / math.sqrt(2)) / 2
        total -= mass * (math.expm1(number * math.log1p(-above)) if above < 1 else -1.0)
    return total


@cache
def pair_level(level: float, number: int) -> float:
    """Return the p of a pair at which `chosen_p` is a level.

    >>> round(pair_level(0.05, 1), 12), round(chosen_p(pair_level(0.05, 9), 9), 9)
    (0.05, 0.05)
    """

    def excess(p: float) -> float:
        return math.log(chosen_p(p, number) / level)

    # secants on logarithms, which are nearly on a line, from Bonferroni's p
    low, high = math.log(level / number), math.log(level)
    before, p = high, low
    above, found = excess(math.exp(before)), excess(math.exp(p))
    while abs(found) > 1e-10 and abs(p - before) > 1e-12:
        step = found * (p - before) / (found - above) if found != above else 0.0
        before, above = p, found
        p = min(max(p - step, low), high)
        found = excess(math.exp(p))
    return math.exp(p)


def _left_out(number: int) -> str:
    versions = counted(number, "earlier version")
    return f"{versions} of it without a value by the same formula against the current qrels"


def _check_group(con: duckdb.DuckDBPyConnection, dataset: str, group: str | None) -> None:
    """Refuse to group by a tag that no run of the dataset has."""
    if group in (None, SYSTEM):
        return
    rows = con.execute(
        "select distinct key from run_tag join run_version using (run_id) where dataset = $1",
        [dataset],
    ).fetchall()
    known = sorted(str(key) for (key,) in rows)
    if group not in known:
        hint = nearest(str(group), [SYSTEM, *known])
        hint = hint or f"; there are {listing([SYSTEM, *known])}"
        raise UsageError(f"group: {group}: no run of {dataset} has a tag of that name{hint}")
