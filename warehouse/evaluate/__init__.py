"""Evaluation: from rankings and judgments to values, each metric one rendered template."""
