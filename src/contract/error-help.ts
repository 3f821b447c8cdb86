import type { ErrorCode } from './error-codes.ts'

/** Why an error occurs and what to do about it. Sentences; names in backquotes are code. */
export interface ErrorHelp {
  readonly cause: string
  readonly nextStep: string
}

/** Help for every error code. Source of the generated reference and of the error panels of the console. */
export const errorHelp: Readonly<Record<ErrorCode, ErrorHelp>> = {
  invalid_request: {
    cause: 'A field of the request is invalid; the message names it.',
    nextStep: 'Correct the field.',
  },
  unauthorized: {
    cause: 'The key is missing, wrong, expired or revoked. The body is the same in each case.',
    nextStep: 'Send a valid key in `Authorization: Bearer` or `x-api-key`.',
  },
  budget_exceeded: {
    cause: 'A budget is used up, the most that the call can cost does not fit into it, or spending is frozen.',
    nextStep: 'Raise the budget, lower `max_tokens`, wait until the budget resets, or lift the freeze.',
  },
  forbidden: {
    cause: 'The key may not do this: its role, owner, models or providers; or the model has no known price.',
    nextStep: 'Use another key, or change the key with `PATCH /api/keys/{id}`.',
  },
  not_found: {
    cause: 'The object does not exist, or belongs to another owner.',
    nextStep: 'Check the id and the owner of the key.',
  },
  unknown_path: { cause: 'No operation has this path.', nextStep: 'Compare the path with `/docs`.' },
  method_not_allowed: {
    cause: 'The path has other methods; the header `allow` lists them.',
    nextStep: 'Use one of them.',
  },
  conflict: {
    cause: 'The state of the object does not allow this, such as a busy session.',
    nextStep: 'Read the object, then decide.',
  },
  payload_too_large: { cause: 'The body exceeds the limit of the operation.', nextStep: 'Send a smaller body.' },
  unsupported_media_type: {
    cause: 'The operation does not accept this content type.',
    nextStep: 'Send `application/json`, or the type that the operation names.',
  },
  idempotency_mismatch: {
    cause: 'The `Idempotency-Key` was used before with another body.',
    nextStep: 'Use a new key.',
  },
  upgrade_required: {
    cause: 'The client requested a WebSocket.',
    nextStep: 'Use HTTP. Codex does so by itself.',
  },
  rate_limited: {
    cause: 'A limit of requests, tokens, concurrent calls or streams is reached, here or at the provider.',
    nextStep: 'Wait for the seconds in `retry-after`.',
  },
  internal: {
    cause: 'A defect of the service. The log has the cause under the request id.',
    nextStep: 'Report it with the log lines of that id.',
  },
  upstream_unreachable: {
    cause: 'The provider refused or closed the connection, or a hook failed.',
    nextStep: 'Retry; check the address of the provider.',
  },
  unavailable: {
    cause: 'The database is unreachable, or the service is stopping.',
    nextStep: 'Retry after the seconds in `retry-after`.',
  },
  upstream_timeout: {
    cause: 'The provider did not answer in time.',
    nextStep: 'Retry, or raise `timeouts` of the model.',
  },
  overloaded: {
    cause: 'The service or the provider is overloaded.',
    nextStep: 'Retry after the seconds in `retry-after`.',
  },
}

/** Help for every `error.type` of `session.error`. */
export const sessionErrorHelp = {
  billing_error: {
    cause: 'A budget is used up, spending is frozen, or the account at the provider has no credit.',
    nextStep: 'Raise the budget, lift the freeze or top up the account, then send a prompt.',
  },
  model_rate_limited_error: {
    cause: 'The provider, or a limit of the key, rejects more requests or tokens a minute.',
    nextStep: 'Send a prompt later; raise the limit, or add deployments of the model.',
  },
  model_overloaded_error: {
    cause: 'The provider or this service is overloaded or unavailable.',
    nextStep: 'Send a prompt later; fallbacks of the model continue with another one.',
  },
  model_request_failed_error: {
    cause: 'The model call or the runtime failed; the message has the reason.',
    nextStep: 'Correct what the message names, such as the model, the credential or the program, then send a prompt.',
  },
  compaction_limit_reached_error: {
    cause: 'The conversation does not fit into the context window, not even after compaction.',
    nextStep: 'Send a shorter prompt, choose a model with a larger window, or start a new session.',
  },
  tool_use_limit_reached_error: {
    cause: 'The run reached its limit of turns.',
    nextStep: 'Send a prompt to continue, or raise `max_turns` of the agent.',
  },
  invalid_result_error: {
    cause: 'The result does not fit the schema of the prompt, even after a repair.',
    nextStep: 'Simplify the schema, or choose another model.',
  },
  mcp_connection_failed_error: {
    cause: 'An MCP server of the agent does not answer.',
    nextStep: 'Test the server, then send a prompt.',
  },
  mcp_authentication_failed_error: {
    cause: 'An MCP server of the agent rejects the credential.',
    nextStep: 'Renew the credential or the login at the server.',
  },
  credential_host_unreachable_error: {
    cause: 'The runtime cannot reach the host of a credential.',
    nextStep: 'Check the address and the network rules of the runtime.',
  },
  repository_authentication_error: {
    cause: 'The host of the repository rejects the credential.',
    nextStep: 'Renew the credential of the repository.',
  },
  repository_forbidden_error: {
    cause: 'The credential may not read or write the repository.',
    nextStep: 'Grant it access to the repository, or use another one.',
  },
  repository_not_found_error: {
    cause: 'The repository does not exist, or the credential cannot see it.',
    nextStep: 'Check the address of the repository and its credential.',
  },
  repository_clone_error: {
    cause: 'The runtime could not clone the repository; the message has the reason.',
    nextStep: 'Correct what the message names, then send a prompt.',
  },
  repository_checkout_error: {
    cause: 'The branch, tag or commit is not in the repository.',
    nextStep: 'Correct `ref`, then start a new session.',
  },
  unknown_error: {
    cause: 'The run ended for a reason without its own type; the message has it.',
    nextStep: 'Send a prompt to continue; report a defect with the log lines of the session.',
  },
} as const satisfies Record<string, ErrorHelp>

export type SessionErrorType = keyof typeof sessionErrorHelp

/** Returns the help for an `error.type`; that of `unknown_error` for a type of a later version. */
export const helpForSessionError = (type: string): ErrorHelp =>
  Object.hasOwn(sessionErrorHelp, type) ? sessionErrorHelp[type as SessionErrorType] : sessionErrorHelp.unknown_error
