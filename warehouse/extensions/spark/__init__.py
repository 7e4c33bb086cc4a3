"""Spark as an engine: tasks of a cluster score files of runs, or the rows of a table of runs."""
