-- Why a version of an agent was made, and by whom.

alter table agent_versions add column note text;
-- Null for versions of older releases.
alter table agent_versions add column created_by text;
