import { toolName } from './tool-text.ts'
import type { Group, Note, Thread, Time, ToolCall, Turn, View } from './view.ts'

/** Bars and marks of a session over time, one lane for the session and one for each session that it has called. */
export interface Timeline {
  /** Time of the first thing that is shown; undefined for an empty view. */
  readonly from: Time | undefined
  /** Time of the last event. What is still open reaches beyond it. */
  readonly to: Time | undefined
  readonly lanes: readonly Lane[]
}

export interface Lane {
  /** `main`, or the id of the called session. */
  readonly key: string
  readonly label: string
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

/** Something that lasts. */
export interface Bar {
  /** Key of the row in the transcript. */
  readonly rowKey: string
  readonly eventId: string
  readonly kind: 'model' | 'tool' | 'wait' | 'thread'
  readonly label: string
  readonly from: Time
  /** Undefined while it lasts. */
  readonly to: Time | undefined
  readonly isFailed: boolean
}

export type MarkKind =
  | 'prompt'
  | 'approval'
  | 'error'
  | 'interrupt'
  | 'restart'
  | 'compaction'
  | 'fork'
  | 'pause'
  | 'end'

/** Something that happened at one time. */
export interface Mark {
  readonly rowKey: string
  readonly eventId: string
  readonly kind: MarkKind
  readonly label: string
  readonly at: Time
}

interface Shown {
  readonly bars: readonly Bar[]
  readonly marks: readonly Mark[]
}

/** Returns the timeline of a view. Its bars and marks are in the order of the transcript. */
export function timelineOf({ turns, log }: Pick<View, 'turns' | 'log'>): Timeline {
  const shown = turns.flatMap(shownOfTurn)
  const bars = shown.flatMap(each => each.bars)
  const marks = shown.flatMap(each => each.marks)
  const threads = turns.flatMap(({ groups }) => groups.flatMap(({ items }) => items)).filter(isThread)
  return {
    from: earliest([...bars.map(({ from }) => from), ...marks.map(({ at }) => at)]),
    to: log.at(log.count - 1)?.processed_at,
    lanes: [{ key: 'main', label: 'Session', bars, marks }, ...threads.map(laneOfThread)],
  }
}

const isThread = (item: { readonly kind: string }): item is Thread => item.kind === 'thread'

/** Texts in ISO 8601 of one zone sort by time. */
const earliest = (times: readonly Time[]): Time | undefined =>
  times.reduce<Time | undefined>((first, time) => (first === undefined || time < first ? time : first), undefined)

function shownOfTurn(turn: Turn): Shown[] {
  const marks = [...promptMarks(turn), ...endMarks(turn)]
  return [{ bars: [], marks }, ...turn.groups.map(shownOfGroup)]
}

function promptMarks({ key, prompt, startedAt }: Turn): Mark[] {
  const at = startedAt ?? prompt?.queuedAt
  if (!prompt || at === undefined) return []
  const eventId = prompt.eventId ?? ''
  return [{ rowKey: `prompt:${key}`, eventId, kind: 'prompt', label: 'Prompt', at }]
}

function endMarks({ key, end }: Turn): Mark[] {
  if (!end || end.outcome === 'done' || end.outcome === 'withdrawn') return []
  const kind = end.outcome === 'failed' ? 'error' : 'end'
  const label = end.error?.message ?? (end.outcome === 'failed' ? 'Failed' : 'Stopped')
  return [{ rowKey: `end:${key}`, eventId: end.eventId, kind, label, at: end.at }]
}

const shownOfGroups = new WeakMap<Group, Shown>()

function shownOfGroup(group: Group): Shown {
  const known = shownOfGroups.get(group)
  if (known) return known
  const calls = group.items.filter(item => item.kind === 'tool')
  const shown: Shown = {
    bars: [...requestBars(group), ...calls.flatMap(callBars)],
    marks: group.items.flatMap(item => {
      if (item.kind === 'note') return noteMarks(item)
      return item.kind === 'tool' ? approvalMarks(item) : []
    }),
  }
  shownOfGroups.set(group, shown)
  return shown
}

function requestBars({ kind, key, eventIds, model, startedAt, endedAt, state, isCompaction }: Group): Bar[] {
  if (kind !== 'request') return []
  const label = `${isCompaction ? 'Compaction' : 'Model'}${model === undefined ? '' : ` · ${model}`}`
  const isFailed = state === 'failed' || state === 'lost'
  const to = endedAt ?? (state === 'open' ? undefined : startedAt)
  return [{ rowKey: key, eventId: eventIds[0] ?? '', kind: 'model', label, from: startedAt, to, isFailed }]
}

const failedStates: ReadonlySet<ToolCall['state']> = new Set(['failed', 'outcome unknown', 'expired'])

/** A call has one bar while it waits for a person, and one while it runs. */
function callBars(call: ToolCall): Bar[] {
  const { key, at, approval, endedAt, state, runsAt, startedThreadId } = call
  const place = { rowKey: `item:${key}`, eventId: key }
  const label = toolName(call)
  const isFailed = failedStates.has(state)
  const kind = runsAt === 'client' || startedThreadId !== undefined ? 'wait' : 'tool'
  if (!approval) return [{ ...place, kind, label, from: at, to: endedAt, isFailed }]
  const { decidedAt } = approval
  const asked: Bar = {
    ...place,
    kind: 'wait',
    label: `${label}: approval`,
    from: at,
    to: decidedAt ?? endedAt,
    isFailed: false,
  }
  if (approval.state !== 'allowed' || decidedAt === undefined) return [asked]
  return [asked, { ...place, kind, label, from: decidedAt, to: endedAt, isFailed }]
}

function approvalMarks(call: ToolCall): Mark[] {
  const { key, at, approval } = call
  if (!approval) return []
  return [{ rowKey: `item:${key}`, eventId: key, kind: 'approval', label: `${toolName(call)}: ${approval.state}`, at }]
}

const noteMarkKinds: Readonly<Record<string, readonly [MarkKind, string]>> = {
  'session.error': ['error', 'Failed try'],
  'user.interrupt': ['interrupt', 'Stop requested'],
  'session.workspace_restored': ['restart', 'Workspace restored'],
  'session.status_rescheduled': ['restart', 'Run rescheduled'],
  'agent.thread_context_compacted': ['compaction', 'Conversation compacted'],
  'session.forked': ['fork', 'Forked'],
  'session.status_idle': ['pause', 'Paused'],
}

function noteMarks({ key, at, event, isRestart }: Note): Mark[] {
  const found = Object.hasOwn(noteMarkKinds, event.type) ? noteMarkKinds[event.type] : undefined
  const [kind, label] = isRestart ? (['restart', 'Run resumed'] as const) : (found ?? [])
  return kind === undefined || label === undefined ? [] : [{ rowKey: `item:${key}`, eventId: key, kind, label, at }]
}

const laneOfThread = ({ key, sessionId, agentName, periods, state, at }: Thread): Lane => ({
  key: sessionId,
  label: agentName ?? sessionId,
  bars: periods.map(({ from, to }) => ({
    rowKey: `item:${key}`,
    eventId: key,
    kind: 'thread',
    label: agentName ?? sessionId,
    from,
    to,
    isFailed: state === 'failed',
  })),
  marks: [{ rowKey: `item:${key}`, eventId: key, kind: 'prompt', label: 'Called', at }],
})
