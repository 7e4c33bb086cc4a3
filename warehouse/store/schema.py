"""The catalogue tables for SQLAlchemy Core, and upgrading a database file to this program's schema.

The migrations in `migrations/` make the tables with their comments; this module has only what
Python needs to write rows. Bulk rows (prediction, judgment, hit, query_score) are moved by SQL
templates.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from warehouse.config.settings import LOCK_TIMEOUT, SCHEMA_REVISION, resource_folder
from warehouse.errors import UsageError
from warehouse.store import checksums, database, own_schema
from warehouse.store.engine_errors import newer_schema
from warehouse.store.locks import wait_for_lock

if TYPE_CHECKING:
    from alembic.config import Config

# the tables are found by the search path of a connection
metadata = sa.MetaData()


def _table(name: str, /, **columns: type[sa.types.TypeEngine[Any]]) -> sa.Table:
    return sa.Table(name, metadata, *(sa.Column(key, kind) for key, kind in columns.items()))


_Time = sa.TIMESTAMP

# The source of loaded rows, and when and by what they were loaded.
_SOURCE = dict.fromkeys(("content_hash", "source", "source_sha256", "format"), sa.String)
_LOADED: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "ingested_at": _Time,
    "program_version": sa.String,
}

dataset = _table("dataset", dataset_id=sa.Integer, name=sa.String, created_at=_Time)
qrels = _table(
    "qrels",
    qrels_id=sa.Integer,
    dataset_id=sa.Integer,
    version=sa.Integer,
    label=sa.String,
    **_SOURCE,
    num_queries=sa.Integer,
    num_judgments=sa.BigInteger,
    **_LOADED,
    kind=sa.String,
    normalise=sa.String,
    graded_by=sa.String,
    kept_where=sa.String,
)
qrels_judge = _table(
    "qrels_judge",
    qrels_id=sa.Integer,
    judge=sa.String,
    judge_kind=sa.String,
    model=sa.String,
    prompt=sa.String,
)
_RUN: dict[str, type[sa.types.TypeEngine[Any]]] = {
    "run_id": sa.Integer,
    "dataset_id": sa.Integer,
    "name": sa.String,
    "version": sa.Integer,
    "system": sa.String,
    **_SOURCE,
    "trec_tag": sa.String,
    "ranked_by": sa.String,
    "lower_is_better": sa.Boolean,
    "num_queries": sa.Integer,
    "num_predictions": sa.BigInteger,
    "run_at": _Time,
    **_LOADED,
    "normalise": sa.String,
    "kept_where": sa.String,
}
run = _table("run", **_RUN)
forgotten_run = _table("forgotten_run", **_RUN, forgotten_at=_Time, reason=sa.String)
run_tag = _table("run_tag", run_id=sa.Integer, key=sa.String, value=sa.String)
prediction_file = _table("prediction_file", run_id=sa.Integer, place=sa.String, columns=sa.String)
training = _table(
    "training",
    training_id=sa.Integer,
    dataset_id=sa.Integer,
    version=sa.Integer,
    label=sa.String,
    **_SOURCE,
    num_queries=sa.Integer,
    num_examples=sa.BigInteger,
    **_LOADED,
    normalise=sa.String,
    graded_by=sa.String,
    kept_where=sa.String,
)
attribute_set = _table(
    "attribute_set",
    attribute_set_id=sa.Integer,
    dataset_id=sa.Integer,
    subject=sa.String,
    name=sa.String,
    version=sa.Integer,
    **_SOURCE,
    num_subjects=sa.Integer,
    **_LOADED,
    normalise=sa.String,
)
attribute_column = _table(
    "attribute_column", attribute_set_id=sa.Integer, attribute=sa.String, type=sa.String
)
text_set = _table(
    "text_set",
    text_set_id=sa.Integer,
    dataset_id=sa.Integer,
    subject=sa.String,
    name=sa.String,
    version=sa.Integer,
    **_SOURCE,
    num_texts=sa.BigInteger,
    **_LOADED,
    normalise=sa.String,
)
source_file = _table(
    "source_file",
    dataset_id=sa.Integer,
    kind=sa.String,
    path=sa.String,
    name=sa.String,
    size=sa.BigInteger,
    mtime_ns=sa.BigInteger,
    settings=sa.String,
    source_sha256=sa.String,
    run_id=sa.Integer,
    taken_at=_Time,
    program_version=sa.String,
    missing_since=_Time,
)
imported_score = _table(
    "imported_score",
    evaluation_id=sa.Integer,
    source=sa.String,
    source_sha256=sa.String,
    format=sa.String,
    judge=sa.String,
)
nugget_set = _table(
    "nugget_set",
    nugget_set_id=sa.Integer,
    dataset_id=sa.Integer,
    version=sa.Integer,
    **_SOURCE,
    num_queries=sa.Integer,
    num_nuggets=sa.BigInteger,
    **_LOADED,
)
assessment = _table(
    "assessment",
    assessment_id=sa.Integer,
    run_id=sa.Integer,
    kind=sa.String,
    judge=sa.String,
    version=sa.Integer,
    nugget_set_id=sa.Integer,
    **_SOURCE,
    num_queries=sa.Integer,
    num_rows=sa.BigInteger,
    **_LOADED,
)
gate_due = _table("gate_due", run_id=sa.Integer)
fusion = _table(
    "fusion",
    run_id=sa.Integer,
    method=sa.String,
    normalisation=sa.String,
    queries=sa.String,
    qrels_id=sa.Integer,
    num_trained=sa.Integer,
    is_left_out=sa.Boolean,
    tuned_by=sa.String,
    protocol=sa.String,
)
fusion_source = _table(
    "fusion_source",
    run_id=sa.Integer,
    position=sa.Integer,
    source_run_id=sa.Integer,
    name=sa.String,
    version=sa.Integer,
    content_hash=sa.String,
    weight=sa.Double,
)
fusion_query = _table("fusion_query", run_id=sa.Integer, query_id=sa.String)

comparison = _table(
    "comparison",
    comparison_id=sa.Integer,
    dataset_id=sa.Integer,
    qrels_id=sa.Integer,
    protocol=sa.String,
    judged_only=sa.Boolean,
    test=sa.String,
    correction=sa.String,
    family=sa.String,
    alpha=sa.Double,
    interval=sa.String,
    resamples=sa.Integer,
    seed=sa.BigInteger,
    compared_at=_Time,
    program_version=sa.String,
    engine_version=sa.String,
)


def next_id(connection: sa.Connection, *columns: sa.Column[Any]) -> int:
    """Return the next id: there is one writer, so it is the highest id plus one."""
    highest = (sa.select(sa.func.coalesce(sa.func.max(column), 0)) for column in columns)
    return max(int(connection.execute(one).scalar_one()) for one in highest) + 1


def ensure(
    path: Path,
    *,
    resources: database.Resources | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> bool:
    """Make the file if it is missing and upgrade its schema; return whether it changed."""
    database.check_place(path)
    folder = (path.resolve() if path.is_symlink() else path).parent
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder {folder}")
    if path.is_dir():
        raise UsageError(f"{path}: is a directory; name a file in it")
    if not path.exists():
        database.check_name(path)
        if resources is not None:
            database.scratch(resources).close()  # wrong limits are refused before there is a file
        wait_for_lock(lambda: database.create(path), path, lock_timeout)
    elif database.is_as_left(path):
        return False
    # looking takes a fraction of the time of opening for writing
    with database.read(path, lock_timeout=lock_timeout) as con:
        found = database.revision(con, path)
    if found == SCHEMA_REVISION:
        return False
    if found is None:  # whoever made it may have been killed since
        database.remove_parts(path)
    # a database in memory of its own has no views of this program, which the migrations could meet;
    # making the tables of a new file calls none of its functions
    own = replace(resources or database.Resources(), for_one_statement=found is None)
    with (
        closing(database.memory(own)) as con,
        database.write(path, lock_timeout=lock_timeout, staged=con) as connection,
    ):
        _migrate(path, connection, found)
    return True


def _migrate(path: Path, connection: sa.Connection, found: str | None) -> None:
    con = database.raw(connection)
    now = own_schema.revision(con, path, database.ALIAS)
    if now != (found or ""):  # another process was faster
        return
    if found is None:
        # planning the hundreds of statements would take as long as running them on empty tables
        con.execute("pragma disable_optimizer")
        if own_schema.make_new(con, database.ALIAS):
            return
    # importing Alembic takes as long as the script
    from alembic import command
    from alembic.script import ScriptDirectory

    config = alembic_config(connection)
    if found is None:
        command.upgrade(config, "head")
        return
    known = {s.revision for s in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in known:
        raise newer_schema(path, found)
    own_schema.replace(con, path, database.ALIAS, found)
    with checksums.kept(con, is_older=True):
        command.upgrade(config, "head")


def alembic_config(connection: sa.Connection) -> Config:
    """Return Alembic's configuration for a connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resource_folder("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
