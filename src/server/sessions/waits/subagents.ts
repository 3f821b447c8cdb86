import type { Pool, PoolClient } from 'pg'
import type { TextBlock } from '../../../contract/events.ts'
import type { BudgetStore } from '../../budgets/store.ts'
import { transaction } from '../../db/connect.ts'
import type { Caller } from '../../http/caller.ts'
import type { Keys } from '../../keys/keys.ts'
import { AppError, DatabaseUnavailable } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { recordOf } from '../../platform/json.ts'
import type { TraceHeaders } from '../../platform/trace-context.ts'
import type { RunPrompt, RunSession } from '../../runtimes/runtime.ts'
import {
  maxParallelCalls,
  type RunSubagents,
  type SubagentCall,
  type SubagentEnd,
  type SubagentEntry,
  type SubagentFacts,
  subagentEntries,
  subagentFailure,
} from '../../tools/subagents.ts'
import type { Creation, Started } from '../creation.ts'
import { type EventLog, FenceLost, type Writer, whileLeased } from '../log/event-log.ts'
import type { SessionStore } from '../session-store.ts'
import { environmentOfCalled } from './approval-policy.ts'
import type { StoredSubagentCall, SubagentStore } from './subagent-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: SubagentStore
  readonly sessions: Pick<SessionStore, 'lock' | 'holds'>
  readonly agents: { find(id: string, owner: string | undefined): Promise<SubagentFacts | undefined> }
  readonly budgets: Pick<BudgetStore, 'find'>
  readonly keys: Pick<Keys, 'workerById'>
  readonly eventLog: Pick<EventLog, 'append'>
  /** Creates a session and queues its prompt inside a transaction. */
  readonly startWithin: Creation['startWithin']
  /** Returns the trace context of a tool call; undefined while nothing is traced. */
  readonly traceOf: (call: { sessionId: string; runId: string; toolUseId: string }) => TraceHeaders | undefined
}

/** The run that calls agents. */
interface CallingRun {
  readonly runId: string
  readonly leased: Writer
  readonly session: RunSession
  /** The sessions above it. */
  readonly ancestors: readonly string[]
  readonly prompt: RunPrompt
  /** Aborts when the run must end: no further session is started. */
  readonly signal: AbortSignal
  readonly onPark: () => void
}

/**
 * Calls of agents by a run. Each call starts one session, whatever crashes: its row is keyed by the event of the call,
 * and one transaction stores the new session, its prompt, the row and the events of the calling session.
 */
export type Subagents = ReturnType<typeof createSubagents>

