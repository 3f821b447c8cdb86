import { Type } from 'typebox'
import { anthropicTypeOf, type ErrorCode } from './error-codes.ts'
import { named } from './named.ts'

/** `{error:{type,message}}`. Interface: Errors. */
export const NestedError = named(
  'ErrorResponse',
  Type.Object({ error: Type.Object({ type: Type.String(), message: Type.String() }) }),
)

/** `{error:"text"}`, on paths under /api/v1. Interface: Errors. */
export const PlainError = named('PlainError', Type.Object({ error: Type.String() }))

/** Anthropic's envelope, on /v1/messages and /v1/models. */
export const AnthropicError = named(
  'AnthropicError',
  Type.Object({
    type: Type.Literal('error'),
    error: Type.Object({ type: Type.String(), message: Type.String() }),
    request_id: Type.Optional(Type.String({ description: 'Absent in an error that a provider sent without it' })),
  }),
)

/** Error of MCP's transport. */
export const JsonRpcError = named(
  'JsonRpcError',
  Type.Object({
    jsonrpc: Type.Literal('2.0'),
    id: Type.Union([Type.String(), Type.Integer(), Type.Null()]),
    error: Type.Object({ code: Type.Integer(), message: Type.String() }),
  }),
)

/** Returns an error in Anthropic's envelope. */
export const anthropicError = (code: ErrorCode, message: string, requestId: string) =>
  ({ type: 'error', error: { type: anthropicTypeOf(code), message }, request_id: requestId }) as const

/** Body of every 401. Interface: Authentication, rule 6. */
export const unauthorizedBody = { error: { type: 'gateway_error', message: 'unauthorized' } } as const
