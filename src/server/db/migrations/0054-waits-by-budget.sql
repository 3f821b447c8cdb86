-- Who waits for which budget, so that a look for budgets with room reads those that have some, not all that wait.

-- budget: the budget that refused, and the key that pays; null: not known, looked at in any case.
alter table waits add column scope text, add column scope_id text, add column key_id text;

drop index waits_for_budgets;
create index waits_for_budget on waits (scope, scope_id, (coalesce(needs_usd, 0))) where kind = 'budget';
create index waits_under_key on waits (key_id) where kind = 'budget';

update waits w set key_id = p.key_id from prompts p where p.id = w.prompt_id and w.kind = 'budget';
