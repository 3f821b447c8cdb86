/** What a person can do after a failed run, by the type of its error. */
const advice: Readonly<Record<string, string>> = {
  billing_error: 'Add credit at the provider, or choose another model, then send the prompt again.',
  model_rate_limited_error:
    'Wait for the limit of the provider to reset, or choose another model, then send the prompt again.',
  model_overloaded_error: 'Send the prompt again later, or choose another model.',
  model_request_failed_error: 'Check the model and its provider key, then send the prompt again.',
  invalid_result_error: 'Simplify the result schema or choose another model, then send the prompt again.',
  compaction_limit_reached_error: 'Start a new session, or send a shorter prompt.',
  tool_use_limit_reached_error: 'Send a prompt to continue, or raise the limit of tool calls of the agent.',
  mcp_connection_failed_error: 'Check that the MCP server is reachable, then send the prompt again.',
  mcp_authentication_failed_error: 'Sign in to the MCP server again, then send the prompt again.',
  credential_host_unreachable_error: 'Check that the host of the credential is reachable, then send the prompt again.',
  repository_authentication_error: 'Check the credential of the repository, then send the prompt again.',
  repository_forbidden_error: 'Give the credential access to the repository, then send the prompt again.',
  repository_not_found_error: 'Check the address of the repository, then send the prompt again.',
  repository_checkout_error: 'Check the branch or commit of the session, then send the prompt again.',
  repository_clone_error: 'Check that the repository is reachable, then send the prompt again.',
  invalid_request_error: 'Change the settings that the message names, then send the prompt again.',
  refusal: 'Rephrase the prompt, or choose another model.',
}

/** Returns the next step after an error of this type. */
export const adviceFor = (type: string): string =>
  advice[type] ?? 'Send the prompt again; if it fails again, see the server log.'
