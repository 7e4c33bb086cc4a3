"""A statement in the dialect of another database, by sqlglot: without macros, of portable parts only.

sqlglot translates in silence where databases differ: in lists, lambdas and aggregates over an order.
A statement is translated only if it is made of the parts listed here, which the tests compare.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from warehouse.config import installation
from warehouse.errors import UsageError, check_word, listing
from warehouse.sql_text import functions

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("bigquery", "duckdb", "postgres", "snowflake", "spark")
TESTED = ("duckdb", "postgres", "spark")
# A macro's parameters and expression, of which there may be several.
_OVERLOAD = re.compile(r"(?:^|,\n)\(([\w, ]+)\) as\n(.*?)(?=,\n\([\w, ]+\) as\n|\Z)", re.DOTALL)
# The functions, by sqlglot's names of them, that mean the same everywhere. A sum over an order is a sum.
_PORTABLE = frozenset(
    (
        "Abs", "And", "AnyValue", "Case", "Cast", "Ceil", "Coalesce", "Count", "DenseRank", "Exp",
        "Floor", "Greatest", "If", "IntDiv", "Least", "Ln", "Log", "LogicalAnd", "LogicalOr", "Max",
        "Min", "Nullif", "Or", "Pow", "Round", "RowNumber", "Sqrt", "Stddev", "StddevSamp", "Sum",
    )
)  # fmt: skip


def translated(sql: str, dialect: str, subject: str) -> str:
    """Return a statement in another dialect, with the macros written out; `subject` is named in errors.

    >>> print(translated("select ratio(1, n) as share from t", "postgres", "share"))
    SELECT
      (
        CAST(1 AS DOUBLE PRECISION) / NULLIF(n, 0)
      ) AS share
    FROM t
    """
    check_word("dialect", dialect, DIALECTS)
    try:
        import sqlglot
        from sqlglot import exp
    except ImportError:
        raise UsageError(
            f"SQL without macros needs sqlglot: {installation.adding('sql')}"
        ) from None
    tree = _written_out(sqlglot.parse_one(sql, read="duckdb"))
    for kept in list(tree.find_all(exp.IgnoreNulls)):
        if isinstance(kept.this, exp.AnyValue):  # which ignores them
            kept.replace(kept.this)
    if dialect not in ("duckdb", "postgres"):  # the others have no word for it
        for step in tree.find_all(exp.CTE):
            step.set("materialized", None)
    if tree.find(exp.Placeholder, exp.Parameter):  # as sqlglot reads list[:last]
        raise UsageError(f"{subject}: sqlglot misreads a part of it; leave out the dialect")
    if dialect != "duckdb":
        problem = _not_portable(tree)
        if problem:
            raise UsageError(f"{subject}: {problem}; leave out the dialect: DuckDB runs it")
    for join in list(tree.find_all(exp.Join)):
        if join.kind in ("SEMI", "ANTI"):
            _as_condition(join)
    for number, derived in enumerate(list(tree.find_all(exp.Subquery))):
        if isinstance(derived.parent, exp.From | exp.Join) and not derived.alias:
            derived.set("alias", exp.TableAlias(this=exp.to_identifier(f"derived_{number}")))
    for node in reversed(list(tree.walk())):  # the innermost ones first
        spoken = _spoken(node, dialect)
        if spoken is not None:
            node.replace(spoken)
    return tree.sql(dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE)


def _not_portable(tree: exp.Expr) -> str | None:
    """Return the parts of a statement that other databases lack, or have with another meaning."""
    from sqlglot import exp

    for node in tree.find_all(exp.Func, exp.Lambda, exp.Bracket, exp.Array):
        name = node.name if isinstance(node, exp.Anonymous) else type(node).__name__
        if isinstance(node, exp.Log) and not node.expression:
            return "a logarithm without a base has another base elsewhere"
        if name not in _PORTABLE and name != "error":
            return f"{name.lower()} differs between databases, or is one of DuckDB's own"
    for star in tree.find_all(exp.Star):
        if any(star.args.values()):
            return "columns are left out of, or replaced in, all columns of a step"
    for select in tree.find_all(exp.Select):
        made: set[str] = set()
        for column in select.selects:
            read = {one.name for one in column.find_all(exp.Column) if not one.table}
            if read & made:
                return f"a column is computed from one of the same step: {listing(read & made, 3)}"
            if isinstance(column, exp.Alias) and column.alias not in read:
                made.add(column.alias)
    return None


def _spoken(node: exp.Expr, dialect: str) -> exp.Expr | None:
    """Return a dialect's counterpart of a part of a statement, where sqlglot does not know it."""
    from sqlglot import exp

    own_error = dialect in ("bigquery", "duckdb")
    if isinstance(node, exp.Anonymous) and node.name == "error" and not own_error:
        (sentence,) = node.expressions
        if dialect == "spark":
            return exp.func("raise_error", sentence)
        return exp.cast(sentence, "int").eq(0)  # a text that is no number ends a statement
    if isinstance(node, exp.AnyValue) and dialect != "duckdb":  # of equal values
        return exp.Max(this=node.this)
    if dialect != "postgres":
        if isinstance(node, exp.Order) and isinstance(node.parent, exp.Sum) and dialect != "duckdb":
            summed: exp.Expr = node.this  # the order is for the last bits
            return summed
        return None
    if isinstance(node, exp.Log) and node.expression:  # its logarithm to a base is of decimals
        ln = [exp.Ln(this=exp.cast(one, "double")) for one in (node.expression, node.this)]
        return exp.paren(exp.Div(this=ln[0], expression=ln[1]))
    if isinstance(node, exp.Cast) and isinstance(node.this.unnest(), exp.Predicate):
        return exp.cast(exp.cast(node.this, "int"), node.to)  # a condition is 0 or 1
    if isinstance(node, exp.Cast) and node.is_type("text", "varchar"):  # else in a language's order
        return exp.Collate(this=node.copy(), expression=exp.to_identifier("C", quoted=True))
    return None


