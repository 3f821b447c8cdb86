import type { SessionEvent, StopReason } from '../../../src/contract/events.ts'
import type { Draft } from './draft.ts'
import { newGroup, newTurn, noSessionUsage, promptOf, sessionUsageOf, unknownPrompt } from './new-parts.ts'
import type {
  EventOf,
  Note,
  Prompt,
  PromptState,
  Run,
  SessionUsage,
  ToolCall,
  Turn,
  TurnEnd,
  TurnOutcome,
} from './view.ts'

/** Adds a prompt to those that wait. */
export function queuePrompt(draft: Draft, event: EventOf<'user.message' | 'user.compact'>): void {
  draft.set({ waiting: [...draft.view.waiting, promptOf(event)] })
}

/** A run starts, or continues after a wait, a pause or a restart of its process. */
export function startRun(draft: Draft, event: EventOf<'session.status_running'>): void {
  const { run } = draft.view
  const promptId = event.prompt_id
  const turn = run && draft.turnAt(run.turn)
  const isSame = run && (promptId === undefined || promptId === turn?.prompt?.id || !turn?.prompt)
  if (isSame && !run.isPaused) return continueRun(draft, run, event)
  const place = isSame ? reopen(draft, run) : openTurn(draft, event, promptId)
  draft.changeTurn(place, { runId: event.run_id ?? undefined })
  attach(draft, event)
}

function continueRun(draft: Draft, run: Run, event: EventOf<'session.status_running'>): void {
  const wasWaiting = run.wait !== undefined
  draft.changeRun({ wait: undefined, retry: undefined })
  adopt(draft, run.turn, event.prompt_id)
  if (wasWaiting || event.session_thread_ids) attach(draft, event)
  else note(draft, event, true)
}

function reopen(draft: Draft, run: Run): number {
  draft.changeRun({ isPaused: false })
  const { prompt } = draft.turnAt(run.turn) ?? {}
  draft.changeTurn(run.turn, { end: undefined, ...(prompt && { prompt: { ...prompt, state: 'running' } }) })
  return run.turn
}

/** Starts the turn of a prompt and returns its place. */
function openTurn(draft: Draft, event: SessionEvent, promptId: string | undefined): number {
  const waiting = promptId === undefined ? undefined : takeWaiting(draft, promptId)
  const known = waiting ?? (promptId === undefined ? undefined : unknownPrompt(promptId))
  const prompt = known && { ...known, state: 'running' as const }
  const place = draft.addTurn(
    newTurn({
      key: prompt?.id ?? `turn:${event.id}`,
      kind: 'prompt',
      prompt,
      startedAt: event.type === 'session.status_running' ? event.processed_at : undefined,
      usageBefore: usageBefore(draft),
    }),
  )
  draft.set({ run: runOf(place, event), lastEnd: undefined })
  return place
}

const runOf = (turn: number, event: SessionEvent): Run => ({
  turn,
  isPaused: false,
  since: event.processed_at,
  steppedAt: undefined,
  request: undefined,
  retry: undefined,
  wait: undefined,
  stopRequestedAt: undefined,
})

function usageBefore(draft: Draft): SessionUsage | undefined {
  const last = draft.view.turns.at(-1)
  if (last) return last.usage ?? last.usageBefore
  return draft.view.log.firstSeq <= 1 ? noSessionUsage : undefined
}

function takeWaiting(draft: Draft, promptId: string): Prompt | undefined {
  const { waiting } = draft.view
  const prompt = waiting.find(({ id }) => id === promptId)
  if (prompt) draft.set({ waiting: waiting.filter(each => each !== prompt) })
  return prompt
}

/** Sets the prompt of a turn whose start was not read. */
function adopt(draft: Draft, place: number, promptId: string | undefined): void {
  const turn = draft.turnAt(place)
  if (promptId === undefined || !turn || turn.prompt) return
  draft.changeTurn(place, { prompt: takeWaiting(draft, promptId) ?? unknownPrompt(promptId) })
}

/** Returns the place of the turn in progress; starts one whose prompt is unknown when there is none. */
export function activeTurn(draft: Draft, event: SessionEvent): number {
  return draft.view.run?.turn ?? openTurn(draft, event, undefined)
}

