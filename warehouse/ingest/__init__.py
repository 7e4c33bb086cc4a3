"""Ingest: staged rows become predictions, judgments and examples, each source in one transaction."""
