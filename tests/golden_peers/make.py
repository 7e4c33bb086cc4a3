"""Print the values of ir_measures for the user models, of every query and over all, as TSV.

    python -m venv peers && peers/bin/pip install ir-measures==0.4.3 cwl-eval==1.0.12
    peers/bin/python tests/golden_peers/make.py QRELS RUN... > tests/golden_peers/NAME.tsv

Needs perl for ERR (gdeval). `random.qrels` and `random.run` were made with `--random`.
"""

from __future__ import annotations

import argparse
import random
import warnings
from importlib.metadata import version
from pathlib import Path

NAMES = [
    "ERR@5", "ERR@10", "Compat", "Compat(p=0.8)", "Compat(normalize=False)", "Accuracy",
    "Accuracy@100", "SDCG(max_rel=3)@10", "SDCG(min_rel=1,max_rel=2)@5", "BPM(max_rel=3)@10",
    "BPM(T=2.5,max_rel=3)@20", "BPM(max_rel=2)@2", "INST(max_rel=3)", "INST(T=3.0,max_rel=2)",
    "INST(T=0.4,max_rel=3)", "INSQ(max_rel=3)", "INSQ(T=2.5,min_rel=1,max_rel=3)",
    "NERR8(max_rel=4)@10", "NERR8(max_rel=3)@5", "NERR9(max_rel=4)@10", "NERR9(max_rel=3)@20",
    "NERR10(max_rel=3)", "NERR10(p=0.5,max_rel=4)", "NERR11(max_rel=3)",
    "NERR11(T=2.0,max_rel=4)",
]  # fmt: skip


def make_random(folder: Path) -> None:
    """Write judgments and a run without equal scores; the last query has more than 1,000 documents."""
    rng = random.Random(19)
    qrels, run = [], []
    for query in range(1, 10):
        length = 1040 if query == 9 else rng.randint(4, 30)
        docs = [f"d{n}" for n in rng.sample(range(3 * length), length)]
        scores = rng.sample(range(1, 100 * length), length)
        order = sorted(zip(scores, docs, strict=True), reverse=True)
        run += [f"{query} Q0 {d} {n} {s} random" for n, (s, d) in enumerate(order, 1)]
        pool = [*rng.sample(docs, length // 2 if length < 99 else 30), "u1", "u2"]
        if query == 9:
            pool += [order[998][1], order[1001][1]]
        grades = [0] if query == 8 else [-1, 0, 1, 2, 3, 4]
        qrels += [f"{query} 0 {d} {rng.choice(grades)}" for d in dict.fromkeys(pool)]
    (folder / "random.qrels").write_text("\n".join(qrels) + "\n", encoding="utf-8")
    (folder / "random.run").write_text("\n".join(run) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    given = parser.parse_args()
    if given.random:
        make_random(Path(__file__).parent)
        return
    import ir_measures

    warnings.simplefilter("ignore")
    qrels_file, *runs = given.files
    made_by = " ".join(["make.py", *(path.name for path in given.files)])
    print(
        f"# ir_measures {version('ir_measures')}, cwl-eval {version('cwl-eval')}, gdeval 1.2a: {made_by}"
    )
    print("run\tmeasure\tquery_id\tvalue")
    qrels = list(ir_measures.read_trec_qrels(str(qrels_file)))
    for path in runs:
        run = list(ir_measures.read_trec_run(str(path)))
        label = path.name.removesuffix(".gz").removesuffix(".run")
        for name in NAMES:
            # One at a time: asked for together with others, Accuracy is 0 where it is left out alone.
            measure = ir_measures.parse_measure(name)
            try:
                found = ir_measures.calc([measure], qrels, run)
            except (
                ZeroDivisionError
            ):  # Accuracy of a query of which all that is looked at is relevant
                continue
            for row in sorted(found.per_query):
                print(label, name, row.query_id, repr(float(row.value)), sep="\t")
            print(label, name, "all", repr(float(found.aggregated[measure])), sep="\t")


if __name__ == "__main__":
    main()
