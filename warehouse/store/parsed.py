"""A connection on which the same texts are run again and again."""

from __future__ import annotations

import builtins
import itertools
import re
import sys
import time
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any, cast

import duckdb

from warehouse.sql_text.quoting import ident
from warehouse.store.interrupts import is_interrupt

# The most texts that are remembered: several times those of a call, whose names may change.
_TEXTS = 500
_MAKES = re.compile(
    r"create (?:or replace )?temp (?P<kind>table|view) (?P<keeps>if not exists )?"
    r'"?(?P<name>\w+)"?\s*(?:\(.*\)|as\s(?P<query>.*))',
    re.DOTALL,
)
_DROPS = re.compile(r'drop (?:table|view) if exists temp\."?(?P<name>\w+)"?')
_INSERTS = re.compile(r'insert into (?:temp\.)?"?(?P<name>\w+)"?')
_READS = re.compile(r"\s*(?:with|select|from|describe)\b")
# What makes or changes no table, besides these.
_OTHERS = re.compile(r"\s*(?:truncate|set|reset|update|delete)\b")
# A statement that takes longer than these seconds is worth being optimized.
_LONG = 0.05
# How often a statement is timed in each of two ways before one is chosen.
_TIMED = 2
# Versions before 2 keep emptied rows in memory; after so many, tables are made anew.
_EMPTIED = sys.maxsize if not duckdb.__version__.startswith("1.") else 4_000_000


