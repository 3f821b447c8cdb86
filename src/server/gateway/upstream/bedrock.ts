import type { ErrorCode } from '../../../contract/error-codes.ts'

const maxLength = 2_000

/** Returns Bedrock's message in an error's parsed body or text; undefined when it has none. */
export function bedrockMessage(body: unknown): string | undefined {
  const text = typeof body === 'string' ? body : wordsIn(body)
  const plain = text?.trim()
  // An HTML page comes from a proxy and does not explain the error.
  return plain === undefined || plain === '' || plain.startsWith('<') ? undefined : plain.slice(0, maxLength)
}

function wordsIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { message, Message, Output, originalMessage } = body as Readonly<Record<string, unknown>>
  const [text] = [originalMessage, message, Message].filter(value => typeof value === 'string' && value !== '')
  if (typeof text === 'string') return text
  // AWS's response to an unknown path.
  const type = (Output as { readonly __type?: unknown } | undefined)?.__type
  return typeof type === 'string' ? type.slice(type.indexOf('#') + 1) : undefined
}

const exceptions: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^throttling|^toomanyrequests|^servicequota/i, 'rate_limited'],
  [/^serviceunavailable|^modelnotready/i, 'overloaded'],
  [/^modeltimeout/i, 'upstream_timeout'],
  [/^validation/i, 'invalid_request'],
  [/^accessdenied/i, 'forbidden'],
  [/^resourcenotfound/i, 'not_found'],
]

/** Returns the error code for an exception in a stream, by its name. */
export const codeOfException = (name: string): ErrorCode =>
  exceptions.find(([pattern]) => pattern.test(name))?.[1] ?? 'upstream_unreachable'

const tooLong =
  /(input|prompt) is too long|too many (input )?tokens|context (window|length|limit)|maximum context|input length|exceeds? the (model|maximum number of|max)\b.*token/i

/** Reports whether an error message says that the prompt exceeds the model's context window. */
export const isTooLong = (message: string): boolean => tooLong.test(message) && !/per (day|minute)/i.test(message)

/** What a model id at Amazon Bedrock reveals about the model. */
export interface BedrockModel {
  /** An ARN of the account, such as an application inference profile, hides the family and counts as Claude. */
  readonly family: 'claude' | 'nova' | 'openai' | 'mistral' | 'meta' | 'deepseek' | 'other'
  /** Claude's version, 405 for 4.5; undefined when the id does not contain it. */
  readonly version: number | undefined
  /** Claude's model line: `opus`, `sonnet`, `haiku` ... */
  readonly line: string | undefined
}

const families = [
  [/anthropic|claude/, 'claude'],
  [/amazon\.nova/, 'nova'],
  [/openai\./, 'openai'],
  [/mistral\./, 'mistral'],
  [/meta\./, 'meta'],
  [/deepseek\./, 'deepseek'],
] as const

/** Parses a model id, the id of an inference profile or an ARN. */
export function bedrockModel(id: string): BedrockModel {
  const found = families.find(([pattern]) => pattern.test(id))?.[1]
  const isOwnArn = found === undefined && id.startsWith('arn:') && !id.includes(':foundation-model/')
  const family = found ?? (isOwnArn ? 'claude' : 'other')
  if (family !== 'claude') return { family, version: undefined, line: undefined }
  return { family, version: claudeVersion(id), line: /claude-(?:\d[\d-]*)?([a-z]{3,})/.exec(id)?.[1] }
}

/**
 * Names look like `claude-opus-4-5-20251101` or, before version 4, `claude-3-5-sonnet-20241022`. Dates are not
 * versions.
 */
function claudeVersion(id: string): number | undefined {
  if (/claude-(v2|instant)/.test(id)) return 200
  const found = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(id)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : undefined
}

/** Reports whether a model is known to be Claude of this version or later. */
export const isClaudeFrom = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version >= first

/** Reports whether a model is known to be Claude before this version. */
export const isClaudeBefore = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version < first

/**
 * Returns the id without the AWS account number of an ARN, which clients must not see. The ARN may be percent-encoded
 * in a path.
 */
export const withoutAccount = (id: string): string =>
  /arn(:|%3a)/i.test(id) ? id.replace(/(\barn(:|%3a)[\w-]*\2bedrock[\w-]*\2[\w-]*\2)\d+(?=\2)/i, '$1...') : id

/**
 * Returns the path of a model's operation, such as `converse`. ARNs contain colons and slashes, so the id is encoded.
 */
export const modelPath = (id: string, operation: string): string => `/model/${encodeURIComponent(id)}/${operation}`
