"""Metrics that no other program computes."""
