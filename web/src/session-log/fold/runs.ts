import type { SessionEvent } from '../../../../src/contract/events.ts'
import type { EventOf, Note, Prompt, PromptState, Run, SessionUsage, Time } from '../view.ts'
import type { Draft } from './draft.ts'
import { newGroup, newTurn, noSessionUsage, promptOf, sessionUsageOf, unknownPrompt } from './new-parts.ts'

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
  if (isSame && !run.pause) continueRun(draft, run, event)
  else {
    const place = isSame ? reopen(draft, run) : openTurn(draft, event, promptId)
    draft.changeTurn(place, { runId: event.run_id ?? undefined })
    attach(draft, event)
  }
}

function continueRun(draft: Draft, run: Run, event: EventOf<'session.status_running'>): void {
  const wasWaiting = run.wait !== undefined
  draft.changeRun({ wait: undefined, retry: undefined })
  adopt(draft, run.turn, event.prompt_id)
  if (wasWaiting || event.session_thread_ids) attach(draft, event)
  else note(draft, event, true)
}

function reopen(draft: Draft, run: Run): number {
  draft.changeRun({ pause: undefined })
  changePrompt(draft, run.turn, 'running')
  return run.turn
}

/** Starts the turn of a prompt and returns its place. */
export function openTurn(draft: Draft, event: SessionEvent, promptId: string | undefined): number {
  const waiting = promptId === undefined ? undefined : takeWaiting(draft, promptId)
  const known = waiting ?? (promptId === undefined ? undefined : unknownPrompt(promptId))
  const prompt = known && { ...known, state: 'running' as const }
  const place = draft.addTurn(
    newTurn({
      key: turnKey(draft, event, prompt?.id),
      kind: 'prompt',
      prompt,
      startedAt: event.type === 'session.status_running' ? event.processed_at : undefined,
      usageBefore: usageBefore(draft),
    }),
  )
  draft.set({ run: runOf(place, event), lastEnd: undefined })
  return place
}

/** Returns the id of the prompt, or of the event for a turn without one and for a second turn of the same prompt. */
export const turnKey = (draft: Draft, event: SessionEvent, promptId: string | undefined): string =>
  promptId === undefined || draft.view.turns.some(({ key }) => key === promptId) ? `turn:${event.id}` : promptId

const runOf = (turn: number, event: SessionEvent): Run => ({
  turn,
  pause: undefined,
  since: event.processed_at,
  steppedAt: undefined,
  request: undefined,
  retry: undefined,
  wait: undefined,
  stopRequestedAt: undefined,
})

export function usageBefore(draft: Draft): SessionUsage | undefined {
  const last = draft.view.turns.at(-1)
  if (last) return last.usage ?? last.usageBefore
  return draft.view.log.firstSeq <= 1 ? noSessionUsage : undefined
}

export function takeWaiting(draft: Draft, promptId: string): Prompt | undefined {
  const { waiting } = draft.view
  const prompt = waiting.find(({ id }) => id === promptId)
  if (prompt) draft.set({ waiting: waiting.filter(each => each !== prompt) })
  return prompt
}

/** Sets the prompt of a turn whose start was not read. */
export function adopt(draft: Draft, place: number, promptId: string | undefined): void {
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
  if (turn && group) {
    draft.changeGroup({ turn: place, group: turn.groups.length - 1 }, { eventIds: [...group.eventIds, event.id] })
  } else if (turn?.prompt) draft.changeTurn(place, { eventIds: [...turn.eventIds, event.id] })
  else note(draft, event)
}

/** Stores the totals that the event reports. */
export function noteUsage(draft: Draft, event: EventOf<'session.usage'>): void {
  attach(draft, event)
  draft.changeTurn(turnFor(draft, event), { usage: sessionUsageOf(event) })
}

/** A call has its answer from outside. */
export function answerWait(draft: Draft, callEventId: string, answeredAt: Time): void {
  const { wait } = draft.view.run ?? {}
  if (!wait?.eventIds.includes(callEventId)) return
  const eventIds = wait.eventIds.filter(id => id !== callEventId)
  draft.changeRun({ wait: { ...wait, eventIds, ...(eventIds.length === 0 && { answeredAt }) } })
}

export function requestStop(draft: Draft, event: EventOf<'user.interrupt'>): void {
  note(draft, event)
  if (event.session_thread_id === undefined) draft.changeRun({ stopRequestedAt: event.processed_at })
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

export function changePrompt(draft: Draft, turn: number, state: PromptState, reason?: string): void {
  const { prompt } = draft.turnAt(turn) ?? {}
  if (prompt) draft.changeTurn(turn, { prompt: { ...prompt, state, reason } })
}
