-- The repository that was cloned into a session's files: address, branch, base and pull request. Null before the clone.
alter table sessions add column repository json;
