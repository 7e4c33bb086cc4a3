"""The warehouse on files, each run scored by a call; nothing is stored."""

from __future__ import annotations

import arguments

from warehouse import Warehouse

given = arguments.read()
for path in given.runs:
    means = Warehouse.score(given.qrels, path, list(given.theirs.values())).means()
    arguments.show((ours, means[theirs]) for ours, theirs in given.theirs.items())
