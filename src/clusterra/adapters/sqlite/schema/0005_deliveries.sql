-- What webhooks have to tell: a row for every event and endpoint, and one for every try.
-- Times are microseconds, UTC.

create table delivery (
    key      integer primary key,
    endpoint text    not null,
    event_id text    not null,
    ledger   text    not null,
    seq      integer not null,
    type     text    not null,
    subject  text    not null,
    at       integer not null, -- of the event
    made_at  integer not null,
    state    text    not null,
    due      integer,
    attempts integer not null,
    replays  integer not null,
    ended_at integer,
    status   integer,
    why      text    not null,
    took_ms  integer,
    over     integer, -- since when it may be let go, if it may: when it ended; if it is kept, when it was made
    version  integer not null,
    unique (endpoint, event_id)
) strict;

-- What a lane asks for, in its order; what has ended is not in it. What was tried and what was not stand
-- apart, so that neither is looked for among a hundred thousand of the other.
create index delivery_due on delivery (endpoint, attempts > 0, due, made_at, ledger, seq)
    where due is not null;

-- Lists, forwards and backwards; several states are read side by side. The time of the event is here so
-- that no row is read only to be left out, or counted.
create index delivery_place on delivery (endpoint, state, made_at, ledger, seq, at);

create index delivery_over on delivery (over, endpoint) where over is not null;

create table attempt (
    key      integer primary key,
    endpoint text    not null,
    event_id text    not null,
    number   integer not null,
    body     blob    not null,
    unique (endpoint, event_id, number)
) strict;