/** Returns the place of the turn to which an event outside of a model request belongs. */
function turnFor(draft: Draft, event: SessionEvent): number {
  const { run, turns } = draft.view
  if (run) return run.turn
  if (turns.at(-1)?.kind === 'between') return turns.length - 1
  return draft.addTurn(newTurn({ key: `turn:${event.id}`, kind: 'between', usageBefore: usageBefore(draft) }))
}

/** Returns the place of the last group of a turn; adds one if there is none. */
export function lastGroup(draft: Draft, turn: number, event: SessionEvent): number {
  const count = draft.turnAt(turn)?.groups.length ?? 0
  return count > 0 ? count - 1 : draft.addGroup(turn, newGroup(event))
}

/** Shows the event as an item. */
export function note(draft: Draft, event: SessionEvent, isRestart = false): void {
  const turn = turnFor(draft, event)
  lastGroup(draft, turn, event)
  const item: Note = { kind: 'note', key: event.id, at: event.processed_at, event, isRestart }
  draft.addItem(turn, item)
}

/** Shows the event in the row of its group, or of its prompt before the first group. */
export function attach(draft: Draft, event: SessionEvent): void {
  const place = turnFor(draft, event)
  const turn = draft.turnAt(place)
  const group = turn?.groups.at(-1)
  if (!turn || (!group && !turn.prompt)) return note(draft, event)
  if (!group) return draft.changeTurn(place, { eventIds: [...turn.eventIds, event.id] })
  draft.changeGroup({ turn: place, group: turn.groups.length - 1 }, { eventIds: [...group.eventIds, event.id] })
}

/** Stores the totals that the event reports. */
export function noteUsage(draft: Draft, event: EventOf<'session.usage'>): void {
  attach(draft, event)
  draft.changeTurn(turnFor(draft, event), { usage: sessionUsageOf(event) })
}

export function requestStop(draft: Draft, event: EventOf<'user.interrupt'>): void {
  note(draft, event)
  if (event.session_thread_id === undefined) draft.changeRun({ stopRequestedAt: event.processed_at })
}

/** The run waits for answers, is paused, or has ended. */
export function becomeIdle(draft: Draft, event: EventOf<'session.status_idle'>): void {
  const { stop_reason: reason } = event
  if (reason?.type !== 'requires_action') return endRun(draft, event, endOf(event, outcomeOf(event, reason)))
  activeTurn(draft, event)
  draft.changeRun({ wait: { since: event.processed_at, eventIds: reason.event_ids ?? [] }, request: undefined })
  attach(draft, event)
}

function outcomeOf(event: EventOf<'session.status_idle'>, reason: StopReason | undefined): TurnOutcome {
  if (reason?.type === 'budget_reached') return 'paused'
  if (event.stop_details?.type === 'interrupted') return 'stopped'
  return reason?.type === 'refusal' || reason?.type === 'retries_exhausted' ? 'failed' : 'done'
}

/** The run failed, or tries again. */
export function fail(draft: Draft, event: EventOf<'session.error'>): void {
  const { retry_status: status, message } = event.error
  if (status?.type !== 'retrying') return endRun(draft, event, endOf(event, 'failed'))
  const { attempt, next_at: nextAt } = status
  const retry = { attempt, nextAt, message, since: event.processed_at }
  const turn = activeTurn(draft, event)
  note(draft, event)
  draft.changeRun({ retry, request: undefined })
  draft.changeGroup({ turn, group: lastGroup(draft, turn, event) }, { retry })
}

/** The runtime waits before it continues. */
export function reschedule(draft: Draft, event: EventOf<'session.status_rescheduled'>): void {
  note(draft, event)
  const message = 'the runtime waits before it tries again'
  const retry = { attempt: undefined, nextAt: undefined, message, since: event.processed_at }
  draft.changeRun({ retry, request: undefined })
}

/** Events that may end a turn. */
type Ending = EventOf<'session.status_idle' | 'session.error' | 'session.prompt_ended' | 'session.deleted'>

const endOf = (event: Ending, outcome: TurnOutcome): TurnEnd => ({
  outcome,
  at: event.processed_at,
  eventId: event.id,
  stopReason: event.type === 'session.status_idle' ? event.stop_reason : undefined,
  stopDetails: event.stop_details ?? undefined,
  error: event.error,
  reason: event.type === 'session.prompt_ended' ? event.reason : undefined,
  result: event.result,
})

