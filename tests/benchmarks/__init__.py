"""How fast the warehouse is, beside other programs that compute the same. Nothing here is a test.

    python -m tests.benchmarks [NAME ...] [--repeat N] [--json FILE]
        [--data DIR] [--scale X] [--peer PEER]
    python -m tests.benchmarks --markdown FILE ...

Every contender, ours or a peer's, is a whole process (or a few, one after the other) that reads the
same files and computes the same metrics; of objects in memory, and of a board from Python, it is
the call alone, which the process times itself. All of a benchmark run once to warm up, unmeasured;
the values of this round are compared. Then come N rounds in which they alternate, every other round
in the opposite order. A figure is the median over the rounds, a ratio that of two medians: below 1
we are ahead. What each round gave is in the JSON; `--markdown` puts it beside the goals
(`goals.py`). A peer that is not installed is left out, and a line says so; trec_eval's C program
takes part when the environment variable TREC_EVAL holds its path.

This package's own process stays small, for Linux counts the memory of the process that starts a
program as the program's: what makes the data runs elsewhere (`data.py`).
"""
