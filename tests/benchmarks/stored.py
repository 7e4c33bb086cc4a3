"""Make the warehouses with which a benchmark of stored runs begins.

Each folder gets warehouse.duckdb. That of the history is filled by ingest and evaluate; that of the
leaderboard holds one run that is, and copies of its values under other names, each changed a little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.benchmarks import metrics

FILE = "warehouse.duckdb"
DATASET = "work"
VALUES = "values.parquet"
EXTRA = "extra.trec"
"""The run that is not in the file yet."""
NEW_METRIC = "nDCG@10"
# Two more than everybody computes make thirty.
BOARD_METRICS = (*metrics.METRICS, "nDCG@5", "nDCG@20")
POOL = 8_841_823
CANDIDATES = 1_300
BATCH = 100

Maker = Callable[[Path, int, int, int, int], int]
"""Of a folder, and of how many queries, judgments, documents and runs; returns all judgments."""


def history(folder: Path, queries: int, judged: int, depth: int, runs: int) -> int:
    """Ingest many runs and evaluate them; return the number of judgments."""
    import duckdb

    from warehouse import Warehouse
    from warehouse.sql_text.quoting import literal

    con = duckdb.connect()
    con.execute(
        # numbers without a common divisor with the pool give each candidate a document of its own
        f"""
        create table candidate as
        select
            query::varchar as query_id,
            place,
            ((place * 2654435761 + query * 40503) % {POOL})::varchar as doc_id
        from range(1, {queries + 1}) as queries(query), range({CANDIDATES}) as places(place)
        """
    )
    qrels, text = folder / "qrels.txt", "format csv, delimiter ' ', header false, quote ''"
    con.execute(
        # the higher a document is, the likelier it was judged
        f"""
        copy (
            select
                query_id,
                0,
                doc_id,
                (grade > 0.6)::integer + (grade > 0.8)::integer + (grade > 0.93)::integer
            from (select *, {_uniform("'grade', doc_id")} as grade from candidate)
            qualify row_number() over (
                partition by query_id
                order by (place + 20) * -ln({_uniform("'judged', doc_id")} + 1e-12)
            ) <= {judged}
            order by query_id::integer, doc_id
        ) to {literal(str(qrels))} ({text})
        """
    )
    warehouse = Warehouse(folder / FILE)
    warehouse.ingest_qrels(DATASET, qrels)
    file = folder / "next.parquet"
    to_file, to_extra = literal(str(file)), literal(str(folder / EXTRA))
    for number in range(runs):
        run = _run(number, depth)
        con.execute(f"copy (select query_id, doc_id, score from ({run})) to {to_file}")
        warehouse.ingest_run(DATASET, file, name=f"run{number:04}")
        if (number + 1) % BATCH == 0:
            _say(number + 1, runs)
    file.unlink()
    extra = f"select query_id, 'Q0', doc_id, rank, score, 'extra' from ({_run(runs, depth)})"
    con.execute(f"copy ({extra}) to {to_extra} ({text})")
    warehouse.evaluate(DATASET, metrics=metrics.METRICS)
    return queries * judged


def _say(made: int, of: int) -> None:
    print(f"benchmarks: {made} of {of} runs are in the file", file=sys.stderr, flush=True)


def _uniform(key: str) -> str:
    return f"(hash({key}) % 1000003 / 1000003.0)"


def _run(number: int, depth: int) -> str:
    """Return SQL of a run: each disturbs one common order; every fiftieth score is that before it."""
    return f"""
        select
            query_id,
            doc_id,
            rank,
            round(30 - 0.02 * (step - {_uniform(f"{number}, query_id, step")}), 4) as score
        from (
            select
                query_id,
                doc_id,
                row_number() over (
                    partition by query_id
                    order by place + {depth} * {_uniform(f"{number}, query_id, place")}, doc_id
                ) as rank,
                rank - (hash({number}, query_id, rank) % 50 = 0)::integer as step
            from candidate
        )
        where rank <= {depth}
        order by query_id::integer, rank
    """


def compared(folder: Path, queries: int, judged: int, depth: int, runs: int) -> int:
    """Ingest runs of short lists and evaluate a few metrics; write the values of the queries too.

    A document's score is the higher the more relevant it is and the later the run.
    """
    import duckdb

    from warehouse import Warehouse

    (folder / FILE).unlink(missing_ok=True)
    warehouse = Warehouse(folder / FILE)
    listed = (
        f"select 'q' || query as query_id, 'd' || doc as doc_id, (doc < {judged})::integer as relevance "
        f"from range({queries}) as queries(query), range({depth}) as documents(doc)"
    )
    con = duckdb.connect()
    warehouse.ingest_qrels(DATASET, con.sql(listed))
    for run in range(runs):
        score = f"relevance * {0.2 + 0.01 * run} + {_uniform(f'{run}, query_id, doc_id')}"
        rows = con.sql(f"select query_id, doc_id, {score} as score from ({listed})")
        warehouse.ingest_run(DATASET, rows, name=f"run{run:02}")
        if (run + 1) % 10 == 0:
            _say(run + 1, runs)
    warehouse.evaluate(DATASET, metrics=("AP", "nDCG@10", "RR", "P@5", "Success@1"))
    with duckdb.connect(folder / FILE, read_only=True) as stored:
        values = stored.sql("select metric, run, query_id, value from query_scores")
        values.write_parquet(str(folder / VALUES))
    return queries * depth


def leaderboard(
    folder: Path,
    queries: int,
    judged: int,
    depth: int,
    runs: int,
    shown: Sequence[str] = BOARD_METRICS,
) -> int:
    """Evaluate one run and store its values again for many; return the number of judgments."""
    import duckdb

    from warehouse import Warehouse

    path = folder / FILE
    path.unlink(missing_ok=True)
    warehouse = Warehouse(path)
    named = [str(query) for query in range(1, queries + 1)]
    # the documents that are judged lie as deep as the query's number says
    relevant = {
        query: {str((int(query) * 7 + step**2 * 3) % depth): 1 + step % 3 for step in range(judged)}
        for query in named
    }
    ranked = {query: {str(doc): float(depth - doc) for doc in range(depth)} for query in named}
    warehouse.ingest_qrels(DATASET, relevant)
    warehouse.ingest_run(DATASET, ranked, name="run00000")
    warehouse.evaluate(DATASET, metrics=shown)
    with duckdb.connect(path) as con:
        for first in range(1, runs, BATCH):
            _copy(con, first, min(first + BATCH, runs), len(shown))
    return sum(len(documents) for documents in relevant.values())


def _copy(con: object, first: int, end: int, evaluations: int) -> None:
    """Store what there is of run 1 once more for each of some numbers, whatever the columns are."""
    new = {
        "run_id": "run_id + copy",
        "evaluation_id": f"evaluation_id + {evaluations} * copy",
        "name": "format('run{:05d}', copy)",
        "content_hash": "content_hash || '-' || copy",
        "value": f"value * (1 - hash(evaluation_id + {evaluations} * copy) % 1000 / 2000)",
    }
    for table in ("run", "hit_set", "evaluation", "score", "query_score", "current_score"):
        columns = [row[0] for row in con.execute(f"describe store.{table}").fetchall()]  # type: ignore[attr-defined]
        changed = ", ".join(f"{new[name]} as {name}" for name in columns if name in new)
        order = "evaluation_id" if "evaluation_id" in columns else "run_id"
        seed = "run_id = 1" if "run_id" in columns else f"evaluation_id <= {evaluations}"
        con.execute(  # type: ignore[attr-defined]
            f"insert into store.{table} by name "
            f"select * exclude (copy) replace ({changed}) from store.{table}, "
            f"range({first}, {end}) as copies(copy) where {seed} order by {order}"
        )
