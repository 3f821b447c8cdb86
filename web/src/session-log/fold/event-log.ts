import type { SessionEvent } from '../../../../src/contract/events.ts'

/** Storage that versions of a log share. Each version reads only its first `count` events. */
interface Backing {
  readonly events: SessionEvent[]
  readonly places: Map<string, number>
}

/**
 * A contiguous part of the log of a session, in the order of `seq`. Immutable: `append` returns a longer version in time
 * proportional to the added events, because versions share their storage.
 */
export class EventLog {
  static readonly empty = new EventLog({ events: [], places: new Map() }, 0)

  readonly count: number
  readonly #backing: Backing

  private constructor(backing: Backing, count: number) {
    this.#backing = backing
    this.count = count
  }

  /** Sequence number of the first event; 0 without events. */
  get firstSeq(): number {
    return this.at(0)?.seq ?? 0
  }

  /** Sequence number of the last event; 0 without events. */
  get lastSeq(): number {
    return this.at(this.count - 1)?.seq ?? 0
  }

  /** Returns the event at a place, counted from 0. */
  at(place: number): SessionEvent | undefined {
    return place >= 0 && place < this.count ? this.#backing.events[place] : undefined
  }

  /** Returns the event with that id if it was read. */
  byId(id: string): SessionEvent | undefined {
    const place = this.#backing.places.get(id)
    return place === undefined ? undefined : this.at(place)
  }

  has(id: string): boolean {
    return this.byId(id) !== undefined
  }

  /** Returns a copy of the events. */
  toArray(): SessionEvent[] {
    return this.#backing.events.slice(0, this.count)
  }

  append(events: readonly SessionEvent[]): EventLog {
    if (events.length === 0) return this
    const isNewest = this.#backing.events.length === this.count && this.count > 0
    const backing = isNewest ? this.#backing : backingOf(this.toArray())
    for (const event of events) add(backing, event)
    return new EventLog(backing, this.count + events.length)
  }
}

function backingOf(events: readonly SessionEvent[]): Backing {
  const backing: Backing = { events: [], places: new Map() }
  for (const event of events) add(backing, event)
  return backing
}

function add({ events, places }: Backing, event: SessionEvent): void {
  places.set(event.id, events.length)
  events.push(event)
}