const promptStates: Readonly<Record<TurnOutcome, PromptState>> = {
  done: 'done',
  failed: 'failed',
  stopped: 'stopped',
  paused: 'paused',
  withdrawn: 'withdrawn',
}

function endRun(draft: Draft, event: Ending, end: TurnEnd): void {
  const promptId = event.prompt_id
  const { run } = draft.view
  const running = run && draft.turnAt(run.turn)
  const isOther = running?.prompt && promptId !== undefined && running.prompt.id !== promptId
  const turn = run && !isOther ? run.turn : openTurn(draft, event, promptId)
  adopt(draft, turn, promptId)
  closeTurn(draft, turn, end)
}

/** Ends the turn in progress. What is still open in it has no result. */
function closeTurn(draft: Draft, place: number, end: TurnEnd): void {
  const { prompt, groups = [] } = draft.turnAt(place) ?? {}
  const reason = end.reason ?? end.stopDetails?.type
  const ended = prompt && { ...prompt, state: promptStates[end.outcome], reason }
  draft.changeTurn(place, { end, ...(ended && { prompt: ended }) })
  const group = groups.length - 1
  const isOpen = groups[group]?.state === 'open'
  const state = end.outcome === 'stopped' ? 'interrupted' : 'lost'
  if (isOpen) draft.changeGroup({ turn: place, group }, { state, endedAt: end.at })
  if (end.outcome === 'paused') {
    draft.changeRun({ isPaused: true, request: undefined, retry: undefined, wait: undefined })
    draft.set({ live: [] })
    return
  }
  stopCalls(draft, end.at)
  draft.set({ run: undefined, lastEnd: end, live: [] })
}

function stopCalls(draft: Draft, endedAt: string): void {
  for (const [id, place] of draft.view.bookmarks.openCalls) {
    const call = draft.itemAt(place)
    if (call?.kind !== 'tool') continue
    draft.changeItem<ToolCall>(place, { state: 'stopped', endedAt })
    draft.unmark('openCalls', id)
    draft.unmark('openByEvent', call.key)
  }
}

/** A prompt ended that no status event names. */
export function endPrompt(draft: Draft, event: EventOf<'session.prompt_ended'>): void {
  const { prompt_id: id, reason } = event
  const outcome = reason === 'withdrawn' ? 'withdrawn' : promptOutcomes[event.state]
  const joined = draft.placeOf('joined', id)
  if (joined) {
    draft.changeJoined(joined, { state: promptStates[outcome], reason })
    draft.unmark('joined', id)
    return attach(draft, event)
  }
  const { run } = draft.view
  const isRunning = run && draft.turnAt(run.turn)?.prompt?.id === id
  if (isRunning) return endRun(draft, event, endOf(event, outcome))
  endUnstarted(draft, event, outcome)
}

const promptOutcomes = { done: 'done', error: 'failed', cancelled: 'stopped' } as const

function endUnstarted(draft: Draft, event: EventOf<'session.prompt_ended'>, outcome: TurnOutcome): void {
  const prompt = takeWaiting(draft, event.prompt_id) ?? unknownPrompt(event.prompt_id)
  const turn: Pick<Turn, 'prompt' | 'end' | 'usageBefore'> = {
    prompt: { ...prompt, state: promptStates[outcome], reason: event.reason },
    end: endOf(event, outcome),
    usageBefore: usageBefore(draft),
  }
  draft.addTurn(newTurn({ key: prompt.id, kind: 'prompt', ...turn }))
}

/** Moves a prompt that waits into the turn in progress. Returns it if it was waiting. */
export function join(draft: Draft, promptId: string): Prompt | undefined {
  const prompt = takeWaiting(draft, promptId)
  return prompt && { ...prompt, state: 'running' }
}

export function rename(draft: Draft, event: EventOf<'session.updated'>): void {
  if (event.title) draft.set({ title: event.title })
  note(draft, event)
}

export function deleteSession(draft: Draft, event: EventOf<'session.deleted'>): void {
  note(draft, event)
  const { run } = draft.view
  if (run) closeTurn(draft, run.turn, endOf(event, 'stopped'))
  draft.set({ isDeleted: true })
}
