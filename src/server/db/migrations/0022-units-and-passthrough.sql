-- What a call used besides tokens, such as characters of speech or images; null for most calls.
alter table usage add column units jsonb;

-- Providers whose own paths a key may call.
alter table api_keys add column passthrough json not null default '[]';
