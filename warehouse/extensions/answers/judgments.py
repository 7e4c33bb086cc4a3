"""Judgments by judge: loading them, and making qrels of them.

The judgments of one judge are a version of the dataset's qrels that is never current. Of each judge
the newest version counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import duckdb

from warehouse import readers
from warehouse.errors import (
    InputError,
    UsageError,
    check_names,
    check_text,
    check_word,
    command,
    counted,
    listing,
    option,
)
from warehouse.ingest import steps
from warehouse.ingest.qrels import JUDGE_KINDS, Judge, store_qrels
from warehouse.readers.arguments import JudgmentRows
from warehouse.sql_text.templates import render

# The name that stands for the current qrels where judges are named.
CURRENT = "qrels"
# The judge of a row that names none.
_NOBODY = "0"
# How several judgments of a document become one.
RULES = ("majority", "mean", "median", "max", "min")


def stage_judgments(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    *,
    judge: str | None = None,
    by: str | None = None,
    kind: str | None = None,
    model: str | None = None,
    prompt: str | None = None,
    label: str | None = None,
    replace: bool = False,
    **reading: Unpack[JudgmentRows],
) -> steps.Store[list[steps.Loaded]]:
    """Stage the judgments of one judge, or of several, named by a column; return what stores them."""
    steps.check_name("dataset", dataset)
    if (judge is None) == (by is None):
        raise UsageError(
            f"who judged: name the judge ({option('judge', 'NAME')}), or the column that names the "
            f"judges ({option('by', 'COLUMN')})"
        )
    if kind is None:
        kind = "human" if model is None and prompt is None else "llm"
    about = Judge(
        judge or "",
        check_word("kind of judge", kind, JUDGE_KINDS),
        None if model is None else check_text("the model", model),
        None if prompt is None else check_text("the prompt", prompt),
    )
    if judge is not None:
        _check_judge(judge)
    if by is not None:
        columns = dict(reading.get("columns") or {})
        if "iteration" in columns:
            raise UsageError(
                f"{option('by', by)}: names the judges, so there is no other iteration: leave out "
                f"{option('column', ('iteration', columns['iteration']))}"
            )
        reading["columns"] = {**columns, "iteration": by}
    staged = readers.stage(con, source, "qrels" if by is None else "iterations", **reading)
    if staged.kind not in ("qrels", "iterations"):
        raise UsageError(f"{staged.source}: holds {staged.kind}; judges are compared by judgments")
    how: Any = {"label": label, "replace": replace}
    if by is None:
        return partial(_store_one, staged=staged, dataset=dataset, judge=about, **how)
    con.execute(
        "create or replace temp table judged as select * exclude (iteration), '0' as iteration, "
        "iteration as judge from staged"
    )
    rows = con.execute(
        "select judge, count(*) from judged group by judge order by judge"
    ).fetchall()
    for name, number in rows:
        _check_judge(name, f"{staged.source}: ")
        if name == _NOBODY:
            raise InputError(
                f"{staged.source}: {counted(number, 'judgment')} without a judge in the column {by} (or "
                f"one called {_NOBODY!r}): name the judge of each, or leave these rows out"
            )
    judges = {str(name): int(number) for name, number in rows}
    return partial(_store_each, staged=staged, dataset=dataset, about=about, judges=judges, **how)


def _check_judge(name: str, where: str = "") -> None:
    steps.check_name("judge", name)
    if name == CURRENT:
        raise InputError(
            f"{where}no judge can be called {CURRENT!r}: it stands for the current qrels"
        )


def _store_one(
    con: duckdb.DuckDBPyConnection,
    *,
    staged: readers.Staged,
    dataset: str,
    judge: Judge,
    **how: Any,
) -> list[steps.Loaded]:
    return [store_qrels(con, staged, dataset, judge=judge, **how)]


def _store_each(
    con: duckdb.DuckDBPyConnection,
    *,
    staged: readers.Staged,
    dataset: str,
    about: Judge,
    judges: Mapping[str, int],
    **how: Any,
) -> list[steps.Loaded]:
    """Store the judgments of each judge as a version of its own, all in one transaction."""
    outcomes: list[steps.Loaded] = []
    for name, number in judges.items():
        con.execute(
            "create or replace temp table staged as select * exclude (judge) from judged "
            "where judge = $judge",
            {"judge": name},
        )
        of_judge = replace(
            staged, kind="qrels", rows=number, warnings=() if outcomes else staged.warnings
        )
        judge = replace(about, judge=name)
        outcomes.append(store_qrels(con, of_judge, dataset, judge=judge, **how))
    return outcomes


@dataclass(frozen=True)
class JudgeVersion:
    """The newest version of the qrels of one judge, or the current qrels under the name `qrels`."""

    judge: str
    qrels_id: int
    version: int


def known(con: duckdb.DuckDBPyConnection, dataset: str) -> list[JudgeVersion]:
    """Return the judges of a dataset, in the order of their names."""
    rows = con.execute(
        "select judge, qrels_id, qrels_version from judge_version "
        "where dataset = $dataset and is_newest order by judge",
        {"dataset": dataset},
    ).fetchall()
    return [JudgeVersion(*row) for row in rows]


def chosen(
    con: duckdb.DuckDBPyConnection, dataset: str, judges: str | Iterable[str], *, least: int = 1
) -> list[JudgeVersion]:
    """Return the named judges of a dataset, or all; `qrels` names the current qrels.

    Raises UsageError for wrong names, and if there are fewer than `least`.
    """
    names = list(dict.fromkeys(check_names("judges", judges)))
    there = {one.judge: one for one in known(con, dataset)}
    if CURRENT in names:
        there[CURRENT] = current(con, dataset)
    for name in names:
        check_word("judge", name, list(there))
    found = [there[name] for name in names] if names else list(there.values())
    if len(found) < least:
        load = command("judgments load FILE --judge NAME", dataset)
        have = listing(one.judge for one in found) or "none"
        raise UsageError(
            f"{dataset}: needs {counted(least, 'judge')}, and there is {have}; name the current qrels "
            f"as {CURRENT!r}, or load judgments: {load}"
        )
    return found


def current(con: duckdb.DuckDBPyConnection, dataset: str) -> JudgeVersion:
    """Return the current qrels of a dataset in the place of a judge."""
    rows = con.execute(
        "select qrels_id, qrels_version, kind from qrels_version join qrels using (qrels_id) "
        "where dataset = $dataset and is_current",
        {"dataset": dataset},
    ).fetchall()
    if not rows:
        raise UsageError(f"{dataset}: has no qrels except its judges'")
    if rows[0][2] != "judgments":
        raise UsageError(
            f"{dataset}: its qrels are {rows[0][2]}; judges are compared by judgments of documents"
        )
    return JudgeVersion(CURRENT, int(rows[0][0]), int(rows[0][1]))


def combine(
    con: duckdb.DuckDBPyConnection,
    dataset: str,
    judges: str | Iterable[str],
    *,
    rule: str,
    label: str | None,
    replace: bool,
) -> steps.Loaded:
    """Make qrels of the newest judgments of some judges, or of all, and store them as a version.

    Of several judgments of a document, the rule makes one. Raises UsageError, and ConflictError as
    loading qrels does.
    """
    check_word("rule", rule, RULES)
    found = chosen(con, dataset, judges)
    readers.clear(con)
    con.execute(
        "create temp table staged as\n" + render("judges/combined_judgments", rule=rule),
        {"qrels": [one.qrels_id for one in found]},
    )
    ((number,),) = con.execute("select count(*) from staged").fetchall()
    named = listing([f"{one.judge} (version {one.version})" for one in found], len(found))
    source = named if len(found) == 1 else f"{rule} of {named}"
    staged = readers.Staged("qrels", source, "judges", number, None, None, None, ())
    return store_qrels(con, staged, dataset, label=label, replace=replace)
