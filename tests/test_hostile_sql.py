"""Ad-hoc SQL that wants to do harm: a clean refusal, and everything stays as it was.

The statements are run one after the other by a program of one thread, as `warehouse query` is one: each
in a fork. What is in-process, and what starts a new interpreter, is tried with fewer.
"""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest
from hostile_sql import ENDLESS, HARMLESS, HUGE, REFUSED
from projects import command

from warehouse.errors import UsageError, WarehouseError
from warehouse.store import database
from warehouse.warehouse import Warehouse

# DuckDB 1.5 starts a thread when it is imported, so that a new interpreter takes the place of a fork:
# each statement takes a second. A few of them are enough there.
FORKS = sys.platform == "linux" and not duckdb.__version__.startswith("1.")
SOME = slice(None, None, 1 if FORKS else 9)

DB = ("--db", "w.duckdb")

RUN_ALL = """
import json, sys, time
from pathlib import Path
from warehouse.report import query_process
from warehouse.errors import WarehouseError
from warehouse.warehouse import Warehouse

python_variable = 42
wh = Warehouse("w.duckdb", memory_limit="100MB", threads=1)
answers = []
forks, statements = json.loads(Path("statements.json").read_text())
for sql, timeout in statements:
    deadline = time.monotonic() + 5
    while forks and not query_process._may_fork():
        assert time.monotonic() < deadline, "a thread is left"
        time.sleep(0.01)
    text, started = [], time.monotonic()
    try:
        wh.stream(sql, write=text.append, timeout=timeout)
        error = None
    except WarehouseError as refusal:
        error = str(refusal)
    answers.append(["".join(text)[:10000], error, time.monotonic() - started])
Path("answers.json").write_text(json.dumps(answers))
"""


def one_run(wh: Warehouse) -> None:
    wh.ingest_qrels("tiny", {"q1": {"a": 1, "b": 0}, "q2": {"c": 1}})
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}}, name="one")
    wh.evaluate(metrics="AP RR")


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared) -> Warehouse:
    """Return a small warehouse in the current folder, beside files that nobody may read."""
    monkeypatch.chdir(tmp_path)
    wh = prepared(Path("w.duckdb"), one_run)
    Path("secret.csv").write_text("secret\nhidden\n")
    duckdb.sql("select 'hidden' as secret").write_parquet("secret.parquet")
    return wh


