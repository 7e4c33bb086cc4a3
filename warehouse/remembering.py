"""The verbs of history, which the class `Warehouse` has beside its own."""

from __future__ import annotations

from warehouse import database
from warehouse.analyze import board
from warehouse.ingest.forget import Forgotten, forget
from warehouse.opened import File


class Remembering(File):
    """A warehouse file that can say what was, and where its numbers come from."""

    def forget(
        self,
        run: str,
        dataset: str,
        *,
        version: int | None = None,
        reason: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove a run, all its versions or one: its predictions, hits and values.

        What the catalogue says of it stays, with `reason`, in the table forgotten_run. The newest
        version that is left is the current one; the same content may be loaded again. Raises UsageError
        where there is no such run or version.

        >>> import tempfile
        >>> from warehouse.warehouse import Warehouse
        >>> wh = Warehouse(tempfile.mkdtemp() + "/example.duckdb")
        >>> _ = wh.ingest_run({"q1": {"a": 1.0}}, "tiny", name="wrong")
        >>> wh.forget("wrong", "tiny", reason="trained on the test set").versions
        (1,)
        >>> wh.runs("tiny").fetchall()
        []
        """
        with self._read() as con:
            board.check_dataset(con, dataset)
            found = forget(con, run, dataset, version=version, dry_run=True)
        if dry_run:
            return found
        with self._write() as connection:
            return forget(database.raw(connection), run, dataset, version=version, reason=reason)
