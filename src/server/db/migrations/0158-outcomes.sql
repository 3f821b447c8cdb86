-- The outcome that a prompt has to reach, and the last verdict of its grader; null without an outcome.
alter table prompts add column outcome jsonb, add column outcome_state jsonb;
