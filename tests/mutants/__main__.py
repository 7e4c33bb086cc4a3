"""The command `python -m tests.mutants`."""

from __future__ import annotations

import argparse
import os
import random
import sys

from tests.mutants.plants import AREAS, drawn
from tests.mutants.reach import Reach, record
from tests.mutants.runs import Choice, plant, report

if sys.argv[1:2] == ["--record"]:
    record(sys.argv[2:])
    sys.exit()
parser = argparse.ArgumentParser(prog="python -m tests.mutants")
parser.add_argument("--count", type=int, default=10, help="how many mutants")
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--area", default=",".join(AREAS), help=f"some of {', '.join(AREAS)}")
parser.add_argument("--files", default="", help="a pattern of the paths of the files")
parser.add_argument("--seconds", type=float, default=60, help="of tests for each mutant")
parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
given = parser.parse_args()
areas = given.area.split(",")
if unknown := set(areas) - set(AREAS):
    parser.error(f"no area {', '.join(sorted(unknown))}: choose from {', '.join(AREAS)}")
mutants = drawn(random.Random(given.seed), areas, given.files)
choice = Choice(Reach.load(), given.seconds)
print(report(plant(mutants, given.count, choice, given.workers, given.seconds)))
