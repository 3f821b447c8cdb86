-- Who changed what. Rows are only ever added.

create table audit_log (
  id          text primary key,
  created_at  timestamptz not null default clock_timestamp(),
  principal   text not null,
  role        text not null,
  key_id      text,
  -- Of the connection; null for what the service does by itself.
  address     text,
  request_id  text,
  -- Such as `key.create`.
  action      text not null,
  object_id   text not null,
  owner_id    text,
  -- The public fields before and after; a secret is named as changed, never shown.
  before      json,
  after       json
);
create index audit_log_by_time on audit_log (created_at);
create index audit_log_of_object on audit_log (object_id, created_at);
create index audit_log_of_action on audit_log (action, created_at);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name;
end $$;

create trigger audit_log_is_append_only before update or delete on audit_log
  for each row execute function refuse_change();
create trigger audit_log_is_not_emptied before truncate on audit_log
  for each statement execute function refuse_change();
