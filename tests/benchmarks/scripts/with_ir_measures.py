"""ir_measures on TREC files, read by its own readers."""

from __future__ import annotations

import arguments
import ir_measures

given = arguments.read()
measures = {ours: ir_measures.parse_measure(theirs) for ours, theirs in given.theirs.items()}
evaluator = ir_measures.evaluator(
    list(measures.values()), list(ir_measures.read_trec_qrels(given.qrels))
)
for path in given.runs:
    means = evaluator.calc_aggregate(ir_measures.read_trec_run(path))
    arguments.show((ours, float(means[measure])) for ours, measure in measures.items())
