"""The warehouse for ranking evaluation: runs and qrels in DuckDB, every metric one SQL template."""

__version__ = "0.1.0"
