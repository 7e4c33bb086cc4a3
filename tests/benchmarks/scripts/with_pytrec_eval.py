"""pytrec_eval on TREC files, read by its own readers."""

from __future__ import annotations

from pathlib import Path

import arguments
import pytrec_eval

given = arguments.read()
with Path(given.qrels).open() as file:
    qrels = pytrec_eval.parse_qrel(file)
evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(given.theirs.values()))
for path in given.runs:
    with Path(path).open() as file:
        run = pytrec_eval.parse_run(file)
    values = evaluator.evaluate(run)
    arguments.show(
        (ours, float(sum(of[theirs] for of in values.values()) / len(values)))
        for ours, theirs in given.theirs.items()
    )
