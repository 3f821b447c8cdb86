import type { AgentMcp } from '../../mcp/agents/agent-mcp.ts'
import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Json } from '../../platform/json.ts'
import type { Log } from '../../platform/log.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import type { BudgetStop } from '../endings.ts'
import { grantedMemories, memoryServer } from '../local/memory-server.ts'
import { createProgramMcp, type ProgramMcp, withoutQuestions } from '../local/program-mcp.ts'
import { endIfSessionLost, type ProgramPool } from '../local/program-pool.ts'
import type { LocalPrograms, ProgramRequest } from '../local/programs.ts'
import { grantRun, type RunGrant } from '../local/run-grant.ts'
import {
  type Batch,
  failed,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type RuntimeEndpoint,
  RuntimeFailure,
  unusableKeyEvent,
} from '../runtime.ts'
import { type Agent, createAgent } from './agent.ts'
import { callPolicy } from './policy.ts'
import { programKind, setupOf, type Task } from './programs.ts'
import { type History, promptText, readHistory } from './prompt-text.ts'
import { resultEvent } from './tool-calls.ts'
import { followTurn } from './turn.ts'

export interface AcpDeps {
  readonly programs: LocalPrograms
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** Memories of the session's agent. */
  readonly memories: Pick<SessionMemories, 'block'>
  /** MCP servers of the session's agent. */
  readonly mcp: Pick<AgentMcp, 'granted'>
  readonly log: Log
  /** How long an idle program is kept after a run; five minutes by default. */
  readonly idleMs?: number
  /** Time until the program of a cancelled turn is ended; ten seconds by default. */
  readonly cancelMs?: number
}

/** One run of a prompt. */
interface Run {
  readonly deps: AcpDeps
  readonly endpoint: RuntimeEndpoint
  readonly pool: ProgramPool<Agent>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly history: History
}

const answerMs = 60_000
const defaultCancelMs = 10_000

/** Starts a program and negotiates the protocol. Rejects with `RuntimeFailure` after it has stopped the program. */
export async function startAgent(
  { programs, cancelMs = defaultCancelMs }: Pick<AcpDeps, 'programs' | 'cancelMs'>,
  endpoint: RuntimeEndpoint,
  { sessionId, session, ...task }: Task & Pick<ProgramRequest, 'sessionId' | 'session'>,
): Promise<Agent> {
  const program = await programs.start({
    sessionId,
    session,
    isolation: endpoint.isolation ?? 'sandbox',
    setup: surroundings => setupOf(endpoint, surroundings, task),
  })
  const kind = programKind(endpoint.command ?? [])
  const agent = createAgent({ alias: endpoint.id, program, kind, task, cancelMs, answerMs })
  try {
    await agent.initialize()
    return agent
  } catch (error) {
    await agent.stop()
    throw error
  }
}

/** Starts or resumes a prompt on the program of its session. */
export async function* runPrompt(given: Omit<Run, 'history'>): AsyncGenerator<Batch> {
  const { context, prompt, session, pool } = given
  const history = await readHistory(context.history(), prompt.id)
  const run = { ...given, history }
  const results = history.openCalls.map(call =>
    resultEvent(call, 'interrupted; the outcome of the call is unknown', true),
  )
  const running = history.isWaiting ? [{ type: 'session.status_running' } as const] : []
  if (results.length + running.length > 0) yield [...results, ...running]
  if (context.signal.aborted) return
  try {
    yield* turnOf(run)
  } catch (error) {
    if (!(error instanceof RuntimeFailure)) throw error
    if (!context.signal.aborted) yield [failed(error.type, error.message)]
  } finally {
    pool.release(session.id)
    if (context.signal.aborted) await endIfSessionLost(run)
  }
}

