"""A sync of all runs of a folder, with one gate or none: `gated_sync.py FOLDER FILE none|last|best`."""

from __future__ import annotations

import sys
from pathlib import Path

import arguments

from warehouse import Warehouse

_, folder, file, against = sys.argv
gate = f'[[gates]]\ndataset = "d"\nmetric = "nDCG@10"\nmax_drop = 0.01\nagainst = "{against}"\n'
config = Path(folder) / f"{against}.toml"
config.write_text(
    f"""
database = "{file}"
settle = 0
[evaluate]
metrics = ["nDCG@10", "AP"]
[datasets.d]
qrels = "qrels.txt"
[[runs]]
files = "run*.trec"
dataset = "d"
"""
    + gate * (against != "none")
)
done = arguments.timed(lambda: Warehouse(file).sync(config), 1)
print(f"events,{len(done.events)}")
