import type { SessionEvent } from '../../../../src/contract/events.ts'
import type { EventOf, Group, Item, TextItem, ThinkingItem } from '../view.ts'
import type { Place } from './bookmarks.ts'
import type { Draft } from './draft.ts'
import { newGroup, usageOf } from './new-parts.ts'
import { activeTurn, attach, join, lastGroup } from './runs.ts'

export function startRequest(draft: Draft, event: EventOf<'span.model_request_start'>): void {
  const turn = activeTurn(draft, event)
  const groups = draft.turnAt(turn)?.groups ?? []
  const last = groups.length - 1
  // The process that made it has stopped: a new owner repeats the request.
  if (groups[last]?.state === 'open') draft.changeGroup({ turn, group: last }, { state: 'lost' })
  const isCompaction = event.purpose === 'compaction'
  const model = event.model ?? undefined
  const joined = (event.prompt_ids ?? []).flatMap(id => join(draft, id) ?? [])
  const request = { kind: 'request', state: 'open', model, isCompaction, joined } as const
  const trimmedUntil = event.trimmed_until
  const number = groups.filter(({ kind }) => kind === 'request').length + 1
  const group = draft.addGroup(turn, newGroup(event, { ...request, number, trimmedUntil, eventIds: [event.id] }))
  for (const [item, { id }] of joined.entries()) draft.mark('joined', id, { turn, group, item })
  step(draft, event)
  draft.changeRun({ request: { model, isCompaction, since: event.processed_at } })
}

/** The next step of the run has begun, so that it no longer waits for a retry. */
export function step(draft: Draft, event: SessionEvent): void {
  draft.changeRun({ steppedAt: event.processed_at, retry: undefined })
}

export function endRequest(draft: Draft, event: EventOf<'span.model_request_end'>): void {
  const turn = activeTurn(draft, event)
  const group = groupOfRequest(draft, turn, event)
  draft.set({ live: [] })
  draft.changeRun({ request: undefined, steppedAt: event.processed_at })
  if (group === undefined) {
    attach(draft, event)
    return
  }
  const { eventIds = [] } = draft.groupAt({ turn, group }) ?? {}
  draft.changeGroup(
    { turn, group },
    {
      state: stateOf(event),
      endedAt: event.processed_at,
      usage: usageOf(event.model_usage),
      isEstimated: event.estimated ?? false,
      eventIds: [...eventIds, event.id],
    },
  )
}

function stateOf({ is_error, interrupted }: EventOf<'span.model_request_end'>): Group['state'] {
  if (interrupted) return 'interrupted'
  return is_error ? 'failed' : 'done'
}

/** Returns the place of the group of the request; the last open group, or that of a request whose start was not read. */
function groupOfRequest(draft: Draft, turn: number, event: EventOf<'span.model_request_end'>): number | undefined {
  const groups = draft.turnAt(turn)?.groups ?? []
  const last = groups.length - 1
  const startId = event.model_request_start_id
  const isLast = groups[last]?.state === 'open' && (!startId || groups[last].eventIds[0] === startId)
  if (isLast) return last
  const named = groups.findLastIndex(({ kind, eventIds }) => kind === 'request' && eventIds[0] === startId)
  if (named >= 0) return named
  return groups.length <= 1 && draft.turnAt(turn)?.startedAt === undefined ? lastGroup(draft, turn, event) : undefined
}

const textItem = (event: EventOf<'agent.message'>): TextItem => ({
  kind: 'text',
  key: event.id,
  at: event.processed_at,
  content: event.content,
  isInterrupted: event.interrupted ?? false,
})

const thinkingItem = ({ id, processed_at, content = [] }: EventOf<'agent.thinking'>): ThinkingItem => ({
  kind: 'thinking',
  key: id,
  at: processed_at,
  text: content.map(thoughtOf).join(''),
})

function thoughtOf(block: object): string {
  if ('thinking' in block && typeof block.thinking === 'string') return block.thinking
  return 'text' in block && typeof block.text === 'string' ? block.text : ''
}

export function addText(draft: Draft, event: EventOf<'agent.message'>): void {
  addOutput(draft, event, textItem(event))
}

export function addThinking(draft: Draft, event: EventOf<'agent.thinking'>): void {
  addOutput(draft, event, thinkingItem(event))
}

/** Adds what the model wrote to the group of its request. Returns its place. */
export function addOutput(draft: Draft, event: SessionEvent, item: Item): Place {
  const turn = activeTurn(draft, event)
  const group = lastGroup(draft, turn, event)
  if (item.kind !== 'tool' && beginsGroup(draft.groupAt({ turn, group }))) draft.addGroup(turn, newGroup(event))
  const { live } = draft.view
  if (live.some(({ eventId }) => eventId === event.id)) {
    draft.set({ live: live.filter(({ eventId }) => eventId !== event.id) })
  }
  step(draft, event)
  return draft.addItem(turn, item)
}

/** Without request events, what the model writes after the result of a tool belongs to another request. */
const beginsGroup = (group: Group | undefined): boolean =>
  group?.kind === 'other' && group.items.some(item => item.kind === 'tool' && item.result !== undefined)
