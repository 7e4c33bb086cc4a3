"""The metrics in polars, by hand, as one would write them for speed: no checks, one way to break ties.

Where few documents of a query are judged, their ranks are found by counting those above; a sort of
everything takes several times as long. From Parquet it reads Parquet.
"""

from __future__ import annotations

import arguments
import polars as pl

FEW = 10
is_rel, rank = pl.col("relevance") > 0, pl.col("rank")
precision = pl.col("above") / rank
TEXT = {"query_id": pl.String, "doc_id": pl.String}


def read(path: str, places: list[int], last: str, type_: type[pl.DataType]) -> pl.LazyFrame:
    """Read two ids and a number from three of the columns of a file."""
    if path.endswith(".parquet"):
        return pl.scan_parquet(path)
    with open(path) as file:  # noqa: PTH123
        width = len(file.readline().split())
    names = [f"column_{i}" for i in range(width)]
    for place, name in zip(places, (*TEXT, last), strict=True):
        names[place] = name
    types = {name: (TEXT | {last: type_}).get(name, pl.String) for name in names}
    lines = pl.scan_csv(path, separator=" ", has_header=False, quote_char=None, schema=types)
    return lines.select(*TEXT, last)


def hits(run: pl.LazyFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Return the judged documents of a run with rank, and the relevant and other ones up to it."""
    few = qrels.height <= FEW * qrels["query_id"].n_unique()
    if few:
        lines = run.collect()
        found = lines.join(qrels, on=["query_id", "doc_id"])
        higher = pl.col("score_right") > pl.col("score")
        same = pl.col("score_right") == pl.col("score")
        above = higher | (same & (pl.col("doc_id_right") > pl.col("doc_id")))
        ranked = (
            found.lazy()
            .join(lines.lazy(), on="query_id")
            .group_by("query_id", "doc_id", "relevance")
            .agg((above.sum() + 1).alias("rank"))
            .collect()
        )
    else:
        ordered = run.sort("query_id", "score", "doc_id", descending=[False, True, True])
        ranked = (
            ordered.with_columns((pl.int_range(pl.len()).over("query_id") + 1).alias("rank"))
            .join(qrels.lazy(), on=["query_id", "doc_id"])
            .collect()
        )
    return ranked.sort("query_id", "rank").with_columns(
        is_rel.cum_sum().over("query_id").alias("above"),
        (~is_rel).cum_sum().over("query_id").alias("others"),
    )


def grounds(qrels: pl.DataFrame) -> pl.DataFrame:
    """Return what each query has in its judgments: how many of either kind, the best gains."""
    ordered = qrels.sort("query_id", "relevance", descending=[False, True]).with_columns(
        (pl.int_range(pl.len()).over("query_id") + 1).alias("rank")
    )
    gain = pl.col("relevance").clip(0) / (rank + 1).log(2)
    return ordered.group_by("query_id").agg(
        is_rel.sum().alias("relevant"),
        (pl.col("relevance") == 0).sum().alias("refused"),
        gain.sum().alias("best"),
        gain.filter(rank <= 10).sum().alias("best_10"),
    )


def formulas() -> dict[str, pl.Expr]:
    """Return each metric as an aggregate over a query's hits, its grounds beside them."""
    relevant = pl.col("relevant").first()
    gain = pl.col("relevance").clip(0) / (rank + 1).log(2)
    bound = pl.min_horizontal("relevant", "refused")
    worse = pl.min_horizontal("others", "relevant") / bound
    bpref = pl.when(pl.col("others") > 0).then(1 - worse).otherwise(1.0)
    found = {
        "AP": precision.filter(is_rel).sum() / relevant,
        "nDCG": gain.sum() / pl.col("best").first(),
        "nDCG@10": gain.filter(rank <= 10).sum() / pl.col("best_10").first(),
        "RR": (1 / rank).filter(is_rel).max(),
        "RR@10": (1 / rank).filter(is_rel, rank <= 10).max(),
        "Rprec": (is_rel & (rank <= pl.col("relevant"))).sum() / relevant,
        "bpref": bpref.filter(is_rel).sum() / relevant,
    }
    for k in (5, 10, 20, 100):
        found[f"P@{k}"] = (is_rel & (rank <= k)).sum() / k
    for k in (10, 100, 1000):
        found[f"R@{k}"] = (is_rel & (rank <= k)).sum() / relevant
    for k in (1, 5, 10):
        found[f"Success@{k}"] = (is_rel & (rank <= k)).any().cast(pl.Float64)
    for tenth in range(11):
        needed = (pl.col("relevant") * tenth / 10 - 1e-9).ceil()
        reached = is_rel & (pl.col("above") >= needed)
        found[f"IPrec@{tenth / 10:.1f}"] = precision.filter(reached).max()
    return found


def main() -> None:
    given = arguments.read()
    qrels = read(given.qrels, [0, 2, 3], "relevance", pl.Int64).collect()
    known, queries = grounds(qrels), qrels.select("query_id").unique()
    wanted = {name: expr.alias(name) for name, expr in formulas().items() if name in given.theirs}
    for path in given.runs:
        run = read(path, [0, 2, 4], "score", pl.Float64)
        per_query = hits(run, qrels).join(known, on="query_id").group_by("query_id").agg(**wanted)
        means = queries.join(per_query, on="query_id", how="left").select(
            pl.col(*wanted).fill_nan(0).fill_null(0).mean()
        )
        arguments.show(means.row(0, named=True))


main()
