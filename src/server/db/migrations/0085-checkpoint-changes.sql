-- Number of files and links that differ from the checkpoint before; null in rows of older releases.
alter table workspace_checkpoints add column changed integer;