export function createSubagents(deps: Deps) {
  const { pool, store, sessions, agents, eventLog } = deps

  /** Starts the session of a queued call. Returns why it cannot; undefined once it works. */
  async function start(
    run: CallingRun,
    call: StoredSubagentCall,
    { version, budgetShare: share }: SubagentEntry,
  ): Promise<string | undefined> {
    const { prompt, ...others } = recordOf(await store.input(call))
    const [unknown] = Object.keys(others)
    if (unknown !== undefined)
      return `was not called: unknown argument ${unknown.slice(0, 100)}; prompt is the only one`
    if (typeof prompt !== 'string' || prompt.trim() === '')
      return 'was not called: prompt must be a text that is not empty'
    const payer = await callerOf(deps, run)
    if (!payer) return 'was not called: the key of the prompt was revoked, has expired or may only read'
    const trace = deps.traceOf({ sessionId: run.session.id, runId: run.runId, toolUseId: call.tool_use_id })
    const caller = trace ? { ...payer, trace } : payer
    const childId = newId('ses')
    const { agent_name } = call
    const thread = { session_thread_id: childId, tool_use_id: call.tool_use_id }
    const to = { to_session_thread_id: childId, to_agent_name: agent_name }
    let started: Started | undefined
    const create = async (client: PoolClient) => {
      const maxBudgetUsd = await shareOf(deps, client, { ...run, share })
      started = await deps.startWithin(client, {
        body: {
          agent_id: call.agent_id,
          prompt,
          environment: environmentOfCalled(run.session.environment),
          ...(version !== undefined && { agent_version: version }),
          ...(run.session.timezone !== null && { timezone: run.session.timezone }),
        },
        caller,
        child: { id: childId, ancestors: [run.session.id, ...run.ancestors], maxBudgetUsd },
      })
      await store.start(client, call.id, { childId, childPromptId: started.promptId })
    }
    try {
      await eventLog.append(
        run.leased,
        [
          { type: 'session.thread_created', ...thread, agent_name, session_id: childId },
          { type: 'agent.thread_message_sent', ...thread, ...to, content: [{ type: 'text', text: prompt }] },
          { type: 'session.thread_status_running', ...thread, agent_name },
        ],
        // With further writes, `append` passes the client of its transaction.
        on => create(on as PoolClient),
      )
    } catch (error) {
      if (!(error instanceof AppError) || error instanceof DatabaseUnavailable || error.code === 'internal') throw error
      return `was not called: ${error.message}`
    }
    started?.publish()
    return undefined
  }

  /** Returns the result of a call; otherwise makes the run wait for it. The lock keeps the result away in between. */
  async function endOrWait({ leased, onPark }: CallingRun, id: string): Promise<SubagentEnd | undefined> {
    const end = await whileLeased(leased, () =>
      transaction(pool, async client => {
        await sessions.lock(client, leased.sessionId)
        if (!(await sessions.holds(client, leased))) throw new FenceLost(leased.sessionId)
        const ended = endOf(await store.find(id, client))
        if (!ended) await store.wait(client, leased.sessionId, id)
        return ended
      }),
    )
    if (!end) onPark()
    return end
  }

  async function end(run: CallingRun, eventId: string, called: SubagentCall): Promise<SubagentEnd | undefined> {
    const { leased, session, prompt, signal } = run
    const { entry, name, agentName } = called
    const given = { sessionId: session.id, eventId, promptId: prompt.id, name, agentId: entry.agentId, agentName }
    const call = await whileLeased(leased, () => store.open(given))
    const found = endOf(call)
    if (found) return found
    if (call.state === 'queued' && !signal.aborted && (await whileLeased(leased, () => mayStart(session.id, called)))) {
      const problem = await start(run, call, entry)
      if (problem !== undefined) {
        const failure = subagentFailure(agentName, problem)
        await whileLeased(leased, () => store.end(pool, eventId, failure))
        return failure
      }
    }
    return endOrWait(run, eventId)
  }

  async function mayStart(sessionId: string, { entry }: SubagentCall): Promise<boolean> {
    const running = (await store.openOf(sessionId)).filter(({ state }) => state === 'running')
    const same = running.filter(({ agent_id }) => agent_id === entry.agentId)
    return running.length < maxParallelCalls && same.length < entry.maxParallel
  }

  return {
    /** Returns what the engine provides to a run for its calls of agents. */
    ofRun(run: CallingRun): RunSubagents {
      const { leased, session } = run
      const entries = subagentEntries(session.config)
      return {
        async agents(ids) {
          const found = await whileLeased(leased, () => Promise.all(ids.map(id => agents.find(id, session.owner_id))))
          return found.filter(agent => agent !== undefined)
        },
        async open() {
          const calls = await whileLeased(leased, () => store.openOf(session.id))
          return calls.map(({ name, agent_id: agentId, agent_name: agentName }) => {
            const listed = entries.find(entry => entry.agentId === agentId)
            return { entry: listed ?? { ...removed, agentId }, name, agentName }
          })
        },
        end: (eventId, call) => end(run, eventId, call),
      }
    },
  }
}

/** Settings of a called agent that is no longer in `config.agents`. */
const removed = { version: undefined, budgetShare: undefined, maxParallel: maxParallelCalls, policy: 'allow' } as const

const endOf = (call: StoredSubagentCall | undefined): SubagentEnd | undefined =>
  call?.state === 'ended' ? { content: call.content ?? noText, is_error: call.is_error ?? false } : undefined

const noText: readonly TextBlock[] = [{ type: 'text', text: '(no output)' }]

/** The called session runs under the key of the prompt, and sees what the owner of the calling session sees. */
async function callerOf({ keys }: Deps, { leased, session, prompt }: CallingRun): Promise<Caller | undefined> {
  const { principal, key_id } = prompt
  const base = { principal, role: 'user', ownerScope: session.owner_id } as const
  if (key_id === null) return { ...base, key: undefined }
  const holder = await whileLeased(leased, async () => keys.workerById(key_id))
  return holder && { ...base, key: holder.key }
}

/** Returns the share of the nearest session budget above the called session; undefined without a share or a budget. */
async function shareOf(
  { budgets }: Deps,
  client: PoolClient,
  { session, ancestors, share }: Pick<CallingRun, 'session' | 'ancestors'> & { readonly share: number | undefined },
): Promise<number | undefined> {
  if (share === undefined) return undefined
  for (const scope_id of [session.id, ...ancestors]) {
    const budget = await budgets.find({ scope: 'session', scope_id }, client)
    if (budget?.max_usd) return Number(budget.max_usd) * share
  }
  return undefined
}
