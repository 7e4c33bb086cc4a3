"""Let the contenders of a benchmark alternate, and compare what they say."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks import measure, metrics
from tests.benchmarks.contenders import Contender, environment
from tests.benchmarks.measure import Cost, Failed

_OURS = {known["trec_eval"]: ours for ours, known in metrics.NAMES.items() if "trec_eval" in known}


@dataclass
class Result:
    """What a contender took in each round, and the means that it found."""

    contender: Contender
    costs: list[Cost] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    file_bytes: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def median(self) -> Cost:
        return measure.median(self.costs)


def alternate(
    contenders: Sequence[Contender], folder: Path, repeat: int, say: Callable[[str], None]
) -> tuple[list[Result], list[str]]:
    """Run everybody once to warm up, then `repeat` rounds; return the results and who failed why."""
    results: list[Result] = []
    failed: list[str] = []
    for contender in contenders:
        try:
            cost = _once(contender, folder)
            say(f"{contender.name}: warm after {cost.wall_s:.2f} s")
            values, notes = _said(contender, folder)
            results.append(Result(contender, values=values, notes=notes))
        except Failed as error:
            failed.append(f"{contender.name} failed: {error}")
    for number in range(repeat):
        for result in results if number % 2 == 0 else reversed(results):
            result.costs.append(_once(result.contender, folder))
            if result.contender.file is not None:
                result.file_bytes = result.contender.file.stat().st_size
        say(f"round {number + 1} of {repeat} done")
    return results, failed


def difference(a: dict[str, float], b: dict[str, float]) -> float | None:
    """Return the largest difference between two programs' means; None where nothing is shared."""
    return max((abs(a[name] - b[name]) for name in a.keys() & b.keys()), default=None)


def _once(contender: Contender, folder: Path) -> Cost:
    if contender.file is not None:
        for left in contender.file.parent.glob(f"{contender.file.name}*"):
            left.unlink()
    out = folder / "output"
    measure.run(contender.before, out, environment())
    cost = measure.run(contender.commands, out, environment())
    if contender.times_itself:
        told = dict(re.findall(r"^(wall_s|cpu_s): (.+)$", out.read_text(), re.MULTILINE))
        return Cost(float(told["wall_s"]), float(told["cpu_s"]), cost.peak_mb)
    return cost


def _said(contender: Contender, folder: Path) -> tuple[dict[str, float], list[str]]:
    """Return the mean over the runs of each metric, by our name, and the notes printed last."""
    out = folder / "output"
    if contender.shows is not None:
        measure.run([contender.shows], out, environment())
    found: dict[str, list[float]] = {}
    notes: list[str] = []
    for line in out.read_text(encoding="utf-8").splitlines():
        # ours and the scripts': name,value; trec_eval's: name, all, value
        if read := re.fullmatch(r"([\w@.]+)(?:,|\s+all\s+)([\d.e+-]+)", line.strip()):
            found.setdefault(_OURS.get(read[1], read[1]), []).append(float(read[2]))
        elif line.startswith("note: "):
            notes.append(line.removeprefix("note: "))
    means = {name: statistics.fmean(v) for name, v in found.items() if name in metrics.NAMES}
    return means, notes
