import { type Json, nonEmptyText, recordOf, recordsOf, textOf } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import { memoryServer, memoryServerAt } from '../local/memory-server.ts'
import { serverAt } from '../local/program-mcp.ts'
import type { LocalProgram } from '../local/programs.ts'
import { createQueue, type Queue } from '../queue.ts'
import { RuntimeFailure } from '../runtime.ts'
import { asFailure, authNeeded, explained } from './failures.ts'
import { jsonRpc, type PeerRequest, unknownMethod } from './json-rpc.ts'
import { offeredMode, offeredModel } from './options.ts'
import type { ProgramKind, Task } from './programs.ts'

/** Message of a program during a turn. */
export type TurnItem =
  | { readonly kind: 'update'; readonly update: Json }
  | { readonly kind: 'permission'; readonly request: PeerRequest }
  | { readonly kind: 'ended'; readonly stopReason: string }
  | { readonly kind: 'failed'; readonly failure: RuntimeFailure }

/** One prompt in progress. */
export interface AgentTurn {
  /** Returns the next message; undefined when none arrived within `ms`, or `signal` aborted. */
  next(ms: number, signal: AbortSignal): Promise<TurnItem | undefined>
  /** Stops listening. A running turn is cancelled, and the program is ended if the turn does not end in time. */
  leave(): void
}

/** A program that speaks the Agent Client Protocol. Dialects: section 5. */
export type Agent = ReturnType<typeof createAgent>

interface Options {
  /** Alias of its runtime. */
  readonly alias: string
  readonly program: LocalProgram
  readonly kind: ProgramKind
  /** The task that it was started for. */
  readonly task: Task
  /** Maximum time until a cancelled turn must have ended. */
  readonly cancelMs: number
  /** Timeout of requests that need no model. */
  readonly answerMs: number
}

const protocolVersion = 1
const client = { name: 'switchyard', version: '0.1.0' }

