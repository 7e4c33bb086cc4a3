"""Print the values of ir_measures for the diversity measures, of every query and over all, as TSV.

    python -m venv peers && peers/bin/pip install ir-measures==0.4.3 pyndeval==0.0.8
    peers/bin/python tests/golden_peers/make_diversity.py > tests/golden_peers/diversity.tsv

The judgments by subtopic and the run, `diversity.qrels` and `diversity.run`, were made with `--random`.
"""

from __future__ import annotations

import argparse
import random
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent
NAMES = [
    *(f"{name}@{k}" for name in ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "P_IA", "StRecall")
      for k in (1, 5, 20)),
    *(f"{name}(rel=2)@10" for name in ("ERR_IA", "nERR_IA", "P_IA", "StRecall")),
    *(f"{name}(alpha={alpha})@10" for name in ("alpha_DCG", "alpha_nDCG")
      for alpha in (0.0, 0.25, 0.3, 1.0)),
    "alpha_DCG(rel=2,alpha=0.75)@7", "alpha_nDCG(rel=2,alpha=0.75)@7", "NRBP", "nNRBP",
    "NRBP(alpha=0.25,beta=0.9)", "nNRBP(alpha=0.25,beta=0.9)", "NRBP(rel=2)", "nNRBP(rel=2)",
    "AP_IA", "AP_IA(rel=2)",
]  # fmt: skip


def make_random() -> None:
    """Write judgments and a run without equal scores; nothing is relevant for query 11."""
    rng = random.Random(7)
    qrels, run = [], []
    for query in range(1, 13):
        docs = [f"d{n}" for n in rng.sample(range(200), rng.randint(5, 60))]
        scores = rng.sample(range(1, 10000), len(docs))
        order = sorted(zip(scores, docs, strict=True), reverse=True)
        run += [f"{query} Q0 {d} {n} {s} random" for n, (s, d) in enumerate(order, 1)]
        pool = [
            *rng.sample(docs, len(docs) // 2 + 1),
            *(f"u{n}" for n in range(rng.randint(0, 20))),
        ]
        grades = [0] if query == 11 else rng.choice([[0, 1], [0, 0, 0, 1, 2, 3], [0, 0, 2]])
        for subtopic in range(1, rng.randint(1, 8) + 1):
            for doc in rng.sample(pool, rng.randint(1, len(pool))):
                qrels.append(f"{query} {subtopic} {doc} {rng.choice(grades)}")
    (FOLDER / "diversity.qrels").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    (FOLDER / "diversity.run").write_text("\n".join(run) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", action="store_true")
    if parser.parse_args().random:
        make_random()
        return
    import ir_measures

    print(f"# ir_measures {version('ir_measures')}, pyndeval {version('pyndeval')}")
    print("measure\tquery_id\tvalue")
    qrels = list(ir_measures.read_trec_qrels(str(FOLDER / "diversity.qrels")))
    run = list(ir_measures.read_trec_run(str(FOLDER / "diversity.run")))
    for name in NAMES:
        found = ir_measures.calc([ir_measures.parse_measure(name)], qrels, run)
        for row in sorted(found.per_query, key=lambda row: int(row.query_id)):
            print(name, row.query_id, repr(float(row.value)), sep="\t")


if __name__ == "__main__":
    main()
