import type { IncomingHttpHeaders } from 'node:http'
import { AppError, invalid } from '../platform/errors.ts'

const maxDepth = 64
/** Members of all objects together. Checking, comparing and storing a body costs time for each of them. */
const maxMembers = 10_000
/** Items of all arrays together. Security: S50. */
const maxItems = 100_000

/** Throws for a compressed body, which no reader here takes. */
export function refuseEncoded({ 'content-encoding': encoding }: IncomingHttpHeaders): void {
  if (encoding !== undefined && encoding !== 'identity')
    throw new AppError('unsupported_media_type', 'encoded bodies are not read; send plain JSON')
}

/** The value of a JSON request body; undefined when it is empty. Bad JSON, deep nesting, too many members and items are 400. */
export function parseJsonBody(text: string): unknown {
  const value = parseJsonText(text, maxMembers)
  if (mayHoldBrokenText.test(text)) refuseBrokenText(value)
  return value
}

/**
 * As `parseJsonBody`, with any number of members, but not of items, and with strings that the database may refuse. For those who do not store
 * them as they are.
 */
export function parseJsonText(text: string, mostMembers = Number.POSITIVE_INFINITY): unknown {
  if (text.trim() === '') return undefined
  refuseLargeStructure(text, mostMembers)
  return parsed(text)
}

function parsed(text: string): unknown {
  try {
    return mayHoldPrototypeKey.test(text) ? JSON.parse(text, dropPrototypeKey) : JSON.parse(text)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new AppError('invalid_request', `the body is not valid JSON: ${reason.slice(0, 200)}`, { cause })
  }
}

/** Only escapes can bring these in: the bytes of the body were read as UTF-8. */
const mayHoldBrokenText = /\\u(0000|d[89a-f])/i

/** The database can hold neither the NUL character nor half of a surrogate pair, and no text needs them. */
function refuseBrokenText(value: unknown): void {
  if (typeof value === 'string') {
    if (value.includes('\0') || !value.isWellFormed()) {
      throw invalid('the body holds U+0000 or half of a surrogate pair; neither is text')
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      refuseBrokenText(key)
      refuseBrokenText(part)
    }
  }
}

/** The key as it is, or with letters of it escaped. */
const mayHoldPrototypeKey = /"__proto__"|\\u00(5f|6f|7[024])/i

/** Deleting the key is the point: an own property `__proto__` survives JSON.parse and poisons later copies. */
const dropPrototypeKey = (key: string, value: unknown): unknown => (key === '__proto__' ? undefined : value)

function refuseLargeStructure(text: string, mostMembers: number): void {
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
      // The first item has no comma: the bracket stands for it, also where the array is empty.
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
    if (members > mostMembers) throw invalid(`the body has more than ${mostMembers} members in its objects`)
    if (items > maxItems) throw invalid(`the body has more than ${maxItems} items in its arrays`)
    if (open.length > maxDepth) throw invalid(`the body is nested deeper than ${maxDepth} levels`)
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
