import type { EventOf, Period, Thread, ToolCall } from '../view.ts'
import type { Place } from './bookmarks.ts'
import { stopCalls } from './calls.ts'
import type { Draft } from './draft.ts'
import { activeTurn, lastGroup, note } from './runs.ts'

type StatusEvent = EventOf<
  'session.thread_status_running' | 'session.thread_status_idle' | 'session.thread_status_terminated'
>
type MessageEvent = EventOf<'agent.thread_message_sent' | 'agent.thread_message_received'>

export function createThread(draft: Draft, event: EventOf<'session.thread_created'>): void {
  const { session_thread_id: sessionId, tool_use_id: callId, agent_name: agentName, id, processed_at: at } = event
  const turn = activeTurn(draft, event)
  lastGroup(draft, turn, event)
  const thread: Thread = {
    kind: 'thread',
    key: id,
    sessionId,
    agentName,
    callId,
    at,
    state: 'running',
    messages: [],
    periods: [],
    eventIds: [],
  }
  draft.mark('threads', sessionId, draft.addItem(turn, thread))
  const call = draft.placeOf('openCalls', callId)
  if (call) draft.changeItem<ToolCall>(call, { startedThreadId: sessionId, state: 'waiting for subagent' })
}

/** Changes the thread of the event; shows the event as an item when the start of the thread was not read. */
function change(
  draft: Draft,
  event: StatusEvent | MessageEvent,
  changesOf: (thread: Thread) => Partial<Omit<Thread, 'kind'>>,
): void {
  const place: Place | undefined = draft.placeOf('threads', event.session_thread_id)
  const thread = place && draft.itemAt(place)
  if (place && thread?.kind === 'thread')
    draft.changeItem<Thread>(place, { ...changesOf(thread), eventIds: [...thread.eventIds, event.id] })
  else note(draft, event)
}

export function changeThread(draft: Draft, event: StatusEvent): void {
  if (stateOf(event) !== 'asking') stopCalls(draft, event.processed_at, event.session_thread_id)
  change(draft, event, ({ periods }) => ({
    state: stateOf(event),
    periods: event.type === 'session.thread_status_running' ? begun(periods, event) : ended(periods, event),
  }))
}

function stateOf(event: StatusEvent): Thread['state'] {
  if (event.type === 'session.thread_status_running') return 'running'
  if (event.type === 'session.thread_status_terminated') return 'terminated'
  if (event.stop_reason?.type === 'requires_action') return 'asking'
  return event.stop_reason?.type === 'end_turn' ? 'done' : 'failed'
}

const begun = (periods: readonly Period[], { processed_at: from }: StatusEvent): readonly Period[] =>
  periods.at(-1)?.to === undefined && periods.length > 0 ? periods : [...periods, { from, to: undefined }]

const ended = (periods: readonly Period[], { processed_at: to }: StatusEvent): readonly Period[] =>
  periods.map(period => (period.to === undefined ? { ...period, to } : period))

export function addThreadMessage(draft: Draft, event: MessageEvent): void {
  const direction = event.type === 'agent.thread_message_sent' ? 'sent' : 'received'
  const { content, is_error: isError = false, processed_at: at, id: eventId } = event
  change(draft, event, ({ messages }) => ({ messages: [...messages, { direction, at, content, isError, eventId }] }))
}
