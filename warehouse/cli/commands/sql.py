"""`warehouse sql`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from warehouse.cli import completion, options, output

SECTION, PLACE = "Look", 7
EXAMPLES = {
    "sql": (
        "warehouse sql nDCG@10",
        "warehouse sql AP nDCG@10 --run my_run --qrels my_qrels",
        "warehouse sql RR --dataset dl19 --by-query",
        "warehouse sql AP nDCG@10 --dialect postgres",
        "warehouse sql AP nDCG@10 --as model -o quality.sql",
        "warehouse sql --pack -o ranking.sql",
    )
}


def sql(
    metrics: Annotated[
        list[str] | None,
        typer.Argument(
            autocompletion=completion.metrics,
            show_default=False,
            help="Metrics by any of their names, as in nDCG@10 or map_cut_100.",
        ),
    ] = None,
    run: Annotated[
        str, "The table of runs, perhaps with its schema.", {"metavar": "TABLE"}
    ] = "run",
    qrels: Annotated[str, "The table of judgments.", {"metavar": "TABLE"}] = "qrels",
    dataset: Annotated[
        str | None,
        "Read the current runs and qrels of this dataset in a warehouse.",
        "-d",
        {"autocompletion": completion.datasets},
    ] = None,
    by_query: Annotated[bool, "Return a value for each query."] = False,
    dialect: Annotated[
        str | None,
        "Write one statement of this database, without macros: postgres and spark, which we "
        "compare, duckdb, or bigquery and snowflake, which we have not run.",
        {"metavar": "NAME"},
    ] = None,
    form: Annotated[
        Literal["query", "macro", "model"],
        "A query over the two tables, table macros that are given tables, or a model of dbt.",
        "--as",
    ] = "query",
    pack: Annotated[
        bool,
        "Print table macros of all established metrics, as in: from nDCG('my_run', "
        "'my_qrels', k := 10) or from evaluate('my_run', 'my_qrels', ['AP', 'nDCG@10']).",
    ] = False,
    protocol: options.Protocol = "default",
    exclude: options.Exclude = None,
    out: options.Output = None,
) -> None:
    """Print metrics as SQL that runs anywhere DuckDB does.

    It is one statement, behind the macros that it calls, over two tables: the runs, with the columns
    run, query_id, doc_id and score, and the qrels, with the columns query_id, doc_id and relevance. It
    returns the columns metric, run and value. With --dataset it reads a warehouse or a replica.
    """
    from warehouse.errors import UsageError
    from warehouse.metrics.protocols import without
    from warehouse.warehouse import Warehouse

    if dataset is not None and (run, qrels) != ("run", "qrels"):
        raise UsageError("--dataset reads a warehouse: leave out --run and --qrels, or --dataset")
    rules = without(protocol, exclude)
    if pack:
        alone = not (metrics or dataset or by_query or dialect) and form == "query"
        if not alone or (run, qrels) != ("run", "qrels"):
            raise UsageError("--pack has all established metrics, over any tables: give it alone")
        output.emit(Warehouse.sql_macros(rules), out, "sql")
        return
    if not metrics:
        raise UsageError(
            "which metrics? As in: warehouse sql nDCG@10 AP; or all, as macros: --pack"
        )
    text = Warehouse.sql(
        metrics, run=run, qrels=qrels, dataset=dataset, protocol=rules, by_query=by_query,
        dialect=dialect, form=form,
    )  # fmt: skip
    output.emit(text, out, "sql")
