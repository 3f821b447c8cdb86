import { isRecord, type Json } from '../../../platform/json.ts'
import type { ModelEvent, StopReason } from '../../translated/model-event.ts'

const reasons: Readonly<Record<string, StopReason>> = {
  end_turn: 'end_turn',
  tool_use: 'tool_use',
  max_tokens: 'max_tokens',
  stop_sequence: 'stop_sequence',
  guardrail_intervened: 'refusal',
  content_filtered: 'refusal',
  refusal: 'refusal',
  pause_turn: 'pause_turn',
  model_context_window_exceeded: 'max_tokens',
}

/** What a `messageStop` says; an error for an answer that the model spoiled. */
export function stopEvents({ stopReason, additionalModelResponseFields: fields }: Json): readonly ModelEvent[] {
  const said = typeof stopReason === 'string' ? stopReason : ''
  if (said.startsWith('malformed_'))
    return [{ type: 'error', code: 'upstream_unreachable', message: `the model's answer is unusable: ${said}` }]
  const reason = Object.hasOwn(reasons, said) ? reasons[said] : undefined
  const sequence = stopSequence(fields)
  const stop: ModelEvent = {
    type: 'stop',
    reason: reason ?? 'end_turn',
    ...(reason === 'stop_sequence' && sequence !== undefined && { sequence }),
  }
  const isExact = reason !== undefined && said !== 'model_context_window_exceeded'
  return isExact ? [stop] : [stop, { type: 'degraded', path: 'stop_reason', action: stop.reason }]
}

/** Streams and whole answers put it at different places. */
function stopSequence(fields: unknown): string | undefined {
  if (!isRecord(fields)) return undefined
  const { stop_sequence: own, delta } = fields
  const found = own ?? (isRecord(delta) ? delta['stop_sequence'] : undefined)
  return typeof found === 'string' ? found : undefined
}
