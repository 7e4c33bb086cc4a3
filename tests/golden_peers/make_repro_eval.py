"""Print what repro_eval, rbo and SciPy compute for real runs, as JSON with full digits.

    python -m venv peers && peers/bin/pip install repro_eval==0.5.0 ir_measures==0.4.3 pandas
    peers/bin/pip install --no-deps rbo==0.1.3
    peers/bin/python tests/golden_peers/make_repro_eval.py ../shared/cases > \
        tests/golden_peers/repro_eval.json

The measures of a pair of runs are those of repro_eval's functions over the scores of ir_measures. A
replication takes the original runs' scores on one half of the topics and the others' on the other.
`kendalltau` is over the ranks of the documents of both lists (intersection), or of either, where a list
has those that it lacks tied below its end (union). `rbo` cuts both lists at `depth`.
"""

from __future__ import annotations

import gzip
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ir_measures
from rbo import RankingSimilarity
from repro_eval.measure.document_order import KTU, RBO
from repro_eval.measure.effectiveness import RMSE, nRMSE
from repro_eval.measure.overall_effects import DRI, ER
from repro_eval.measure.statistics import ttest
from repro_eval.util import arp_scores, break_ties, evaluate_run
from scipy.stats import kendalltau

# (case, qrels, original, reproduced, original base, reproduced base)
PAIRS = [
    ("dl19_passage", "rr_v2aug_splade", "rr_v2aug_ada2", "splade_pp_ed", "ada2"),
    ("dl19_passage", "tasb", "ada2", "bm25_rm3", "bm25"),
    ("dl19_passage", "rr_vicuna13b_bm25", "rr_gpt35_bm25", "bm25", "bm25"),
    ("robust03", "pircRBa1", "UIUC03Rd1", "MU03rob01", "humR03dc"),
]
MEASURES = ["AP", "nDCG@10", "P@10", "RR"]
Run = dict[str, dict[str, float]]


def read(path: Path, score: int, number: type) -> dict[str, dict[str, Any]]:
    """Read a TREC file: documents and the number in a column, by query."""
    found: dict[str, dict[str, Any]] = {}
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in text.decode().splitlines():
        fields = line.split()
        found.setdefault(fields[0], {})[fields[2]] = number(fields[score])
    return found


def scores(qrels: Any, run: Run) -> dict[str, dict[str, float]]:
    return evaluate_run([ir_measures.parse_measure(m) for m in MEASURES], qrels, run)


def half(found: dict[str, Any], rest: int) -> dict[str, Any]:
    """Return every second topic, by id."""
    return {topic: found[topic] for topic in sorted(found)[rest::2]}


def of_scores(a: Any, a_rep: Any, b: Any, b_rep: Any, *, paired: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "arp": {"original": arp_scores(a), "reproduced": arp_scores(a_rep)},
        "p": ttest(a, a_rep, rpd=paired),
        "er": ER(a, b, a_rep, b_rep),
        "dri": DRI(a, b, a_rep, b_rep),
    }
    return made | ({"rmse": RMSE(a, a_rep), "nrmse": nRMSE(a, a_rep)} if paired else {})


def of_documents(one: Run, other: Run) -> dict[str, Any]:
    topics = sorted(set(one) & set(other))[:8]
    found: dict[str, Any] = {}
    for topic in topics:
        first, second = list(one[topic]), list(other[topic])
        here: dict[str, Any] = {}
        both = [doc for doc in first if doc in other[topic]]
        here["intersection"] = kendalltau(
            [first.index(d) for d in both], [second.index(d) for d in both]
        ).statistic
        union = sorted(set(first) | set(second))
        ranks = [{doc: n for n, doc in enumerate(docs)} for docs in (first, second)]
        here["union"] = kendalltau(
            *([rank.get(doc, len(rank)) for doc in union] for rank in ranks)
        ).statistic
        for depth in (10, 100):
            for p in (0.9, 0.98):
                alike = RankingSimilarity(first[:depth], second[:depth])
                here[f"rbo_ext p={p} depth={depth}"] = alike.rbo_ext(p=p)
        found[topic] = {key: float(value) for key, value in here.items()}
    return found


def main(cases: Path) -> None:
    names = ["repro_eval", "ir_measures", "pytrec_eval-terrier", "rbo", "scipy", "numpy"]
    made: dict[str, Any] = {"versions": {name: version(name) for name in names}, "pairs": []}
    for case, *runs in PAIRS:
        folder = cases / case
        (qrels_file,) = folder.glob("qrels.txt*")
        qrels = read(qrels_file, 3, int)
        a, a_rep, b, b_rep = (
            break_ties(read(folder / "runs" / f"{run}.run.gz", 4, float)) for run in runs
        )
        values = [scores(qrels, run) for run in (a, a_rep, b, b_rep)]
        judged = [{t: s for t, s in found.items() if t in qrels} for found in values]
        record: dict[str, Any] = {"case": case, "runs": runs}
        record["reproduction"] = of_scores(*judged, paired=True)
        halves = [half(found, place % 2) for place, found in enumerate(judged)]
        record["replication"] = of_scores(*halves, paired=False)
        if {len(docs) for docs in a.values()} == {len(docs) for docs in a_rep.values()}:
            record["ktu"] = KTU(a, a_rep)
        record["rbo"] = RBO(a, a_rep, p=0.95, depth=1000, pbar=False, per_topic=False)
        record["rbo p=0.8 depth=10"] = RBO(a, a_rep, p=0.8, depth=10, pbar=False, per_topic=False)
        record["queries"] = of_documents(a, a_rep)
        made["pairs"].append(record)
    json.dump(made, sys.stdout, indent=1)
    print()


main(Path(sys.argv[1]))
