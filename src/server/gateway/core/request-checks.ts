import { AppError, invalid } from '../../platform/errors.ts'
import type { OwnMembers } from '../bytes/json-members.ts'
import type { BedrockKind, CallKind, EndpointKind } from './call.ts'

/** All fields that any of the checks below reads. */
export const checkedFields = [
  'model',
  'stream',
  'messages',
  'input',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
] as const

type Field = (typeof checkedFields)[number]

/** What a request says in the fields above; undefined where it says nothing. */
export type Body = Readonly<Record<Field, unknown>>

/** What is checked of a request before anything else happens. All other fields are open and pass. */
interface Checks {
  /** Top-level keys that may stand there only once. */
  readonly watched: readonly Field[]
  /** The most tokens that the answer may have; 0 when the request does not say. Throws `invalid_request`. */
  maxTokens(body: Body): number
  /** True for formats in which a field may be null to say nothing. */
  readonly allowsNull: boolean
}

/** The checks of each format whose requests name their model in the body. */
export const checksOf: Readonly<Record<Exclude<CallKind, `gemini${string}` | BedrockKind | EndpointKind>, Checks>> = {
  messages: {
    watched: ['model', 'max_tokens', 'stream'],
    allowsNull: false,
    maxTokens(body) {
      checkList(body, 'messages')
      if (body.max_tokens === undefined) throw invalid('max_tokens is required')
      return limit('max_tokens', body.max_tokens)
    },
  },
  count_tokens: {
    watched: ['model', 'max_tokens', 'stream'],
    allowsNull: false,
    maxTokens(body) {
      checkList(body, 'messages')
      return typeof body.max_tokens === 'number' ? body.max_tokens : 0
    },
  },
  chat: {
    watched: ['model', 'stream', 'max_tokens', 'max_completion_tokens'],
    allowsNull: true,
    maxTokens(body) {
      checkList(body, 'messages')
      const older = optionalLimit(body, 'max_tokens')
      return optionalLimit(body, 'max_completion_tokens') ?? older ?? 0
    },
  },
  responses: {
    watched: ['model', 'stream', 'max_output_tokens'],
    allowsNull: true,
    maxTokens(body) {
      if (typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return optionalLimit(body, 'max_output_tokens') ?? 0
    },
  },
  responses_count: {
    watched: ['model', 'stream', 'max_output_tokens'],
    allowsNull: true,
    maxTokens(body) {
      if (typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return typeof body.max_output_tokens === 'number' ? body.max_output_tokens : 0
    },
  },
  responses_compact: {
    watched: ['model', 'max_output_tokens'],
    allowsNull: true,
    maxTokens(body) {
      // Where the conversation is stored upstream, its id stands in.
      if (body.input !== undefined && typeof body.input !== 'string') checkList(body, 'input', 'a string or an array')
      return optionalLimit(body, 'max_output_tokens') ?? 0
    },
  },
  embeddings: {
    watched: ['model'],
    allowsNull: true,
    maxTokens(body) {
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

/** Null says nothing in OpenAI's formats. */
const optionalLimit = (body: Body, field: Field): number | undefined => {
  const value = body[field]
  return value === undefined || value === null ? undefined : limit(field, value)
}

function limit(field: Field, value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) throw invalid(`${field} must be an integer`)
  if (value < 1) throw invalid(`${field} must be 1 or more`)
  return value
}

/** Far more than any model reads. Each costs time and memory wherever a body is parsed, translated or counted. */
const mostValues = 500_000
/** Levels below the body itself. What writes JSON goes down them one inside the other. */
const mostLevels = 500

/** Throws `invalid_request` for a body with more in it than can be read in a moment. */
export function checkSize({ count, depth }: Pick<OwnMembers, 'count' | 'depth'>): void {
  if (count > mostValues) throw invalid(`the body has more than ${mostValues} values`)
  if (depth > mostLevels) throw invalid(`the body is nested deeper than ${mostLevels} levels`)
}

/** The JSON object in `body`. Throws `invalid_request` for anything else. */
export function parsedObject(body: Buffer | string): Record<string, unknown> {
  if (body.length === 0) throw invalid('the body is empty')
  let value: unknown
  try {
    value = JSON.parse(body.toString())
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Record<string, unknown>
}
