-- Everything the control plane knows, in one file.

create table record (
    kind    text    not null,
    id      text    not null,
    version integer not null,
    body    blob    not null,
    primary key (kind, id)
) without rowid, strict;

create table event (
    cluster text    not null,
    seq     integer not null,
    body    blob    not null,
    primary key (cluster, seq)
) without rowid, strict;

-- What jobs are searched, filtered and sorted by. The job itself is in job_body, so that a scan
-- over fifty thousand of them reads a few megabytes and not sixty. Text is in lower case.
create table job (
    key       integer primary key,
    cluster   text    not null,
    id        integer not null,
    born      integer not null,
    live      integer not null,
    state     text    not null,
    name      text    not null,
    user      text    not null,
    account   text    not null,
    partition text    not null,
    qos       text    not null,
    reason    text    not null,
    nodes     text    not null,
    run       text    not null,
    array     integer,
    task      integer,
    cpus      integer not null,
    gpus      integer not null,
    memory    integer not null,
    priority  integer,
    exit      integer,
    restarts  integer not null,
    submitted integer not null,
    started   integer,
    ended     integer,
    searched  text    not null,
    unique (cluster, id, born)
) strict;

create table job_body (
    key  integer primary key,
    body blob not null
) strict;

-- The searched text stands in the index of the usual order, so that a search reads nothing else.
create index job_newest on job (cluster, submitted, id, born, searched);
create index job_state on job (cluster, state, submitted, id, born);
create index job_user on job (cluster, user, submitted, id, born);
create index job_live on job (cluster, id) where live;
create index job_array on job (cluster, array, task) where array is not null;
create index job_run on job (cluster, run) where run <> '';
