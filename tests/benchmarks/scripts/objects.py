"""What a call takes on objects in memory: `objects.py PROGRAM KIND QRELS RUN --calls N --metric …`.

QRELS is TREC text, RUN Parquet; both become objects of the KIND before anything is timed. A first call,
on the first few queries, is not timed: it loads what is loaded late, and ranx compiles its formulas.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import arguments
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

FEW = 3
Objects = tuple[Any, Any]
Means = Mapping[str, float]


def tables(qrels: str, run: str) -> tuple[pa.Table, pa.Table]:
    """Read the files."""
    names = ["query_id", "iteration", "doc_id", "relevance"]
    judged = pa.csv.read_csv(
        qrels,
        read_options=pa.csv.ReadOptions(column_names=names),
        parse_options=pa.csv.ParseOptions(delimiter=" "),
        convert_options=pa.csv.ConvertOptions(
            column_types={"query_id": pa.string(), "doc_id": pa.string(), "relevance": pa.int64()}
        ),
    )
    return judged.drop_columns("iteration"), pa.parquet.read_table(run)


def objects(kind: str, judged: pa.Table, ranked: pa.Table) -> Objects:
    """Return qrels and run as they lie in the memory of whoever calls."""
    if kind == "dict":
        return nested(judged, "relevance"), nested(ranked, "score")
    if kind == "pandas":
        return judged.to_pandas(), ranked.to_pandas()
    if kind == "polars":
        import polars as pl

        return pl.from_arrow(judged), pl.from_arrow(ranked)
    return judged, ranked


def nested(table: pa.Table, last: str) -> dict[str, dict[str, Any]]:
    """Return {query: {document: number}}."""
    found: dict[str, dict[str, Any]] = {}
    columns = (table[name].to_pylist() for name in ("query_id", "doc_id", last))
    for query, doc, value in zip(*columns, strict=True):
        found.setdefault(query, {})[doc] = value
    return found


def warehouse(given: Objects, theirs: Mapping[str, str]) -> Callable[[], Means]:
    from warehouse import Warehouse

    qrels, run = given
    return lambda: Warehouse.score(qrels, run, list(theirs.values())).means()  # type: ignore


def warehouse_prepared(given: Objects, theirs: Mapping[str, str]) -> Callable[[], Means]:
    from warehouse import Warehouse

    qrels, run = given
    scorer = Warehouse.scorer(qrels, list(theirs.values()))
    return lambda: scorer(run).means()  # type: ignore


def pytrec_eval(given: Objects, theirs: Mapping[str, str]) -> Callable[[], Means]:
    import pytrec_eval

    qrels, run = given

    def call() -> Means:
        values = pytrec_eval.RelevanceEvaluator(qrels, set(theirs.values())).evaluate(run)
        return {
            name: sum(of[name] for of in values.values()) / len(values) for name in theirs.values()
        }

    return call


def ranx(given: Objects, theirs: Mapping[str, str]) -> Callable[[], Means]:
    from ranx import Qrels, Run, evaluate

    qrels, run = given
    return lambda: evaluate(Qrels(qrels), Run(run), list(theirs.values()))


def ranx_built(given: Objects, theirs: Mapping[str, str]) -> Callable[[], Means]:
    from ranx import Qrels, Run, evaluate

    qrels, run = Qrels(given[0]), Run(given[1])
    return lambda: evaluate(qrels, run, list(theirs.values()))


PROGRAMS = {f.__name__: f for f in (warehouse, warehouse_prepared, pytrec_eval, ranx, ranx_built)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("program", choices=PROGRAMS)
    parser.add_argument("kind", choices=("dict", "pandas", "polars", "arrow"))
    parser.add_argument("qrels")
    parser.add_argument("run")
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--metric", action="append", default=[])
    given = parser.parse_args()
    theirs = arguments.pairs(given.metric)
    judged, ranked = tables(given.qrels, given.run)
    first = pc.unique(ranked["query_id"]).slice(0, FEW)
    few = [table.filter(pc.is_in(table["query_id"], first)) for table in (judged, ranked)]
    prepare = PROGRAMS[given.program]
    prepare(objects(given.kind, *few), theirs)()
    call = prepare(objects(given.kind, judged, ranked), theirs)
    if given.kind != "arrow":
        del judged, ranked, few
    means = arguments.timed(call, given.calls)
    arguments.show((ours, float(means[name])) for ours, name in theirs.items())


main()
