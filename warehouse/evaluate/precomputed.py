"""Values that are computed before the file is opened for writing, so that nobody waits for them.

The usual evaluation runs on temporary tables that shadow the file's own. While the metrics of a batch
of runs are computed from copies of their hits, the file is closed; metrics that read more, such as whole
lists or attributes, are computed while it is open for reading. Values are stored only if
their inputs have not changed meanwhile.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import duckdb

from warehouse.evaluate.candidates import Candidate, in_batches
from warehouse.evaluate.computation import Computation
from warehouse.evaluate.plan import Plan
from warehouse.sql_text.templates import render
from warehouse.store import database
from warehouse.store.clock import Clock
from warehouse.store.file import Staging

# The most predictions of the runs whose hits are copied at one time.
BATCH_COPIED = 50_000_000
# Tables that shadow the file's own: tables of values, and copies.
_VALUES = ("evaluation", "query_score", "score", "curve_point")
_COPIES = ("hit", "hit_set", "ranking", "judgment", "preference")
# Further needs of metrics (`Plan.needs`) that the copies satisfy, apart from judgments and hits.
_COPIED = frozenset({"iterations", "preferences"})


class ChangedError(Exception):
    """Inputs of the values have changed while the file was closed."""


class Precomputation(Computation):
    """Computes values in temporary tables, and opens and closes the file as they need it."""

    def __init__(self, staging: Staging) -> None:
        super().__init__(staging.con)
        self._staging = staging
        self._runs: Sequence[Candidate] = ()
        self._state: list[Any] = []
        self._reading = ExitStack()
        self._is_open = False
        self._last_id = 0

    def __enter__(self) -> Precomputation:
        self.open()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()
        if kind is not None:  # else unfinished tables would shadow the file's
            for table in (*_VALUES, *_COPIES):
                self._staging.con.execute(f"drop table if exists temp.{table}")

    def open(self) -> None:
        """Open the file for reading, unless it is open. Raises ChangedError."""
        if not self._is_open:
            self._reading.enter_context(self._staging.read())
            self._is_open = True
            self.check()

    def check(self) -> None:
        """Raise ChangedError unless the inputs of the values in the open file are as at the start."""
        if self._runs and _state(self._staging.con, self._runs) != self._state:
            raise ChangedError

    def close(self) -> None:
        """Close the file."""
        self._is_open = False
        self._reading.close()

    def begin(self, runs: Sequence[Candidate]) -> None:
        """Make the tables for the values of some runs."""
        con = self._staging.con
        self._runs, self._state = runs, _state(con, runs)
        ids = sorted({run.run_id for run in runs})
        con.execute(render("statements/ahead", file=database.ALIAS, runs=ids))
        # new ones are numbered after the file's last, also if that is of other runs
        ((self._last_id,),) = con.execute(
            f"select coalesce(max(evaluation_id), 0) from {database.ALIAS}.store.evaluation"
        ).fetchall()

    def batches(
        self, group: Sequence[Candidate], most: int | None
    ) -> Iterable[Sequence[Candidate]]:
        """Divide runs so that copies of their hits do not take too much memory."""
        return in_batches(group, most or BATCH_COPIED)

    def copy_inputs(self, work: Plan, qrels_id: int) -> None:
        """Copy the rows that the metrics of the runs in scope read."""
        self._staging.con.execute(
            render(
                "statements/ahead_batch",
                file=database.ALIAS, qrels_id=qrels_id, ordering=work.protocol.ordering,
            )
        )  # fmt: skip

    def keep_hits(self, made: Collection[Candidate]) -> None:
        """Keep the hits that were made for some runs."""
        for table in ("hit", "hit_set") if made else ():
            self._staging.con.execute(
                f"insert into new_{table} from {table} where list_contains($ids, run_id)",
                {"ids": [run.run_id for run in made]},
            )

    @contextmanager
    def metrics_context(self, work: Plan) -> Iterator[None]:
        """Close the file while metrics are computed, if they read only copies."""
        if work.needs <= _COPIED:
            self.close()
        yield

    def end(self) -> None:
        """Close the file, and let its own tables be found again."""
        con = self._staging.con
        self.close()
        for table in _VALUES:
            con.execute(f"drop table if exists temp.new_{table}")
            con.execute(f"alter table temp.{table} rename to new_{table}")
        for table in _COPIES:
            con.execute(f"drop table if exists temp.{table}")

    def store(self) -> dt.datetime:
        """Store the values in the caller's transaction that has checked the file; return its time."""
        con = self._staging.con
        at = Clock(con).now()
        ((last,),) = con.execute(
            "select coalesce(max(evaluation_id), 0) from store.evaluation"
        ).fetchall()
        shift = f"evaluation_id + {last - self._last_id} as evaluation_id"
        con.execute(
            f"insert into store.evaluation by name select * replace ({shift}, $at as evaluated_at) "
            "from temp.new_evaluation where evaluation_id > $last",
            {"at": at, "last": self._last_id},
        )
        for table in _VALUES[1:]:
            con.execute(
                f"insert into store.{table} by name select * replace ({shift}) from temp.new_{table}"
            )
        for table in ("hit", "hit_set"):
            con.execute(f"insert into store.{table} by name from temp.new_{table}")
        self._runs = ()  # their state is another now
        return at


def _state(con: duckdb.DuckDBPyConnection, runs: Sequence[Candidate]) -> list[Any]:
    """Return the inputs of the values of some runs: the state of their datasets, to be compared."""
    names = sorted({run.dataset for run in runs})
    state = render("statements/state", file=database.ALIAS)
    return con.execute(state, {"datasets": names}).fetchall()
