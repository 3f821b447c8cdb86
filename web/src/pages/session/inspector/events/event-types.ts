import type { SessionEvent } from '../../../../../../src/client/index.ts'

export interface EventType {
  readonly name: string
  readonly count: number
}

/** Returns the types of the events with how often each occurs, by name. */
export function typesOf(events: readonly Pick<SessionEvent, 'type'>[]): EventType[] {
  const counts = new Map<string, number>()
  for (const { type } of events) counts.set(type, (counts.get(type) ?? 0) + 1)
  return [...counts].map(([name, count]) => ({ name, count })).toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
