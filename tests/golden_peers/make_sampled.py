"""Makes `sampled.qrels`, `sampled.run` and `sampled.json`: what NIST's scripts say of sampled pools.

    python tests/golden_peers/make_sampled.py sample_eval.pl statAP_MQ_eval_v3.pl rounded.pl

The first is of TREC (trec.nist.gov/data/clinical), with the AP adjustment of 2012; the second of the
Million Query track (trec.nist.gov/data/web/09); the third is the other version of the first, which
rounds the numbers of the ideal ranking since 10 Oct 11, as in github.com/amillert/TREC-elastic. It
needs perl. In query 6 nothing is relevant.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RATES = {1: 1.0, 2: 0.5, 3: 0.25}


def main() -> None:
    """Write the files."""
    rng = random.Random(5)
    qrels, run, prels = [], [], []
    docs = [f"d{n:03}" for n in range(80)]
    for query in range(1, 7):
        for place, doc in enumerate(sorted(rng.sample(docs, 60))):
            stratum = 1 if place < 12 else 2 if place < 30 else 3
            grade = rng.choice([0, 0, 1, 2, 3]) if rng.random() < RATES[stratum] else -1
            grade = min(grade, 0) if query == 6 else grade
            qrels.append(f"{query} 0 {doc} {stratum} {grade}\n")
            if grade >= 0:
                prels.append(f"{query} {doc} {grade} 1 {RATES[stratum]}\n")
        for rank, doc in enumerate(rng.sample(docs, 70), 1):
            run.append(f"{query} Q0 {doc} {rank} {1000 - rank} made\n")
    (HERE / "sampled.qrels").write_text("".join(qrels))
    (HERE / "sampled.run").write_text("".join(run))
    places = [str(HERE / "sampled.qrels"), str(HERE / "sampled.run")]
    made: dict[str, dict[str, float]] = {"xinfAP@1000": {}, "infNDCG@1000": {}, "statAP": {}}
    for name, query, value in printed(sys.argv[1], places):
        made[{"AP": "xinfAP@1000", "NDCG": "infNDCG@1000"}[name]][query] = float(value)
    made["infNDCG(ideal=rounded)@1000"] = {
        query: float(value) for name, query, value in printed(sys.argv[3], places) if name == "NDCG"
    }
    with tempfile.TemporaryDirectory() as folder:
        # what it loads from the network is not used
        script = Path(folder, "script.pl")
        script.write_text(Path(sys.argv[2]).read_text().replace("use LWP::Simple;", ""))
        Path(folder, "prels").write_text("".join(prels))
        call = ["perl", script, "-q", Path(folder, "prels"), places[1]]
        told = subprocess.run(call, check=False, capture_output=True, text=True).stdout
    for query, value in re.findall(r"topic=(\d+).*?\bAP=([\d.]+)", told, re.DOTALL):
        made["statAP"].setdefault(query, float(value))
    made["statAP"].pop("6", None)
    made["statAP"]["all"] = float(re.findall(r"statMAP_on_valid_topics=([\d.]+)", told)[0])
    (HERE / "sampled.json").write_text(json.dumps(made, indent=1) + "\n")


def printed(script: str, places: list[str]) -> list[tuple[str, str, str]]:
    """Return what a version of sample_eval.pl prints: measure, query and value."""
    told = subprocess.run(
        ["perl", script, "-q", *places], check=False, capture_output=True, text=True
    ).stdout
    return re.findall(r"^inf(AP|NDCG)\s+(\w+)\s+([\d.]+)$", told, re.MULTILINE)


if __name__ == "__main__":
    main()
