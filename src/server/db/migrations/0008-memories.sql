-- What agents remember from one session to the next, and which of it a session was given.

create table memories (
  id              text primary key,
  agent_id        text not null references agents (id) on delete cascade,
  text            text not null,
  -- The text in lower case, made by the program: not every database folds more than ASCII.
  folded          text not null,
  words           tsvector not null generated always as (to_tsvector('simple'::regconfig, folded)) stored,
  tags            text[] not null,
  type            text not null,
  priority        integer not null,
  disabled        boolean not null default false,
  times_applied   bigint not null default 0,
  last_applied_at timestamptz,
  source          text not null,
  -- The session whose agent saved it.
  session_id      text,
  created_by      text not null,
  created_at      timestamptz not null default clock_timestamp()
  -- Room for counting uses in place: no index holds the counters.
) with (fillfactor = 85);
create index memories_of_agent on memories (agent_id, priority desc);
create index memories_by_word on memories using gin (words);
create index memories_by_text on memories (agent_id, md5(text));

-- What a session was given at its start, in that order. Texts are read when they are needed, so that none outlives its
-- memory here.
create table session_memories (
  session_id text primary key references sessions (id) on delete cascade,
  memory_ids text[] not null,
  created_at timestamptz not null default clock_timestamp()
);
