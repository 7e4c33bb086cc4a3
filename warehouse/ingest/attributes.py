"""Loading attributes of documents or queries: each table of attributes has a name and versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import duckdb

from warehouse.config.settings import VERSION
from warehouse.errors import ConflictError, UsageError, counted, listing, nearest, option
from warehouse.ingest import steps
from warehouse.readers.attributes import StagedAttributes, stage_attributes
from warehouse.readers.files import default_name
from warehouse.readers.kinds import Subject
from warehouse.sql_text.templates import render
from warehouse.store import rows
from warehouse.store.clock import Clock

Of = Literal["docs", "queries"]
SUBJECTS: Mapping[str, Subject] = {"docs": "document", "queries": "query"}


@dataclass(frozen=True)
class LoadedAttributes:
    """The outcome of loading a table of attributes; `columns` is `{attribute: type}`."""

    status: steps.Status
    dataset: str
    of: Of
    name: str
    version: int
    columns: Mapping[str, str]
    num_subjects: int
    num_values: int
    source_sha256: str | None = None
    warnings: tuple[str, ...] = ()


def stage_table(
    con: duckdb.DuckDBPyConnection,
    source: object,
    dataset: str,
    of: Of,
    *,
    name: str | None = None,
    id: str | None = None,
    split: Mapping[str, str] | None = None,
    leave_out: Sequence[str] = (),
    format: str | None = None,
    normalise: str | None = None,
    replace: bool = False,
) -> steps.Store[LoadedAttributes]:
    """Stage a table of attributes; return the function that stores it, as `keep`."""
    steps.check_name("dataset", dataset)
    if name is not None:
        steps.check_name("table of attributes", name)
    subject = subject_of(of)
    staged = stage_attributes(
        con, source, subject,
        id=id, split=split, leave_out=leave_out, format=format, normalise=normalise,
    )  # fmt: skip
    name = name or stem(staged.source)
    return partial(keep, staged=staged, dataset=dataset, name=name, replace=replace)


def keep(
    con: duckdb.DuckDBPyConnection,
    staged: StagedAttributes,
    dataset: str,
    name: str,
    *,
    replace: bool = False,
) -> LoadedAttributes:
    """Store the staged table of attributes, unless it is the current version already.

    If the name has other content, `replace` is required.
    """
    subject = staged.subject
    of: Of = "docs" if subject == "document" else "queries"
    content = _content_hash(con, staged)
    ours = {"dataset_id": steps.dataset_id(con, dataset), "subject": subject, "name": name}
    current = steps.newest(con, "attribute_set", steps.ARE_OURS, ours)
    status: steps.Status = "unchanged"
    version = 1 if current is None else int(current["version"])
    if current is None or current["content_hash"] != content:
        if current is not None and not replace:
            raise ConflictError(
                f"{staged.source}: dataset {dataset} has other attributes of {of} named {name} "
                f"already (version {version}, from {current['source']}); load these under another "
                f"name with {option('name', None)}, or as a new version with "
                f"{option('replace')} (the old "
                "one stays readable)"
            )
        _refuse_taken(con, staged, of, dataset, ours)
        status = "loaded" if current is None else "replaced"
        version += current is not None
        number = rows.next_id(con, "attribute_set_id", "attribute_set")
        row = {
            "attribute_set_id": number,
            **ours,
            "version": version,
            "content_hash": content,
            "source": staged.source,
            "source_sha256": staged.source_sha256,
            "format": staged.format,
            "num_subjects": staged.num_subjects,
            "ingested_at": Clock(con).now(),
            "program_version": VERSION,
            "normalise": staged.normalise,
        }
        rows.add(con, "attribute_set", [row])
        columns = [
            {"attribute_set_id": number, "attribute": attribute, "type": kind}
            for attribute, kind in staged.columns.items()
        ]
        rows.add(con, "attribute_column", columns)
        con.execute(render("ingest/attributes"), {"attribute_set_id": number})
    return LoadedAttributes(
        status, dataset, of, name, version,
        staged.columns, staged.num_subjects, staged.num_values, staged.source_sha256,
        staged.warnings,
    )  # fmt: skip


def subject_of(of: str) -> Subject:
    """Return the subject of attributes, in the word that the tables use.

    >>> subject_of("docs")
    'document'
    """
    if of not in SUBJECTS:
        raise UsageError(
            f"{option('of', of)}: attributes are of docs or of queries{nearest(of, SUBJECTS)}"
        )
    return SUBJECTS[of]


def stem(source: str, what: str = "attributes") -> str:
    """Return the name that a table gets from its file. Raises UsageError if it has none."""
    if source.startswith("<"):
        raise UsageError(
            f"{source}: has no file name to take the name of the {what} from; give "
            f"{option('name', None)}"
        )
    return default_name(source)


def _content_hash(con: duckdb.DuckDBPyConnection, staged: StagedAttributes) -> str:
    """Return a hash of the attributes, types and values that does not depend on order or format."""
    ((total,),) = con.execute(
        "select coalesce(sum(hash(subject_id, attribute, position, text, number)), 0) "
        "from staged_attribute"
    ).fetchall()
    ((types,),) = con.execute(
        "select coalesce(sum(hash(c.name, c.kind)), 0) "
        "from (select unnest($columns::struct(name varchar, kind varchar)[]) as c)",
        {"columns": [{"name": name, "kind": kind} for name, kind in staged.columns.items()]},
    ).fetchall()
    return f"{staged.num_subjects}-{staged.num_values}-{int(total) + int(types):032x}"


def _refuse_taken(
    con: duckdb.DuckDBPyConnection,
    staged: StagedAttributes,
    of: Of,
    dataset: str,
    ours: Mapping[str, object],
) -> None:
    """Refuse an attribute that another current table has for the same dataset and subject.

    Names that differ only in case are the same: they are columns of slices, and parts of columns' names.
    """
    found = con.execute(
        render("checks/attribute_taken"), {**ours, "attributes": list(staged.columns)}
    ).fetchall()
    if found:
        taken = ", ".join(f"{attribute} (in {other})" for attribute, other in found)
        others = listing(sorted({str(other) for _, other in found}))
        raise ConflictError(
            f"{staged.source}: dataset {dataset} has {counted(len(found), 'attribute')} of {of} "
            f"of the same name already: {taken}; rename the columns, leave them out, or load this "
            f"table in the place of {others}: with {option('name', None)} and "
            f"{option('replace')}, in warehouse.toml by 'name'"
        )
