import { type Json, recordOf } from '../../platform/json.ts'
import type { BackgroundStatus } from './rows.ts'

/** Number of the first event of the answer: every response begins with created, queued and in progress. */
export const firstAnswerEvent = 3

/** Writes an event with its number, in the order of OpenAI's fields. */
export function frameOf({ type, sequence_number: _ofTheRun, ...rest }: Json, number: number): string {
  return `event: ${String(type)}\ndata: ${JSON.stringify({ type, sequence_number: number, ...rest })}\n\n`
}

/** Returns the frames of events with consecutive numbers. */
export const framesFrom = (events: readonly Json[], first: number): string =>
  events.map((event, at) => frameOf(event, first + at)).join('')

/** Returns the text of frames without its first `count` ones. */
export function withoutFirst(frames: string, count: number): string {
  let start = 0
  for (let left = count; left > 0; left--) {
    const end = frames.indexOf('\n\n', start)
    if (end < 0) return ''
    start = end + 2
  }
  return frames.slice(start)
}

/** Returns the events in the text of frames. */
export const eventsIn = (frames: string): Json[] =>
  frames
    .split('\n\n')
    .filter(frame => frame !== '')
    .map(frame => recordOf(JSON.parse(frame.slice(frame.indexOf('\ndata: ') + 7))))

/** Status of a response by the type of its last event. */
const ends: Readonly<Record<string, BackgroundStatus>> = {
  'response.completed': 'completed',
  'response.incomplete': 'incomplete',
  'response.failed': 'failed',
  'response.cancelled': 'cancelled',
}

/** Returns the status that an event ends a response with; undefined for other events. */
export const endOf = ({ type }: Json): BackgroundStatus | undefined => ends[String(type)]

/** Returns the status of a whole response; servers that compute at once may omit it. */
export const statusIn = ({ status }: Json): BackgroundStatus => ends[`response.${String(status)}`] ?? 'completed'

/** True for the events that every background response begins with, whatever the run sends. */
export const isBeginning = ({ type }: Json): boolean =>
  type === 'response.created' || type === 'response.queued' || type === 'response.in_progress'

/** Fields of a response that stay the same whichever run answers. */
export interface Identity {
  readonly id: string
  readonly created_at: number
  readonly previous_response_id: string | null
}

/** Returns a run's event or response as one of the background response. */
export function asOwn(event: Json, identity: Identity): Json {
  const { response } = event
  return response === undefined ? event : { ...event, response: ownResponse(recordOf(response), identity) }
}

export const ownResponse = (response: Json, identity: Identity): Json => ({
  ...response,
  ...identity,
  background: true,
  store: true,
})
