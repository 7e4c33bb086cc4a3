"""Scoring by run: a task reads whole runs and scores them; the ground truth goes to each task."""

from __future__ import annotations

import uuid
from pathlib import Path

from warehouse.errors import WarehouseError
from warehouse.evaluate import file_scoring, scoring
from warehouse.evaluate.engines.tasks import Reply, RunFiles, Work, arrow
from warehouse.store.database import RESULT


def score(work: Work, part: RunFiles) -> Reply:
    """Score the runs of a part; a run that is refused does not keep the others from their values."""
    try:
        return _score(work, part)
    except WarehouseError as error:
        if len(part.sources) == 1:
            return Reply(refused={part.names[0]: error})
    replies = [
        score(work, RunFiles(part.first + index, (name,), (source,)))
        for index, (name, source) in enumerate(zip(part.names, part.sources, strict=True))
    ]
    return joined(replies)


def _score(work: Work, part: RunFiles) -> Reply:
    reply = Reply()
    plan = work.plan
    with work.connected() as con:
        for scored in file_scoring.score_runs(con, work.truth, part.sources, plan, work.reading):
            if work.into is not None:
                file = Path(work.into, f"{part.first + scored.first:09}.{uuid.uuid4().hex}.parquet")
                scoring.write_values(con, plan, part.names, file)
                reply.written.append(file.name)
            per_query = work.per_query and work.into is None
            scoring.keep_values(con, plan, part.names, scored.first, per_query=per_query)
            names = part.names[scored.first : scored.first + len(scored.runs)]
            reply.runs |= dict(zip(names, scored.runs, strict=True))
            reply.num_judged = scored.num_judged
        reply.values = arrow(con, f"from temp.{RESULT}")
        reply.totals = arrow(con, f"from temp.{scoring.TOTALS}")
    return reply


def joined(replies: list[Reply]) -> Reply:
    """Return the replies of parts of a part as one."""
    import pyarrow as pa

    whole = Reply(num_judged=max(reply.num_judged for reply in replies))
    for name in ("values", "totals"):
        tables = [table for reply in replies if (table := getattr(reply, name)) is not None]
        setattr(whole, name, pa.concat_tables(tables) if tables else None)
    for reply in replies:
        whole.runs |= reply.runs
        whole.refused |= reply.refused
        whole.written += reply.written
    return whole
