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
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (inString) {
      if (code === 0x5c) at++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) {
      depth++
      if (depth > maxDepth) throw invalid(`the body is nested deeper than ${maxDepth} levels`)
    } else if (code === 0x7d || code === 0x5d) depth--
  }
}

/** True for `application/json`, with or without parameters. Security S26: the spelling decides, nothing else. */
export const isJsonType = (contentType: string): boolean => /^application\/json[ \t]*(;.*)?$/i.test(contentType.trim())
