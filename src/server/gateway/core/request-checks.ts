import { AppError, invalid } from '../../platform/errors.ts'
import { parseExactInputs } from '../bytes/exact-numbers.ts'
import { type Keys, type OwnMembers, ownMembers } from '../bytes/json-members.ts'
import type { Span } from '../bytes/json-scanner.ts'
import type { BedrockKind, CallKind, EndpointKind } from './call.ts'

/** Fields that the checks below read. */
export const checkedFields = [
  'model',
  'stream',
  'messages',
  'input',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
] as const

/** Fields with which OpenRouter and similar gateways accept names of models that may answer in place of `model`. */
export const otherModelFields = ['models', 'fallbacks'] as const

type Field = (typeof checkedFields)[number]

/** Values of the fields above and of `prompt`; undefined for a missing field. */
export type Body = Readonly<Record<Field | 'prompt', unknown>>

/** First checks of a request. All other fields are open and pass. */
interface Checks {
  /** Top-level members that must not occur twice. */
  readonly watched: readonly Field[]
  /** Checks the request. Returns its limit of output tokens, 0 without one. Throws `invalid_request`. */
  maxTokensOf(body: Body): number
  /** True for formats in which null equals a missing field. */
  readonly allowsNull: boolean
}

/** The checks of each format whose requests name their model in the body. */
export const checksOf: Readonly<Record<Exclude<CallKind, `gemini${string}` | BedrockKind | EndpointKind>, Checks>> = {
  messages: {
    watched: ['model', 'max_tokens', 'stream'],
    allowsNull: false,
    maxTokensOf(body) {
      checkList(body, 'messages')
      if (body.max_tokens === undefined) throw invalid('max_tokens is required')
      return limit('max_tokens', body.max_tokens)
    },
  },
  count_tokens: {
    watched: ['model', 'max_tokens', 'stream'],
    allowsNull: false,
    maxTokensOf(body) {
      checkList(body, 'messages')
      return typeof body.max_tokens === 'number' ? body.max_tokens : 0
    },
  },
  chat: {
    watched: ['model', 'stream', 'max_tokens', 'max_completion_tokens'],
    allowsNull: true,
    maxTokensOf(body) {
      checkList(body, 'messages')
      // Servers differ in which limit they read, and budgets reserve by it.
      return Math.max(optionalLimit(body, 'max_completion_tokens') ?? 0, optionalLimit(body, 'max_tokens') ?? 0)
    },
  },
  responses: {
    watched: ['model', 'stream', 'max_output_tokens'],
    allowsNull: true,
    maxTokensOf(body) {
      // A prompt that the upstream stores may be the whole input.
      const isStored = body.input === undefined && body.prompt !== undefined && body.prompt !== null
      if (!isStored && typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return optionalLimit(body, 'max_output_tokens') ?? 0
    },
  },
  responses_count: {
    watched: ['model', 'stream', 'max_output_tokens'],
    allowsNull: true,
    maxTokensOf(body) {
      if (typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return typeof body.max_output_tokens === 'number' ? body.max_output_tokens : 0
    },
  },
  responses_compact: {
    watched: ['model', 'stream', 'max_output_tokens'],
    allowsNull: true,
    maxTokensOf(body) {
      // The id of a conversation that the upstream stores may replace it.
      if (body.input !== undefined && typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return optionalLimit(body, 'max_output_tokens') ?? 0
    },
  },
  embeddings: {
    watched: ['model', 'stream', 'max_tokens', 'input'],
    allowsNull: true,
    maxTokensOf(body) {
      if (typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return 0
    },
  },
}

function checkList(body: Body, field: Field, kind = 'an array'): void {
  const value = body[field]
  if (value === undefined) throw invalid(`${field} is required`)
  if (!Array.isArray(value)) throw invalid(`${field} must be ${kind}`)
  if (value.length === 0) throw invalid(`${field} must not be empty`)
}

/** Checks a limit. In OpenAI's formats, null equals a missing field. */
const optionalLimit = (body: Body, field: Field): number | undefined => {
  const value = body[field]
  return value === undefined || value === null ? undefined : limit(field, value)
}

function limit(field: Field, value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid(`${field} must be an integer`)
  if (value < 1) throw invalid(`${field} must be 1 or more`)
  return value
}

/** Throws `invalid_request` if the object at `span` has one of `keys` twice: the upstream might read the other one. */
export function rejectRepeated(body: Buffer, { start, end }: Span, { keys, path }: { keys: Keys; path: string }): void {
  const [duplicate] = ownMembers(body.subarray(start, end), keys)?.duplicates ?? []
  if (duplicate !== undefined) throw invalid(`${path}.${duplicate} is given twice`)
}

/** Maximum values in a body, far more than any model reads. Each costs time and memory. */
const maxValues = 500_000
/** Maximum nesting. `JSON.stringify` is recursive. */
const maxLevels = 500

/** Throws `invalid_request` for a body with too many values or levels. */
export function checkSize({ count, depth }: Pick<OwnMembers, 'count' | 'depth'>): void {
  if (count > maxValues) throw invalid(`request body has more than ${maxValues} values`)
  if (depth > maxLevels) throw invalid(`request body is nested deeper than ${maxLevels} levels`)
}

/** Parses the JSON object in `body`, with exact numbers in the inputs of tool calls. Throws `invalid_request` for anything else. */
export function parsedObject(body: Buffer | string): Record<string, unknown> {
  if (body.length === 0) throw invalid('the body is empty')
  let value: unknown
  try {
    value = parseExactInputs(body.toString())
  } catch (cause) {
    throw new AppError('invalid_request', 'request body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Record<string, unknown>
}
