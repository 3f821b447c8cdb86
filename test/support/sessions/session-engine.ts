import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Pool } from 'pg'
import { type NewEvent, textOfContent } from '../../../src/contract/events.ts'
import type { PromptMode } from '../../../src/contract/prompts.ts'
import type { ForkRequest } from '../../../src/contract/sessions.ts'
import type { Notifications } from '../../../src/server/db/notifications.ts'
import { masterCaller } from '../../../src/server/http/caller.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { type Batch, idle, type RunContext, type Runtime } from '../../../src/server/runtimes/runtime.ts'
import { createCompactionRequests } from '../../../src/server/sessions/compaction-request.ts'
import { leaseStore } from '../../../src/server/sessions/engine/lease-store.ts'
import { Leases } from '../../../src/server/sessions/engine/leases.ts'
import { runStore } from '../../../src/server/sessions/engine/run-store.ts'
import { Runner } from '../../../src/server/sessions/engine/runner.ts'
import type { PreparedParts } from '../../../src/server/sessions/files/prompt-files.ts'
import { createFork } from '../../../src/server/sessions/fork.ts'
import { forkStore } from '../../../src/server/sessions/fork-store.ts'
import { createEventLog } from '../../../src/server/sessions/log/event-log.ts'
import { eventStore } from '../../../src/server/sessions/log/event-store.ts'
import { FoldCache } from '../../../src/server/sessions/log/fold-cache.ts'
import { HistoryCache } from '../../../src/server/sessions/log/history-cache.ts'
import { historyStore } from '../../../src/server/sessions/log/history-store.ts'
import { LiveEvents } from '../../../src/server/sessions/log/live-events.ts'
import { createPromptQueue } from '../../../src/server/sessions/queue/prompt-queue.ts'
import { promptStore } from '../../../src/server/sessions/queue/prompt-store.ts'
import { toSession } from '../../../src/server/sessions/session-row.ts'
import { sessionStore } from '../../../src/server/sessions/session-store.ts'
import { createSessions } from '../../../src/server/sessions/sessions.ts'
import { createWaitForPrompt } from '../../../src/server/sessions/wait-for-prompt.ts'
import { approvalStore } from '../../../src/server/sessions/waits/approval-store.ts'
import { createApprovals } from '../../../src/server/sessions/waits/approvals.ts'
import { createCustomToolCalls } from '../../../src/server/sessions/waits/custom-tool-calls.ts'
import { customToolStore } from '../../../src/server/sessions/waits/custom-tool-store.ts'
import { pauseStore } from '../../../src/server/sessions/waits/pause-store.ts'
import { subagentStore } from '../../../src/server/sessions/waits/subagent-store.ts'
import type { Workspaces } from '../../../src/server/workspaces/workspaces.ts'
import { registryOf } from '../gateway/registry-of.ts'

const log = createLog('silent')
const endless = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const done = idle({ type: 'end_turn' })

/** The batches of one run, and what happens before and between them. */
export type Part = (
  sessionId: string,
  context: RunContext,
) => Promise<readonly Batch[] | AsyncIterable<Batch, void>> | AsyncIterable<Batch, void>

export const plays =
  (...batches: Batch[]): Part =>
  async () =>
    batches

interface Process {
  readonly pool: Pool
  /** One a run; runs without one end at once. */
  readonly parts?: Part[]
  readonly maxSessions?: number
  readonly isPressed?: () => boolean
  readonly folderId?: string
  /** Events and bytes from which on a log takes no further run; none unless given. */
  readonly logCap?: { readonly events: number; readonly bytes: number }
  /** The files of sessions; none unless given. */
  readonly workspaces?: Pick<Workspaces, 'restore' | 'capture'>
  /** Whether the runtime's runs may end where they wait for people. */
  readonly parks?: true
  /** Runtimes besides that one. */
  readonly others?: readonly Runtime[]
  /** Takes the place of the runtime that plays `parts`. */
  readonly over?: Runtime
}

