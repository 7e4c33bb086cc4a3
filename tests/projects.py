"""Shared parts of the tests of projects: a folder, its files, and commands in it."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner, Result

from warehouse.errors import WarehouseError
from warehouse.store import database
from warehouse.warehouse import Warehouse

SETTINGS = """\
database = "results.duckdb"
metrics = "formulas"

[protocols.top2]
extends = "default"
summary = "The first two documents."
depth = 2
"""

BEST = """\
/*
title = "Best grade"
summary = "The highest relevance among the first k documents."
formula = "max of relevance up to rank k"
reads = ["hits"]
direction = "higher"
range = [0, 3]
aggregate = "mean"
undefined = 0
reference = "made up"
param.rel = { type = "integer", default = 1, min = 1, summary = "Lowest relevance that counts." }
param.cutoff = { type = "integer", required = true, min = 1, summary = "How many are looked at." }
*/
select run_id, query_id, max(relevance) filter (where is_rel and within(rank, {{ cutoff }})) as value
from {{ hits }}
group by run_id, query_id
"""

SUMMED = """\
/*
title = "Precision, added up"
summary = "The sum of precision over the queries."
formula = "sum of P@k"
extends = "P"
aggregate = "sum"
reference = "made up"
*/
"""

# Gains of documents, with parameters of several values.
WORTH = BEST.replace(
    "*/",
    """\
param.gains = { type = "gains", default = { 3 = 10 }, summary = "What a grade is worth." }
param.levels = { type = "levels", default = [0.5, 0.25], summary = "As many times as there are." }
trec_eval.worth = { param = "gains", named = ["rel"], given = { cutoff = 3, levels = [1] } }
trec_eval.worthy = { numbers = ["cutoff"], given = { gains = { 1 = 4 } } }
other.norm = "P"
other.dcg.log2 = "DCG"
*/""",
).replace(
    "max(relevance)",
    """\
{{ levels | length }} * sum(case relevance
{% for grade, gain in gains %} when {{ grade | literal }} then {{ gain | literal }} {% endfor %}
else relevance end)""",
)

# The number of unjudged documents in the whole list.
UNKNOWN = """\
/*
title = "Unjudged documents"
summary = "How many documents of the list nobody judged."
formula = "count of unjudged"
reads = ["rankings", "lists"]
direction = "lower"
range = [0, 1000]
aggregate = "mean"
undefined = 0
reference = "made up"
*/
select run_id, query_id, count(doc_id) filter (where relevance is null) as value
from {{ rankings }}
left join {{ lists }} using (run_id, query_id)
group by run_id, query_id
"""

# q1: b (0), a (1), c (3): the best of the first two is 1, of three 3; q2: nothing relevant among the
# judged that are found; so Best@2 = (1 + 0) / 2 and Best@3 = (3 + 0) / 2
QRELS = {"q1": {"a": 1, "b": 0, "c": 3}, "q2": {"d": 2}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "c": 1.0}, "q2": {"x": 1.0}}


@dataclass
class Folder:
    """A project's folder, which is the current one."""

    path: Path

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def metric(self, text: str, name: str = "Best") -> Path:
        return self.write(f"formulas/{name}.sql.j2", text)


@dataclass(frozen=True)
class Answer:
    """What one call of the command gave: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


def words_of(line: str) -> list[str] | None:
    """Return the words of a line in which a shell does nothing but call `warehouse`, else None."""
    bare = re.sub(r"'[^']*'", "", line)
    does_more = re.search(r"[$`\\]", bare) or re.search(
        r"[|&;<>*?~#]", re.sub(r'"[^"]*"', "", bare)
    )
    if does_more or not line.startswith("warehouse "):
        return None
    return shlex.split(line)[1:]


def score(*names: str, protocol: str = "default") -> dict[str, float | None]:
    return Warehouse.score(QRELS, RUN, names, protocol=protocol).means()


def stored(wh: Warehouse, sql: str, **params: object) -> list[tuple]:
    """Return the rows of a question about a warehouse's file.

    `Warehouse.query` starts a closed database for each, which takes several times as long.
    """
    with database.read(wh.path) as con:
        # the views of the file last, which the program's own questions do not find
        ((path,),) = con.execute("select current_setting('search_path')").fetchall()
        con.execute(f"set search_path = '{path},warehouse.main'")
        return con.execute(sql, params).fetchall()


def invoked(*words: str) -> Result:
    """Run a command in this process, as the only one of an application, as the program does."""
    from warehouse.cli.application import application, completed

    given = completed(words)
    return CliRunner().invoke(application(given[0]), given)


def command(*words: str) -> tuple[int, str, str]:
    """Run a command as the program does; return its exit code, stdout and stderr."""
    found = invoked(*words)
    if isinstance(found.exception, WarehouseError):
        return found.exception.exit_code, found.stdout, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr
