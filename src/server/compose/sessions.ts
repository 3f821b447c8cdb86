import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import type { SessionEvent } from '../../contract/events.ts'
import type { Agents } from '../agents/agents.ts'
import type { AgentStore } from '../agents/store.ts'
import { type BudgetStore, budgetChannel } from '../budgets/store.ts'
import type { Config } from '../config/config.ts'
import { freezeChannel } from '../controls/freeze-store.ts'
import type { Freezes } from '../controls/freezes.ts'
import type { Notifications } from '../db/notifications.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { LoginLimiter } from '../http/login-limiter.ts'
import { StreamSlots } from '../http/stream-slots.ts'
import { WriteTurns } from '../http/write-turns.ts'
import type { Keys } from '../keys/keys.ts'
import { createModelName } from '../opencode/model-name.ts'
import type { Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { LoopDelay } from '../platform/loop-delay.ts'
import type { OpenFiles } from '../platform/open-files.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Sandboxes } from '../sandboxes/sandboxes.ts'
import { serveApprovalLinks } from '../sessions/approval-link-routes.ts'
import { serveApprovals } from '../sessions/approval-routes.ts'
import { createCompactionRequests } from '../sessions/compaction-request.ts'
import { serveCompaction } from '../sessions/compaction-routes.ts'
import { serveCustomTools } from '../sessions/custom-tool-routes.ts'
import { createDisposal } from '../sessions/disposal.ts'
import { disposalStore } from '../sessions/disposal-store.ts'
import { leaseStore } from '../sessions/engine/lease-store.ts'
import { Leases } from '../sessions/engine/leases.ts'
import { runSessionOf } from '../sessions/engine/run-session.ts'
import { runStore } from '../sessions/engine/run-store.ts'
import { Runner } from '../sessions/engine/runner.ts'
import { createEventReading } from '../sessions/event-reading.ts'
import { serveEvents } from '../sessions/event-routes.ts'
import { createEventTransaction } from '../sessions/event-transaction.ts'
import { serveFeed } from '../sessions/feed-routes.ts'
import type { PromptFiles } from '../sessions/files/prompt-files.ts'
import { createFilesChange } from '../sessions/files-change.ts'
import { createFork } from '../sessions/fork.ts'
import { forkStore } from '../sessions/fork-store.ts'
import { createEventLog } from '../sessions/log/event-log.ts'
import { eventStore } from '../sessions/log/event-store.ts'
import { feedStore } from '../sessions/log/feed-store.ts'
import { FoldCache } from '../sessions/log/fold-cache.ts'
import { HistoryCache } from '../sessions/log/history-cache.ts'
import { historyStore } from '../sessions/log/history-store.ts'
import { LiveEvents } from '../sessions/log/live-events.ts'
import { createAnswerOf } from '../sessions/log/run-answer.ts'
import { createSharedReads } from '../sessions/log/shared-reads.ts'
import type { TicketStore } from '../sessions/log/ticket-store.ts'
import { createNextPrompt } from '../sessions/next-prompt.ts'
import { createPromptAnswer } from '../sessions/prompt-answer.ts'
import { modelOfSession } from '../sessions/prompt-model.ts'
import { createPromptQueue } from '../sessions/queue/prompt-queue.ts'
import { promptStore } from '../sessions/queue/prompt-store.ts'
import { createWakeUps } from '../sessions/queue/wake-ups.ts'
import { serveSessions } from '../sessions/routes.ts'
import { sessionStore } from '../sessions/session-store.ts'
import { createSessions } from '../sessions/sessions.ts'
import { serveSummaries } from '../sessions/summaries.ts'
import { summaryStore } from '../sessions/summary-store.ts'
import { createThreadArchive } from '../sessions/thread-archive.ts'
import { createWaitForPrompt } from '../sessions/wait-for-prompt.ts'
import { createApprovalLinks } from '../sessions/waits/approval-links.ts'
import { approvalStore } from '../sessions/waits/approval-store.ts'
import { createApprovals } from '../sessions/waits/approvals.ts'
import { createCustomToolCalls } from '../sessions/waits/custom-tool-calls.ts'
import { customToolStore } from '../sessions/waits/custom-tool-store.ts'
import { freezeWaitStore } from '../sessions/waits/freeze-wait-store.ts'
import { createFrozenSessions } from '../sessions/waits/frozen-sessions.ts'
import { pauseStore } from '../sessions/waits/pause-store.ts'
import { createPausedSessions } from '../sessions/waits/paused-sessions.ts'
import { createSubagentResults } from '../sessions/waits/subagent-results.ts'
import { subagentStore } from '../sessions/waits/subagent-store.ts'
import { createSubagents } from '../sessions/waits/subagents.ts'
import { threadRequestStore } from '../sessions/waits/thread-request-store.ts'
import { createThreadRequests } from '../sessions/waits/thread-requests.ts'
import type { ToolCallLog } from '../usage/tool-calls.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'

/** Event loop delay at which new runs wait; much lower than the delay at which the gateway rejects calls. */
const busyDelayMs = 10

import { observedSweep } from '../telemetry/observed.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

interface Needs {
  readonly config: Pick<Config, 'limits' | 'publicUrl' | 'approvalLinks'>
  /** False: other processes run the sessions. */
  readonly runsSessions: boolean
  readonly keyring: Keyring
  readonly logins: LoginLimiter
  /** Replica id of this process. */
  readonly owner: string
  /** Id of the workspaces folder; replicas that share it have the same id. */
  readonly folderId: string | undefined
  readonly shutdown: AbortSignal
  readonly log: Log
  readonly pool: Pool
  readonly notifications: Notifications
  readonly loop: LoopDelay
  readonly files: Pick<OpenFiles, 'shortage'>
  readonly budgetRows: BudgetStore
  readonly toolCalls: Pick<ToolCallLog, 'note'>
  readonly freezes: Freezes
  readonly keys: Keys
  readonly tickets: TicketStore
  readonly gateway: Pick<Gateway, 'find'>
  readonly defaultModel: () => string
  readonly resultSchemas: ResultSchemas
  readonly runtimes: RuntimeRegistry
  readonly workspaceOf: (sessionId: string) => string
  readonly workspaces: Workspaces
  readonly promptFiles: PromptFiles
  readonly sandboxes: Pick<Sandboxes, 'open'>
  readonly makeRoom: (sessionId: string, cause: unknown) => Promise<boolean>
  readonly agentRows: AgentStore
  /** Checks the MCP servers that a session gives its agent. */
  readonly checkSupport: Agents['checkRuntimeSupport']
  readonly telemetry: Telemetry
  readonly traceOfToolCall: Parameters<typeof createSubagents>[0]['traceOf']
}

/** The session engine: queue, event log and its readers, runner, and session routes. */
export function composeSessions(needs: Needs) {
  const {
    owner,
    shutdown,
    log,
    pool,
    notifications,
    loop,
    files,
    budgetRows,
    keys,
    gateway,
    runtimes,
    agentRows,
    telemetry,
  } = needs

  // the log
  const events = eventStore(pool)
  const slots = new StreamSlots()
  const turns = new WriteTurns()
  const live = new LiveEvents({ store: events, notifications, owner, log })
  const history = historyStore(pool)
  const folds = new FoldCache()
  const toolCalls = {
    note(sessionId: string, events: readonly SessionEvent[]) {
      needs.toolCalls.note(sessionId, events)
      telemetry.stored(sessionId, events)
    },
  }
  const eventLog = createEventLog({ pool, store: events, live, folds, toolCalls })

  // runs
  const sessionRows = sessionStore(pool)
  const prompts = promptStore(pool)
  const pauses = pauseStore(pool)
  const approvalRows = approvalStore(pool)
  const customToolRows = customToolStore(pool)
  const subagentRows = subagentStore(pool)
  const threadRows = threadRequestStore(pool)
  const leaseRows = leaseStore(pool)
  const leases = new Leases({ store: leaseRows, prompts, notifications, owner, log, onAcquired: telemetry.leased })
  const wakeUps = createWakeUps(notifications)
  const runner = new Runner({
    sessions: sessionRows,
    prompts,
    pauses,
    runs: runStore(pool),
    freezes: needs.freezes,
    approvals: approvalRows,
    customToolCalls: customToolRows,
    subagents: { ofRun: run => subagents.ofRun(run) },
    onStopped: id => subagentResults.changed(id),
    events,
    history,
    histories: new HistoryCache(),
    folds,
    eventLog,
    live,
    keys,
    log,
    ran: telemetry.ran,
    agents: agentRows,
    runtimes,
    leases,
    leaseStore: {
      ...leaseRows,
      expireDeadOwners: observedSweep('sessions', leaseRows.expireDeadOwners, telemetry),
    },
    folderId: needs.folderId,
    workspaces: needs.workspaces,
    promptFiles: needs.promptFiles,
    filesOf: async id => (await needs.sandboxes.open(id)).files,
    maxSessions: needs.config.limits.maxSessions,
    logCap: { events: needs.config.limits.sessionEvents, bytes: needs.config.limits.sessionBytes },
    isShort: () => files.shortage !== undefined,
    isPressed: () => pool.waitingCount > 0 || loop.meanMs > busyDelayMs,
  })
  if (needs.runsSessions) wakeUps.listen(id => runner.wake(id), runner.findWork)
  const disposalRows = disposalStore(pool)
  const disposal = createDisposal({
    store: { ...disposalRows, claim: observedSweep('disposal', disposalRows.claim, telemetry) },
    runtimes,
    settled: id => runner.settled(id),
    log,
  })
  const pausedSessions = createPausedSessions({
    pool,
    pauses,
    sessions: sessionRows,
    wakeUps,
    notifications,
    channel: budgetChannel,
    log,
  })
  const frozenSessions = createFrozenSessions({
    pool,
    waits: freezeWaitStore(pool),
    sessions: sessionRows,
    wakeUps,
    notifications,
    channel: freezeChannel,
    log,
  })

  // requests of callers
  const approvals = createApprovals({
    pool,
    wakeUps,
    store: approvalRows,
    sessions: sessionRows,
    eventLog,
    runtimes,
    resultSchemas: needs.resultSchemas,
    async runSession(id) {
      const row = await sessionRows.ofRun(id)
      return row && runSessionOf(row, agentRows)
    },
    onAnswered: id => subagentResults.changed(id),
  })
  const approvalLinks = createApprovalLinks({
    keyring: needs.keyring,
    publicUrl: needs.config.approvalLinks.length > 0 ? needs.config.publicUrl : undefined,
    store: approvalRows,
  })
  const customToolCalls = createCustomToolCalls({
    pool,
    wakeUps,
    store: customToolRows,
    sessions: sessionRows,
    events,
    eventLog,
    onAnswered: id => subagentResults.changed(id),
  })
  const queue = createPromptQueue({
    pool,
    store: sessionRows,
    prompts,
    pauses,
    eventLog,
    wakeUps,
    calls: subagentRows,
    taker: needs.runsSessions ? runner : undefined,
  })
  const sessions = createSessions({
    pool,
    store: sessionRows,
    prompts,
    eventLog,
    agents: agentRows,
    runtimes,
    budgets: budgetRows,
    approvals,
    customToolCalls,
    queue,
    resultSchemas: needs.resultSchemas,
    defaultModel: needs.defaultModel,
    checkSupport: needs.checkSupport,
    promptFiles: needs.promptFiles,
    dispose: disposal.begin,
    onStopped: id => subagentResults.changed(id),
    onAnswered: id => subagentResults.changed(id),
    threads: threadRows,
    makeRoom: needs.makeRoom,
  })
  const subagents = createSubagents({
    pool,
    store: subagentRows,
    sessions: sessionRows,
    agents: agentRows,
    budgets: budgetRows,
    keys,
    eventLog,
    startWithin: sessions.startWithin,
    traceOf: needs.traceOfToolCall,
  })
  const eventTransaction = createEventTransaction(pool, eventLog)
  const subagentResults = createSubagentResults({
    store: subagentRows,
    sessions: sessionRows,
    requests: createThreadRequests({ store: threadRows, sessions: sessionRows, events, eventLog, eventTransaction }),
    eventTransaction,
    eventLog,
    wakeUps,
    answerOf: createAnswerOf(events),
    halt: sessions.halt,
    log,
  })

  const nextPrompt = createNextPrompt({
    store: sessionRows,
    prompts,
    agents: agentRows,
    modelOf: row => modelOfSession({ agents: agentRows, runtimes, defaultModel: needs.defaultModel }, row),
  })
  const waitForPrompt = createWaitForPrompt({ prompts, pauses, live })
  const modelName = createModelName({ gateway, runtimes })
  const compactions = createCompactionRequests({
    pool,
    sessions,
    runtimes,
    queue,
    eventLog,
    events,
    prompts,
    waitForPrompt,
  })

  const eventReading = createEventReading({ store: events, live, keys, slots, turns, shutdown })

  const parts: readonly Part[] = [
    { name: 'live events', stop: () => live.stop() },
    { name: 'leases', stop: () => leases.stop() },
    {
      name: 'runner',
      isSessionWork: true,
      start: () => runner.start(),
      drain: graceMs => runner.drain(graceMs),
    },
    { name: 'disposal', isSessionWork: true, start: disposal.start, stop: disposal.stop },
    { name: 'results of agents', isSessionWork: true, start: subagentResults.start, stop: subagentResults.stop },
    { name: 'paused sessions', isSessionWork: true, start: pausedSessions.start, stop: pausedSessions.stop },
    { name: 'frozen sessions', isSessionWork: true, start: frozenSessions.start, stop: frozenSessions.stop },
  ]

  const fork = createFork({ pool, sessions, store: sessionRows, forks: forkStore, events, history, eventLog, runtimes })

  return {
    sessions,
    approvals,
    approvalLinks,
    customToolCalls,
    events,
    live,
    slots,
    turns,
    changeFiles: createFilesChange({ pool, store: sessionRows, eventLog }),
    archiveThread: createThreadArchive({ sessions: sessionRows, calls: subagentRows, eventLog, eventTransaction }),
    eventReading,
    sessionRows,
    nextPrompt,
    /** Number of sessions that run in this process. */
    activeCount: () => runner.activeCount,
    parts,
    serve(app: FastifyInstance) {
      const feed = feedStore(pool)
      serveSessions(app, {
        sessions,
        fork,
        events,
        modelName,
        answer: createPromptAnswer({ sessions, events, waitForPrompt }),
        workspaceOf: needs.workspaceOf,
      })
      serveSummaries(app, { sessions, store: summaryStore(pool) })
      serveCompaction(app, { compactions, sessions, modelName })
      serveApprovals(app, { approvals })
      serveApprovalLinks(app, { approvals, links: approvalLinks, logins: needs.logins })
      serveCustomTools(app, { customToolCalls })
      serveFeed(app, { feed: { ...feed, ...createSharedReads(feed) }, live, keys, slots, turns, shutdown })
      serveEvents(app, { sessions, reading: eventReading, tickets: needs.tickets })
    },
  }
}
