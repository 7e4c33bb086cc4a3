"""A process that forks children which do one operation each, and let it fail or kill it on the way.

`faults.c` may be preloaded into it. Each line of its input is a JSON object: the `folder` to work in,
the `name` of the operation, the write at which a fault happens and which, as `nth` and `mode` (0 is
never), and when to kill the child, as `kill`: a word (begin, commit), how many of that word come before,
and the seconds from there. The answer has the words that were said with their times, the number of
writes, and the error of the operation or null; `killed` says that it did not end.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from kill_server import announce_commits
from operations import METRICS, OPERATIONS, begin

from warehouse.errors import WarehouseError
from warehouse.warehouse import Warehouse


def work(folder: str, name: str, nth: int, mode: int, output: int) -> None:
    """Do an operation and tell the end of it."""
    os.chdir(folder)
    faults: Any = ctypes.CDLL(None) if mode else None
    error = None

    def say(word: str, more: object = None) -> None:
        os.write(output, (json.dumps([word, time.monotonic(), more]) + "\n").encode())

    wh = Warehouse("w.duckdb")
    if mode:
        faults.faults_arm(ctypes.c_long(nth), mode)
    else:  # a pipe that is full would change the number of writes
        announce_commits(say)
        say("begin")
    try:
        begin(Path(folder)) if name == "begin" else OPERATIONS[name].do(wh)
    except WarehouseError as refusal:
        error = ["refused", str(refusal)]
    except BaseException:
        error = ["traceback", traceback.format_exc()]
    say("end", {"writes": faults.faults_seen() if mode else 0, "error": error})


def serve(kill: list[Any] | None = None, **request: Any) -> dict[str, Any]:
    """Fork a child for an operation, and return what it told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(**request, output=writing)
        finally:
            os._exit(0)
    os.close(writing)
    said: list[tuple[str, float]] = []
    told: dict[str, Any] = {}
    with os.fdopen(reading) as lines:
        for line in lines:
            word, when, more = json.loads(line)
            said.append((word, when))
            told |= more or {}
            number = [earlier for earlier, _ in said].count(word) - 1
            if kill is not None and [word, number] == kill[:2]:
                time.sleep(kill[2])
                os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if told:
        return told | {"killed": False, "said": said}
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    error = None if ended == signal.SIGKILL else ["traceback", f"ended by signal {ended}"]
    return {"writes": 0, "error": error, "killed": True, "said": said}


if __name__ == "__main__":
    Warehouse.sql(METRICS)
    for line in sys.stdin:
        print(json.dumps(serve(**json.loads(line))), flush=True)
