import type { SessionEvent } from '../../../src/contract/events.ts'
import { noBookmarks } from './fold/bookmarks.ts'
import { Draft } from './fold/draft.ts'
import { EventLog } from './fold/event-log.ts'
import { add } from './fold/fold.ts'
import { reused } from './fold/reuse.ts'
import type { View } from './view.ts'

const empty: View = {
  log: EventLog.empty,
  turns: [],
  waiting: [],
  run: undefined,
  lastEnd: undefined,
  live: [],
  title: undefined,
  isDeleted: false,
  gap: undefined,
  bookmarks: noBookmarks,
}

/** Returns the view of the events, which may be any contiguous part of a log. */
export const createView = (events: readonly SessionEvent[] = []): View => append(empty, events)

/**
 * Adds events behind those of the view, in the order of `seq`. Skips events that the view has. Events behind a gap are
 * left out, and `gap` says what is missing; the first event of an empty view may have any number.
 */
export function append(view: View, events: readonly SessionEvent[]): View {
  const isEmpty = view.log.count === 0
  let last = isEmpty ? (events[0]?.seq ?? 1) - 1 : view.log.lastSeq
  const added: SessionEvent[] = []
  let gap: View['gap']
  for (const event of events) {
    if (event.seq <= last) continue
    if (event.seq > last + 1) {
      gap = { from: last + 1, to: event.seq - 1 }
      break
    }
    added.push(event)
    last = event.seq
  }
  if (added.length === 0) return gap ? { ...view, gap } : view
  const draft = new Draft({ ...view, log: view.log.append(added), gap })
  for (const event of added) add(draft, event)
  return draft.view
}

/**
 * Adds an older page in front of the events of the view, in the order of `seq`. Skips events that the view has. A page
 * that does not end directly before the view is left out, and `gap` says what is missing. Turns and groups that stay
 * equal stay the same objects.
 */
export function prepend(view: View, events: readonly SessionEvent[]): View {
  const { log } = view
  if (log.count === 0) return append(view, events)
  const older = events.filter(({ seq }) => seq < log.firstSeq)
  const last = older.at(-1)
  if (!last) return view
  if (last.seq < log.firstSeq - 1) return { ...view, gap: { from: last.seq + 1, to: log.firstSeq - 1 } }
  const { live } = view
  return reused(view, { ...createView([...older, ...log.toArray()]), live })
}