def remembering(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection that plans a text only when it is new.

    Parsing and planning take most of the time of a small call. DuckDB keeps the plan of a prepared
    statement until a table or view is made or dropped. So tables stay: one that is dropped is emptied,
    and one that is made again by the same text is filled again.

    A plan that is kept is made without DuckDB's optimizer, which looks at the rows of the tables and so
    has to plan anew when they change. Where that takes longer in the end, no plan is kept.

    >>> con = remembering(duckdb.connect())
    >>> for value in (1, 2):
    ...     print(con.execute("set threads = 1; select $1", [value]).fetchall())
    [(1,)]
    [(2,)]
    >>> for value in (1, 2, 3):
    ...     _ = con.execute(f"create or replace temp table given as select {value} as value")
    ...     _ = con.execute("create or replace temp table doubled as select 2 * value from given")
    ...     print(con.execute("from doubled").fetchall())
    [(2,)]
    [(4,)]
    [(6,)]
    """
    return cast("duckdb.DuckDBPyConnection", _Remembering(con))


@dataclass(frozen=True)
class _Text:
    """A statement, and what it makes or drops.

    `fills` is the text of the rows of a table, `keeps` says that one of its name is kept, and `inserts`
    is the table to which rows are added.
    """

    statement: duckdb.Statement
    sql: str
    makes: str | None = None
    drops: str | None = None
    inserts: str | None = None
    kind: str = ""
    keeps: bool = False
    fills: str | None = None


@dataclass
class _Plan:
    """How long a text took when it was planned anew and when its plan was kept, and that plan."""

    anew: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    name: str | None = None
    execute: duckdb.Statement | None = None

    @property
    def is_worth_it(self) -> bool:
        """Whether to run a kept plan, as far as is known."""
        if len(self.anew) < _TIMED:
            return False
        anew = min(self.anew)
        if len(self.kept) < _TIMED:
            return anew < _LONG and max(self.kept, default=0) < 2 * anew
        return min(self.kept) < anew


class _Remembering:
    """It has `execute` and `register` of its own, and all else of the connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._parsed = lru_cache(_TEXTS)(self._parse)
        # the text that made each table or view, and those of them that count as dropped
        self._made: dict[str, str] = {}
        self._dropped: set[str] = set()
        # tables that may have rows, and how many rows were emptied since tables were made
        self._filled: set[str] = set()
        self._emptied = 0
        self._plans: dict[str, _Plan] = {}
        self._numbers = itertools.count()
        self._registered: dict[str, object] = {}
        # whether a signal came while a text ran, so that all this may not be so
        self._is_unsure = False

    def execute(self, query: str, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Run a text as the connection does: its last statement has the parameters."""
        if self._is_unsure:
            self._forget()
            self._is_unsure = False
        texts = self._parsed(query)
        try:
            for text in texts[:-1]:
                self._execute(text, None)
            return self._execute(texts[-1], parameters)
        except BaseException as error:
            self._is_unsure = not isinstance(error, duckdb.Error) or is_interrupt(error)
            raise

    def register(self, name: str, source: object) -> None:
        """Let SQL read an object by a name, without a view, which would be new each time."""
        self._registered[name] = source

    def unregister(self, name: str) -> None:
        """Let the object go."""
        self._registered.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)

    def _parse(self, query: str) -> list[_Text]:
        return [_text(statement) for statement in self._con.extract_statements(query)]

    def _execute(self, text: _Text, parameters: Any) -> duckdb.DuckDBPyConnection:
        if text.makes is not None and not parameters:
            return self._make(text, text.makes)
        if text.drops is not None and text.drops in self._made:
            self._dropped.add(text.drops)
            self._empty(text.drops)
            return self._con
        if text.inserts is not None:
            self._filled.add(text.inserts)
        elif not _READS.match(text.sql):
            if text.drops is None and not _OTHERS.match(text.sql):
                self._forget()
            return self._anew(text.statement, parameters)
        return self._anew(text.statement, parameters) if parameters else self._read(text)

    def _make(self, text: _Text, name: str) -> duckdb.DuckDBPyConnection:
        """Make a table or view, or fill one again that the same text has made."""
        is_there = name in self._made and name not in self._dropped
        if is_there and text.keeps:
            return self._con
        if self._made.get(name) != text.sql:
            if name in self._dropped:
                self._con.execute(f"drop {self._kind(name)} temp.{ident(name)}")
            self._renew()
            done = self._anew(text.statement, None)
            self._dropped.discard(name)
            self._made[name] = text.sql
            self._filled.add(name)
            return done
        self._dropped.discard(name)
        self._empty(name)
        if text.fills is not None:
            return self.execute(f"insert into temp.{ident(name)}\n{text.fills}")
        return self._con

    def _empty(self, name: str) -> None:
        if name in self._filled and self._kind(name) == "table":
            ((rows,),) = self.execute(f"truncate temp.{ident(name)}").fetchall()
            self._filled.discard(name)
            self._emptied += rows
            if self._emptied > _EMPTIED:
                self._forget()

    def _kind(self, name: str) -> str:
        return self._parsed(self._made[name])[0].kind

    def _read(self, text: _Text) -> duckdb.DuckDBPyConnection:
        """Run a text that is planned anew, or whose plan is kept, in the way that is faster."""
        if any(name in text.sql for name in self._registered):
            return self._anew(text.statement, None)
        plan = self._plans.setdefault(text.sql, _Plan())
        is_kept = plan.is_worth_it
        if is_kept and plan.execute is None:
            self._keep(plan, text.sql)
        statement = plan.execute if is_kept else text.statement
        start = time.perf_counter()
        done = self._con.execute(statement)  # type: ignore[arg-type]
        times = plan.kept if is_kept else plan.anew
        if len(times) < _TIMED:
            times.append(time.perf_counter() - start)
        return done

    def _keep(self, plan: _Plan, sql: str) -> None:
        """Let DuckDB keep the plan of a text."""
        name = f"plan_{next(self._numbers)}"
        self._con.execute("pragma disable_optimizer")
        try:
            self._con.execute(f"prepare {name} as {sql}")
        finally:
            self._con.execute("pragma enable_optimizer")
        plan.name = name
        (plan.execute,) = self._con.extract_statements(f"execute {plan.name}")

    def _anew(self, statement: Any, parameters: Any) -> duckdb.DuckDBPyConnection:
        """Run a statement; DuckDB finds what is registered among the global names of the caller."""
        names = {**self._registered, "__builtins__": builtins}
        run = FunctionType(_run.__code__, names)
        return cast("duckdb.DuckDBPyConnection", run(self._con, statement, parameters))

    def _renew(self) -> None:
        """Forget the plans: a table or view is made or dropped."""
        while self._plans:
            _, plan = self._plans.popitem()
            if plan.name is not None:
                self._con.execute(f"deallocate {plan.name}")

    def _forget(self) -> None:
        """Forget what was made, and drop what counts as dropped: tables are changed in other ways."""
        self._renew()
        for name in self._dropped:
            self._con.execute(f"drop {self._kind(name)} if exists temp.{ident(name)}")
        self._dropped.clear()
        self._filled.clear()
        self._made.clear()
        self._emptied = 0


def _run(con: Any, statement: Any, parameters: Any) -> Any:
    return con.execute(statement, parameters)


def _text(statement: duckdb.Statement) -> _Text:
    """Return a statement with what it makes or drops."""
    sql = statement.query.strip().rstrip(";").strip()
    if made := _MAKES.fullmatch(sql):
        return _Text(
            statement, sql, makes=made["name"], kind=made["kind"], keeps=bool(made["keeps"]),
            fills=made["query"] if made["kind"] == "table" else None,
        )  # fmt: skip
    dropped, inserted = _DROPS.fullmatch(sql), _INSERTS.match(sql)
    return _Text(
        statement, sql, drops=dropped["name"] if dropped else None,
        inserts=inserted["name"] if inserted else None,
    )  # fmt: skip
