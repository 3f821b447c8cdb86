import type { IncomingHttpHeaders } from 'node:http'
import { AppError, invalid } from '../platform/errors.ts'

const maxDepth = 64
/** Maximum members of all objects together, since each costs time to validate, compare and store. */
const maxMembers = 10_000
/** Maximum items of all arrays together. Security: S50. */
const maxItems = 100_000

/** Throws `unsupported_media_type` for a compressed body. */
export function rejectEncoded({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding !== undefined && encoding !== 'identity')
    throw new AppError('unsupported_media_type', 'content-encoding is not supported; send plain JSON')
}

/**
 * Returns the value of a JSON request body; undefined if empty. Throws `invalid_request` for bad JSON and exceeded
 * limits.
 */
export function parseJsonBody(text: string): unknown {
  const value = parseJsonText(text, maxMembers)
  if (mayContainBrokenText.test(text)) rejectBrokenText(value)
  return value
}

/**
 * Like `parseJsonBody`, without a limit on members and without the check for strings that the database rejects. For
 * bodies that are not stored as they are.
 */
export function parseJsonText(text: string, maxMembers = Number.POSITIVE_INFINITY): unknown {
  if (text.trim() === '') return undefined
  rejectLargeStructure(text, maxMembers)
  return parsed(text)
}

function parsed(text: string): unknown {
  try {
    return mayContainPrototypeKey.test(text) ? JSON.parse(text, dropPrototypeKey) : JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new AppError('invalid_request', `request body is not valid JSON: ${reason.slice(0, 200)}`, { cause })
  }
}

/** Only escapes can contain these, because the body was decoded as UTF-8. */
const mayContainBrokenText = /\\u(0000|d[89a-f])/i

/** PostgreSQL can store neither NUL nor unpaired surrogates. */
function rejectBrokenText(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw invalid('request body contains U+0000 or an unpaired surrogate')
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      rejectBrokenText(key)
      rejectBrokenText(part)
    }
  }
}

/** Matches `__proto__`, also with escaped letters. */
const mayContainPrototypeKey = /"__proto__"|\\u00(5f|6f|7[024])/i

/** Drops the key: JSON.parse creates an own property `__proto__`, which later copies would set as the prototype. */
const dropPrototypeKey = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value)

function rejectLargeStructure(text: string, maxMembers: number): void {
  const open: string[] = []
  let members = 0
  let items = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    switch (character) {
      case '"':
        at = endOfString(text, at)
        break
      case '{':
        open.push(character)
        break
      // The first item has no comma, so the bracket counts as an item, even if the array is empty.
      case '[':
        open.push(character)
        items++
        break
      case '}':
      case ']':
        open.pop()
        break
      case ':':
        members++
        break
      case ',':
        if (open.at(-1) === '[') items++
        break
    }
    if (members > maxMembers) throw invalid(`request body has more than ${maxMembers} members in its objects`)
    if (items > maxItems) throw invalid(`request body has more than ${maxItems} items in its arrays`)
    if (open.length > maxDepth) throw invalid(`request body is nested deeper than ${maxDepth} levels`)
  }
}

/** Returns the position of the closing quote of the string that starts at `start`. Strings may have megabytes. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at)
    if (at < 0) return text.length
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return at
  }
}

/** True for `application/json`, with or without parameters. Security: S26. */
export const isJsonType = (contentType: string): boolean => /^application\/json[ \t]*(;.*)?$/i.test(contentType.trim())
