"""The files that one push of many values leaves in a lake: `python -m tests.benchmarks.fragments`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb

from warehouse.extensions.lake.tables import Lake

_VALUES = (
    "select 'mine' as dataset, md5((number // 1000)::varchar) as evaluation, "
    "'q' || number % 1000 as query_id, random() as value from range($values) as made(number)"
)


def fragments(values: int) -> list[int]:
    """Push so many values of 1,000 queries at once; return the sizes of the files in bytes."""
    with duckdb.connect() as con, tempfile.TemporaryDirectory() as folder:
        rows = con.sql(_VALUES, params={"values": values}).to_arrow_table()
        Lake(folder).append("query_score", rows)
        return sorted(path.stat().st_size for path in Path(folder).rglob("*.parquet"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--values", type=int, default=30_000_000)
    print(*(f"{size / 2**20:.0f} MB" for size in fragments(parser.parse_args().values)))