/** Creates the client of a program that was just started. Calls reject with `RuntimeFailure`. */
export function createAgent({ alias, program, kind, task, cancelMs, answerMs }: Options) {
  let turn: Queue<TurnItem> | undefined
  let sessionId: string | undefined
  let capabilities: Json = {}
  let offers: Json = {}
  let authMethods: readonly string[] = []
  let settling: Promise<void> = Promise.resolve()
  let model = task.model
  let hasExited = false
  void program.exited.then(() => {
    hasExited = true
  })

  const rpc = jsonRpc(
    { input: program.stdout, output: program.stdin },
    {
      async onNotification(method, params) {
        if (method === 'session/update' && params['sessionId'] === sessionId)
          await turn?.put({ kind: 'update', update: recordOf(params['update']) })
      },
      async onRequest(request) {
        if (request.method !== 'session/request_permission') request.reject(unknownMethod, 'method is not supported')
        else if (turn) await turn.put({ kind: 'permission', request })
        else request.answer(cancelled)
      },
    },
  )
  // A program whose output is closed must not continue to run.
  void rpc.closed.then(() => program.stop())

  const failureOf = (error: unknown) => asFailure(error, { alias, program, authMethods })
  const call = async (method: string, params: object): Promise<Json> => {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), answerMs)
    try {
      const late = () =>
        new RuntimeFailure('model_request_failed_error', `the program did not answer ${method} in time`)
      return await untilAborted(rpc.request(method, params), timeout.signal, late)
    } catch (error) {
      throw failureOf(error)
    } finally {
      clearTimeout(timer)
    }
  }
  const withLogin = async (method: string, params: object): Promise<Json> => {
    try {
      return await call(method, params)
    } catch (error) {
      const needsLogin = error instanceof RuntimeFailure && error.code === String(authNeeded)
      if (!needsLogin || kind.authMethod === undefined) throw error
      await call('authenticate', { methodId: kind.authMethod })
      return await call(method, params)
    }
  }
  const sessionParams = () => {
    const { http } = recordOf(capabilities['mcpCapabilities'])
    const mcpServers = http === true ? httpServers(task, program) : []
    return { cwd: program.surroundings.folders.workspace, mcpServers }
  }

  /** Resumes or loads a session of an earlier process of the program; returns false when it is not possible. */
  async function reopen(previous: string): Promise<boolean> {
    const canResume = recordOf(capabilities['sessionCapabilities'])['resume'] != null
    if (!canResume && capabilities['loadSession'] !== true) return false
    try {
      // `session/load` replays the conversation before its response; no turn listens then, so the replay is dropped.
      offers = await withLogin(canResume ? 'session/resume' : 'session/load', {
        sessionId: previous,
        ...sessionParams(),
      })
    } catch (error) {
      if (error instanceof RuntimeFailure && error.code !== undefined) return false
      throw error
    }
    sessionId = previous
    return true
  }

  async function cancelTurn(over: Promise<unknown>): Promise<void> {
    rpc.notify('session/cancel', { sessionId })
    const ended = new AbortController()
    const isOver = over.then(() => ended.abort())
    await Promise.race([isOver, pause(cancelMs, ended.signal)])
    if (!ended.signal.aborted) await program.stop()
  }

  return {
    program,
    exited: program.exited,
    stop: () => program.stop(),
    /** Resolves once a cancelled turn, or the program, has ended. */
    settled: () => settling,
    get sessionId() {
      return sessionId
    },
    get hasExited() {
      return hasExited
    },

    /** Negotiates the protocol version. */
    async initialize(): Promise<void> {
      const answer = await call('initialize', {
        protocolVersion,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
        clientInfo: client,
      })
      if (answer['protocolVersion'] !== protocolVersion)
        throw new RuntimeFailure(
          'model_request_failed_error',
          `the program uses version ${String(answer['protocolVersion']).slice(0, 20)} of the protocol instead of ${protocolVersion}`,
        )
      capabilities = recordOf(answer['agentCapabilities'])
      authMethods = recordsOf(answer['authMethods']).map(({ id, name }) => nonEmptyText(name) ?? textOf(id))
    },

    /** Opens the program's session; returns true when it does not have the earlier conversation. */
    async open(previous: string | null): Promise<boolean> {
      if (sessionId !== undefined) return false
      const isFound = previous !== null && (await reopen(previous))
      if (!isFound) {
        offers = await withLogin('session/new', sessionParams())
        sessionId = textOf(offers['sessionId'])
      }
      const mode = offeredMode(offers, kind.mode?.(program.surroundings, task))
      if (mode) await call(mode.method, { sessionId, ...mode.params })
      return !isFound
    },

    /** Switches to a model; returns false when the program must be restarted for it. */
    async useModel(wanted: string): Promise<boolean> {
      const offer = offeredModel(offers, wanted)
      if (offer) await call('session/set_config_option', { sessionId, ...offer })
      if (offer) model = wanted
      return model === wanted
    },

    /** Sends a prompt. One turn at a time. */
    prompt(text: string): AgentTurn {
      const queue = createQueue<TurnItem>()
      turn = queue
      let isOver = false
      const over = rpc.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }] }).then(
        answer => queue.put({ kind: 'ended', stopReason: textOf(answer['stopReason']) }),
        async error => queue.put({ kind: 'failed', failure: await explained(failureOf(error), program) }),
      )
      const ended = over.then(() => {
        isOver = true
      })
      return {
        next: (ms, signal) => queue.next(arrived => pause(ms, AbortSignal.any([signal, arrived]))),
        leave() {
          if (turn !== queue) return
          turn = undefined
          for (const item of queue.close()) if (item.kind === 'permission') item.request.answer(cancelled)
          if (!isOver) settling = cancelTurn(ended)
        },
      }
    },
  }
}

/** Response to a permission request that will not be answered. */
export const cancelled = { outcome: { outcome: 'cancelled' } }

/** Returns the memory server and those of the agent in the format of the protocol. */
function httpServers({ memories, mcpServers }: Task, { surroundings }: LocalProgram) {
  const places = [
    ...(memories ? [{ name: memoryServer, ...memoryServerAt(surroundings, memories) }] : []),
    ...mcpServers.map(server => ({ name: server.name, ...serverAt(surroundings, server) })),
  ]
  return places.map(({ name, url, headers }) => ({
    type: 'http',
    name,
    url,
    headers: Object.entries(headers).map(([header, value]) => ({ name: header, value })),
  }))
}
