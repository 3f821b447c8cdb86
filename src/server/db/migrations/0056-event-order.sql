-- In which transaction an event was written: a stream over many sessions goes on where it was by it. Transactions commit in another
-- order than they began; those below the oldest that is open are all settled. Events of before have 0, and thus come first.
alter table session_events add column xid xid8 not null default '0';
alter table session_events alter column xid set default pg_current_xact_id();
create index session_events_by_transaction on session_events (xid, session_id, seq);
