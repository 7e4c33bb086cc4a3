"""The fusion methods as a list and as pages."""

from __future__ import annotations

from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import metric_catalogue
from warehouse.analyze.protocol_catalogue import relation
from warehouse.metrics import fusion as known
from warehouse.metrics.fusion import Method
from warehouse.sql_text import functions


def fusions() -> Relation:
    """Return every method: `method, title, summary, reads, needs, parameters, tuned, elsewhere`.

    `reads` is scores or ranks, `needs` names what a method needs besides the runs, and `tuned` has the
    values that tuning tries.

    >>> fusions().filter("method = 'rrf'").project("reads, parameters, tuned").fetchall()
    [('ranks', 'k=60', 'k: 10 to 100 by 10')]
    """
    columns = (
        "method", "title", "summary", "reads", "needs", "parameters", "tuned", "elsewhere",
    )  # fmt: skip
    rows = [
        (
            found.name,
            found.title,
            metric_catalogue.in_short(found.summary),
            _reads(found),
            _needs(found),
            metric_catalogue.parameters(found),
            _tuned(found),
            metric_catalogue.elsewhere(found),
        )
        for found in known.methods().values()
    ]
    return relation(columns, rows)


def fusions_for_people(format: str) -> Relation:
    """Return the methods with the columns that fit the format."""
    if format == "table":
        return fusions().project("method, reads, needs, parameters, title")
    return fusions()


def normalisations() -> list[str]:
    """Return the formula and summary of each normalisation, in lines for a terminal.

    >>> normalisations()[0].startswith("  borda: 1 - (i - 1) / c")
    True
    """
    return [
        line
        for found in known.normalisations().values()
        for line in metric_catalogue.wrapped(
            f"{found.formula}. {found.summary}", f"  {found.name}: ", 4
        )
    ]


def describe(*names: str) -> str:
    """Return a page about each method: what it is, its parameters, its other names and its SQL.

    >>> print(describe("CombSUM").splitlines()[0])
    sum: Sum of scores (CombSUM)
    """
    pages = []
    for method in [known.parse(name) for name in names]:
        found = known.of(method)
        facts = {
            "formula": found.formula,
            "where": "s_r is the score and i_r the rank of the document in run r, w_r the weight of the "
            "run, n_r the length of its list, h the number of runs that have the document, c the "
            "number of candidates of the query",
            "reads": _reads(found),
            "needs": _needs(found) or "nothing but the runs",
            "tuned": _tuned(found) or "nothing",
            "reference": found.reference,
        }
        runs = 2
        weights = [1 / runs] * runs if known.WEIGHTS in found.needs else []
        head = f"SQL of {method} for two runs, over their lists in entry"
        lines = [*metric_catalogue.about(method, facts), "", head, ""]
        sql = known.sql(method, weights, runs)
        pages.append("\n".join([*lines, *functions.script(sql), sql, ""]))
    return "\n\n".join(pages)


def _reads(found: Method) -> str:
    return "scores" if found.scores else "ranks"


def _needs(found: Method) -> str:
    return ", ".join(need for need in found.needs if need != known.AVERAGE_PRECISION)


def _tuned(found: Method) -> str:
    parts = [
        f"{name}: {grid.first:g} to {grid.last:g} by {grid.step:g}"
        for name, grid in found.grid.items()
    ]
    if known.WEIGHTS in found.needs:
        parts.append("weights: tenths that add up to 1")
    return ", ".join(parts)
