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
