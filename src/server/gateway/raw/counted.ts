import type { Attempt, Outcome } from '../call.ts'
import type { Wire } from './wire.ts'

type Counts = Pick<Outcome, 'usage' | 'stopReason'>

/** What to book of an answer: where the upstream stated nothing, a guess at the input too. */
export function counted(wire: Wire, { call }: Attempt, { usage, stopReason }: Counts): Counts {
  const isUnstated = usage.estimated && usage.input_tokens === 0 && usage.cache_read_tokens === 0
  if (!isUnstated || !wire.estimateInput) return { usage, stopReason }
  return { usage: { ...usage, input_tokens: wire.estimateInput(call.body) }, stopReason }
}
