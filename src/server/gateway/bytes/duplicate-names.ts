import { isRecord } from '../../platform/json.ts'
import { malformed, openText, stringEnd } from './json-scanner.ts'

const quote = 0x22
const colon = 0x3a

/**
 * Reports whether an object in a valid JSON text has a duplicate name, at any depth. Parsers disagree on which one
 * counts.
 */
export const hasDuplicateName = (body: Buffer): boolean => writtenMembers(body) > parsedMembers(body)

/** Counts the members in the text: one for each colon outside of strings. */
function writtenMembers(body: Buffer): number {
  const text = openText(body)
  let count = 0
  let at = 0
  while (at < body.length && at !== malformed) {
    const byte = body[at]
    if (byte === colon) count++
    at = byte === quote ? stringEnd(text, at) : at + 1
  }
  return count
}

/** Counts the members after parsing, which keeps one of each name. */
function parsedMembers(body: Buffer): number {
  const open: unknown[] = [JSON.parse(body.toString('utf8'))]
  let count = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) for (const element of value) pushContainer(open, element)
    if (!isRecord(value)) continue
    for (const member of Object.values(value)) {
      count++
      pushContainer(open, member)
    }
  }
  return count
}

const pushContainer = (open: unknown[], value: unknown): void => {
  if (typeof value === 'object' && value !== null) open.push(value)
}
