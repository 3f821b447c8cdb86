-- The library of skills, and which blocks of it each agent carries.

create table skills (
  id          text primary key,
  -- The principal that made it.
  owner_id    text not null,
  name        text not null,
  description text,
  content     text not null,
  created_at  timestamptz not null default clock_timestamp()
);
create index skills_of_owner on skills (owner_id, id desc);

-- The blocks as they were written into `system`, so that each can be taken out again to the byte.
alter table agents add column skills json not null default '[]';
