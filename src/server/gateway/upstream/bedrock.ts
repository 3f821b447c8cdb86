import type { ErrorCode } from '../../../contract/errors.ts'

const maxLength = 2_000

/** Bedrock's own words in an error's parsed body, or in its text; undefined when it has none. */
export function bedrockMessage(body: unknown): string | undefined {
  const text = typeof body === 'string' ? body : wordsIn(body)
  const plain = text?.trim()
  // A page of HTML comes from something in between, and explains nothing.
  return plain === undefined || plain === '' || plain.startsWith('<') ? undefined : plain.slice(0, maxLength)
}

function wordsIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { message, Message, Output, originalMessage } = body as Readonly<Record<string, unknown>>
  const [text] = [originalMessage, message, Message].filter(value => typeof value === 'string' && value !== '')
  if (typeof text === 'string') return text
  // What AWS answers on a path that it does not know.
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

/** The code for an exception inside of a stream, by its name. */
export const codeOfException = (name: string): ErrorCode =>
  exceptions.find(([pattern]) => pattern.test(name))?.[1] ?? 'upstream_unreachable'

const tooLong =
  /(input|prompt) is too long|too many (input )?tokens|context (window|length|limit)|maximum context|input length|exceeds? the (model|maximum number of|max)\b.*token/i

/** True when the words say that the prompt does not fit the model. */
export const isTooLong = (message: string): boolean => tooLong.test(message) && !/per (day|minute)/i.test(message)

/** What an id at Amazon Bedrock tells of its model. */
export interface BedrockModel {
  /** An ARN of the account's own, such as an application inference profile, counts as Claude: nothing tells. */
  readonly family: 'claude' | 'nova' | 'openai' | 'mistral' | 'meta' | 'deepseek' | 'other'
  /** Of Claude, as 405 for 4.5; undefined where the id does not tell. */
  readonly version: number | undefined
  /** Of Claude: `opus`, `sonnet`, `haiku` ... */
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

/** Reads a model's id, the id of an inference profile or an ARN. */
export function bedrockModel(id: string): BedrockModel {
  const found = families.find(([pattern]) => pattern.test(id))?.[1]
  const isOwnArn = found === undefined && id.startsWith('arn:') && !id.includes(':foundation-model/')
  const family = found ?? (isOwnArn ? 'claude' : 'other')
  if (family !== 'claude') return { family, version: undefined, line: undefined }
  return { family, version: claudeVersion(id), line: /claude-(?:\d[\d-]*)?([a-z]{3,})/.exec(id)?.[1] }
}

/** Names say `claude-opus-4-5-20251101` or, before 4, `claude-3-5-sonnet-20241022`; a date is no version. */
function claudeVersion(id: string): number | undefined {
  if (/claude-(v2|instant)/.test(id)) return 200
  const found = /claude-(?:[a-z]+-)?(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/.exec(id)
  return found ? Number(found[1]) * 100 + Number(found[2] ?? 0) : undefined
}

/** True for a Claude that is surely of this version or a later one. */
export const isClaudeFrom = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version >= first

/** True for a Claude that is surely older than this version. */
export const isClaudeBefore = ({ family, version }: BedrockModel, first: number): boolean =>
  family === 'claude' && version !== undefined && version < first

/**
 * The id without the number of the AWS account that an ARN holds: clients may know the model, not whose it is. An ARN may stand
 * in a path, encoded.
 */
export const withoutAccount = (id: string): string =>
  /arn(:|%3a)/i.test(id) ? id.replace(/(\barn(:|%3a)[\w-]*\2bedrock[\w-]*\2[\w-]*\2)\d+(?=\2)/i, '$1...') : id

/** The path of one of the model's operations, such as `converse`. ARNs hold colons and slashes. */
export const modelPath = (id: string, operation: string): string => `/model/${encodeURIComponent(id)}/${operation}`
