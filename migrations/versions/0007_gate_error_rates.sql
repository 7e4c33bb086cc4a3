alter table store.gate_result add column low double;
alter table store.gate_result add column high double;
alter table store.gate_result add column could_see double;
alter table store.gate_acceptance add column accepted_by varchar;

/* One row per time that a run was made the baseline of its group (`warehouse gates baseline`); the newest counts. */
create table store.gate_baseline (
    run_id integer not null,  -- Key of run, or of forgotten_run: the version that was named.
    why varchar not null,  -- Why it is the baseline, as given with --why.
    set_by varchar not null,  -- Who made it the baseline, as user@host.
    set_at timestamptz not null,  -- When it was made the baseline (UTC).
    program_version varchar not null,
    checksum ubigint
);

/* One row per content of a run that a gate has spent alpha on. Rows stay when the run is forgotten, or the limits of
   the gate change. */
create table store.gate_place (
    dataset_id integer not null,
    content_hash varchar not null,  -- Hash of the run, as in run.content_hash: copies of a run share a place.
    metric varchar not null,
    protocol varchar not null,
    grouped_by varchar not null,
    against varchar not null,
    place integer not null,  -- 1 for the first content that the gate checked, then 2, 3, …
    alpha double not null,  -- The alpha that was spent on it.
    spent_at timestamptz not null,  -- When it was first checked (UTC).
    program_version varchar not null,
    checksum ubigint
);

/* One row per alert: all that was wrong was given to the command of the project, or nothing was wrong any more. */
create table store.gate_alert (
    told varchar not null,  -- Hash of what was wrong; empty if nothing was.
    told_at timestamptz not null,  -- When the alert was sent (UTC).
    program_version varchar not null,
    checksum ubigint
);
