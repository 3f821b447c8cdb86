import type { NewEvent } from '../../../contract/events.ts'
import { isRecord, type Json, nonEmptyText, textIn, textOf } from '../../platform/json.ts'
import { branchesIn, errorIn, type NativeEvent } from './api.ts'
import { conclude, isTerminal, type Outcome } from './conclude.ts'
import { pendingEvents, thought, toolResult, toolUse } from './events.ts'
import { isSettled, type Reading, withLogged } from './reading.ts'

/** Result of one native event. */
export interface Read {
  readonly reading: Reading
  /** In order, to be stored together. */
  readonly events: readonly NewEvent[]
  /** Text to preview, of the message that is being written. */
  readonly shown?: { readonly eventId: string; readonly text: string }
}

export interface Words {
  /** Cleans a provider's text for the log. */
  readonly clean: (text: string) => string
  /** Returns an id for a message that starts. */
  readonly newEventId: () => string
}

type Handler = (reading: Reading, data: Json, words: Words) => Read

/**
 * Converts one event of Cursor to ours. The same events give the same log, wherever crashes interrupt them. The engine,
 * not this function, emits `session.status_running`. Dialects: section 3.4.
 */
export function normalize(reading: Reading, { name, id, data }: NativeEvent, words: Words): Read {
  if (reading.isOver) return { reading, events: [] }
  const read = handlers.get(name)?.(reading, data, words) ?? { reading, events: [] }
  return { ...read, reading: atEvent(reading, read.reading, { id, isContent: contents.has(name) }) }
}

/** Records the place in the stream. After content without an id the stream cannot be resumed. */
function atEvent(
  before: Reading,
  after: Reading,
  { id, isContent }: { id: string | undefined; isContent: boolean },
): Reading {
  const hasContent = after.hasContent || isContent
  if (id === undefined) return isContent ? { ...after, hasContent, lastId: undefined, safeId: undefined } : after
  const moved = { ...after, hasContent, lastId: before.hasContent && before.lastId === undefined ? undefined : id }
  if (isSettled(after)) return { ...moved, safeId: moved.lastId }
  // Text started with this event; the events pending before it have just been emitted.
  const hasBegunText = before.text === undefined && after.text !== undefined
  return hasBegunText ? { ...moved, safeId: before.lastId } : moved
}

const contents: ReadonlySet<string> = new Set(['assistant', 'thinking', 'tool_call', 'result'])

const handlers: ReadonlyMap<string, Handler> = new Map<string, Handler>([
  ['assistant', onText],
  ['thinking', onThinking],
  ['tool_call', onToolCall],
  ['status', onStatus],
  ['result', onResult],
  ['error', onError],
  ['done', (reading, _data, words) => endOfStream(reading, words)],
])

/** Returns the events at the end of a stream: none, unless the final status of the run is known. */
export function endOfStream(reading: Reading, words: Words): Read {
  const { pendingStatus } = reading
  return pendingStatus === undefined || reading.isOver
    ? nothing(reading)
    : end(reading, { status: pendingStatus }, words)
}

/** Emits the pending events and, if the run has ended, its last event. */
export function end(reading: Reading, outcome: Outcome, { clean }: Pick<Words, 'clean'>): Read {
  const { branches = [] } = outcome
  const read = emit(flushed(reading), conclude(reading, outcome, clean))
  return branches.length > 0 ? { ...read, reading: { ...read.reading, branches } } : read
}

const nothing = (reading: Reading): Read => ({ reading, events: [] })

const flushed = (reading: Reading): Reading => ({ ...reading, text: undefined, thinking: '', thoughts: [] })

/** Emits events and adds them to the reading. */
function emit(reading: Reading, events: readonly NewEvent[]): Read {
  const after = events.reduce<Reading>(withLogged, reading)
  return { reading: { ...after, isOver: events.some(({ type }) => ending.has(type)) }, events }
}

const ending: ReadonlySet<string> = new Set(['session.status_idle', 'session.error'])

/**
 * Previews text, and buffers it as one message. Emits thinking before the text now, and thinking within it with the
 * text.
 */
function onText(reading: Reading, data: Json, { newEventId }: Words): Read {
  const text = textOf(data['text'])
  if (text === '') return nothing(reading)
  const { thinking, thoughts } = reading
  const eventId = reading.text?.id ?? newEventId()
  const next = { ...reading, text: { id: eventId, text: `${reading.text?.text ?? ''}${text}` }, thinking: '' }
  const shown = { eventId, text }
  if (thinking === '') return { reading: next, events: [], shown }
  if (reading.text) return { reading: { ...next, thoughts: [...thoughts, thinking] }, events: [], shown }
  return { reading: next, events: [thought(thinking)], shown }
}

function onThinking(reading: Reading, data: Json): Read {
  return nothing({ ...reading, thinking: `${reading.thinking}${textOf(data['text'])}` })
}

function onToolCall(reading: Reading, payload: Json): Read {
  const data = isRecord(payload['data']) ? payload['data'] : payload
  const callId = nonEmptyText(data['callId'])
  const status = textOf(data['status']).toLowerCase()
  if (callId === undefined || !toolStatuses.has(status)) return nothing(reading)
  const known = reading.uses.get(callId)
  if (known === 'settled' || (known === 'open' && status === 'running')) return nothing(reading)
  const isNew = known === undefined
  const use = isNew ? [...pendingEvents(reading), toolUse(callId, data)] : []
  const outcome = status === 'error' ? 'failed' : 'done'
  const result = status === 'running' ? [] : [toolResult(callId, data['result'], outcome)]
  return emit(isNew ? flushed(reading) : reading, [...use, ...result])
}

const toolStatuses: ReadonlySet<string> = new Set(['running', 'completed', 'error'])

/** Keeps the final status until the result arrives or the stream ends. */
function onStatus(reading: Reading, data: Json, words: Words): Read {
  const status = textOf(data['status']).toUpperCase()
  if (status === 'IDLE') return end(reading, { status: 'FINISHED' }, words)
  return nothing(isTerminal(status) ? { ...reading, pendingStatus: status } : reading)
}

function onResult(reading: Reading, data: Json, words: Words): Read {
  const status = textOf(data['status']).toUpperCase()
  const text = textIn(data['text']) ?? textIn(data['result'])
  const outcome: Outcome = {
    status: isTerminal(status) ? status : reading.pendingStatus,
    result: { callId: nonEmptyText(data['callId']), text, payload: data },
    branches: branchesIn(data['git']),
    error: data['error'] === undefined ? undefined : errorIn(data['error']),
  }
  return end(reading, outcome, words)
}

/** Errors of the stream, not of the run, whose status is read separately. */
const streamErrors: ReadonlySet<string> = new Set(['stream_unavailable', 'stream_expired', 'invalid_last_event_id'])

function onError(reading: Reading, data: Json, words: Words): Read {
  const error = errorIn(data)
  if (error.code !== undefined && streamErrors.has(error.code)) return nothing(reading)
  return end(reading, { status: 'ERROR', error }, words)
}
