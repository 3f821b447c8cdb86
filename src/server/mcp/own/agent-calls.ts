import { createHash } from 'node:crypto'
import type { OpenTask, TaskLog } from '../../a2a/task-log.ts'
import type { TaskRow, TaskStore } from '../../a2a/task-store.ts'
import type { Agents } from '../../agents/agents.ts'
import type { StoredAgent } from '../../agents/stored-agent.ts'
import type { Caller } from '../../http/caller.ts'
import type { Idempotency } from '../../http/idempotency.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { isAbsent, type Json, recordOf } from '../../platform/json.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { maxPromptChars } from './agent-tools.ts'
import { answerOf } from './questions.ts'

interface Deps {
  readonly agents: Pick<Agents, 'get'>
  readonly sessions: Pick<Sessions, 'open' | 'create' | 'prompt' | 'modelOf' | 'send' | 'cancel'>
  readonly tasks: Pick<TaskStore, 'find' | 'list'>
  readonly log: TaskLog
  /** Returns the id of the prompt that an earlier call with the same key started. */
  readonly startedBy: (call: CallKey) => Promise<string | undefined>
  /** Returns the title of a session from its first prompt. */
  readonly titleOf: (prompt: string) => string
}

/** Identifies a call that must start one prompt, even if it is sent again. */
export interface CallKey {
  readonly principal: string
  readonly key: string
}

/** A call of an agent's tool. */
export interface AgentCall {
  readonly agent: StoredAgent
  readonly args: Json
  readonly caller: Caller
  /** Undefined: every call starts a prompt. */
  readonly key: string | undefined
}

/** Routes of the idempotency keys of calls. */
export const callRoutes = { session: 'mcp_own.session', prompt: 'mcp_own.prompt' } as const

/** Calls of agents: each is a prompt of a session, whose log has its state and its result. */
export type AgentCalls = ReturnType<typeof createAgentCalls>

export function createAgentCalls({ agents, sessions, tasks, log, startedBy, titleOf }: Deps) {
  async function find(id: string, caller: Caller): Promise<TaskRow | undefined> {
    return tasks.find(id, { agentId: undefined, owner: caller.ownerScope })
  }

  /** Returns the session that a call continues in, or creates one. */
  async function sessionOf({ agent, caller }: AgentCall, { prompt, sessionId }: Arguments, once: Once) {
    if (sessionId === undefined) {
      const body = { agent_id: agent.id, title: titleOf(prompt) }
      return (await sessions.create(body, caller, once(callRoutes.session))).session.id
    }
    const session = await sessions.open(sessionId, caller)
    if (session.agent_id === agent.id) return session.id
    throw invalid('argument session_id is a session of another agent; omit it to start a new one')
  }

  return {
    /** Queues the prompt of a call and resolves after the commit. A repeated call gets the same task. */
    async start(call: AgentCall): Promise<OpenTask> {
      const { agent, caller, key } = call
      const args = argumentsIn(call.args)
      const bodyHash = createHash('sha256')
        .update(JSON.stringify([agent.id, args]))
        .digest()
      const once: Once = route =>
        key === undefined ? undefined : { principal: caller.principal, route, key, bodyHash }
      const sessionId = await sessionOf(call, args, once)
      const parts = [{ type: 'text' as const, text: args.prompt }]
      const model = await sessions.modelOf(sessionId, caller)
      const id = await sessions.prompt(sessionId, { parts, model }, { caller, idempotency: once(callRoutes.prompt) })
      const row = await find(id, caller)
      if (!row) throw new Error(`prompt ${id} of a call is missing (bug)`)
      return log.read(row)
    },

    /** Returns a task of the caller; undefined without one. */
    async open(id: string, caller: Caller): Promise<OpenTask | undefined> {
      const row = await find(id, caller)
      return row && log.read(row)
    },

    /** Returns the prompt of a session that changed last. Throws `not_found`. */
    async newest(sessionId: string, caller: Caller): Promise<OpenTask> {
      await sessions.open(sessionId, caller)
      const any = { agentId: undefined, state: undefined, from: undefined, after: undefined }
      const { rows } = await tasks.list({ ...any, owner: caller.ownerScope, sessionId, limit: 1 })
      if (!rows[0]) throw new AppError('not_found', `session ${sessionId} has no prompt`)
      return log.read(rows[0])
    },

    /** Returns the name of the agent of a task; its id when the agent was deleted. */
    async agentName({ row }: OpenTask, caller: Caller): Promise<string> {
      try {
        return (await agents.get(row.agent_id, caller)).name
      } catch (error) {
        if (error instanceof AppError && error.code === 'not_found') return row.agent_id
        throw error
      }
    },

    /** Answers open questions of a task. Ignores responses to others, which were answered meanwhile. */
    async answer({ row, reading }: OpenTask, responses: Json, caller: Caller): Promise<void> {
      const events = reading.questions.flatMap(question =>
        Object.hasOwn(responses, question.id) ? [answerOf(question, responses[question.id])] : [],
      )
      // One after another, so that one that was answered meanwhile does not reject the others.
      for (const event of events) await ignoringAnswered(() => sessions.send(row.session_id, [event], caller))
    },

    /** Cancels a waiting prompt or interrupts a running one. */
    async cancel({ row }: OpenTask, caller: Caller): Promise<void> {
      await ignoringAnswered(() => sessions.cancel(row.session_id, row.id, caller))
    },

    /** Cancels the prompt that a call has started, whichever process serves the call. */
    async cancelCall(key: string, caller: Caller): Promise<void> {
      const id = await startedBy({ principal: caller.principal, key })
      const row = id === undefined ? undefined : await find(id, caller)
      if (row) await ignoringAnswered(() => sessions.cancel(row.session_id, row.id, caller))
    },
  }
}

type Once = (route: string) => Idempotency | undefined

interface Arguments {
  readonly prompt: string
  readonly sessionId: string | undefined
}

/** Throws `invalid_request` for arguments that do not fit the input schema. */
function argumentsIn(args: Json): Arguments {
  const { prompt, session_id: sessionId, ...others } = recordOf(args)
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw invalid(`unknown argument ${unknown.slice(0, 200)}; known arguments: prompt, session_id`)
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalid('argument prompt must be a text that is not blank')
  if (prompt.length > maxPromptChars) throw invalid(`argument prompt must have at most ${maxPromptChars} characters`)
  if (isAbsent(sessionId)) return { prompt, sessionId: undefined }
  if (typeof sessionId !== 'string') throw invalid('argument session_id must be string')
  return { prompt, sessionId }
}

/** Ignores that a question was answered, or a prompt has ended, in the meantime. */
async function ignoringAnswered(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error
  }
}
