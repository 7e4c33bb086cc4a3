create table store.imported_score (
    evaluation_id integer not null,
    source varchar not null,
    source_sha256 varchar,
    format varchar not null,
    judge varchar,
    checksum ubigint
);
