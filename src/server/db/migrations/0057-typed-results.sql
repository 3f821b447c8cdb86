-- The JSON Schema that the answer to a prompt has to fit; null: that of the agent, if it has one.
alter table prompts add column output_schema json;
