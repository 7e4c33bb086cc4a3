"""The warehouse on files, all runs scored by one call; nothing is stored."""

from __future__ import annotations

import arguments

from warehouse import Warehouse

given = arguments.read()
board = Warehouse.score(given.qrels, given.runs, list(given.theirs.values())).board()
for row in board.fetchall():
    means = dict(zip(board.columns, row, strict=True))
    arguments.show((ours, means[theirs]) for ours, theirs in given.theirs.items())
