import type { NewEvent } from '../../../contract/events.ts'
import { type Json, nonEmptyText, recordOf, textOf } from '../../platform/json.ts'
import { cleanText } from '../remote/connection.ts'
import { failed, idle, type RuntimeEndpoint } from '../runtime.ts'

/** Returns the last event of a run; `error` is opencode's error, if there was one. Dialects: sections 2.2 and 2.3. */
export function endingOf(error: Json | undefined, endpoint: Pick<RuntimeEndpoint, 'apiKey'>): NewEvent {
  if (error === undefined) return idle({ type: 'end_turn' })
  const name = textOf(error['name'])
  if (isAborted(error)) {
    return idle({ type: 'end_turn' }, { type: 'interrupted', message: 'stopped by another client of the runtime' })
  }
  if (name === 'MessageOutputLengthError') {
    return idle({ type: 'end_turn' }, { type: 'max_tokens', message: 'the answer was truncated at its limit' })
  }
  if (name === 'ContentFilterError') return idle({ type: 'refusal' })
  const data = recordOf(error['data'])
  // The other lines are a stack trace.
  const words = cleanText(textOf(data['message']).split('\n')[0] ?? '', endpoint)
  return failed(
    typeOfError(name, data['statusCode']),
    nonEmptyText(words) ?? nonEmptyText(name) ?? 'the runtime failed',
  )
}

/** Reports whether the turn was stopped. */
export const isAborted = (error: Json): boolean => error['name'] === 'MessageAbortedError'

const typesOfStatus: Readonly<Record<number, string>> = {
  402: 'billing_error',
  429: 'model_rate_limited_error',
  503: 'model_overloaded_error',
  529: 'model_overloaded_error',
}

function typeOfError(name: string, status: unknown): string {
  if (name === 'APIError') return typesOfStatus[Number(status)] ?? 'model_request_failed_error'
  const isOfModel = name === 'ProviderAuthError' || name === 'ContextOverflowError' || name === 'StructuredOutputError'
  return isOfModel ? 'model_request_failed_error' : 'model_request_failed_error'
}
