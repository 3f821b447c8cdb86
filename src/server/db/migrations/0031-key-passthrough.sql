-- Providers whose own API a key may use beside the calls of models. None for the keys that there are.
alter table api_keys add column passthrough json not null default '[]';
