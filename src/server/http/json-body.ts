import { AppError, invalid } from '../platform/errors.ts'

const maxDepth = 64

/** The value of a JSON request body; undefined when it is empty. Bad JSON and deep nesting are 400. */
export function parseJsonBody(text: string): unknown {
  if (text.trim() === '') return undefined
  refuseDeepNesting(text)
  try {
    return text.includes('"__proto__"') ? JSON.parse(text, dropPrototypeKey) : JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new AppError('invalid_request', `the body is not valid JSON: ${reason.slice(0, 200)}`, { cause })
  }
}

/** Deleting the key is the point: an own property `__proto__` survives JSON.parse and poisons later copies. */
const dropPrototypeKey = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value)

function refuseDeepNesting(text: string): void {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === '}' || character === ']') depth--
    else if (character === '{' || character === '[') depth++
    if (depth > maxDepth) throw invalid(`the body is nested deeper than ${maxDepth} levels`)
  }
}

/** The position of the quote that closes the string opened at `start`. */
function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}

/** True for `application/json`, with or without parameters. Security S26: the spelling decides, nothing else. */
export const isJsonType = (contentType: string): boolean => /^application\/json[ \t]*(;.*)?$/i.test(contentType.trim())
