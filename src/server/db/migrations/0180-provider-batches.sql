-- Lines of batches that a provider's own batch API gets. A provider batch is the claim of its lines: they are settled and
-- released under its id.

-- Where the line goes; null for one that is called singly.
alter table batch_lines add column deployment text;
alter table batch_lines add column upstream_model text;
-- While a provider has it: body of the call after hooks, where that differs from `request`, and the reserved amount.
alter table batch_lines add column prepared text;
alter table batch_lines add column reserved_usd numeric;

drop index batch_lines_ready;
create index batch_lines_ready on batch_lines (batch_id, (deployment is null), ready_at, seq) where ready_at is not null;
create index batch_lines_for_providers on batch_lines (batch_id, ready_at, seq)
  where ready_at is not null and deployment is not null;

create table provider_batches (
  id             uuid primary key,
  batch_id       text not null references batches on delete cascade,
  deployment     text not null,
  upstream_model text not null,
  -- Protocol of the deployment that its requests are in.
  protocol       text,
  -- `collecting`: the provider has nothing of it; `submitting`: it may have it.
  state          text not null check (state in ('collecting', 'submitting', 'in_progress', 'ended')),
  -- Id of the batch at the provider.
  provider_id    text,
  -- Number of its requests.
  lines          integer not null default 0,
  -- Polls of its state so far.
  polls          integer not null default 0,
  -- Its cancellation was requested; until it ends, each poll requests it.
  is_cancelled   boolean not null default false,
  -- When a process may work on it; while one does, when its claim ends.
  ready_at       timestamptz not null,
  claim          uuid,
  created_at     timestamptz not null default clock_timestamp(),
  submitted_at   timestamptz,
  ended_at       timestamptz
);
create index provider_batches_of_batch on provider_batches (batch_id);
create index provider_batches_open on provider_batches (ready_at) where state <> 'ended';
create index provider_batches_by_id on provider_batches (provider_id);
