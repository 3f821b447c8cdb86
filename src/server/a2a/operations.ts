import { a2aVersion } from '../../contract/a2a.ts'
import type {
  A2aListQuery,
  A2aSendRequest,
  A2aStreamResponse,
  A2aTask,
  A2aTaskList,
} from '../../contract/a2a-objects.ts'
import type { A2aPushConfig, A2aPushConfigList } from '../../contract/a2a-push.ts'
import type { Agents } from '../agents/agents.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import type { Caller } from '../http/caller.ts'
import type { StreamSlots } from '../http/stream-slots.ts'
import type { Keys } from '../keys/keys.ts'
import { invalid, notFound } from '../platform/errors.ts'
import { outputModesOf, settingsOf } from './card.ts'
import { a2aFailure } from './errors.ts'
import { checkRequest } from './message.ts'
import type { PushConfigs } from './push/push-configs.ts'
import type { OpenTask, TaskLog } from './task-log.ts'
import type { Called, Tasks } from './tasks.ts'

export interface OperationDeps {
  readonly agents: Pick<Agents, 'get'>
  readonly tasks: Tasks
  readonly log: TaskLog
  readonly push: PushConfigs
  readonly keys: Pick<Keys, 'watch'>
  readonly slots: StreamSlots
  readonly shutdown: AbortSignal
}

/** The request of either binding. */
export interface A2aCall {
  /** Id of the agent. */
  readonly agent: string
  readonly caller: Caller
  /** Version of the protocol that the client speaks. */
  readonly version: string | undefined
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal
}

/** A task to be streamed: its current state, then its changes. */
export interface TaskStream {
  readonly frames: AsyncGenerator<A2aStreamResponse>
  /** Must be called when the stream ends. */
  readonly close: () => void
}

/** The operations of A2A, which both bindings serve. */
export type Operations = ReturnType<typeof createOperations>

export function createOperations({ agents, tasks, log, push, keys, slots, shutdown }: OperationDeps) {
  /** Returns the agent of a call if it is served. The version counts only for those who may see the agent. */
  async function called({ agent: id, caller, version }: A2aCall): Promise<Called> {
    const agent = await servedAgent(agents, id, caller)
    checkVersion(version)
    return { agent, caller }
  }

  /** Starts a wait or a stream: it ends with the process, with the key, and when the client disconnects. */
  function beginWait({ caller, signal }: A2aCall): { readonly signal: AbortSignal; readonly close: () => void } {
    const release = slots.take(caller)
    const watched = keys.watch(caller)
    const close = () => {
      watched.close()
      release()
    }
    return { signal: AbortSignal.any([signal, shutdown, watched.signal]), close }
  }

  async function sent(request: A2aSendRequest, call: A2aCall): Promise<OpenTask> {
    const by = await called(call)
    checkRequest(request, outputModesOf(by.agent))
    const { taskPushNotificationConfig: config } = request.configuration ?? {}
    if (config) push.check(config, 'configuration.taskPushNotificationConfig.')
    const task = await tasks.send(request.message, by)
    // The task as the id: a repeated message replaces its config, and does not add one.
    if (config) await push.put({ ...config, id: config.id || task.row.id }, task, by.caller)
    return task
  }

  /** Opens a task and returns its stream. The slot is taken first, so that a rejected stream has no effect. */
  async function streamed(
    call: A2aCall,
    openTask: () => Promise<OpenTask>,
    changes: TaskLog['untilOver'],
    historyLength?: number,
  ): Promise<TaskStream> {
    const { signal, close } = beginWait(call)
    try {
      const task = await openTask()
      const current = { task: task.reading.task(historyLength) }
      async function* frames() {
        yield current
        yield* changes(task, { signal, withTexts: true })
      }
      return { frames: frames(), close }
    } catch (error) {
      close()
      throw error
    }
  }

  return {
    /** Sends a message and returns its task, by default once it ends or asks. */
    async send(request: A2aSendRequest, call: A2aCall): Promise<{ task: A2aTask }> {
      const { historyLength, returnImmediately = false } = request.configuration ?? {}
      const wait = returnImmediately ? undefined : beginWait(call)
      try {
        const task = await sent(request, call)
        if (wait) await tasks.settled(task, wait.signal)
        return { task: task.reading.task(historyLength) }
      } finally {
        wait?.close()
      }
    },

    stream: (request: A2aSendRequest, call: A2aCall): Promise<TaskStream> =>
      streamed(call, () => sent(request, call), log.untilSettled, request.configuration?.historyLength),

    subscribe(id: string, call: A2aCall): Promise<TaskStream> {
      const openTask = async () => {
        const task = await tasks.open(id, await called(call))
        if (!task.reading.isOver) return task
        throw a2aFailure('UNSUPPORTED_OPERATION', `task ${id} has ended; read it instead of following it`)
      }
      return streamed(call, openTask, log.untilOver)
    },

    async get(id: string, historyLength: number | undefined, call: A2aCall): Promise<A2aTask> {
      return (await tasks.open(id, await called(call))).reading.task(historyLength)
    },

    list: async (query: A2aListQuery, call: A2aCall): Promise<A2aTaskList> => tasks.list(query, await called(call)),

    cancel: async (id: string, call: A2aCall): Promise<A2aTask> =>
      tasks.cancel(id, await called(call), AbortSignal.any([call.signal, shutdown])),

    async createPush(taskId: string, config: A2aPushConfig, call: A2aCall): Promise<A2aPushConfig> {
      const by = await called(call)
      if (config.taskId && config.taskId !== taskId) throw invalid(`taskId must be that of the path, ${taskId}`)
      push.check(config)
      return push.put(config, await tasks.open(taskId, by), by.caller)
    },

    async getPush(taskId: string, id: string, call: A2aCall): Promise<A2aPushConfig> {
      await tasks.find(taskId, await called(call))
      return push.get(taskId, id)
    },

    async listPush(taskId: string, call: A2aCall): Promise<A2aPushConfigList> {
      await tasks.find(taskId, await called(call))
      return push.list(taskId)
    },

    async removePush(taskId: string, id: string, call: A2aCall): Promise<void> {
      await tasks.find(taskId, await called(call))
      await push.remove(taskId, id)
    },

    /** Answers an operation that this service does not support, for those who may see the agent. */
    async reject(error: Error, call: A2aCall): Promise<never> {
      await called(call)
      throw error
    },
  }
}

/** Returns an agent that the caller may see and that is served by A2A. Throws `not_found`. */
export async function servedAgent(agents: Pick<Agents, 'get'>, id: string, caller: Caller): Promise<StoredAgent> {
  const agent = await agents.get(id, caller)
  if (!settingsOf(agent).isEnabled) throw notFound('agent', id)
  return agent
}

/** Rejects a version other than 1.0; a client that sends none speaks 0.3. Only the first two numbers count. */
export function checkVersion(given: string | undefined): void {
  const version = given?.trim() || '0.3'
  if (version === a2aVersion || version.startsWith(`${a2aVersion}.`)) return
  throw a2aFailure(
    'VERSION_NOT_SUPPORTED',
    `A2A version ${version.slice(0, 20)} is not supported; send the header A2A-Version: ${a2aVersion}`,
    { supportedVersions: a2aVersion },
  )
}

export const noExtendedCard = () =>
  a2aFailure('UNSUPPORTED_OPERATION', 'there is no extended agent card; the agent card is complete')
