import { isRecord } from '../../platform/json.ts'
import { broken, openText, stringEnd } from './json-scanner.ts'

const quote = 0x22
const colon = 0x3a

/** True when an object in a valid JSON text names a member twice, at any depth. Parsers disagree on which one counts. */
export const hasDoubledName = (body: Buffer): boolean => writtenMembers(body) > readMembers(body)

/** One for each colon outside of strings. */
function writtenMembers(body: Buffer): number {
  const text = openText(body)
  let count = 0
  let at = 0
  while (at < body.length && at !== broken) {
    const byte = body[at]
    if (byte === colon) count++
    at = byte === quote ? stringEnd(text, at) : at + 1
  }
  return count
}

/** Of each name only one is left. */
function readMembers(body: Buffer): number {
  const open: unknown[] = [JSON.parse(body.toString('utf8'))]
  let count = 0
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (Array.isArray(value)) for (const element of value) keep(open, element)
    if (!isRecord(value)) continue
    for (const member of Object.values(value)) {
      count++
      keep(open, member)
    }
  }
  return count
}

const keep = (open: unknown[], value: unknown): void => {
  if (typeof value === 'object' && value !== null) open.push(value)
}
