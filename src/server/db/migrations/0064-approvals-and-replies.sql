-- Who may answer an approval, and the arguments as the person who allowed the call changed them.
alter table approvals
  -- Key ids, roles and `link`; null: every caller who may see the session.
  add column approvers text[],
  -- Null: the call runs with `input`.
  add column edited_input json;

-- What a prompt of a webhook delivery is answered with, and where.
create table webhook_reply_targets (
  prompt_id   text primary key,
  session_id  text not null,
  agent_id    text not null,
  owner_id    text not null,
  -- Entry of the delivery log.
  delivery_id text not null,
  type        text not null check (type in ('github_comment', 'slack_thread', 'callback')),
  -- Issue, thread or URL, without a secret.
  target      json not null,
  -- Name of the vault entry with the credential.
  secret_key  text not null,
  -- False: the secret must be an entry of the agent's owner.
  may_be_global boolean not null,
  -- False once the prompt has ended and its replies are queued.
  is_open     boolean not null default true,
  created_at  timestamptz not null default clock_timestamp()
);
create index webhook_reply_targets_open on webhook_reply_targets (created_at) where is_open;
create index webhook_reply_targets_by_time on webhook_reply_targets (created_at);

-- Replies to webhook deliveries: the queue of what is posted, and its log.
create table webhook_replies (
  id              text primary key,
  prompt_id       text not null,
  session_id      text not null,
  agent_id        text not null,
  owner_id        text not null,
  delivery_id     text not null,
  type            text not null check (type in ('github_comment', 'slack_thread', 'callback')),
  target          json not null,
  secret_key      text not null,
  may_be_global   boolean not null,
  kind            text not null check (kind in ('answer', 'failure', 'approval')),
  -- Run that ended, or the approval.
  subject         text not null,
  -- SHA-256 of type and target.
  target_digest   bytea not null,
  state           text not null check (state in ('pending', 'delivered', 'failed', 'skipped')),
  attempts        integer not null default 0,
  -- Status of the receiver's last response; null when there was none.
  http_status     integer,
  error           text,
  -- Id of the comment or message at the receiver.
  external_id     text,
  -- When it is sent next; while a replica sends it, when its claim expires. Null once it is over.
  next_attempt_at timestamptz,
  claim           text,
  created_at      timestamptz not null default clock_timestamp(),
  finished_at     timestamptz,
  -- Prompts that joined one run share its answer: it is posted once.
  unique (subject, target_digest)
);
create index webhook_replies_due on webhook_replies (next_attempt_at) where state = 'pending';
create index webhook_replies_of_owner on webhook_replies (owner_id, id desc);
create index webhook_replies_of_session on webhook_replies (session_id, id desc);
create index webhook_replies_by_time on webhook_replies (created_at);
