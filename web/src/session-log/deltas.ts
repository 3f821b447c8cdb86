import type { LiveText, View } from './view.ts'

/** An ephemeral frame of the event stream, as `readEvents` yields it. */
export interface Delta {
  readonly type: string
  readonly [field: string]: unknown
}

/**
 * Adds a piece of a text that the model is writing. The stored event with the same id replaces the text, so lost and
 * repeated pieces change nothing once it is stored.
 */
export function addDelta(view: View, delta: Delta): View {
  const eventId = eventIdOf(delta)
  if (eventId === undefined || view.log.has(eventId)) return view
  const text = textOf(delta)
  const known = view.live.find(live => live.eventId === eventId)
  if (!known) return { ...view, live: [...view.live, { eventId, text }] }
  if (text === '') return view
  const longer = { eventId, text: known.text + text }
  return { ...view, live: view.live.map(live => (live === known ? longer : live)) }
}

/**
 * Returns the texts to show as live, in the order in which they began. Empty when no run is open: a late piece of an
 * answer that was not stored does not show.
 */
export const liveTexts = ({ run, live }: View): readonly LiveText[] => (run && !run.pause && !run.wait ? live : [])

function eventIdOf(delta: Delta): string | undefined {
  const id = delta.type === 'event_start' ? recordOf(delta['event'])['id'] : delta['event_id']
  return typeof id === 'string' ? id : undefined
}

function textOf(delta: Delta): string {
  if (delta.type !== 'event_delta') return ''
  const { text } = recordOf(recordOf(delta['delta'])['content']) as { readonly text?: unknown }
  return typeof text === 'string' ? text : ''
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
