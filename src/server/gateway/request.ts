import { AppError, invalid } from '../platform/errors.ts'
import type { Ask, Call } from './call.ts'
import { checksOf } from './ingress/request-checks.ts'
import { scanTopLevel } from './splice.ts'

/** The formats in which an answer can be streamed. */
const streamed: ReadonlySet<Call['kind']> = new Set(['messages', 'chat', 'responses'])

/**
 * Checks the few fields that routing and budgets depend on; all else is open and passes. Throws `invalid_request` that
 * names the field. Source: Gateway, section 1.
 */
export function readRequest({ kind, body }: Pick<Call, 'kind' | 'body'>): Ask {
  const parsed = parsedObject(body)
  const { model, stream } = parsed
  if (typeof model !== 'string') throw invalid(model === undefined ? 'model is required' : 'model must be a string')
  if (model === '') throw invalid('model must not be empty')
  const { watched, allowsNull, maxTokens } = checksOf[kind]
  const mostTokens = maxTokens(parsed)
  const saysStream = stream !== undefined && !(allowsNull && stream === null)
  if (saysStream && typeof stream !== 'boolean') throw invalid('stream must be a boolean')
  const { doubled, model: modelSpan } = scanTopLevel(body, watched)
  if (doubled !== undefined) throw invalid(`${doubled} is given twice`)
  // Both readings of the body agree on valid JSON, so this would be a fault of the scanner.
  if (!modelSpan) throw new AppError('internal', 'the body could not be read')
  return { model, modelSpan, stream: stream === true && streamed.has(kind), maxTokens: mostTokens }
}

/** The JSON object in `body`. Throws `invalid_request` for anything else. */
export function parsedObject(body: Buffer): Record<string, unknown> {
  if (body.length === 0) throw invalid('the body is empty')
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch (cause) {
    throw new AppError('invalid_request', 'the body is not valid JSON', { cause })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  return value as Record<string, unknown>
}
