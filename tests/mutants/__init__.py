"""Mutation testing: plant small faults one at a time, run the tests that reach them, print survivors.

    python -m tests.mutants --record             which quick tests reach which functions and templates
    python -m tests.mutants --record -m slow tests/test_turned.py          the same of other tests, added
    python -m tests.mutants --count 60 --seed 7 --area evaluate,store

The map is kept in `.mutants`, by commit; without one of this commit, the newest serves. Tests run in
copies of the checkout, so that files can be edited meanwhile. What cannot be parsed does not count.
"""
