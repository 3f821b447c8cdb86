import type { BatchEndpoint, BatchError } from '../../contract/batches.ts'
import { isRecord, jsonOr } from '../platform/json.ts'
import type { NewCall } from './batch-store.ts'
import { lineError } from './errors.ts'
import type { TargetOfLine } from './provider/target-of-line.ts'
import { kindOfEndpoint } from './public-batch.ts'

const maxIdLength = 512

/** A line of an input file in OpenAI's format, as it is stored. */
export type InputLine = { readonly custom_id: string } & NewCall

interface Reading {
  readonly endpoint: BatchEndpoint
  readonly targetOf: TargetOfLine
}

type Problem = Omit<BatchError, 'line'>

const problem = (code: string, message: string, param: string | null = null): Problem => ({ code, message, param })

/**
 * Reads a line `{custom_id, method, url, body}`. Returns the problem of a line that makes its whole file invalid. A body
 * that no model accepts is not such a problem: its call fails alone.
 */
export function readInputLine(text: string, { endpoint, targetOf }: Reading): InputLine | Problem {
  const line = jsonOr(text, undefined)
  if (!isRecord(line)) return problem('invalid_json_line', 'line is not a JSON object')
  const { custom_id, method, url, body } = line
  if (typeof custom_id !== 'string' || custom_id === '' || custom_id.length > maxIdLength || custom_id.includes('\0'))
    return problem('invalid_custom_id', `custom_id must be a text of 1 to ${maxIdLength} characters`, 'custom_id')
  if (method !== 'POST') return problem('invalid_method', 'method must be POST', 'method')
  if (url !== endpoint) return problem('invalid_url', `url must be the endpoint of the batch: ${endpoint}`, 'url')
  if (!isRecord(body)) return problem('invalid_body', `body must be an object: the body of POST ${endpoint}`, 'body')
  if (body['stream'] === true)
    return { custom_id, error: lineError('openai', 'invalid_request', 'stream is not supported in a batch; omit it') }
  try {
    return { custom_id, request: JSON.stringify(body), target: targetOf(kindOfEndpoint[endpoint], body) }
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    return { custom_id, error: lineError('openai', 'invalid_request', 'body is nested too deep') }
  }
}
