import type { OpenTask } from '../../a2a/task-log.ts'
import type { Json } from '../../platform/json.ts'
import { type InputRequest, inputRequestsOf } from './questions.ts'

/** State of a task in the words of the extension. */
type TaskStatus = 'working' | 'input_required' | 'completed' | 'cancelled'

/** Interval at which clients should poll. */
const pollMs = 2_000

/** What a task waits for that its client cannot give; undefined if it does not. */
export function obstacleOf({ reading }: OpenTask): string | undefined {
  if (reading.state !== 'TASK_STATE_AUTH_REQUIRED') return undefined
  return reading.task(0).status.message?.parts[0]?.text ?? 'the task waits for an admin'
}

/** Returns the result of an ended prompt as the result of the tool call that started it. */
export function toolResultOf({ row, reading }: OpenTask): Json {
  const { artifacts = [], status } = reading.task(0)
  const place = { session_id: row.session_id, prompt_id: row.id }
  if (reading.state !== 'TASK_STATE_COMPLETED') return failed(reasonOf(status.message?.parts[0]?.text, reading), place)
  const texts = artifacts.flatMap(({ parts }) => parts.flatMap(({ text }) => (text === undefined ? [] : [text])))
  const typed = artifacts.find(({ name, parts }) => name === 'result' && parts[0]?.data !== undefined)?.parts[0]
  const shown = typed ? [...texts, JSON.stringify(typed.data)] : texts
  return {
    content: (shown.length > 0 ? shown : ['']).map(text => ({ type: 'text', text })),
    structuredContent: { ...place, text: texts.join('\n'), ...(typed && { result: typed.data }) },
  }
}

const reasonOf = (text: string | undefined, { state }: OpenTask['reading']): string =>
  text ?? (state === 'TASK_STATE_CANCELED' ? 'the prompt was interrupted' : 'the prompt failed')

/** Returns the result of a call that did not succeed, with what is needed to continue. */
export function failed(message: string, place?: { readonly session_id: string; readonly prompt_id: string }): Json {
  const hint = place ? ` (session_id ${place.session_id}, prompt_id ${place.prompt_id})` : ''
  return { content: [{ type: 'text', text: `${message}${hint}` }], isError: true }
}

/** Returns a task without its result, as the answer to the call that created it. */
export function createdTask(task: OpenTask): TaskState & { readonly resultType: 'task' } {
  return { resultType: 'task', ...stateOf(task) }
}

/** Returns a task as `tasks/get` shows it: with its result, or the open requests for input. */
export function detailedTask(task: OpenTask, agentName: string): Json {
  const state = stateOf(task)
  if (state.status === 'input_required') return { ...state, inputRequests: requestsFor(task, agentName) }
  return state.status === 'completed'
    ? { ...state, result: { resultType: 'complete', ...toolResultOf(task) } }
    : { ...state }
}

/** Returns the requests for input of a task, by the ids of the calls that wait. */
export const requestsFor = ({ reading }: OpenTask, agentName: string): Readonly<Record<string, InputRequest>> =>
  inputRequestsOf(reading.questions, agentName)

interface TaskState {
  readonly taskId: string
  readonly status: TaskStatus
  readonly statusMessage?: string
  readonly createdAt: string
  readonly lastUpdatedAt: string
  /** Tasks exist as long as their session. */
  readonly ttlMs: null
  readonly pollIntervalMs: number
}

function stateOf(task: OpenTask): TaskState {
  const { row, reading } = task
  const obstacle = obstacleOf(task)
  const message = obstacle ?? (reading.state === 'TASK_STATE_SUBMITTED' ? 'waiting for its turn' : undefined)
  return {
    taskId: row.id,
    status: statusOf(reading),
    ...(message !== undefined && { statusMessage: message }),
    createdAt: row.created_at.toISOString(),
    lastUpdatedAt: reading.task(0).status.timestamp ?? row.created_at.toISOString(),
    ttlMs: null,
    pollIntervalMs: pollMs,
  }
}

/** A failed prompt is a completed task: `failed` is only for errors of JSON-RPC. Source: SEP-2663, task status. */
function statusOf({ state, isOver, questions }: OpenTask['reading']): TaskStatus {
  if (state === 'TASK_STATE_CANCELED') return 'cancelled'
  if (isOver) return 'completed'
  return questions.length > 0 ? 'input_required' : 'working'
}
