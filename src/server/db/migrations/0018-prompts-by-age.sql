-- Sessions that wait for somebody to run them are taken by the age of their prompts.

create index prompts_open_by_age on prompts (created_at) where state in ('waiting', 'running');
