import { A2aTaskState } from '../../../contract/a2a-objects.ts'
import { isRecord, type Json, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import type { RuntimeFailure } from '../runtime.ts'
import { unusable } from './protocol-errors.ts'

export interface AgentMessage {
  readonly id: string
  readonly contextId: string | undefined
  readonly taskId: string | undefined
  /** False for a message of the client. */
  readonly isOfAgent: boolean
  readonly parts: readonly Json[]
}

export interface TaskStatus {
  readonly state: A2aTaskState
  readonly message: AgentMessage | undefined
  readonly timestamp: string | undefined
}

export interface Artifact {
  readonly id: string
  readonly parts: readonly Json[]
}

export interface AgentTask {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
  /** Oldest first. */
  readonly history: readonly AgentMessage[]
}

interface ChangeOfTask {
  readonly taskId: string
  readonly contextId: string | undefined
}

/** One response or frame of an agent. */
export type Update =
  | { readonly kind: 'task'; readonly task: AgentTask }
  /** The whole answer of an agent that made no task. */
  | { readonly kind: 'message'; readonly message: AgentMessage }
  | (ChangeOfTask & { readonly kind: 'status'; readonly status: TaskStatus })
  | (ChangeOfTask & {
      readonly kind: 'artifact'
      readonly artifact: Artifact
      /** Adds the parts to those of the artifact; otherwise they replace them. */
      readonly isAppended: boolean
      readonly isLast: boolean
    })

const states: readonly A2aTaskState[] = A2aTaskState.anyOf.map(({ const: state }) => state)
const ended: readonly A2aTaskState[] = [
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  'TASK_STATE_CANCELED',
  'TASK_STATE_REJECTED',
]
const asking: readonly A2aTaskState[] = ['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED']

/** Reports whether a task in that state never changes again. */
export const isEnded = ({ state }: Pick<TaskStatus, 'state'>): boolean => ended.includes(state)

/** Reports whether a task in that state waits for a message of the client. */
export const isAsking = ({ state }: Pick<TaskStatus, 'state'>): boolean => asking.includes(state)

/** Reports whether the run of a prompt ends with that state. */
export const endsRun = (status: Pick<TaskStatus, 'state'>): boolean => isEnded(status) || isAsking(status)

/** Ids are stored with the session; longer ones are rejected. */
const maxIdLength = 500

/** Returns the failure of an agent that sent something that no later answer repairs. */
export const unusableAnswer = (what: string): RuntimeFailure => unusable(`the agent sent ${what}`)

function idIn(value: unknown, what: string): string {
  const id = nonEmptyText(value)
  if (id === undefined) throw unusableAnswer(`${what} without an id`)
  if (id.length > maxIdLength) throw unusableAnswer(`${what} with an id of more than ${maxIdLength} characters`)
  return id
}

/** Reads a task. Throws `RuntimeFailure` when it has no id, context or known state. */
export function taskIn(value: unknown): AgentTask {
  const task = recordOf(value)
  return {
    id: idIn(task['id'], 'a task'),
    contextId: idIn(task['contextId'], 'the context of a task'),
    status: statusIn(task['status']),
    artifacts: recordsOf(task['artifacts']).map(artifactIn),
    history: recordsOf(task['history']).map(messageIn),
  }
}

/** Reads a response to a message, or a frame of a stream. Throws `RuntimeFailure` for any other value. */
export function updateIn(value: unknown): Update {
  const { task, message, statusUpdate, artifactUpdate } = recordOf(value)
  if (isRecord(task)) return { kind: 'task', task: taskIn(task) }
  if (isRecord(message)) return { kind: 'message', message: messageIn(message) }
  if (isRecord(statusUpdate))
    return { kind: 'status', ...changeIn(statusUpdate), status: statusIn(statusUpdate['status']) }
  if (isRecord(artifactUpdate)) {
    const { artifact, append, lastChunk } = artifactUpdate
    const change = { isAppended: append === true, isLast: lastChunk === true }
    return { kind: 'artifact', ...changeIn(artifactUpdate), artifact: artifactIn(recordOf(artifact)), ...change }
  }
  throw unusableAnswer('an answer that is neither a task, a message nor an update')
}

const changeIn = ({ taskId, contextId }: Json): ChangeOfTask => ({
  taskId: idIn(taskId, 'an update of a task'),
  contextId: nonEmptyText(contextId),
})

const artifactIn = ({ artifactId, parts }: Json): Artifact => ({
  id: idIn(artifactId, 'an artifact'),
  parts: recordsOf(parts),
})

function messageIn({ messageId, contextId, taskId, role, parts }: Json): AgentMessage {
  return {
    id: idIn(messageId, 'a message'),
    contextId: nonEmptyText(contextId),
    taskId: nonEmptyText(taskId),
    isOfAgent: role === 'ROLE_AGENT',
    parts: recordsOf(parts),
  }
}

function statusIn(value: unknown): TaskStatus {
  const { state: given, message, timestamp } = recordOf(value)
  const state = states.find(each => each === given)
  if (state === undefined)
    throw unusableAnswer(`a task with the unknown state ${JSON.stringify(textOf(given).slice(0, 100))}`)
  return { state, message: isRecord(message) ? messageIn(message) : undefined, timestamp: nonEmptyText(timestamp) }
}
