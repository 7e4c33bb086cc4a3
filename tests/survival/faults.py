"""Faults of the disk at every write of every operation: the file is as before or as after.

Each operation is done once whole, which counts its writes, and then again and again on a copy of the
same folder, with one fault at one of its writes. It is then done again without one, which must lead to
where it would have led at once. Times are not compared.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from pathlib import Path

from operations import OPERATIONS

from tests.survival.bench import Bench
from tests.survival.outcome import Outcome

MODES = {1: "killed at it", 2: "killed within it", 3: "disk full from there on", 4: "it fails"}


def compiler() -> str | None:
    """Return the C compiler, without which there are no faults."""
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


def survive(outcome: Outcome, count: int, seed: int) -> None:
    """Let so many faults happen, chosen by chance if there are more, and check what is left."""
    if compiler() is None:
        outcome.notes.append("no C compiler is there, so no library can be preloaded")
        return
    with tempfile.TemporaryDirectory(prefix="survival-") as place:
        folder = Path(place).resolve()
        library = folder / "faults.so"
        source = Path(__file__).with_name("faults.c")
        command = [str(compiler()), "-shared", "-fPIC", "-O1", "-o", str(library), str(source)]
        subprocess.run([*command, "-ldl"], check=True)
        bench = Bench(folder, preloaded=library)
        try:
            _survive(bench, outcome, count, random.Random(seed))
        finally:
            bench.close()


def _survive(bench: Bench, outcome: Outcome, count: int, dice: random.Random) -> None:
    after, cases = {}, []
    for name in OPERATIONS:
        with bench.copy() as folder:
            done = bench.do(name, mode=1)
            assert done["error"] is None, (name, done)
            after[name] = bench.contents(folder)
        outcome.sizes[name] = done["writes"]
        cases += [(name, nth + 1, mode) for nth in range(done["writes"]) for mode in MODES]
    dice.shuffle(cases)  # so that a part of them is of all operations
    chosen = cases[:count]
    outcome.begin(
        len(chosen),
        f"{len(OPERATIONS)} operations with {sum(outcome.sizes.values()):,} writes, "
        f"{len(cases):,} possible faults",
    )
    for name, nth, mode in chosen:
        with bench.copy(), outcome.case(f"{name}, write {nth}, {MODES[mode]}"):
            bench.check(name, bench.do(name, nth, mode), after[name], outcome)
