import type { NewEvent } from '../../../contract/events.ts'
import type { Log } from '../../platform/log.ts'
import { every } from '../../platform/timers.ts'
import { type SubagentEnd, subagentFailure } from '../../tools/subagents.ts'
import type { EventTransaction } from '../event-transaction.ts'
import type { EventLog } from '../log/event-log.ts'
import type { AnswerOf } from '../log/run-answer.ts'
import type { Halt, Halted } from '../queue/prompt-queue.ts'
import type { WakeUps } from '../queue/wake-ups.ts'
import type { SessionStore } from '../session-store.ts'
import type { OverCall, StoredSubagentCall, SubagentStore } from './subagent-store.ts'
import type { ThreadRequests } from './thread-requests.ts'

interface Deps {
  readonly store: SubagentStore
  readonly sessions: Pick<SessionStore, 'lock' | 'setDue'>
  readonly eventTransaction: EventTransaction
  readonly eventLog: Pick<EventLog, 'appendByCaller'>
  readonly wakeUps: Pick<WakeUps, 'send'>
  readonly answerOf: AnswerOf
  readonly requests: Pick<ThreadRequests, 'show' | 'showWithin'>
  /** Stops the run of a session and cancels its waiting prompts. */
  readonly halt: (id: string, halt: Halt) => Promise<Halted>
  readonly log: Pick<Log, 'debug'>
}

const sweepMs = 5_000
/** Characters of a result; the called session has the whole answer. */
const maxResultChars = 65_536

/**
 * Passes the results of called agents, and what they ask, on to the sessions that wait for them. Any replica may do so,
 * once per call.
 */
export interface SubagentResults {
  /** Called when a run of the session has ended or waits, its prompts were cancelled, or one of its questions was answered. */
  changed(sessionId: string): void
  /** Checks now and every 5 s, because a process may exit between the end of a session and its result. */
  start(): void
  stop(): Promise<void>
}

export function createSubagentResults(deps: Deps): SubagentResults {
  const { store, requests, log } = deps
  let changed = new Set<string>()
  let checking: Promise<void> | undefined
  let stopSweeping: (() => Promise<void>) | undefined

  async function check(sessionIds?: readonly string[]): Promise<void> {
    // What one session asks, the session above the calling one shows next.
    for (let shown = await requests.show(sessionIds); shown.length > 0; ) shown = await requests.show(shown)
    for (const call of await store.over(sessionIds)) await finish(deps, call)
    for (const call of await store.orphans(sessionIds)) await abandon(deps, call)
  }

  async function checkChanged(): Promise<void> {
    while (changed.size > 0) {
      const sessionIds = [...changed]
      changed = new Set()
      await check(sessionIds)
    }
  }

  const quietly = (work: Promise<void>) =>
    work.catch((cause: unknown) => log.debug({ err: cause }, 'cannot read calls of agents; retrying in the next sweep'))

  return {
    changed(sessionId) {
      changed.add(sessionId)
      checking ??= quietly(checkChanged()).finally(() => {
        checking = undefined
      })
    },
    start() {
      void quietly(check())
      stopSweeping = every(sweepMs, () => quietly(check()))
    },
    async stop() {
      await stopSweeping?.()
      await checking
    },
  }
}

/** Stores the result of a call and wakes the session that waits for it. */
async function finish(deps: Deps, call: OverCall): Promise<void> {
  const end = await resultOf(deps, call)
  if (call.used_up_usd !== null) await deps.halt(call.child_id, { keyIds: undefined, reason: 'its budget is used up' })
  await conclude(deps, call, end)
}

/** Stops the session of a call whose caller has ended. */
async function abandon(deps: Deps, call: StoredSubagentCall): Promise<void> {
  if (call.child_id !== null)
    await deps.halt(call.child_id, { keyIds: undefined, reason: 'the session that called this agent has ended' })
  await conclude(deps, call, subagentFailure(call.agent_name, 'was stopped: the calling run has ended'))
}

async function conclude(deps: Deps, call: StoredSubagentCall, end: SubagentEnd): Promise<void> {
  const { store, sessions, eventLog, wakeUps, requests } = deps
  const { session_id: sessionId } = call
  await deps.eventTransaction(async (client, unpublished) => {
    const session = await sessions.lock(client, sessionId)
    if (!(await store.end(client, call.id, end)) || !session || session.deleted_at) return
    const events = threadEvents(call, end)
    if (events.length > 0) unpublished.push(await eventLog.appendByCaller(client, sessionId, events))
    await requests.showWithin(client, sessionId, unpublished)
    await store.endWaits(client, sessionId, call.id)
    await sessions.setDue(client, sessionId)
    wakeUps.send(client, sessionId)
  })
}

function threadEvents(call: StoredSubagentCall, { content, is_error }: SubagentEnd): NewEvent[] {
  const { child_id, tool_use_id, agent_name } = call
  if (child_id === null) return []
  const thread = { session_thread_id: child_id, tool_use_id }
  const from = { from_session_thread_id: child_id, from_agent_name: agent_name }
  const stop = { stop_reason: { type: is_error ? 'retries_exhausted' : 'end_turn' }, stop_details: null } as const
  return [
    { type: 'agent.thread_message_received', ...thread, ...from, content, ...(is_error && { is_error }) },
    { type: 'session.thread_status_idle', ...thread, agent_name, ...stop },
  ]
}

/** Returns the result for the model of the calling session. */
async function resultOf({ answerOf }: Deps, call: OverCall): Promise<SubagentEnd> {
  const { agent_name: name, child_id, child_prompt_id, run_id } = call
  if (call.is_deleted) return subagentFailure(name, 'gave no answer: its session was deleted')
  if (call.used_up_usd !== null)
    return subagentFailure(name, `was stopped: the budget of its session (${Number(call.used_up_usd)} USD) is used up`)
  if (call.prompt_state !== 'done' && call.prompt_state !== 'error')
    return subagentFailure(name, 'was interrupted before it answered')
  const { text, failure } = await answerOf(child_id, { promptId: child_prompt_id ?? '', runId: run_id ?? '' })
  if (failure) return subagentFailure(name, `failed: ${failure.message || failure.type}`)
  const answer = text.trim() === '' ? '(the agent answered without text)' : text
  const isLong = answer.length > maxResultChars
  const shown = isLong ? `${answer.slice(0, maxResultChars)}\n(truncated; session ${child_id} has the rest)` : answer
  return { content: [{ type: 'text', text: shown }], is_error: false }
}
