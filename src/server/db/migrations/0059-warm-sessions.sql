-- The process that keeps the program of a session whose run waits for people, without a lease. For 60 s after the wait has ended only
-- that process may take the session; afterwards any.
alter table sessions add column warm_owner text;
create index sessions_warm on sessions (warm_owner) where warm_owner is not null;
