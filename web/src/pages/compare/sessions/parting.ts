import type { SessionEvent } from '../../../../../src/client/index.ts'
import type { Turn, View } from '../../../session-log/view.ts'

interface Side {
  readonly id: string
  readonly view: View
}

interface Source {
  readonly sessionId: string
  readonly seq: number
}

/** The last fork is the source of the log; events of earlier ones were copied with it. */
function sourceOf({ log }: View): Source | undefined {
  const forked = log.toArray().findLast((event: SessionEvent) => event.type === 'session.forked')
  if (forked?.type !== 'session.forked') return undefined
  return { sessionId: forked.forked_from.session_id, seq: forked.forked_from.seq }
}

/**
 * Returns the last event that both sessions have in common: where one of them was forked from the other, or both from a
 * third one. 0 for sessions without a common log.
 */
export function partingSeq(a: Side, b: Side): number {
  const [fromA, fromB] = [sourceOf(a.view), sourceOf(b.view)]
  if (fromB?.sessionId === a.id) return fromB.seq
  if (fromA?.sessionId === b.id) return fromA.seq
  return fromA && fromA.sessionId === fromB?.sessionId ? Math.min(fromA.seq, fromB.seq) : 0
}

/** Returns the turns of prompts that started after an event. */
export const promptTurns = ({ turns, log }: View, afterSeq: number): Turn[] =>
  turns.filter(({ prompt }) => {
    if (!prompt) return false
    const seq = prompt.eventId === undefined ? undefined : log.byId(prompt.eventId)?.seq
    return seq === undefined ? afterSeq === 0 : seq > afterSeq
  })
