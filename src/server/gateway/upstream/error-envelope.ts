import { anthropicTypeOf, type ErrorCode } from '../../../contract/errors.ts'

/** An error of a model call as Anthropic's clients read it. */
export const errorEnvelope = (code: ErrorCode, message: string, requestId: string) =>
  ({ type: 'error', error: { type: anthropicTypeOf(code), message }, request_id: requestId }) as const
