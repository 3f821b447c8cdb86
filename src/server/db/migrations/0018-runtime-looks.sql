-- The service looks at its runtimes by itself. A replica that looks at one takes it for all of them until that time.

alter table runtime_health add column look_after timestamptz;
