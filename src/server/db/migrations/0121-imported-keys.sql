-- Source of a key that was imported from another gateway, with a hash that identifies it there; null: created here.
alter table api_keys add column imported_from text;
create unique index api_keys_imported on api_keys (imported_from) where imported_from is not null;
