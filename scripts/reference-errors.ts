import type { ErrorCode } from '../src/contract/errors.ts'

interface ErrorText {
  readonly cause: string
  readonly remedy: string
}

/** Cause and remedy of every error code, for the generated reference. */
export const errorTexts: Readonly<Record<ErrorCode, ErrorText>> = {
  invalid_request: { cause: 'A field of the request is invalid; the message names it.', remedy: 'Correct the field.' },
  unauthorized: {
    cause: 'The key is missing, wrong, expired or revoked. The body is the same in each case.',
    remedy: 'Send a valid key in `Authorization: Bearer` or `x-api-key`.',
  },
  budget_exceeded: {
    cause: 'A budget is used up, the most that the call can cost does not fit into it, or spending is frozen.',
    remedy: 'Raise the budget, lower `max_tokens`, wait until the budget resets, or lift the freeze.',
  },
  forbidden: {
    cause: 'The key may not do this: its role, owner, models or providers; or the model has no known price.',
    remedy: 'Use another key, or change the key with `PATCH /api/keys/{id}`.',
  },
  not_found: {
    cause: 'The object does not exist, or belongs to another owner.',
    remedy: 'Check the id and the owner of the key.',
  },
  unknown_path: { cause: 'No operation has this path.', remedy: 'Compare the path with `/docs`.' },
  method_not_allowed: {
    cause: 'The path has other methods; the header `allow` lists them.',
    remedy: 'Use one of them.',
  },
  conflict: {
    cause: 'The state of the object does not allow this, such as a busy session.',
    remedy: 'Read the object, then decide.',
  },
  payload_too_large: { cause: 'The body exceeds the limit of the operation.', remedy: 'Send a smaller body.' },
  unsupported_media_type: {
    cause: 'The operation does not accept this content type.',
    remedy: 'Send `application/json`, or the type that the operation names.',
  },
  idempotency_mismatch: {
    cause: 'The `Idempotency-Key` was used before with another body.',
    remedy: 'Use a new key.',
  },
  upgrade_required: {
    cause: 'The client requested a WebSocket.',
    remedy: 'Use HTTP. Codex does so by itself.',
  },
  rate_limited: {
    cause: 'A limit of requests, tokens, concurrent calls or streams is reached, here or at the provider.',
    remedy: 'Wait for the seconds in `retry-after`.',
  },
  internal: {
    cause: 'A defect of the service. The log has the cause under the request id.',
    remedy: 'Report it with the log lines of that id.',
  },
  upstream_unreachable: {
    cause: 'The provider refused or closed the connection, or a hook failed.',
    remedy: 'Retry; check the address of the provider.',
  },
  unavailable: {
    cause: 'The database is unreachable, or the service is stopping.',
    remedy: 'Retry after the seconds in `retry-after`.',
  },
  upstream_timeout: {
    cause: 'The provider did not answer in time.',
    remedy: 'Retry, or raise `timeouts` of the model.',
  },
  overloaded: {
    cause: 'The service or the provider is overloaded.',
    remedy: 'Retry after the seconds in `retry-after`.',
  },
}
