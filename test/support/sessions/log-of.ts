import type { SessionEvent } from '../../../src/contract/events.ts'

/** Returns a log with the numbers and times of a store; ids are `evt_` and the number. */
export const logOf = (...events: readonly object[]): SessionEvent[] =>
  events.map((event, at) => ({
    id: `evt_${at + 1}`,
    seq: at + 1,
    processed_at: new Date(1_000 * (at + 1)).toISOString(),
    ...event,
  })) as unknown as SessionEvent[]