@cache
def _macros() -> dict[tuple[str, int], tuple[list[str], exp.Expr]]:
    """Return the parameters and the expression of each macro, by its name and their number."""
    import sqlglot

    found = {}
    for name, text in functions.definitions().items():
        for names, expression in _OVERLOAD.findall(text):
            params = [one.strip() for one in names.split(",")]
            found[name, len(params)] = params, sqlglot.parse_one(expression, read="duckdb")
    return found


def _written_out(tree: exp.Expr) -> exp.Expr:
    """Return a tree with the expressions of the macros in place of their calls."""
    from sqlglot import exp

    def expanded(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Func):
            return node
        name = node.name if isinstance(node, exp.Anonymous) else node.sql_name()
        given = (
            node.expressions if isinstance(node, exp.Anonymous) else list(node.iter_expressions())
        )
        if (name.lower(), len(given)) not in _macros():
            return node
        params, body = _macros()[name.lower(), len(given)]
        values: dict[str, Any] = dict(zip(params, given, strict=True))

        def filled(part: exp.Expr) -> exp.Expr:
            value = (
                values.get(part.name) if isinstance(part, exp.Column) and not part.table else None
            )
            if value is None:
                return part
            return exp.paren(value.copy()) if isinstance(value, exp.Binary) else value.copy()

        return exp.paren(_written_out(body.copy().transform(filled)))

    return tree.transform(expanded)


def _as_condition(join: exp.Join) -> None:
    """Write a semi or anti join over columns as a condition."""
    from sqlglot import exp

    select = join.parent
    assert isinstance(select, exp.Select)
    left, right = select.args["from_"].this.alias_or_name, join.this
    same = [
        exp.column(name.copy(), right.alias_or_name).eq(exp.column(name.copy(), left))
        for name in join.args.get("using") or ()
    ]
    same += [join.args["on"]] if join.args.get("on") else []
    exists = exp.Exists(this=exp.select("1").from_(right.copy()).where(*same))
    select.args["joins"].remove(join)
    select.where(exists if join.kind == "SEMI" else exists.not_(), copy=False)
