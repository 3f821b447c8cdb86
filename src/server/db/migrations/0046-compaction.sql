-- `compact`: no message, but the request to compact the conversation; it has no parts.
alter table prompts add column kind text not null default 'prompt' check (kind in ('prompt', 'compact'));

-- The history of a session is read from its last compaction on.
create index session_events_compactions on session_events (session_id, seq) where type = 'agent.thread_context_compacted';
