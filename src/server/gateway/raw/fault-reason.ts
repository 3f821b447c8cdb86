import type { Refusal } from '../call.ts'

const tooLong =
  /context_length|context_window|prompt is too long|input is too long|maximum context|context (?:length|window|limit)|too many (?:input )?tokens|request_too_large/i
const policy = /content_filter|content_policy|policy_violation|policyviolation|usage polic|safety_policy/i

/** What another model may be able to do, as the words of an error tell. */
export function reasonOfText(text: string): Refusal['reason'] {
  if (tooLong.test(text)) return 'context_window'
  return policy.test(text) ? 'policy' : undefined
}
