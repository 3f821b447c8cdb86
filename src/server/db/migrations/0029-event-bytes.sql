-- Size of an event's payload in bytes of UTF-8, so that a page of the log can be bounded without reading the payloads.
-- Null in rows of older releases: those are measured when they are read.

alter table session_events add column bytes integer;
