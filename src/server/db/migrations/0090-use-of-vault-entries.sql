-- When the service last read the value of an entry, exact to a minute.
alter table vault_entries add column last_used_at timestamptz;
