-- `harness` of an agent or a session was stored as its caller sent it. It names the runtime in use.
update agents set harness = config ->> 'runtime' where config ->> 'runtime' is distinct from harness and config ->> 'runtime' is not null;

update sessions set harness = runtime where harness <> runtime;
