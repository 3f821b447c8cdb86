import { parseJsonText } from '../http/json-body.ts'
import { AppError, invalid } from '../platform/errors.ts'

/** Body of a delivery. */
export interface Payload {
  readonly value: unknown
  readonly bytes: Buffer
}

/** Parses a body: any JSON value in UTF-8. Throws `invalid_request`. */
export function payloadOf(bytes: Buffer): Payload {
  const text = decoded(bytes)
  const value = mayLoseDigits.test(text) ? exactValue(text) : parseJsonText(text)
  if (value === undefined) throw invalid('request body is empty; send a JSON value')
  return { value, bytes }
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new AppError('invalid_request', 'request body is not valid JSON: not UTF-8', { cause })
  }
}

/** Numbers that a double may not represent. A match inside a string is harmless. */
const mayLoseDigits = /\d{16}|\d[eE]/

/** ECMAScript's JSON.parse source text access, which the compiler's library does not know yet. */
interface ExactJson {
  parse(text: string, reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** Parses JSON so that each number keeps its digits. */
function exactValue(text: string): unknown {
  // For its error messages.
  parseJsonText(text)
  const json = JSON as unknown as ExactJson
  return json.parse(text, (key, value, { source }) => {
    if (key === '__proto__') return undefined
    return typeof value === 'number' && source !== undefined && String(value) !== source ? json.rawJSON(source) : value
  })
}

/** Returns the payload as indented JSON. Gaps: section 11, rule 6. */
export const indented = ({ value }: Payload): string => JSON.stringify(value, null, 2)
