"""Loading the texts of queries or documents: each table of texts has a name and versions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import ConflictError, UsageError, nearest, option
from warehouse.ingest import steps
from warehouse.ingest.attributes import SUBJECTS, Of, stem
from warehouse.readers.kinds import Subject
from warehouse.readers.texts import StagedTexts, stage_texts
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock


@dataclass(frozen=True)
class LoadedTexts:
    """The outcome of loading a table of texts."""

    status: steps.Status
    dataset: str
    of: Of
    name: str
    version: int
    num_texts: int
    source_sha256: str | None = None


@dataclass(frozen=True)
class ForgottenTexts:
    """The texts that were removed, or would be: all versions of a table of texts."""

    dataset: str
    of: Of
    name: str
    num_versions: int
    num_texts: int


def stage(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    of: Of,
    *,
    name: str | None = None,
    id: str | None = None,
    title: str | None = None,
    text: str | None = None,
    format: str | None = None,
    normalise: str | None = None,
    replace: bool = False,
) -> steps.Store[LoadedTexts]:
    """Stage a table of texts; return the function that stores it."""
    steps.check_name("dataset", dataset)
    if name is not None:
        steps.check_name("table of texts", name)
    staged = stage_texts(
        con, source, subject_of(of), id=id, title=title, text=text, format=format,
        normalise=normalise,
    )  # fmt: skip
    name = name or stem(staged.source, "texts")
    return partial(_keep, staged=staged, dataset=dataset, of=of, name=name, replace=replace)


def subject_of(of: str) -> Subject:
    """Return the subject of texts, in the word that the tables use. Raises UsageError."""
    if of not in SUBJECTS:
        raise UsageError(
            f"{option('of', of)}: texts are of docs or of queries{nearest(of, SUBJECTS)}"
        )
    return SUBJECTS[of]


def forget(
    con: duckdb.DuckDBPyConnection, name: str, dataset: str, of: Of, *, dry_run: bool = False
) -> ForgottenTexts:
    """Remove all versions of a table of texts, inside the caller's transaction.

    Raises UsageError if there is none of that name.
    """
    rows = con.execute(
        "select text_set.name, text_set_id, num_texts from text_set join dataset using (dataset_id) "
        "where dataset.name = $dataset and subject = $subject",
        {"dataset": dataset, "subject": subject_of(of)},
    ).fetchall()
    chosen = {number: count for given, number, count in rows if given == name}
    if not chosen:
        known = sorted({str(given) for given, *_ in rows})
        hint = nearest(name, known) or (f"; there are {', '.join(known)}" if known else "")
        raise UsageError(f"{name}: {dataset} has no texts of {of} of that name{hint}")
    if not dry_run:
        for table in ("text", "text_set"):
            con.execute(
                f"delete from {table} where list_contains($ids, text_set_id)", {"ids": [*chosen]}
            )
    return ForgottenTexts(dataset, of, name, len(chosen), sum(chosen.values()))


def _keep(
    con: duckdb.DuckDBPyConnection,
    staged: StagedTexts,
    dataset: str,
    of: Of,
    name: str,
    *,
    replace: bool,
) -> LoadedTexts:
    """Store the staged texts, unless they are the current version already.

    If the name has other content, `replace` is required.
    """
    ((content,),) = con.execute(render("ingest/text_contents")).fetchall()
    ours = {"dataset_id": steps.dataset_id(con, dataset), "subject": staged.subject, "name": name}
    current = steps.newest(con, "text_set", steps.ARE_OURS, ours)
    version = 1 if current is None else int(current["version"])
    status: steps.Status = "unchanged"
    if current is None or current["content_hash"] != content:
        if current is not None and not replace:
            raise ConflictError(
                f"{staged.source}: dataset {dataset} has other texts of {of} named {name} already "
                f"(version {version}, from {current['source']}); load these under another name with "
                f"{option('name', None)}, or as a new version with {option('replace')}"
            )
        status = "loaded" if current is None else "replaced"
        version += current is not None
        number = rows.next_id(con, "text_set_id", "text_set")
        row = {
            "text_set_id": number,
            **ours,
            "version": version,
            "content_hash": content,
            "source": staged.source,
            "source_sha256": staged.source_sha256,
            "format": staged.format,
            "num_texts": staged.num_texts,
            "ingested_at": Clock(con).now(),
            "program_version": VERSION,
            "normalise": staged.normalise,
        }
        rows.add(con, "text_set", [row])
        con.execute(render("ingest/stored_texts"), {"text_set_id": number})
    return LoadedTexts(status, dataset, of, name, version, staged.num_texts, staged.source_sha256)
