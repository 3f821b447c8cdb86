-- Batches of model calls. A line is claimed, called and settled on its own; the counters of its batch change in the same statement.
create table batches (
  id                  text primary key,
  format              text not null check (format in ('anthropic', 'openai')),
  principal           text not null,
  -- The key that created the batch, which pays for its lines; null for the master key.
  key_id              text,
  -- Kind of all its calls.
  kind                text not null,
  -- Headers of the request that each call repeats.
  headers             json not null,
  metadata            json,
  input_file_id       text,
  output_file_id      text,
  error_file_id       text,
  -- `receiving`: its request is being read, and nobody sees it yet.
  state               text not null check (state in ('receiving', 'validating', 'in_progress', 'canceling', 'finalizing', 'ended')),
  -- How it ended; null before.
  outcome             text check (outcome in ('completed', 'failed', 'cancelled', 'expired')),
  -- Lifetime of the output files in seconds; null: without end.
  output_expires_s    integer,
  -- Why the input file was rejected; null without an error.
  errors              json,
  lines               integer not null default 0,
  succeeded           integer not null default 0,
  errored             integer not null default 0,
  canceled            integer not null default 0,
  expired             integer not null default 0,
  -- When a process may work on it. Later than now while the lines wait for a budget.
  ready_at            timestamptz not null default clock_timestamp(),
  -- Why the lines wait; null while they do not.
  waiting_for         text,
  -- Process that reads the input file or writes the output files, and the token of its claim.
  owner               text,
  claim               uuid,
  created_at          timestamptz not null default clock_timestamp(),
  expires_at          timestamptz not null,
  started_at          timestamptz,
  cancel_initiated_at timestamptz,
  finalizing_at       timestamptz,
  ended_at            timestamptz,
  deleted_at          timestamptz
);
create index batches_of_principal on batches (principal, format, id desc);
create index batches_open on batches (ready_at) where state <> 'ended' and deleted_at is null;
create index batches_ended on batches (ended_at);

create table batch_lines (
  batch_id   text not null references batches on delete cascade,
  seq        integer not null,
  custom_id  text not null,
  -- Body of the call; null once the line has its result.
  request    text,
  -- When a process may claim the line; while one has it, when its claim ends. Null once the line has its result.
  ready_at   timestamptz,
  claim      uuid,
  owner      text,
  -- Calls that failed and may succeed later.
  tries      integer not null default 0,
  type       text check (type in ('succeeded', 'errored', 'canceled', 'expired')),
  -- Of the answer; null for a line without one.
  status     integer,
  request_id text,
  -- Body of the answer, or the error of a line without one.
  result     text,
  primary key (batch_id, seq)
);
create index batch_lines_ready on batch_lines (batch_id, ready_at, seq) where ready_at is not null;
create index batch_lines_claimed on batch_lines (owner) where owner is not null;

-- Batch of a call; null for other calls.
alter table usage add column batch_id text;
