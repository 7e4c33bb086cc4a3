"""Makes `judges.json`: what ppi-python and autojudge-evaluate say of random values of two judges.

    pip install --no-deps --target peers ppi-python==0.2.3 autojudge-evaluate==1.1.0
    PYTHONPATH=peers python tests/extensions/answers/make_judges.py

Both have dependencies or folders that the test environment cannot hold, so they are compared by
this file. Of autojudge-evaluate only the module tau_gap is run.
"""

from __future__ import annotations

import importlib.util
import json
import random
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

ALPHA = 0.05


def tau_gap() -> Callable[[list[float], list[float]], float]:
    """Return the function, without what its package imports."""
    place = next(
        Path(p) / "autojudge_evaluate/tau_gap.py"
        for p in sys.path
        if Path(p, "autojudge_evaluate").is_dir()
    )
    spec = importlib.util.spec_from_file_location("tau_gap", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.tau_gap


def main() -> None:
    """Write the file."""
    rng = random.Random(38)
    measure = tau_gap()
    runs, queries, human = 7, 40, 12
    judged = {f"r{r}": [round(rng.random(), 4) for _ in range(queries)] for r in range(runs)}
    corrected = {
        run: [round(min(1, max(0, value + rng.gauss(0.05, 0.15))), 4) for value in values[:human]]
        for run, values in judged.items()
    }
    powered = {}
    for run, values in judged.items():
        y, same, alone = (
            np.array(each) for each in (corrected[run], values[:human], values[human:])
        )
        powered[run] = {}
        for name, weight in (("plain", 1), ("tuned", None)):
            low, high = ppi_mean_ci(y, same, alone, alpha=ALPHA, lam=weight)
            estimate = ppi_mean_pointestimate(y, same, alone, lam=weight)
            powered[run][name] = [float(np.ravel(x)[0]) for x in (estimate, low, high)]
    truth = [float(np.mean(judged[run][:human])) for run in judged]
    predicted = [float(np.mean(corrected[run])) for run in judged]
    made = {
        "programs": {name: metadata.version(name) for name in ("ppi-python", "autojudge-evaluate")},
        "judged": judged,
        "corrected": corrected,
        "powered": powered,
        "tau_gap": measure(truth, predicted),
    }
    Path(__file__).with_name("judges.json").write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
