"""ranx on TREC files, read by its own readers."""

from __future__ import annotations

import arguments
from ranx import Qrels, Run, evaluate

given = arguments.read()
qrels = Qrels.from_file(given.qrels, kind="trec")
for path in given.runs:
    run = Run.from_file(path, kind="trec")
    means = evaluate(qrels, run, list(given.theirs.values()))
    arguments.show((ours, float(means[theirs])) for ours, theirs in given.theirs.items())
