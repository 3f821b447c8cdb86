-- What a call cost, and what of it an upstream could not carry.

-- US dollars; null when nobody has stated the model's price, which is not the same as 0.
alter table usage add column cost_usd numeric;
-- `path=action` pairs; null when nothing was dropped or approximated.
alter table usage add column degraded text;