async function* turnOf(run: Run): AsyncGenerator<Batch> {
  const { context, deps, history, prompt, session } = run
  if (!(await context.payer(prompt))) return yield [unusableKeyEvent]
  const policy = callPolicy(session.tools)
  let stop: BudgetStop | undefined
  const onBudgetReached = (reached: BudgetStop['reached'], message: string) => {
    stop ??= { reached, message }
  }
  const { mcpCall, isNamed = () => true } = programKind(run.endpoint.command ?? [])
  const { mcp, warnings } = await grantedMcp(run)
  if (warnings.length > 0) yield warnings.map(warning => ({ type: 'session.warning', warning }) as const)
  const grant = grantRun({ session, prompt, context, mcp, onBudgetReached })
  const { agent, isNew, revoke } = await readyAgent(run, { grant, mcp })
  try {
    const isAgain = session.refs.runtime_state['sent'] === prompt.id
    const memories = isNew ? await deps.memories.block(session) : ''
    const text = promptText({ session, prompt, memories, history, isNew, isAgain })
    await context.saveRefs({ provider_session_id: agent.sessionId ?? null, runtime_state: { sent: prompt.id } })
    if (context.signal.aborted) return
    const memoryTool = (call: Json) => memoryToolIn(mcpCall?.(call)?.name)
    const mcpTool = (call: Json) => {
      const { name, input } = mcpCall?.(call) ?? {}
      const place = mcp.placeOf(name)
      return place && { ...place, ...(input !== undefined && { input }) }
    }
    yield* followTurn({
      turn: agent.prompt(text),
      context,
      policy,
      isNamed,
      memoryTool,
      mcpTool,
      mcp,
      stop: () => stop,
    })
  } finally {
    revoke()
  }
}

/** Returns the MCP servers for the program of a run. A tool that needs approval needs a program that asks for it. */
async function grantedMcp({ deps, endpoint, session, prompt, context }: Run) {
  const payer = () => context.payer(prompt)
  const { servers, warnings } = await deps.mcp.granted({ agent: session, payer, signal: context.signal })
  if (programKind(endpoint.command ?? []).requestsByTool) return { mcp: createProgramMcp(servers), warnings }
  const usable = createProgramMcp(withoutQuestions(servers))
  const asking = servers.flatMap(({ name: server, tools }) =>
    Object.keys(tools).flatMap(tool => (usable.policyOf({ server, tool }) ? [] : [`${server}: ${tool}`])),
  )
  const message = `tools that require approval are left out, because the program does not ask for them by name: ${asking.join(', ').slice(0, 1_000)}`
  return {
    mcp: usable,
    warnings: asking.length === 0 ? warnings : [...warnings, { type: 'mcp_tools_left_out', message }],
  }
}

function memoryToolIn(name = ''): string | undefined {
  const prefix = `${memoryServer}__`
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined
}

interface Ready {
  readonly agent: Agent
  /** True when it does not have the earlier conversation. */
  readonly isNew: boolean
  readonly revoke: () => void
}

const maxStarts = 3

/** Returns the program of the session, with its conversation open and the prompt's model set. */
async function readyAgent(run: Run, { grant, mcp }: { grant: RunGrant; mcp: ProgramMcp }): Promise<Ready> {
  const { session, prompt, pool } = run
  const previous = session.refs.provider_session_id
  const needsApproval = !callPolicy(session.tools).allowsAll || mcp.needsApproval
  const task = { model: prompt.model, needsApproval, memories: grantedMemories(session), mcpServers: mcp.servers }
  for (let starts = 0; starts < maxStarts; starts++) {
    const agent = await pool.take(session.id, () => begin(run, task))
    await agent.settled()
    // Skips a program that has exited, and one whose session another server has continued elsewhere.
    if (!agent.hasExited && (agent.sessionId === undefined || agent.sessionId === previous)) {
      const revoke = agent.program.grant(grant)
      try {
        const isNew = await agent.open(previous)
        if (await agent.useModel(task.model)) return { agent, isNew, revoke }
      } catch (error) {
        revoke()
        await pool.end(session.id)
        throw error
      }
    }
    await pool.end(session.id)
  }
  throw new RuntimeFailure('model_request_failed_error', 'the program exits right after its start')
}

async function begin({ deps, endpoint, session }: Run, task: Task): Promise<Agent> {
  const agent = await startAgent(deps, endpoint, { ...task, sessionId: session.id, session })
  await deps.markSandboxRunning(session.id)
  return agent
}
