-- The books: what was paid for, summed up as it is written, so that nobody goes through the events.

-- To whom it is put down, and for what.
create table payer (
    key       integer primary key,
    cluster   text    not null,
    what      text    not null,
    person    text    not null,
    account   text    not null,
    partition text    not null,
    template  text    not null,
    unique (cluster, what, person, account, partition, template)
) strict;

-- Every quarter of an hour, and every day in UTC once more. The rows of a payer stand together in
-- the order of time: a month is a few pages for each.
create table spent (
    payer       integer not null,
    span        integer not null, -- seconds: 900 or 86400
    at          integer not null, -- its beginning, in seconds, UTC
    micros      integer not null,
    jobs        integer not null,
    unknown     integer not null,
    seconds     integer not null,
    cpu_seconds integer not null,
    gpu_seconds integer not null,
    primary key (payer, span, at)
) without rowid, strict;

-- Every run of a job, whole.
create table paid_run (
    cluster     text    not null,
    job         integer not null,
    born        integer not null, -- microseconds, UTC; so are since and until
    restarts    integer not null,
    label       text    not null,
    name        text    not null,
    person      text    not null,
    account     text    not null,
    partition   text    not null,
    template    text    not null,
    since       integer not null,
    until       integer not null,
    micros      integer not null,
    why_unknown text    not null,
    charges     blob    not null,
    primary key (cluster, job, born, restarts)
) without rowid, strict;

-- The dearest first, with all that says whether a run is meant, so that no other row is read.
create index paid_run_dearest on paid_run (cluster, micros, until, job, born, restarts, since);
create index paid_run_person on paid_run (cluster, person, micros, until, job, born, restarts, since);
create index paid_run_unknown on paid_run (cluster, until) where why_unknown <> '';
