import { isDeepStrictEqual } from 'node:util'
import { endsRun } from '../../../contract/events.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Log } from '../../platform/log.ts'
import type { pause } from '../../platform/timers.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { type BudgetStop, keyIsGone, pausedBy } from '../endings.ts'
import { checkStart } from '../local/check-start.ts'
import { createKeptPrograms, endWhereLost, type KeptPrograms } from '../local/kept-programs.ts'
import { lendRun } from '../local/lent-run.ts'
import { lentMemories } from '../local/memory-server.ts'
import { ownProvider } from '../local/opencode-settings.ts'
import type { LocalPrograms } from '../local/programs.ts'
import {
  type Batch,
  type Capabilities,
  failed,
  partsOf,
  programWorkspace,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type Runtime,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import { closeCutOff, runPrompt } from './run.ts'
import { type OpencodeServer, startServer } from './server.ts'
import { permissionsOf } from './settings.ts'

/** What servers need that we start. */
export interface LocalDeps {
  readonly programs: LocalPrograms
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** How long a server is kept after a run; five minutes unless given. */
  readonly idleMs?: number
}

interface Deps extends LocalDeps {
  readonly memories: Pick<SessionMemories, 'block'>
  readonly log: Log
  readonly wait?: typeof pause
}

interface Run {
  readonly deps: Deps
  readonly endpoint: RuntimeEndpoint
  readonly kept: KeptPrograms<OpencodeServer>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

const defaultIdleMs = 5 * 60_000

/** Servers of our own, one for each session, in its sandbox; they call our models. */
export function localServers(
  deps: Deps,
  endpoint: RuntimeEndpoint,
  capabilities: Capabilities,
): Runtime & { close(): Promise<void> } {
  const kept = createKeptPrograms<OpencodeServer>({ idleMs: deps.idleMs ?? defaultIdleMs })
  return {
    id: endpoint.id,
    capabilities,
    workspace: programWorkspace,
    run: (session, prompt, context) => runLocally({ deps, endpoint, kept, session, prompt, context }),
    async dispose({ id }) {
      await kept.end(id)
      await deps.sandboxes.remove(id)
    },
    close: () => kept.endAll(),
  }
}

/** Starts a server in a sandbox of its own, and ends it. */
export function checkProgram(
  { programs, sandboxes }: LocalDeps,
  endpoint: RuntimeEndpoint,
  signal: AbortSignal,
): Promise<void> {
  const task = { model: 'none', permission: {}, memories: undefined }
  const start = (sessionId: string) => startServer(programs, endpoint, { sessionId, task })
  return checkStart({ sandboxes, signal, start, look: ({ api }) => api.checkHealth(signal) })
}

async function* runLocally(run: Run): AsyncGenerator<Batch> {
  const { context, kept, prompt, session } = run
  if (context.signal.aborted) {
    await kept.end(session.id)
    return yield* closeCutOff(context)
  }
  if (!(await context.payer(prompt))) return yield [keyIsGone]
  try {
    yield* onServer(run, await readyServer(run))
  } catch (error) {
    if (!(error instanceof RuntimeFailure)) throw error
    yield [failed(error.type, error.message)]
  } finally {
    kept.release(session.id)
    if (context.signal.aborted) await endWhereLost(run)
  }
}

/** The server of the session, with the model and the rules of this prompt. */
async function readyServer({ deps, endpoint, kept, session, prompt }: Run): Promise<OpencodeServer> {
  const permission = permissionsOf(session.tools)
  const task = { model: prompt.model, permission, memories: lentMemories(session) }
  const start = () => startServer(deps.programs, endpoint, { sessionId: session.id, task })
  const server = await kept.take(session.id, start)
  await deps.markSandboxRunning(session.id)
  if (isDeepStrictEqual(server.task, task)) return server
  // What the session has said and done stays in its home.
  await kept.end(session.id)
  return kept.take(session.id, start)
}

/** Lends the run to the server. A budget without room stops the turn, which is taken up again later. */
async function* onServer(run: Run, { api, program }: OpencodeServer): AsyncGenerator<Batch> {
  const { deps, endpoint, session, prompt, context } = run
  const stop = new AbortController()
  const budget: { stop?: BudgetStop } = {}
  const giveBack = program.lend(
    lendRun({
      session,
      prompt,
      context,
      onBudgetReached(reached, message) {
        budget.stop ??= { reached, message }
        stop.abort()
      },
    }),
  )
  const signal = AbortSignal.any([context.signal, stop.signal])
  // A turn cannot be handed over: its server ends with this process, which waits for it as long as it can.
  const lent: RunContext = { ...context, signal, isDraining: () => false }
  try {
    for await (const batch of runPrompt({ ...deps, api, endpoint, provider: ownProvider }, session, prompt, lent)) {
      // The refusal that the program heard of is not how the run ends.
      if (!budget.stop || !partsOf(batch).events.some(endsRun)) yield batch
    }
    if (budget.stop && !context.signal.aborted) yield [pausedBy(budget.stop)]
  } finally {
    giveBack()
  }
}
