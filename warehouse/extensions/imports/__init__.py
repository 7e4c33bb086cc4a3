"""Formats that other programs write: sparse matrices, Quepid, folders of parts, logs, MLflow."""
