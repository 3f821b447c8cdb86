import type { StopReason } from '../../../../src/contract/events.ts'
import type { EventOf, Turn, TurnEnd, TurnOutcome } from '../view.ts'
import { stopCalls } from './calls.ts'
import type { Draft } from './draft.ts'
import { newTurn, unknownPrompt } from './new-parts.ts'
import {
  activeTurn,
  adopt,
  attach,
  changePrompt,
  lastGroup,
  note,
  openTurn,
  takeWaiting,
  turnKey,
  usageBefore,
} from './runs.ts'

/** The run waits for answers, is paused, or has ended. */
export function becomeIdle(draft: Draft, event: EventOf<'session.status_idle'>): void {
  const { stop_reason: reason } = event
  if (reason?.type === 'budget_reached') pauseRun(draft, event)
  else if (reason?.type === 'requires_action') {
    activeTurn(draft, event)
    const wait = { since: event.processed_at, eventIds: reason.event_ids ?? [], answeredAt: undefined }
    draft.changeRun({ wait, request: undefined })
    attach(draft, event)
  } else endRun(draft, event, endOf(event, outcomeOf(event, reason)))
}

/** A budget or a freeze stopped the run. It continues in the same turn. */
function pauseRun(draft: Draft, event: EventOf<'session.status_idle'>): void {
  const turn = activeTurn(draft, event)
  adopt(draft, turn, event.prompt_id)
  note(draft, event)
  const pause = { at: event.processed_at, reason: event.stop_reason, message: event.stop_details?.message }
  draft.changeRun({ pause, request: undefined, retry: undefined, wait: undefined })
  changePrompt(draft, turn, 'paused')
  draft.set({ live: [] })
}

function outcomeOf(event: EventOf<'session.status_idle'>, reason: StopReason | undefined): TurnOutcome {
  const details = event.stop_details?.type
  if (details === 'interrupted' || details === 'forked') return 'stopped'
  return reason?.type === 'refusal' || reason?.type === 'retries_exhausted' ? 'failed' : 'done'
}

/** The run failed, or tries again. */
export function fail(draft: Draft, event: EventOf<'session.error'>): void {
  if (event.error.retry_status?.type === 'retrying') retryRun(draft, event)
  else endRun(draft, event, endOf(event, 'failed'))
}

function retryRun(draft: Draft, event: EventOf<'session.error'>): void {
  const { message, retry_status: { attempt, next_at: nextAt } = {} } = event.error
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
  changePrompt(draft, place, end.outcome, end.reason ?? end.stopDetails?.type)
  draft.changeTurn(place, { end })
  const { groups = [] } = draft.turnAt(place) ?? {}
  const group = groups.length - 1
  const state = end.outcome === 'stopped' ? 'interrupted' : 'lost'
  if (groups[group]?.state === 'open') draft.changeGroup({ turn: place, group }, { state, endedAt: end.at })
  stopCalls(draft, end.at)
  draft.set({ run: undefined, lastEnd: end, live: [] })
}

/** A prompt ended that no status event names. */
export function endPrompt(draft: Draft, event: EventOf<'session.prompt_ended'>): void {
  const { prompt_id: id, reason } = event
  const outcome = reason === 'withdrawn' ? 'withdrawn' : promptOutcomes[event.state]
  const joined = draft.placeOf('joined', id)
  const { run } = draft.view
  if (joined) {
    draft.changeJoined(joined, { state: outcome, reason })
    draft.unmark('joined', id)
    attach(draft, event)
  } else if (run && draft.turnAt(run.turn)?.prompt?.id === id) endRun(draft, event, endOf(event, outcome))
  else endUnstarted(draft, event, outcome)
}

const promptOutcomes = { done: 'done', error: 'failed', cancelled: 'stopped' } as const

function endUnstarted(draft: Draft, event: EventOf<'session.prompt_ended'>, outcome: TurnOutcome): void {
  const prompt = takeWaiting(draft, event.prompt_id) ?? unknownPrompt(event.prompt_id)
  const turn: Pick<Turn, 'prompt' | 'end' | 'usageBefore'> = {
    prompt: { ...prompt, state: outcome, reason: event.reason },
    end: endOf(event, outcome),
    usageBefore: usageBefore(draft),
  }
  draft.addTurn(newTurn({ key: turnKey(draft, event, prompt.id), kind: 'prompt', ...turn }))
}

export function deleteSession(draft: Draft, event: EventOf<'session.deleted'>): void {
  const { run } = draft.view
  if (run) closeTurn(draft, run.turn, endOf(event, 'stopped'))
  else note(draft, event)
  draft.set({ isDeleted: true })
}
