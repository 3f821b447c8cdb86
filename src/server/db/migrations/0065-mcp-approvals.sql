-- Tools of an MCP server whose calls in sessions need a person: "always" or a list of names. Null for none.
alter table mcp_servers add column require_approval json;
