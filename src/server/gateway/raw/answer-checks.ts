import { isRecord } from '../../platform/json.ts'
import { faultOf } from './answer-fields.ts'
import type { UpstreamFault } from './wire.ts'

/** How the body of an error begins in all formats; an answer begins with its id or its type. */
const errorStart = /^\s*\{\s*"(?:error"\s*:\s*["{]|type"\s*:\s*"error")/

/** The error in the body of an answer with a status of success; undefined for an answer. */
export function errorInAnswer(body: Buffer): UpstreamFault | undefined {
  if (!errorStart.test(body.toString('latin1', 0, 128))) return undefined
  try {
    const parsed: unknown = JSON.parse(body.toString('utf8'))
    return isRecord(parsed) ? faultOf(parsed) : undefined
  } catch {
    // Half an error is no answer either.
    return { message: '' }
  }
}

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** True for bytes that begin and end as a JSON object does: parsing all would delay the answer. */
export function isWholeJson(body: Buffer): boolean {
  let start = 0
  let end = body.length - 1
  while (isBlank(body[start])) start++
  while (end > start && isBlank(body[end])) end--
  return body[start] === 0x7b && end > start && body[end] === 0x7d
}
