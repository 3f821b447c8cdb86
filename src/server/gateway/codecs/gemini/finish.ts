import type { StopReason } from '../../translated/model-event.ts'

/** How an answer ended: a reason of Anthropic's, or a fault of the model's own. `isVague` marks the nearest reason. */
export type Finish = Answered | { readonly fault: string }

interface Answered {
  readonly stop: StopReason
  readonly isVague: boolean
}

const answered = (stop: StopReason): Answered => ({ stop, isVague: false })

/** The end of a prompt that was not answered. */
export const blocked: Finish = answered('refusal')

const refusals = new Set([
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'MODEL_ARMOR',
  'JAILBREAK',
  'IMAGE_SAFETY',
  'IMAGE_PROHIBITED_CONTENT',
  'IMAGE_RECITATION',
])

const faults = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
])

/** The end that a `finishReason` tells of. A matched stop sequence is a plain stop for Gemini. */
export function finishOf(reason: string): Finish {
  if (reason === 'STOP') return answered('end_turn')
  if (reason === 'MAX_TOKENS' || reason === 'CONTINUATION') return answered('max_tokens')
  if (refusals.has(reason)) return blocked
  if (faults.has(reason)) return { fault: `the model's answer was not valid: ${reason}` }
  return { stop: 'end_turn', isVague: true }
}
