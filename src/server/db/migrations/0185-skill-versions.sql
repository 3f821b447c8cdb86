-- Versions of skills. `skills` has the description and the content of the default version.
alter table skills
  add column default_version integer not null default 1,
  -- Highest number that a version ever had; none is used twice.
  add column last_version integer not null default 1,
  add column updated_at timestamptz not null default clock_timestamp();
update skills set updated_at = created_at;

-- The name of a skill's folder: lower-case letters, digits and hyphens.
create function skill_slug(name text) returns text language sql immutable as $$
  select coalesce(nullif(btrim(left(btrim(regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g'), '-'), 64), '-'), ''), 'skill')
$$;

create table skill_versions (
  skill_id    text not null references skills on delete cascade,
  number      integer not null,
  id          text not null unique default 'skillver_' || replace(gen_random_uuid()::text, '-', ''),
  name        text not null,
  description text,
  content     text not null,
  created_at  timestamptz not null default clock_timestamp(),
  primary key (skill_id, number)
);

-- Contents of files, shared by the versions of a skill.
create table skill_contents (
  skill_id text not null references skills on delete cascade,
  -- SHA-256 of the content.
  hash     bytea not null,
  content  bytea not null,
  primary key (skill_id, hash)
);

-- Files of versions that were uploaded as a folder, with their SKILL.md; other versions have none.
create table skill_files (
  skill_id text not null,
  number   integer not null,
  path     text collate "C" not null,
  hash     bytea not null,
  primary key (skill_id, number, path),
  foreign key (skill_id, number) references skill_versions on delete cascade,
  foreign key (skill_id, hash) references skill_contents on delete cascade
);
create index skill_files_by_content on skill_files (skill_id, hash);

insert into skill_versions (skill_id, number, name, description, content, created_at)
select id, 1, skill_slug(name), description, content, created_at from skills;

create function add_first_skill_version() returns trigger language plpgsql as $$
begin
  insert into skill_versions (skill_id, number, name, description, content, created_at)
  values (new.id, 1, skill_slug(new.name), new.description, new.content, new.created_at);
  return null;
end $$;
create trigger add_first_skill_version after insert on skills
  for each row execute function add_first_skill_version();

-- A change of the text makes a version. Processes of the release before this one change it too.
create function add_skill_version() returns trigger language plpgsql as $$
begin
  new.last_version := old.last_version + 1;
  new.default_version := new.last_version;
  new.updated_at := clock_timestamp();
  insert into skill_versions (skill_id, number, name, description, content)
  select new.id, new.last_version, v.name, new.description, new.content
  from skill_versions v where v.skill_id = old.id and v.number = old.default_version;
  insert into skill_files (skill_id, number, path, hash)
  select f.skill_id, new.last_version, f.path, f.hash
  from skill_files f where f.skill_id = old.id and f.number = old.default_version and f.path <> 'SKILL.md';
  return new;
end $$;
create trigger add_skill_version before update on skills for each row
  when (new.default_version = old.default_version and new.last_version = old.last_version
        and (new.content is distinct from old.content or new.description is distinct from old.description))
  execute function add_skill_version();
