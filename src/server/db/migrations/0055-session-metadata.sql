-- Names and values that clients give to sessions. A table of its own: turns write to `sessions` all the time, and would
-- maintain the index with each of them. No row: none.
create table session_metadata (
  session_id text primary key references sessions,
  metadata   jsonb not null
);
create index session_metadata_values on session_metadata using gin (metadata jsonb_path_ops);

insert into session_metadata (session_id, metadata)
select session_id, metadata::jsonb from dialect_sessions where metadata::text <> '{}';
alter table dialect_sessions drop column metadata;
