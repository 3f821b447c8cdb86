-- Which data folder a process that runs sessions works in, and in which one the tools of a session were last at work: replicas
-- that do not share theirs are told from those that do. Null: the process runs no sessions; no tool of the session has run.
alter table replicas add column data_folder uuid;
alter table sessions add column data_folder uuid;
