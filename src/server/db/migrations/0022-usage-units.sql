-- What a call used besides tokens, such as characters of speech or images; null for most calls.
alter table usage add column units jsonb;
