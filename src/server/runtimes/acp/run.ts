import type { SessionMemories } from '../../memories/session-memories.ts'
import type { Log } from '../../platform/log.ts'
import type { Sandboxes } from '../../sandboxes/sandboxes.ts'
import { type BudgetStop, keyIsGone } from '../endings.ts'
import { endWhereLost, type KeptPrograms } from '../local/kept-programs.ts'
import { type LentRun, lendRun } from '../local/lent-run.ts'
import { lentMemories } from '../local/memory-server.ts'
import type { LocalPrograms } from '../local/programs.ts'
import {
  type Batch,
  failed,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import { type Agent, createAgent } from './agent.ts'
import { callPolicy } from './policy.ts'
import { programKind, setupOf, type Task } from './programs.ts'
import { type Past, promptText, readPast } from './prompt-text.ts'
import { resultEvent } from './tool-calls.ts'
import { followTurn } from './turn.ts'

export interface AcpDeps {
  readonly programs: LocalPrograms
  readonly sandboxes: Pick<Sandboxes, 'remove'>
  /** Records that a session's sandbox is in use; never rejects. */
  readonly markSandboxRunning: (sessionId: string) => Promise<void>
  /** What the session's agent remembers. */
  readonly memories: Pick<SessionMemories, 'block'>
  readonly log: Log
  /** How long a program is kept after a run; five minutes unless given. */
  readonly idleMs?: number
  /** How long a cancelled turn may go on until its program is ended; ten seconds unless given. */
  readonly cancelMs?: number
}

/** One run of a prompt. */
interface Run {
  readonly deps: AcpDeps
  readonly endpoint: RuntimeEndpoint
  readonly kept: KeptPrograms<Agent>
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
  readonly past: Past
}

const answerMs = 60_000
const defaultCancelMs = 10_000

/** Starts a program and agrees on the protocol with it. Rejects with `RuntimeFailure`, and then nothing of it is left. */
export async function startAgent(
  { programs, cancelMs = defaultCancelMs }: Pick<AcpDeps, 'programs' | 'cancelMs'>,
  endpoint: RuntimeEndpoint,
  { sessionId, ...task }: Task & { readonly sessionId: string },
): Promise<Agent> {
  const program = await programs.start({
    sessionId,
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

/** Runs a prompt on the program of its session, or goes on with one. */
export async function* runPrompt(given: Omit<Run, 'past'>): AsyncGenerator<Batch> {
  const { context, prompt, session, kept } = given
  const past = await readPast(context.history(), prompt.id)
  const run = { ...given, past }
  const left = past.openCalls.map(id => resultEvent({ id }, 'interrupted; what the call has done is not known', true))
  const again = past.isWaiting ? [{ type: 'session.status_running' }] : []
  if (left.length + again.length > 0) yield [...left, ...again]
  if (context.signal.aborted) return
  try {
    yield* turnOf(run)
  } catch (error) {
    if (!(error instanceof RuntimeFailure)) throw error
    if (!context.signal.aborted) yield [failed(error.type, error.message)]
  } finally {
    kept.release(session.id)
    if (context.signal.aborted) await endWhereLost(run)
  }
}

async function* turnOf(run: Run): AsyncGenerator<Batch> {
  const { context, deps, past, prompt, session } = run
  if (!(await context.payer(prompt))) return yield [keyIsGone]
  const policy = callPolicy(session.tools)
  let stop: BudgetStop | undefined
  const onBudgetReached = (reached: BudgetStop['reached'], message: string) => {
    stop ??= { reached, message }
  }
  const lent = lendRun({ session, prompt, context, onBudgetReached })
  const { agent, isNew, giveBack } = await readyAgent(run, lent)
  try {
    const isAgain = session.refs.runtime_state['sent'] === prompt.id
    const memories = isNew ? await deps.memories.block(session) : ''
    const text = promptText({ session, prompt, memories, past, isNew, isAgain })
    await context.remember({ provider_session_id: agent.sessionId ?? null, runtime_state: { sent: prompt.id } })
    if (context.signal.aborted) return
    const { memoryTool = () => undefined } = programKind(run.endpoint.command ?? [])
    yield* followTurn({ turn: agent.prompt(text), context, policy, memoryTool, stop: () => stop })
  } finally {
    giveBack()
  }
}

interface Ready {
  readonly agent: Agent
  /** True when it knows nothing of the conversation. */
  readonly isNew: boolean
  readonly giveBack: () => void
}

const mostStarts = 3

/** The program of the session with its conversation open, and with the prompt's model. */
async function readyAgent(run: Run, lent: LentRun): Promise<Ready> {
  const { session, prompt, kept } = run
  const known = session.refs.provider_session_id
  const asks = !callPolicy(session.tools).allowsAll
  const task = { model: prompt.model, asks, memories: lentMemories(session) }
  for (let starts = 0; starts < mostStarts; starts++) {
    const agent = await kept.take(session.id, () => begin(run, task))
    await agent.settled()
    // Not one that was ended with its last turn, nor one past which another server has talked.
    if (!agent.isGone && (agent.sessionId === undefined || agent.sessionId === known)) {
      const giveBack = agent.program.lend(lent)
      try {
        const isNew = await agent.open(known)
        if (await agent.useModel(task.model)) return { agent, isNew, giveBack }
      } catch (error) {
        giveBack()
        await kept.end(session.id)
        throw error
      }
    }
    await kept.end(session.id)
  }
  throw new RuntimeFailure('model_request_failed_error', 'the program ends right after its start')
}

async function begin({ deps, endpoint, session }: Run, task: Task): Promise<Agent> {
  const agent = await startAgent(deps, endpoint, { ...task, sessionId: session.id })
  await deps.markSandboxRunning(session.id)
  return agent
}
