-- The ledger: every event once, in order, with what makes a change to it show.
-- Events of the first schema were never written by a released version.

drop table event;

create table event (
    cluster text    not null,
    seq     integer not null,
    id      text    not null,
    type    text    not null,
    subject text    not null,
    actor   text    not null,
    at      integer not null, -- microseconds, UTC
    body    blob    not null,
    chain   blob    not null,
    primary key (cluster, seq)
) strict;

create index event_subject on event (cluster, subject, seq);
create index event_type on event (cluster, type, seq);
create index event_at on event (cluster, at, seq);

-- Every id the ledger ever took, also of events that are sealed and gone from here.
create table event_id (
    cluster text not null,
    id      text not null,
    primary key (cluster, id)
) without rowid, strict;

-- How far each ledger reaches and what it hashes to, now and where the sealed part ends.
create table ledger (
    cluster      text    not null primary key,
    size         integer not null,
    chain        blob    not null,
    peaks        blob    not null,
    sealed       integer not null default 0,
    sealed_chain blob    not null default x'0000000000000000000000000000000000000000000000000000000000000000',
    sealed_peaks blob    not null default x''
) without rowid, strict;

-- These stop accidents. Who can write this file can drop them; the signed checkpoints stop that.
create trigger event_is_never_changed before update on event
begin select raise(abort, 'An event is never changed.'); end;

create trigger event_is_sealed_before_it_goes before delete on event
when old.seq > (select sealed from ledger where cluster = old.cluster)
begin select raise(abort, 'An event is sealed before it goes.'); end;

create trigger event_id_is_never_changed before update on event_id
begin select raise(abort, 'The id of an event is never changed.'); end;

create trigger event_id_is_never_forgotten before delete on event_id
begin select raise(abort, 'The id of an event is never forgotten.'); end;

create trigger ledger_never_shrinks before update on ledger
when new.size < old.size or new.sealed < old.sealed or new.sealed > new.size
begin select raise(abort, 'A ledger never shrinks.'); end;

create trigger ledger_is_never_deleted before delete on ledger
begin select raise(abort, 'A ledger is never deleted.'); end;
