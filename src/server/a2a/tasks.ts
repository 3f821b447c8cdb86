import { createHash } from 'node:crypto'
import type { A2aListQuery, A2aMessage, A2aStreamResponse, A2aTask, A2aTaskList } from '../../contract/a2a-objects.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Caller } from '../http/caller.ts'
import { pageOf } from '../http/page.ts'
import { timeIn } from '../http/time-range.ts'
import { type AppError, invalid, invalidCursor } from '../platform/errors.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { answersOf } from './answers.ts'
import { a2aFailure, asAllowed, taskNotFound } from './errors.ts'
import { digestedMessage, isSameContent, promptPartsOf } from './message.ts'
import type { OpenTask, TaskLog } from './task-log.ts'
import { isTaskKey, type TaskRow, type TaskStore, taskKey } from './task-store.ts'

interface Deps {
  readonly store: TaskStore
  readonly sessions: Pick<Sessions, 'among' | 'create' | 'prompt' | 'modelOf' | 'send' | 'cancel'>
  readonly log: TaskLog
  /** Returns the title of a session from its first prompt. */
  readonly titleOf: (prompt: string) => string
}

/** An agent that is called by A2A, and its caller. */
export interface Called {
  readonly agent: StoredAgent
  readonly caller: Caller
}

/** Time that a cancelled run has to end before the answer shows it as working. */
const cancelMs = 30_000

/**
 * Tasks of A2A: each is a prompt of a session of the agent. Its state, results and history are those of the session's log; nothing
 * else is stored.
 */
export type Tasks = ReturnType<typeof createTasks>

export function createTasks({ store, sessions, log, titleOf }: Deps) {
  async function find(id: string, { agent, caller }: Called): Promise<TaskRow> {
    const row = await store.find(id, { agentId: agent.id, owner: caller.ownerScope })
    if (!row) throw taskNotFound(id)
    return row
  }

  const open = async (id: string, called: Called): Promise<OpenTask> => log.read(await find(id, called))

  /** Returns the session of a message without a task: that of its context, or a new one. */
  async function contextOf(
    { contextId, messageId, ...message }: A2aMessage,
    { agent, caller }: Called,
  ): Promise<string> {
    if (contextId) {
      const [session] = await sessions.among([contextId], caller)
      if (session?.agent_id === agent.id) return session.id
      throw invalid(`message.contextId ${contextId} is not a context of this agent; omit it to start a new one`)
    }
    const title = titleOf(message.parts.map(({ text = '' }) => text).join(' '))
    // The same message again continues in the session that it created.
    const bodyHash = createHash('sha256').update(JSON.stringify(message)).digest()
    const key = `${messageId} ${bodyHash.toString('hex')}`.slice(-255)
    const idempotency = { principal: caller.principal, route: `a2a.send ${agent.id}`, key, bodyHash }
    return (await sessions.create({ agent_id: agent.id, title }, caller, idempotency)).session.id
  }

  /** Queues a message as a prompt. A repeated message gets the task of the first one. */
  async function start(message: A2aMessage, called: Called): Promise<TaskRow> {
    const { caller } = called
    const parts = promptPartsOf(message)
    const digested = await digestedMessage(message)
    const sessionId = await contextOf(digested, called)
    const model = await sessions.modelOf(sessionId, caller)
    const prompt = { parts, model, messageId: message.messageId }
    const row = await find(await sessions.prompt(sessionId, prompt, { caller, idempotency: undefined }), called)
    if (isSameContent(row.parts, digested)) return row
    throw invalid('message.messageId was used for another message of this context; use a new one')
  }

  /** Answers questions of a task. */
  async function answer(taskId: string, message: A2aMessage, called: Called): Promise<TaskRow> {
    const { row, reading } = await open(taskId, called)
    if (message.contextId && message.contextId !== row.session_id)
      throw invalid(`message.contextId must be that of task ${taskId}, ${row.session_id}`)
    if (reading.isOver) throw unsupported(`task ${taskId} has ended; ${instead}`)
    if (reading.questions.length === 0) throw unsupported(`task ${taskId} does not wait for an answer; ${instead}`)
    await sessions.send(row.session_id, answersOf(message, reading.questions), called.caller)
    return row
  }

  /** Returns the task as it is in the list, with its log where the row alone does not suffice. */
  async function listed(row: TaskRow, { historyLength = 0, includeArtifacts = false }: A2aListQuery): Promise<A2aTask> {
    const { id, session_id: contextId, state, updated_at } = row
    const status = { state, timestamp: updated_at.toISOString() }
    if (historyLength === 0 && !includeArtifacts) return { id, contextId, status }
    const { reading } = await log.read(row)
    const { artifacts, ...task } = reading.task(historyLength)
    return { ...task, status: { ...task.status, ...status }, ...(includeArtifacts && artifacts && { artifacts }) }
  }

  return {
    /** Returns a task. Throws `TASK_NOT_FOUND`. */
    find,
    open,

    /** Starts a task with a message, or answers the question of one. */
    async send(message: A2aMessage, called: Called): Promise<OpenTask> {
      const { taskId } = message
      return log.read(await asAllowed(() => (taskId ? answer(taskId, message, called) : start(message, called))))
    },

    /** Waits until the task ends or asks. */
    async settled(task: OpenTask, signal: AbortSignal): Promise<void> {
      await finished(log.untilSettled(task, { signal }))
    },

    /** Stops a task and returns it. */
    async cancel(id: string, called: Called, signal: AbortSignal): Promise<A2aTask> {
      const row = await find(id, called)
      const stop = () => sessions.cancel(row.session_id, id, called.caller)
      await asAllowed(stop, 'TASK_NOT_CANCELABLE', () => `task ${id} has ended and cannot be canceled`)
      const task = await log.read(row)
      await finished(log.untilOver(task, { signal: AbortSignal.any([signal, AbortSignal.timeout(cancelMs)]) }))
      return task.reading.task()
    },

    async list(query: A2aListQuery, { agent, caller }: Called): Promise<A2aTaskList> {
      const { contextId, status = unspecified, pageSize = 50, pageToken, statusTimestampAfter } = query
      const state = status === unspecified ? undefined : status
      const scope = { agentId: agent.id, owner: caller.ownerScope, sessionId: contextId || undefined, state }
      const from = statusTimestampAfter === undefined ? undefined : timeIn('statusTimestampAfter', statusTimestampAfter)
      let total = 0
      const load = async ({ after, limit }: { after: string | undefined; limit: number }) => {
        if (after !== undefined && !isTaskKey(after)) throw invalidCursor()
        const page = await store.list({ ...scope, from, after, limit })
        total = page.total
        return page.rows
      }
      const { items, next_cursor } = await pageOf(
        { limit: pageSize, ...(pageToken && { cursor: pageToken }) },
        load,
        taskKey,
      )
      const tasks: A2aTask[] = []
      // One after another: each may read a log.
      for (const row of items) tasks.push(await listed(row, query))
      return { tasks, nextPageToken: next_cursor ?? '', pageSize: items.length, totalSize: total }
    },
  }
}

/** Clients whose libraries send default values mean any state by it. */
const unspecified = 'TASK_STATE_UNSPECIFIED'
const instead = 'send the message without taskId to continue in its context'
const unsupported = (message: string): AppError => a2aFailure('UNSUPPORTED_OPERATION', message)

/** Resolves at the end of the changes. */
async function finished(all: AsyncGenerator<A2aStreamResponse>): Promise<void> {
  while (!(await all.next()).done);
}
