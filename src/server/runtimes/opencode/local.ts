import { isDeepStrictEqual } from 'node:util'
import { endsRun } from '../../../contract/events.ts'
import type { GrantedServer } from '../../http/caller.ts'
import type { AgentMcp } from '../../mcp/agents/agent-mcp.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Log } from '../../platform/log.ts'
import type { pause } from '../../platform/timers.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { type BudgetStop, pausedByBudget } from '../endings.ts'
import { checkStart } from '../local/check-start.ts'
import { grantedMemories } from '../local/memory-server.ts'
import { ownProvider } from '../local/opencode-settings.ts'
import { createProgramMcp, type ProgramMcp } from '../local/program-mcp.ts'
import { createProgramPool, endIfSessionLost, type ProgramPool } from '../local/program-pool.ts'
import type { LocalPrograms } from '../local/programs.ts'
import { grantRun } from '../local/run-grant.ts'
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
  unusableKeyEvent,
} from '../runtime.ts'
import { closeCutOff, runPrompt } from './run.ts'
import { type OpencodeServer, startServer } from './server.ts'
import { permissionsOf } from './settings.ts'

/** Dependencies of servers that we start. */
export interface LocalDeps {
  readonly programs: LocalPrograms
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** MCP servers of the session's agent. */
  readonly mcp: Pick<AgentMcp, 'granted'>
  /** How long an idle server is kept after a run; five minutes by default. */
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
  readonly pool: ProgramPool<OpencodeServer>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

const defaultIdleMs = 5 * 60_000

/** Starts one opencode server per session, in its sandbox; the servers use the models of the gateway. */
export function localServers(
  deps: Deps,
  endpoint: RuntimeEndpoint,
  capabilities: Capabilities,
): Runtime & { close(): Promise<void> } {
  const pool = createProgramPool<OpencodeServer>({ idleMs: deps.idleMs ?? defaultIdleMs })
  return {
    id: endpoint.id,
    capabilities,
    workspace: programWorkspace,
    run: (session, prompt, context) => runLocally({ deps, endpoint, pool, session, prompt, context }),
    async dispose({ id }) {
      await pool.end(id)
      await deps.sandboxes.remove(id)
    },
    close: () => pool.endAll(),
  }
}

/** Starts a server in a separate sandbox, checks it, and ends it. */
export function checkProgram(
  { programs, sandboxes }: LocalDeps,
  endpoint: RuntimeEndpoint,
  signal: AbortSignal,
): Promise<void> {
  const task = { model: 'none', permission: {}, memories: undefined, mcpServers: [] }
  const start = (sessionId: string) => startServer(programs, endpoint, { sessionId, task })
  return checkStart({ sandboxes, signal, start, probe: ({ api }) => api.checkHealth(signal) })
}

async function* runLocally(run: Run): AsyncGenerator<Batch> {
  const { context, pool, prompt, session } = run
  if (context.signal.aborted) {
    await pool.end(session.id)
    return yield* closeCutOff(context)
  }
  if (!(await context.payer(prompt))) return yield [unusableKeyEvent]
  try {
    const payer = () => context.payer(prompt)
    const { servers, warnings } = await run.deps.mcp.granted({ agent: session, payer, signal: context.signal })
    if (warnings.length > 0) yield warnings.map(warning => ({ type: 'session.warning', warning }) as const)
    yield* onServer(run, await readyServer(run, servers), createProgramMcp(servers))
  } catch (error) {
    if (!(error instanceof RuntimeFailure)) throw error
    yield [failed(error.type, error.message)]
  } finally {
    pool.release(session.id)
    if (context.signal.aborted) await endIfSessionLost(run)
  }
}

/** Returns the server of the session, with the model and the rules of this prompt. */
async function readyServer(
  { deps, endpoint, pool, session, prompt }: Run,
  mcpServers: readonly GrantedServer[],
): Promise<OpencodeServer> {
  const permission = permissionsOf(session.tools, mcpServers)
  const task = { model: prompt.model, permission, memories: grantedMemories(session), mcpServers }
  const start = () => startServer(deps.programs, endpoint, { sessionId: session.id, session, task })
  const server = await pool.take(session.id, start)
  await deps.markSandboxRunning(session.id)
  if (isDeepStrictEqual(server.task, task)) return server
  // opencode stores its conversation below HOME, so it survives the restart.
  await pool.end(session.id)
  return pool.take(session.id, start)
}

/** Runs the prompt on the server. An exhausted budget stops the turn, which is resumed later. */
async function* onServer(run: Run, { api, program }: OpencodeServer, mcp: ProgramMcp): AsyncGenerator<Batch> {
  const { deps, endpoint, session, prompt, context } = run
  const stop = new AbortController()
  const budget: { stop?: BudgetStop } = {}
  const revoke = program.grant(
    grantRun({
      session,
      prompt,
      context,
      mcp,
      onBudgetReached(reached, message) {
        budget.stop ??= { reached, message }
        stop.abort()
      },
    }),
  )
  const signal = AbortSignal.any([context.signal, stop.signal])
  // A turn cannot be handed over, since its server ends with this process. A draining process waits for the turn
  // instead.
  const runContext: RunContext = { ...context, signal, isDraining: () => false }
  try {
    for await (const batch of runPrompt(
      { ...deps, api, endpoint, provider: ownProvider, mcp },
      session,
      prompt,
      runContext,
    )) {
      // The program ends its turn with the budget error; the run is paused instead.
      if (!budget.stop || !partsOf(batch).events.some(endsRun)) yield batch
    }
    if (budget.stop && !context.signal.aborted) yield [pausedByBudget(budget.stop)]
  } finally {
    revoke()
  }
}
