import type { NewEvent } from '../../../contract/events.ts'
import { newId } from '../../platform/ids.ts'
import { type Json, nonEmptyText, textOf } from '../../platform/json.ts'
import { failed, requiresAction } from '../runtime.ts'
import { cutOffResults } from './book.ts'
import { isFleeting, previewOf, translated } from './translate.ts'
import type { Turn } from './turn.ts'
import { turningPoint } from './turning-point.ts'

/** Why a run leaves its attachment: it is over, people are asked, or only the list can tell whose end this was. */
export type Leave = 'over' | 'asks' | 'unsure'

const maxShown = 1_000

/** Looks at an event of the list. */
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
    turn.heldRunning = undefined
    return undefined
  }
  if (id !== undefined) turn.seen.add(id)
  return wasPast && turn.isSent ? take(turn, event) : undefined
}

/** An event without an id is told apart by its place alone. Dialects: section 1.7. */
function isNewInList(turn: Turn, id: string | undefined): boolean {
  if (id !== undefined) return !turn.isKnown(id)
  turn.listedUnnamed += 1
  if (turn.listedUnnamed <= turn.unnamed) return false
  turn.change({ unnamed: turn.listedUnnamed })
  return true
}

function found(turn: Turn, { id, processed_at }: Json): void {
  turn.isFound = true
  turn.isPast = true
  // Null says that it is queued; a server that says nothing has no queue.
  if (processed_at !== null) begun(turn)
  const { sent } = turn
  const message_id = sent?.message_id ?? nonEmptyText(id) ?? null
  if (sent && !sent.is_sent) turn.change({ message: { ...sent, is_sent: true, message_id } })
}

/** Our turn has begun: an end before it was not ours. */
function begun(turn: Turn): void {
  turn.isProcessed = true
  turn.held = undefined
}

/** Looks at a frame of the stream. */
export function takeStreamed(turn: Turn, event: Json): Leave | undefined {
  if (isFleeting(event)) return show(turn, event)
  if (turn.isReplayed(event)) return undefined
  note(turn, event)
  if (turn.isOurMessage(event)) found(turn, event)
  const id = nonEmptyText(event['id'])
  if (isUsers(event) || (id !== undefined && turn.isKnown(id))) return undefined
  if (turn.isSent && isDoubtful(turn, event)) return 'unsure'
  if (id === undefined) turn.change({ unnamed: turn.unnamed + 1 })
  else {
    turn.seen.add(id)
    turn.lastId = id
  }
  return turn.isSent ? take(turn, event) : undefined
}

const isUsers = ({ type }: Json): boolean => textOf(type).startsWith('user.') || type === 'system.message'

/** An idle from before our message was processed must not end our run. Dialects: section 1.9, rule 3. */
function isDoubtful(turn: Turn, event: Json): boolean {
  if (turn.isProcessed) return false
  const point = turningPoint(event, turn.clean)
  return point?.kind === 'asks' || (point?.kind === 'ends' && !point.isOfSession)
}

/** What matters also of events that are not ours to tell. */
function note(turn: Turn, event: Json): void {
  const answers = nonEmptyText(event['tool_use_id']) ?? nonEmptyText(event['custom_tool_use_id'])
  if (isUsers(event) && answers !== undefined) turn.answered.add(answers)
  const id = nonEmptyText(event['id'])
  if (event['type'] === 'agent.custom_tool_use' && id !== undefined && turn.isPast) turn.customCalls.add(id)
  const kind = turningPoint(event, turn.clean)?.kind
  if (kind !== undefined) turn.isBusy = kind !== 'ends'
}

function show(turn: Turn, event: Json): undefined {
  const preview = previewOf(event)
  if (!preview || !turn.isSent || turn.isKnown(preview.sourceId) || turn.shown.size > maxShown) return
  const id = turn.shown.get(preview.sourceId) ?? newId('evt')
  turn.shown.set(preview.sourceId, id)
  turn.context.preview(id, preview.text)
}

/** Takes over an event of our turn. */
function take(turn: Turn, event: Json): Leave | undefined {
  if (isDoubtful(turn, event)) {
    turn.held = event
    return undefined
  }
  const point = turningPoint(event, turn.clean)
  tellRunning(turn)
  if (!point) return takeWork(turn, event)
  switch (point.kind) {
    case 'running':
      begun(turn)
      turn.heldRunning = event
      if (turn.isListed) tellRunning(turn)
      return undefined
    case 'waits':
      turn.tell({ ...point.event, id: newId('evt') }, event)
      return undefined
    case 'asks':
      if (turn.isListed) return ask(turn, event, point.sourceIds)
      turn.held = event
      return undefined
    case 'ends':
      return end(turn, event, point.event)
  }
}

/** Tells the last events of the run. */
function end(turn: Turn, event: Json, last: NewEvent): Leave {
  for (const result of cutOffResults(turn.book)) turn.tell({ ...result, id: newId('evt') }, undefined)
  if (event['type'] === 'session.status_terminated') turn.tell({ id: newId('evt'), type: event['type'] }, undefined)
  turn.tell({ ...last, id: newId('evt') }, event)
  return 'over'
}

/** The engine, or what people said, may have told it already. */
function tellRunning(turn: Turn): void {
  const { book, heldRunning } = turn
  turn.heldRunning = undefined
  if (heldRunning && !book.isRunning) turn.tell({ id: newId('evt'), type: 'session.status_running' }, heldRunning)
}

function takeWork(turn: Turn, event: Json): undefined {
  const sourceId = nonEmptyText(event['id'])
  const ours = translated(event, turn.book, sourceId === undefined ? undefined : turn.shown.get(sourceId))
  if (!ours) return
  turn.hasWorked = true
  turn.tell(ours, event)
}

const cannotGive = failed('model_request_failed_error', 'the runtime waits for something that this server cannot give')

/** Asks people about the calls that nobody has answered; a client's own tools are not theirs to allow. */
function ask(turn: Turn, event: Json, sourceIds: readonly string[]): Leave | undefined {
  const open = sourceIds.filter(id => !turn.answered.has(id) && !turn.customCalls.has(id))
  if (open.some(id => turn.book.idOf(id) === undefined)) return end(turn, event, cannotGive)
  const ids = open.flatMap(id => turn.book.callOf(id)?.id ?? [])
  if (ids.length === 0) return undefined
  turn.tell({ ...requiresAction(ids), id: newId('evt') }, event)
  return 'asks'
}

/** Decides about what was held, once the whole list is read. */
export function takeHeld(turn: Turn): Leave | undefined {
  const { held } = turn
  turn.held = undefined
  tellRunning(turn)
  if (!held) return undefined
  // A server that lists no messages of users: what it did since ours was sent can only have been our turn.
  if (!turn.isFound && turn.hasWorked) turn.isProcessed = true
  return turn.isProcessed ? take(turn, held) : undefined
}
