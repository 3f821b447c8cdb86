import { createHash } from 'node:crypto'
import type { NewEvent } from '../../../contract/events.ts'
import { type Batch, failed, idle, stopped } from '../runtime.ts'
import type { A2aState } from './notes.ts'
import { isAsking, isEnded, type TaskStatus, type Update, unusableAnswer } from './objects.ts'
import { textOfParts } from './parts.ts'
import { type A2aRun, mustLeave } from './run.ts'

/** A task may show the question for a moment after the prompt has answered it. */
const maxStaleReads = 5

/** Stores the events of updates. Returns true once the run is over; false when it continues, or must be left. */
export async function* takeUpdates(
  run: A2aRun,
  updates: AsyncIterable<Update> | readonly Update[],
): AsyncGenerator<Batch, boolean> {
  for await (const update of updates) {
    if (mustLeave(run.context)) return false
    await noteTask(run, update)
    const events = run.reading.take(update)
    const end = endOf(run, update)
    if (end) {
      yield { events: [...events, ...end.events], refs: run.notes.refsWith({ state: { ...end.state, is_over: true } }) }
      return true
    }
    if (events.length > 0) yield events
  }
  return false
}

/** Stores ids of context and task before anything else of the update. Rejects an update of another task. */
async function noteTask({ notes }: A2aRun, update: Update): Promise<void> {
  const { contextId, taskId } = placeOf(update)
  if (contextId !== undefined && notes.contextId !== undefined && contextId !== notes.contextId)
    throw unusableAnswer('an answer of another context')
  const { task, continues } = notes.state
  const expected = task ?? continues
  if (taskId !== undefined && expected !== undefined && taskId !== expected)
    throw unusableAnswer('an update of another task')
  const isNew = contextId !== notes.contextId && contextId !== undefined
  if (taskId !== undefined && task === undefined) await notes.write({ contextId, state: { task: taskId } })
  else if (isNew) await notes.write({ contextId, state: {} })
}

function placeOf(update: Update): { readonly contextId: string | undefined; readonly taskId: string | undefined } {
  if (update.kind === 'message') return { contextId: update.message.contextId, taskId: undefined }
  if (update.kind === 'task') return { contextId: update.task.contextId, taskId: update.task.id }
  return update
}

interface End {
  readonly events: readonly NewEvent[]
  readonly state: Partial<A2aState>
}

/** Returns the last events of the run; undefined while it continues. */
function endOf(run: A2aRun, update: Update): End | undefined {
  if (update.kind === 'message')
    return { events: [idle({ type: 'end_turn' })], state: { answers_directly: true, question: undefined } }
  if (update.kind === 'artifact') return undefined
  const { status } = update.kind === 'task' ? update.task : update
  if (isEnded(status))
    return { events: [...run.reading.finish(status), lastEvent(run, status)], state: { question: undefined } }
  return isAsking(status) && !isStale(run, status) ? askingEnd(run, status) : undefined
}

/** The question of the task is the answer of the run; the next prompt continues the task. */
function askingEnd({ reading }: A2aRun, status: TaskStatus): End {
  const isInput = status.state === 'TASK_STATE_INPUT_REQUIRED'
  const details = isInput
    ? { type: 'input_required', message: 'the agent asks; the next prompt answers it' }
    : { type: 'auth_required', message: 'the agent waits for an authorization; the next prompt continues its task' }
  return {
    events: [...reading.finish(status), idle({ type: 'end_turn' }, details)],
    state: { question: questionOf(status) },
  }
}

/** Returns a mark of a question, so that the next one can be told from it. */
export function questionOf({ state, message, timestamp = '' }: TaskStatus): string {
  const digest = createHash('sha256')
    .update(`${message?.id ?? ''} ${timestamp}`)
    .digest('hex')
  return `${state} ${digest.slice(0, 32)}`
}

/** Reports whether the mark is that of a task that waits for an authorization. */
export const isForAuthorization = (question = ''): boolean => question.startsWith('TASK_STATE_AUTH_REQUIRED ')

/** Reports whether the task still shows the question that the prompt answers. */
function isStale(run: A2aRun, status: TaskStatus): boolean {
  const { continues, question } = run.notes.state
  return continues !== undefined && question === questionOf(status) && ++run.staleReads <= maxStaleReads
}

function lastEvent({ notes, clean }: A2aRun, { state, message }: TaskStatus): NewEvent {
  if (state === 'TASK_STATE_COMPLETED') return idle({ type: 'end_turn' })
  if (state === 'TASK_STATE_CANCELED' && notes.state.is_cancelled) return stopped
  const what = endings.get(state) ?? 'ended the task'
  const words = clean(message ? textOfParts(message.parts) : '')
  return failed('model_request_failed_error', `the agent ${what}${words === '' ? '' : `: ${words}`}`)
}

const endings: ReadonlyMap<string, string> = new Map([
  ['TASK_STATE_FAILED', 'failed'],
  ['TASK_STATE_REJECTED', 'rejected the task'],
  ['TASK_STATE_CANCELED', 'canceled the task'],
])
