import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { type Json, nonEmptyText, textOf } from '../../platform/json.ts'
import { failed, requiresAction } from '../runtime.ts'
import { interruptedResults } from './log-index.ts'
import { statusChangeOf } from './status-change.ts'
import { isFleeting, previewOf, translated } from './translate.ts'
import type { Turn } from './turn.ts'

/** Why a run detaches: it is over, people are asked, or only the list shows which turn an end belongs to. */
export type Leave = 'over' | 'asks' | 'unsure'

const maxPreviews = 1_000

/** Processes an event of the list. */
export function takeListed(turn: Turn, event: Json): Leave | undefined {
  note(turn, event)
  const isOurs = turn.isOurMessage(event)
  if (isOurs) found(turn, event)
  const id = nonEmptyText(event['id'])
  const wasPast = turn.isPast
  if (id !== undefined) {
    turn.lastId = id
    if (id === turn.sent?.before) turn.isPast = true
  }
  if (isUsers(event) || isFleeting(event)) return undefined
  if (!isNewInList(turn, id)) {
    turn.deferredRunning = undefined
    return undefined
  }
  if (id !== undefined) turn.seen.add(id)
  return wasPast && turn.isSent ? take(turn, event) : undefined
}

/** An event without an id is identified by its place in the list. Dialects: section 1.7. */
function isNewInList(turn: Turn, id: string | undefined): boolean {
  if (id !== undefined) return !turn.isRecorded(id)
  turn.listedUnnamed += 1
  if (turn.listedUnnamed <= turn.unnamed) return false
  turn.change({ unnamed: turn.listedUnnamed })
  return true
}

function found(turn: Turn, { id, processed_at }: Json): void {
  turn.isFound = true
  turn.isPast = true
  // Null means queued; a server without the field has no queue.
  if (processed_at !== null) begun(turn)
  const { sent } = turn
  const message_id = sent?.message_id ?? nonEmptyText(id) ?? null
  if (sent && !sent.is_sent) turn.change({ message: { ...sent, is_sent: true, message_id } })
}

/** Marks our turn as started: an end before it was not ours. */
function begun(turn: Turn): void {
  turn.isProcessed = true
  turn.deferred = undefined
}

/** Processes a frame of the stream. */
export function takeStreamed(turn: Turn, event: Json): Leave | undefined {
  if (isFleeting(event)) return show(turn, event)
  if (turn.isReplayed(event)) return undefined
  note(turn, event)
  if (turn.isOurMessage(event)) found(turn, event)
  const id = nonEmptyText(event['id'])
  if (isUsers(event) || (id !== undefined && turn.isRecorded(id))) return undefined
  if (turn.isSent && isDoubtful(turn, event)) return 'unsure'
  if (id === undefined) turn.change({ unnamed: turn.unnamed + 1 })
  else {
    turn.seen.add(id)
    turn.lastId = id
  }
  return turn.isSent ? take(turn, event) : undefined
}

const isUsers = ({ type }: Json): boolean => textOf(type).startsWith('user.') || type === 'system.message'

/** True for an end that may belong to an earlier turn, and must not end our run. Dialects: section 1.9, rule 3. */
function isDoubtful(turn: Turn, event: Json): boolean {
  if (turn.isProcessed) return false
  const point = statusChangeOf(event, turn.clean)
  return point?.kind === 'asks' || (point?.kind === 'ends' && !point.isOfSession)
}

/** Records facts that also matter for events that are not appended. */
function note(turn: Turn, event: Json): void {
  const answers = nonEmptyText(event['tool_use_id']) ?? nonEmptyText(event['custom_tool_use_id'])
  if (isUsers(event) && answers !== undefined) turn.answered.add(answers)
  const id = nonEmptyText(event['id'])
  if (event['type'] === 'agent.custom_tool_use' && id !== undefined && turn.isPast) turn.customCalls.add(id)
  const kind = statusChangeOf(event, turn.clean)?.kind
  if (kind !== undefined) turn.isBusy = kind !== 'ends'
}

function show(turn: Turn, event: Json): undefined {
  const preview = previewOf(event)
  if (!preview || !turn.isSent || turn.isRecorded(preview.sourceId) || turn.previewIds.size > maxPreviews) return
  const id = turn.previewIds.get(preview.sourceId) ?? newId('evt')
  turn.previewIds.set(preview.sourceId, id)
  turn.context.preview(id, preview.text)
}

/** Appends an event of our turn. */
function take(turn: Turn, event: Json): Leave | undefined {
  if (isDoubtful(turn, event)) {
    turn.deferred = event
    return undefined
  }
  const point = statusChangeOf(event, turn.clean)
  appendRunning(turn)
  if (!point) return takeWork(turn, event)
  switch (point.kind) {
    case 'running':
      begun(turn)
      turn.deferredRunning = event
      if (turn.isListed) appendRunning(turn)
      return undefined
    case 'waits':
      turn.append({ ...point.event, id: newId('evt') }, event)
      return undefined
    case 'asks':
      if (turn.isListed) return ask(turn, event, point.sourceIds)
      turn.deferred = event
      return undefined
    case 'ends':
      return end(turn, event, point.event)
  }
}

/** Appends the last events of the run. */
function end(turn: Turn, event: Json, last: NewEvent): Leave {
  for (const result of interruptedResults(turn.logIndex)) turn.append({ ...result, id: newId('evt') }, undefined)
  if (event['type'] === 'session.status_terminated') turn.append({ id: newId('evt'), type: event['type'] }, undefined)
  turn.append({ ...last, id: newId('evt') }, event)
  return 'over'
}

/** Appends a deferred `session.status_running`, unless the log shows the run as running. */
function appendRunning(turn: Turn): void {
  const { logIndex, deferredRunning } = turn
  turn.deferredRunning = undefined
  if (deferredRunning && !logIndex.isRunning)
    turn.append({ id: newId('evt'), type: 'session.status_running' }, deferredRunning)
}

function takeWork(turn: Turn, event: Json): undefined {
  const sourceId = nonEmptyText(event['id'])
  const ours = translated(event, turn.logIndex, sourceId === undefined ? undefined : turn.previewIds.get(sourceId))
  if (!ours) return
  turn.hasWorked = true
  turn.append(ours, event)
}

const unsupportedAnswer = failed(
  'model_request_failed_error',
  'the runtime waits for an answer that this server cannot send',
)

/** Asks people about unanswered calls, except those of client-side tools. */
function ask(turn: Turn, event: Json, sourceIds: readonly string[]): Leave | undefined {
  const open = sourceIds.filter(id => !turn.answered.has(id) && !turn.customCalls.has(id))
  if (open.some(id => turn.logIndex.idOf(id) === undefined)) return end(turn, event, unsupportedAnswer)
  const ids = open.flatMap(id => turn.logIndex.callOf(id)?.id ?? [])
  if (ids.length === 0) return undefined
  turn.append({ ...requiresAction(ids), id: newId('evt') }, event)
  return 'asks'
}

/** Processes the deferred event once the whole list is read. */
export function takeDeferred(turn: Turn): Leave | undefined {
  const { deferred } = turn
  turn.deferred = undefined
  appendRunning(turn)
  if (!deferred) return undefined
  // For a server that does not list user messages: all work after our message belongs to our turn.
  if (!turn.isFound && turn.hasWorked) turn.isProcessed = true
  return turn.isProcessed ? take(turn, deferred) : undefined
}
