-- Whose spending is frozen until somebody lifts it: that of a key and its descendants, of an owner, or of everybody.
create table freezes (
  id                text primary key,
  scope             text not null check (scope in ('key', 'owner', 'all')),
  -- Empty for `all`.
  scope_id          text not null,
  reason            text,
  -- True when an admin key with limits set it: such keys lift no other.
  is_by_limited_key boolean not null,
  created_by        text not null,
  created_at        timestamptz not null default clock_timestamp(),
  unique (scope, scope_id)
);

alter table waits drop constraint waits_kind_check;
alter table waits add constraint waits_kind_check check (kind in ('approval', 'budget', 'retry', 'freeze'));
create index waits_for_freezes on waits (session_id) where kind = 'freeze';
