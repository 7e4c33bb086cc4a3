"""Other systems, as far as this one can stand for them: the whole way, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WAY = """
import sys
if {without_fcntl}:
    sys.modules["fcntl"] = None  # as on Windows
from pathlib import Path
from warehouse import Warehouse
Path("qrels.csv").write_text("query_id,doc_id,relevance\\nq1,ü,1\\nq1,b,0\\n", encoding="utf-8")
Path("one.csv").write_text("query_id,doc_id,score\\nq1,b,2\\nq1,ü,1\\n", encoding="utf-8")
sys.argv = ["warehouse", "ingest", ".", "-d", "tiny", "-m", "RR"]
from warehouse.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
wh = Warehouse()
assert wh.query("select run, value from scores").fetchall() == [("one", 0.5)]
assert wh.verify().is_good
wh.ingest_run("tiny", {{"q1": {{"ü": 1.0}}}}, name="two", where_it_lies=False)
wh.evaluate("tiny")
wh.publish("replica.duckdb")
assert [row.run for row in Warehouse("replica.duckdb").leaderboard("tiny")] == ["two", "one"]
assert Warehouse.score("qrels.csv", "one.csv", "RR").means() == {{"RR": 0.5}}
"""


@pytest.mark.parametrize(
    ("environment", "gone"),
    [
        ({}, "fcntl"),
        ({"TZ": "Asia/Kathmandu"}, None),
        ({"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}, None),
        ({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, None),
        ({}, "HOME"),
    ],
    ids=["no fcntl", "a time zone of 5:45", "a terminal of cp1252", "Turkish", "no HOME"],
)
def test_the_whole_way(environment: dict[str, str], gone: str | None, tmp_path: Path) -> None:
    # without locks, processes with locks would take its files for those of one that has ended
    given = {**os.environ, **environment, "TMPDIR": str(tmp_path)}
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME"):
        if gone == "HOME":
            given.pop(name, None)
    folder = tmp_path / "a folder with blanks, ü and 'quotes'"
    folder.mkdir()
    script = tmp_path / "way.py"
    script.write_text(WAY.format(without_fcntl=gone == "fcntl"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder, env=given, capture_output=True, text=True, encoding="utf-8", errors="replace",
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
