"""The command of reproductions."""
