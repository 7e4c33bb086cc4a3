"""trec_eval's file of reference values: `query measure mean stddev`, one line each."""

from __future__ import annotations

import math
import os

from warehouse.errors import InputError, counted
from warehouse.readers.files import open_file
from warehouse.readers.lines import BadLines, blocks

# (query, measure): (mean, standard deviation)
Reference = dict[tuple[str, str], tuple[float, float]]


def read(path: str | os.PathLike[str]) -> Reference:
    """Read the file; blank lines are ignored, and any other wrong line is an error for all of it.

    "nan" is a number here: trec_eval writes it, and any result from it is not a number either.
    """
    found: Reference = {}
    line_of: dict[tuple[str, str], int] = {}
    with open_file(path) as file:
        bad = BadLines()
        for block in blocks(file, bad, single_blanks=True):
            for number, line in enumerate(block.text.split("\n"), block.first):
                fields = line.split()
                if not fields:
                    continue
                try:
                    query, measure, mean, stddev = _fields(fields)
                except ValueError as error:
                    bad.add(number, str(error))
                    continue
                key = (query, measure)
                if key in found:
                    bad.add(
                        number, f"{measure} of query {query} is there already: line {line_of[key]}"
                    )
                    continue
                found[key] = (mean, stddev)
                line_of[key] = number
        bad.refuse(file.source, "not lines of 'query measure mean stddev': {lines}")
        if not found:
            raise InputError(f"{file.source}: no line of 'query measure mean stddev'")
    return found


def _fields(fields: list[str]) -> tuple[str, str, float, float]:
    if len(fields) != 4:
        raise ValueError(f"{counted(len(fields), 'column')} where there are 4")
    query, measure, *numbers = fields
    values: list[float] = []
    for name, text in zip(("mean", "stddev"), numbers, strict=True):
        try:
            value = float(text)
        except ValueError:
            value = math.inf
        if math.isinf(value):
            raise ValueError(f"{name} is a number, not {text}")
        values.append(value)
    if values[1] < 0:
        raise ValueError(f"stddev is at least 0, not {numbers[1]}")
    return query, measure, values[0], values[1]
