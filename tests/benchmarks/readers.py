"""Ask a server for pages from many readers at once: `python -m tests.benchmarks.readers --help`.

Without --write, each page is asked for by one reader after the other, which gives the time of a page.
With it, runs are loaded by `warehouse sync`, which publishes the replica that is served, as long as the
readers read.
"""

from __future__ import annotations

import argparse
import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from tests.benchmarks import contenders, report

PROJECT = """
publish = "replica.duckdb"
[evaluate]
metrics = ["nDCG@10"]
[datasets.{dataset}]
[[runs]]
files = "runs/{{name}}.run"
dataset = "{dataset}"
"""


@dataclass
class Found:
    """How long the answers to each address took, in seconds, and what failed."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failed: list[str] = field(default_factory=list)
    adding: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, connection: http.client.HTTPConnection, path: str, more: str = "") -> None:
        """Ask for a page, without what a browser would have kept of it."""
        since = time.perf_counter()
        try:
            connection.request("GET", path + more)
            answer = connection.getresponse()
            body = answer.read()
            failed = "" if answer.status == 200 and body else f"{path}: {answer.status}"
        except OSError as error:
            connection.close()
            failed = f"{path}: {error}"
        with self.adding:
            self.seconds[path].append(time.perf_counter() - since)
            self.failed += [failed] if failed else []


@contextmanager
def served(database: Path) -> Iterator[int]:
    """Serve a warehouse or a replica; yield the port."""
    command = [*contenders.warehouse("serve", "--port", "0", "--db", database)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        try:
            told = serving.stderr.readline()
            found = re.search(r"127\.0\.0\.1:(\d+)", told)
            if found is None:
                raise SystemExit(f"readers: the server said: {told}{serving.stderr.read()}")
            yield int(found[1])
        finally:
            serving.terminate()


def addresses(database: Path, dataset: str) -> list[str]:
    """Return one address of each kind of page."""
    from warehouse import Warehouse
    from warehouse.report.pages.keys import keys

    wh = Warehouse(database)
    board = wh.leaderboard(dataset, top=1)
    name = next(iter(board)).run
    run = keys([name])[name]
    query = next(iter(wh.queries(dataset, name))).query_id
    metric = board.columns[4]
    kinds = [
        "index.html", f"runs/{run}.html", "queries/index.html", f"queries/{keys([query])[query]}.html",
        "compare.html", "history.html", "agreement.html", "judge-next.html",
    ]  # fmt: skip
    folder = keys([dataset])[dataset]
    return [
        "/index.html", *(f"/{folder}/{kind}" for kind in kinds),
        f"/{folder}/index.html?sort={quote(metric)}&reverse=1", f"/{folder}/index.html?text={run[:3]}",
        f"/api/board?dataset={quote(dataset)}", "/metrics/index.html", "/reference/protocols.html",
        "/reference/schema.html",
    ]  # fmt: skip


def read(port: int, paths: list[str], readers: int, seconds: float, *, fresh: bool) -> Found:
    """Let readers ask for all pages in turn, each beginning elsewhere, until the time is over.

    A server keeps its answers. An address that nobody has asked for yet is answered afresh.
    """
    found, until = Found(), time.monotonic() + seconds

    def one(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        turn = number
        while time.monotonic() < until:
            path = paths[turn % len(paths)]
            joined = "&" if "?" in path else "?"
            is_page = fresh and not path.startswith("/api/")
            found.ask(connection, path, f"{joined}groups=off{number}x{turn}" if is_page else "")
            turn += 1

    threads = [threading.Thread(target=one, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def write(folder: Path, database: Path, dataset: str, until: threading.Event) -> list[float]:
    """Load a run and publish, again and again; return how long each sync took."""
    from warehouse import Warehouse

    wh = Warehouse(database)
    run = next(iter(wh.leaderboard(dataset, top=1))).run
    rows = wh.query(
        "select query_id, doc_id, score from predictions where dataset = $dataset and run = $run",
        dataset=dataset, run=run,
    ).fetchall()  # fmt: skip
    spool, took = folder / "runs", []
    spool.mkdir()
    (folder / "warehouse.toml").write_text(PROJECT.format(dataset=dataset))
    while not until.is_set():
        number = len(took)
        lines = (f"{q} Q0 {d} 0 {score * (1 + number / 100)} x" for q, d, score in rows)
        (spool / f"late{number:03}.run").write_text("\n".join(lines) + "\n")
        old = time.time() - 60
        os.utime(spool / f"late{number:03}.run", (old, old))
        since = time.perf_counter()
        command = [*contenders.warehouse("sync", "--db", database)]
        done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
        if done.returncode:
            print(f"sync: {done.stderr[-500:]}")
            return took
        took.append(time.perf_counter() - since)
    return took


def main() -> int:
    """Measure and print; 1 when an answer failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.readers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("database", type=Path, help="a warehouse; it is copied")
    parser.add_argument("dataset")
    parser.add_argument("--readers", type=int, default=1, metavar="N", help="at once; default: 1")
    parser.add_argument("--seconds", type=float, default=20, metavar="S", help="default: 20")
    parser.add_argument("--fresh", action="store_true", help="let no page be one that was kept")
    parser.add_argument("--write", action="store_true", help="load and publish meanwhile")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="readers-") as temporary:
        folder = Path(temporary)
        database = Path(shutil.copy(asked.database, folder / "own.duckdb"))
        paths = addresses(database, asked.dataset)
        target = database
        if asked.write:
            target = folder / "replica.duckdb"
            command = [*contenders.warehouse("publish", target, "--db", database)]
            subprocess.run(command, check=True, capture_output=True)
        over, syncs = threading.Event(), []
        with served(target) as port:
            first = Found()
            for path in paths:
                first.ask(http.client.HTTPConnection("127.0.0.1", port, timeout=60), path)
            writer = threading.Thread(
                target=lambda: syncs.extend(write(folder, database, asked.dataset, over))
            )
            if asked.write:
                writer.start()
            found = read(port, paths, asked.readers, asked.seconds, fresh=asked.fresh)
            over.set()
            if asked.write:
                writer.join()
    print(f"{'page':44} {'first':>9} {'median':>9} {'95%':>9} {'answers':>8}")
    for path in paths:
        took = sorted(found.seconds[path]) or [float("nan")]
        late = took[int(0.95 * (len(took) - 1))]
        print(
            f"{path[:44]:44} {1000 * first.seconds[path][0]:6.0f} ms "
            f"{1000 * statistics.median(took):6.1f} ms {1000 * late:6.1f} ms {len(took):8,}"
        )
    failed = first.failed + found.failed
    print(f"{asked.readers} readers, {sum(map(len, found.seconds.values())):,} answers, "
          f"{len(failed)} failed; {len(syncs)} syncs with publish")  # fmt: skip
    for line in sorted(set(failed))[:10]:
        print(f"  {line}")
    print(f"{report.machine()}; load {os.getloadavg()[0]:.1f}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
