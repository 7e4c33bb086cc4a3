"""More to evaluate against: judgments by iteration, preferences, training sets and attributes."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

# table: {column: (type, comment)}
COLUMNS: dict[str, dict[str, tuple[str, str]]] = {
    "qrels": {
        "kind": (
            "varchar default 'judgments'",
            "'judgments': one per query and document; 'iterations': one per query, document and "
            "iteration (a subtopic or a judgment group); 'preferences': in the table preference.",
        ),
        "normalise": (
            "varchar",
            "The SQL expression that --normalise applied to the document ids, if any.",
        ),
    },
    "run": {
        "normalise": (
            "varchar",
            "The SQL expression that --normalise applied to the document ids, if any.",
        ),
    },
}

# table: (comment, {column: (type, comment)})
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "preference": (
        "One row per document of a preference judgment: within a group and subgroup, a person prefers the "
        "documents of a higher level to those of a lower one.",
        {
            "qrels_id": ("integer not null", "The version of the qrels that it belongs to."),
            "query_id": ("varchar not null", "The query."),
            "judgment_group": ("varchar not null", "The person or the session that judged."),
            "judgment_subgroup": ("varchar not null", "The documents that were judged together."),
            "doc_id": ("varchar not null", "The document."),
            "level": ("double not null", "How good: only its order within the subgroup counts."),
        },
    ),
    "training": (
        "One row per version of a dataset's training set: what a system was trained on, or what users had "
        "seen before. Immutable; the highest version is current.",
        {
            "training_id": ("integer not null", "Number of this version of the training set."),
            "dataset_id": ("integer not null", "The dataset that it belongs to."),
            "version": (
                "integer not null",
                "1 for the first training set of the dataset, then 2, 3, …",
            ),
            "label": ("varchar", "What the person who loaded it called it."),
            "content_hash": (
                "varchar not null",
                "Hash of the examples, whatever their order or format.",
            ),
            "source": (
                "varchar not null",
                "Where it came from: a path, <stdin> or a kind of object.",
            ),
            "source_sha256": ("varchar", "SHA-256 of the file's bytes after decompression."),
            "format": ("varchar not null", "Format that it was read in."),
            "num_queries": ("integer not null", "How many queries (users, instances) it has."),
            "num_examples": ("bigint not null", "How many examples there are."),
            "ingested_at": ("timestamptz not null", "When it was loaded."),
            "program_version": ("varchar not null", "Version of this program that loaded it."),
            "normalise": (
                "varchar",
                "The SQL expression that --normalise applied to the document ids, if any.",
            ),
        },
    ),
    "example": (
        "One row per training example: a document (item, label) that a training query (user, instance) has.",
        {
            "training_id": ("integer not null", "The version of the training set."),
            "query_id": ("varchar not null", "The training query: a user, an instance."),
            "doc_id": ("varchar not null", "The document: an item, a label."),
            "relevance": ("integer not null", "The grade; 1 and above is relevant."),
        },
    ),
    "attribute_set": (
        "One row per version of a table of attributes of a dataset's documents or queries. Immutable; the "
        "highest version of a name is current.",
        {
            "attribute_set_id": ("integer not null", "Number of this version of the attributes."),
            "dataset_id": ("integer not null", "The dataset that they belong to."),
            "subject": ("varchar not null", "What they describe: 'document' or 'query'."),
            "name": ("varchar not null", "Name of the table of attributes."),
            "version": ("integer not null", "1, and one more each time the name was replaced."),
            "content_hash": (
                "varchar not null",
                "Hash of the attributes, whatever their order or format.",
            ),
            "source": (
                "varchar not null",
                "Where they came from: a path, <stdin> or a kind of object.",
            ),
            "source_sha256": ("varchar", "SHA-256 of the file's bytes after decompression."),
            "format": ("varchar not null", "Format that they were read in."),
            "num_subjects": ("integer not null", "How many documents or queries have a row."),
            "ingested_at": ("timestamptz not null", "When they were loaded."),
            "program_version": ("varchar not null", "Version of this program that loaded them."),
            "normalise": (
                "varchar",
                "The SQL expression that --normalise applied to the document ids, if any.",
            ),
        },
    ),
    "attribute_column": (
        "One row per attribute of a table of attributes.",
        {
            "attribute_set_id": ("integer not null", "The version of the table of attributes."),
            "attribute": ("varchar not null", "Name of the attribute: the column of the source."),
            "type": ("varchar not null", "'number', 'text', 'boolean', 'date' or 'list'."),
        },
    ),
    "attribute": (
        "One row per value of an attribute of a document or query; one per element where it is a list.",
        {
            "attribute_set_id": ("integer not null", "The version of the table of attributes."),
            "subject_id": ("varchar not null", "The document or query that it describes."),
            "attribute": ("varchar not null", "Name of the attribute."),
            "position": ("integer not null", "Place in the list, from 1; 1 where it is none."),
            "text": ("varchar not null", "The value as text."),
            "number": ("double", "The value as a number, where it is one."),
        },
    ),
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table, columns in COLUMNS.items():
        for name, (kind, comment) in columns.items():
            execute(f'alter table "{table}" add column "{name}" {kind}')
            execute(f'comment on column "{table}"."{name}" is {_quoted(comment)}')
    for table, (comment, columns) in TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        execute(f'create table "{table}" ({body})')
        execute(f'comment on table "{table}" is {_quoted(comment)}')
        for name, (_, column_comment) in columns.items():
            execute(f'comment on column "{table}"."{name}" is {_quoted(column_comment)}')


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    for table in reversed(TABLES):
        execute(f'drop table "{table}"')
    for table, columns in COLUMNS.items():
        for name in reversed(columns):
            execute(f'alter table "{table}" drop column "{name}"')