/** The engine of one process over a runtime that plays `parts`. Wake-ups are the test's to deliver. */
export function createEngine(
  t: TestContext,
  {
    pool,
    parts = [],
    maxSessions = 10,
    isPressed = () => false,
    folderId,
    parks,
    logCap = endless,
    workspaces,
    over,
    others = [],
  }: Process,
) {
  const woken = new Set<string>()
  const notifications = { on: () => undefined, onReconnect: () => undefined } as unknown as Notifications
  const runs: string[] = []
  const runtime: Pick<Runtime, 'run' | 'dispose'> & Partial<Runtime> = {
    id: 'builtin',
    workspace: { isRead: name => name === 'read', onlyByCalls: true, outlivesCall: name => name === 'serve' },
    ...(parks && { parks }),
    capabilities: { steer: true } as Runtime['capabilities'],
    async *run({ id }, _prompt, context) {
      if (context.signal.aborted) return
      runs.push((await context.prompts()).map(({ parts }) => textOfContent(parts.slice(0, 1))).join('+'))
      yield* await (parts.shift() ?? plays([done]))(id, context)
    },
    dispose: async () => undefined,
  }
  const runtimes = registryOf(over ?? (runtime as Runtime), ...others)
  const approvals = approvalStore(pool)
  const customToolCalls = customToolStore(pool)
  const sessions = sessionStore(pool)
  const prompts = promptStore(pool)
  const pauses = pauseStore(pool)
  const leaseRows = leaseStore(pool)
  const runRows = runStore(pool)
  const events = eventStore(pool)
  const live = new LiveEvents({ store: events, notifications, owner: 'me', log })
  const folds = new FoldCache()
  const eventLog = createEventLog({ pool, store: events, live, folds })
  const leases = new Leases({ store: leaseRows, prompts, notifications, owner: 'me', log })
  const wakeUps = { send: (_client: unknown, id: string) => void woken.add(id) }
  const reads = { find: async () => undefined, version: async () => undefined }
  const agents = { ...reads, versionConfig: async () => undefined, within: () => reads }
  const histories = new HistoryCache()
  const promptFiles = {
    prepare: async (parts: readonly object[]) => ({ parts }) as PreparedParts,
    read: async () => Buffer.alloc(0),
    textOf: async () => '',
  }
  const shared = {
    runs: runRows,
    history: historyStore(pool),
    histories,
    folds,
    sessions,
    prompts,
    pauses,
    approvals,
    customToolCalls,
    subagents: { ofRun: () => assert.fail('no agent calls others') },
    onStopped: () => undefined,
    events,
    eventLog,
    live,
    log,
    agents,
    runtimes,
    promptFiles,
    filesOf: async () => assert.fail('no prompt has files'),
    workspaces: { restore: async () => undefined, capture: async () => undefined, ...workspaces },
  }
  const runner = new Runner({
    ...shared,
    keys: { workerById: () => undefined },
    leases,
    leaseStore: leaseRows,
    maxSessions,
    logCap,
    folderId,
    isPressed,
    isShort: () => false,
    ran: () => {},
  })
  const calls = subagentStore(pool)
  const waitForPrompt = createWaitForPrompt({ prompts, pauses, live })
  const queue = createPromptQueue({
    pool,
    store: sessions,
    prompts,
    pauses,
    eventLog,
    wakeUps,
    calls,
    taker: undefined,
  })
  const rules = createSessions({
    ...shared,
    pool,
    store: sessions,
    approvals: createApprovals({
      pool,
      wakeUps,
      store: approvals,
      sessions,
      eventLog,
      runtimes,
      resultSchemas: { mismatch: async () => undefined },
      runSession: async () => undefined,
      onAnswered: () => undefined,
    }),
    customToolCalls: createCustomToolCalls({
      pool,
      wakeUps,
      store: customToolCalls,
      sessions,
      events,
      eventLog,
      onAnswered: () => undefined,
    }),
    onAnswered: () => undefined,
    threads: { askingThread: async () => undefined },
    queue,
    budgets: { setLimits: async () => undefined },
    resultSchemas: { schemaProblem: async () => undefined },
    defaultModel: () => 'demo',
    checkSupport: async () => undefined,
    dispose: async () => undefined,
    makeRoom: async () => false,
  })
  const compactions = createCompactionRequests({ ...shared, pool, sessions: rules, queue, waitForPrompt })
  const fork = createFork({ ...shared, pool, sessions: rules, store: sessions, forks: forkStore })
  t.after(async () => {
    await runner.drain(0)
    await leases.stop()
    await live.stop()
  })

  return {
    rules,
    fork: (id: string, body: ForkRequest) => fork(id, body, { caller: masterCaller, idempotency: undefined }),
    runner,
    runs,
    wait: waitForPrompt,
    compactions,
    woken,
    /** Delivers the wake-ups, and waits until all work is done. */
    async settle() {
      while (woken.size > 0) {
        const ids = [...woken]
        woken.clear()
        for (const id of ids) runner.wake(id)
        await Promise.all(ids.map(id => runner.settled(id)))
      }
    },
    create: async () => (await rules.create({}, masterCaller, undefined)).session.id,
    prompt: (id: string, text: string, mode?: PromptMode) =>
      rules.prompt(
        id,
        { parts: [{ type: 'text', text }], model: 'demo', mode },
        { caller: masterCaller, idempotency: undefined },
      ),
    /** As when its budget has room again. */
    async resume(id: string) {
      await pool.query('delete from waits where session_id = $1', [id])
      await sessions.setDue(pool, id)
      woken.add(id)
    },
    statusOf: async (id: string) => toSession(await rules.find(id, masterCaller)).status,
    queueOf: async (id: string) =>
      (await rules.queue(id, masterCaller, { after: undefined, limit: 100 })).map(
        ({ parts: [part = {}], state, held_by }) =>
          `${textOfContent([part])} ${state}${held_by === null ? '' : ` (${held_by})`}`,
      ),
    logOf: async (id: string) => (await events.page(id, 0, 1_000)).map(endOrType),
  }
}

/** The type of an event; how and with what details it ended a run. */
function endOrType({ type, ...event }: NewEvent): string {
  if (type !== 'session.status_idle') return type
  const { type: reason } = event.stop_reason as { type: string }
  const details = event.stop_details as { type?: string } | null
  return `idle ${details?.type ?? reason}`
}
