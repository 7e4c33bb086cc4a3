create table store.prediction_file (
    run_id integer not null,
    place varchar not null,
    columns varchar not null,
    checksum ubigint
);