def state() -> dict[str, str]:
    """Return every file of the current folder with its hash."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path().rglob("*"))
        if path.is_file()
    }


def ask_all(program, statements: list[tuple[str, float]]) -> list[tuple[str, str | None, float]]:
    Path("statements.json").write_text(json.dumps([FORKS, statements]))
    process = program.python(RUN_ALL, cwd=Path())
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out, err) == (0, "", "")
    return [tuple(answer) for answer in json.loads(Path("answers.json").read_text())]


@pytest.mark.slow
@pytest.mark.core
@pytest.mark.sample(4, 3)
@pytest.mark.parametrize("part", range(4))
def test_each_is_refused_and_nothing_changes(asked: Warehouse, program, part: int) -> None:
    assert len(REFUSED) > 100
    check_all(program, (REFUSED + HARMLESS)[SOME][part::4])


def check_all(program, asked_now: list[str]) -> None:
    """Ask, and check what is told; only the harmless ones are answered, and nothing changes."""
    before = state()
    answers = ask_all(program, [(sql, 60.0) for sql in asked_now])
    for sql, (text, error, _) in zip(asked_now, answers, strict=True):
        assert "hidden" not in text + (error or ""), sql
        if sql not in HARMLESS:
            assert text == "", sql
            assert error, sql
            assert "Traceback" not in error, sql
            assert "unexpectedly" not in error, sql
    for made in ("statements.json", "answers.json", *Path().glob("code-*")):
        Path(made).unlink()
    assert state() == before


@pytest.mark.slow
def test_what_is_endless_or_huge_is_ended(asked: Warehouse, program) -> None:
    before = state()["w.duckdb"]
    statements = [(sql, 0.2) for sql in ENDLESS[SOME]] + [(sql, 0.7) for sql in HUGE[SOME]]
    answers = ask_all(program, statements)
    for (sql, timeout), (text, error, seconds) in zip(statements, answers, strict=True):
        assert error, (sql, text)
        absent = "pg_sleep" in error  # DuckDB 1.5 does not have it
        assert absent or error.startswith(("took longer than", "out of memory")), (sql, error)
        assert seconds < timeout + 20, sql
    assert state()["w.duckdb"] == before
    assert asked.query("select count(*) from store.run").fetchall() == [(1,)]


def refused(wh: Warehouse, sql: str) -> str | None:
    try:
        wh.query(sql, timeout=60).fetchall()
    except WarehouseError as refusal:
        return str(refusal)
    return None


@pytest.mark.slow
@pytest.mark.sample(4, 4)
@pytest.mark.parametrize("part", range(4))
def test_in_this_process_too(asked: Warehouse, part: int) -> None:
    python_variable = duckdb.sql("select 'hidden' as i")
    before = state()
    for sql in REFUSED[part::4]:
        refusal = refused(asked, sql)
        assert refusal, sql
        assert "hidden" not in refusal, sql
    assert state() == before
    assert python_variable.fetchall() == [("hidden",)]


def test_in_this_process_the_time_is_limited(asked: Warehouse) -> None:
    for sql in ENDLESS[:2]:
        with pytest.raises(WarehouseError, match=r"took longer than 0\.3 s and was stopped"):
            asked.query(sql, timeout=0.3)
    assert asked.query("select $timeout as t", {"timeout": 5}, timeout=5).fetchall() == [(5,)]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("long", [float("inf"), 1e10])
def test_no_time_is_too_long_to_wait_for(asked: Warehouse, tmp_path: Path, long: float) -> None:
    assert asked.query("select 1", timeout=long).fetchall() == [(1,)]
    assert asked.stream("select 1", write=len, timeout=long).rows == 1
    assert asked.stream_parquet("select 1", tmp_path / "one.parquet", timeout=long).rows == 1
    code, out, told = command("query", "select 1 as i", "--timeout", f"{long}", "-f", "csv", *DB)
    assert (code, out) == (0, "i\n1\n"), told
    # this thread of the process waits for another of it
    with ThreadPoolExecutor() as pool, asked.file.read():
        waits = Warehouse(asked.path, lock_timeout=long)
        waiting = pool.submit(waits.ingest_qrels, "other", {"q1": {"a": 1}})
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.2)
    assert waiting.result(timeout=30).status == "loaded"


@pytest.mark.core
@pytest.mark.parametrize("wrong", [float("nan"), -1, "5"])
def test_a_time_that_is_none_is_refused(asked: Warehouse, wrong: float) -> None:
    wanted = "timeout is a number.*, not"
    for call in (
        lambda: asked.query("select 1", timeout=wrong),
        lambda: asked.stream("select 1", write=len, timeout=wrong),
        lambda: Warehouse(asked.path, lock_timeout=wrong),
    ):
        with pytest.raises(UsageError, match=wanted):
            call()


@pytest.mark.slow
def test_a_new_interpreter_where_a_fork_is_not_safe(asked: Warehouse) -> None:
    """This process runs DuckDB: it has threads that a fork would not carry over."""
    pieces: list[str] = []
    answer = asked.stream(
        "select $a as a, unnest(range(5000)) as i", {"a": "it's"}, write=pieces.append, limit=4000
    )
    assert (answer.rows, answer.truncated) == (4000, True)
    lines = "".join(pieces).splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("a,i", "it's,3999", 4001)
    assert len(pieces) > 2
    with pytest.raises(WarehouseError, match=r"took longer than 0\.2 s"):
        asked.stream(ENDLESS[0], write=pieces.append, timeout=0.2)
    with pytest.raises(WarehouseError, match=r"Did you mean .runs.\?\n\nLINE 1: from rnu\n +\^"):
        asked.stream("from rnu", write=pieces.append)
    # nothing is proposed that is closed too
    with pytest.raises(WarehouseError, match=r"it exists in the spatial extension\.$"):
        asked.stream("select st_point(1, 2)", write=pieces.append)
    python_variable = 42
    with pytest.raises(WarehouseError, match="python_variable"):
        asked.stream("from python_variable", write=pieces.append)
    assert python_variable == 42


@pytest.mark.sample(2)
@pytest.mark.core
@pytest.mark.parametrize("limit", [4, 5, 6, None])
def test_whether_there_is_more(asked: Warehouse, tmp_path: Path, limit: int | None) -> None:
    sql, params = "select i + $a as i from range(5) r(i) order by i desc -- all", {"a": 1}
    pieces: list[str] = []
    path = tmp_path / "rows.parquet"
    answers = (
        asked.stream(sql, params, write=pieces.append, limit=limit),
        asked.stream_parquet(sql, str(path), params, limit=limit),
    )
    found = [5, 4, 3, 2, 1][:limit]
    assert [int(line) for line in "".join(pieces).splitlines()[1:]] == found
    assert duckdb.read_parquet(str(path)).fetchall() == [(i,) for i in found]
    assert [(a.rows, a.truncated) for a in answers] == [(len(found), limit == 4)] * 2


@pytest.mark.skipif(not FORKS, reason="what is patched here is not patched in a new interpreter")
def test_a_crash_hurts_nobody(asked: Warehouse, program) -> None:
    process = program.python(
        "import os, signal, sys\n"
        "from warehouse.report import query_process\n"
        "from warehouse.cli import main\n"
        "query_process.serve = lambda work, send: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "sys.argv = ['warehouse', 'query', 'select 1', '--db', 'w.duckdb']\n"
        "main()\n",
        cwd=Path(),
    )
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert "the process of the query ended unexpectedly (signal 11)" in err
    assert err.count("\n") == 1


def endless(program, *arguments: str) -> subprocess.Popen[str]:
    """Start a query that never ends and wait until it has the file open."""
    process = program.python(
        "import sys\nfrom warehouse.report import query_process\nfrom warehouse.cli import main\n"
        "raised, kept = query_process._serve_and_exit, query_process._OPENED\n"
        "get = query_process.queue.Queue.get\n"
        "def heard(self, **k):\n"
        "    frame = get(self, **k)\n"
        "    if frame[0] == kept: print('opened', file=sys.stderr, flush=True)\n"
        "    return frame\n"
        "query_process.queue.Queue.get = heard\n"
        "main()\n",
        *["query", ENDLESS[0], "--db", "w.duckdb", *arguments],
        cwd=Path(),
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "opened\n"
    return process


def free_within(seconds: float) -> None:
    """Wait until nobody holds the file any more."""
    with database.transaction(Path("w.duckdb"), lock_timeout=seconds):
        pass


def test_ctrl_c(asked: Warehouse, program) -> None:
    process = endless(program, "--timeout", "100")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    free_within(5)


def test_the_other_process_does_not_outlive_its_caller(asked: Warehouse, program) -> None:
    process = endless(program, "--timeout", "0")
    process.kill()
    process.communicate(timeout=30)
    free_within(10)


@pytest.mark.slow
def test_a_query_that_is_stopped_leaves_no_file(asked: Warehouse, program) -> None:
    sql = "select unnest(range(1000000)) as i, md5(i::varchar) from range(1000000000)"
    for format in ("csv", "parquet"):
        found = program(
            *["query", sql, "-f", format, "-o", "out", "--timeout", "1", "--db", "w.duckdb"],
            cwd=Path(),
        )
        assert found.returncode == 1
        assert "took longer than 1 s" in found.stderr
        assert not list(Path().glob("*out*"))


@pytest.mark.slow
def test_the_wait_for_the_lock_does_not_count(asked: Warehouse, program) -> None:
    holder = program.python(
        "import duckdb, time\ncon = duckdb.connect('w.duckdb')\nprint('held', flush=True)\n"
        "time.sleep(2)\n",
        cwd=Path(),
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    found = program("query", "select 7 as i", "--timeout", "1.5", "--db", "w.duckdb", cwd=Path())
    holder.communicate(timeout=30)
    assert (found.returncode, found.stdout.split()) == (0, ["i", "---", "7"])


@pytest.mark.slow
def test_a_reader_that_pauses_does_not_use_up_the_time(asked: Warehouse, program) -> None:
    line = (
        "warehouse query 'select range as i, repeat(chr(120), 1000) as x from range(3000)' "
        "-f csv --timeout 3 --db w.duckdb | (sleep 4; wc -l)"
    )
    found = program.shell(line, Path())
    assert (found.returncode, found.stdout.split()) == (0, ["3001"])


@pytest.mark.long
@pytest.mark.parametrize("part", range(4))
def test_each_is_refused_in_other_spellings(asked: Warehouse, program, part: int) -> None:
    some = [sql for sql in REFUSED[SOME][part::4] if re.match(r"[\w(]", sql)]  # else there is none
    check_all(program, [f"/* a */\n\t{sql} -- b" for sql in some])
    check_all(program, [f"select 1;\n{sql};" for sql in some])
