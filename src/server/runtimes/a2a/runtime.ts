import type { pause } from '../../platform/timers.ts'
import { cleanText } from '../remote/connection.ts'
import {
  type Batch,
  type Capabilities,
  failed,
  noCapabilities,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type Runtime,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import { type AgentDeps, openAgent } from './agent.ts'
import { deliver } from './deliver.ts'
import { follow } from './follow.ts'
import { messageIdOf } from './hops.ts'
import { createNotes, openTaskOf, stateIn } from './notes.ts'
import { Reading } from './reading.ts'
import { type A2aRun, mustLeave, secondSearchMs, tryToCancel, withRetries } from './run.ts'

/** Tools, approvals and usage of an agent are its own. */
export const a2aCapabilities: Capabilities = {
  ...noCapabilities,
  streaming: true,
  interrupt: true,
  files_in: true,
  resume: true,
}

export interface A2aDeps extends AgentDeps {
  /** Returns the text block with the memories of the session's agent; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Waits between tries. */
  readonly wait: typeof pause
}

/** Runs sessions at one agent of the Agent2Agent protocol: a context per session, a task per prompt. */
export function a2aRuntime(endpoint: RuntimeEndpoint, deps: A2aDeps): Runtime {
  return {
    id: endpoint.id,
    capabilities: a2aCapabilities,
    hasOwnModels: true,

    async *run(session, prompt, context) {
      const run = await tryToOpen(endpoint, deps, { session, prompt, context })
      if (run instanceof RuntimeFailure) return yield [failed(run.type, run.message)]
      if (!run) return
      try {
        yield* work(run)
        if (context.signal.aborted) yield* leave(run)
      } finally {
        await run.agent.close()
      }
    },

    async dispose({ refs }) {
      const state = stateIn(refs)
      const task = openTaskOf(state)
      if (task === undefined || (state.is_over && state.question === undefined)) return
      try {
        const agent = await openAgent(deps, endpoint)
        await tryToCancel(agent, task)
        await agent.close()
      } catch (failure) {
        // There is nothing to delete at an agent, so that an unreachable one keeps no session.
        if (!(failure instanceof RuntimeFailure)) throw failure
      }
    },
  }
}

interface Task {
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

/** A person waits for an interrupt, for which the card and the task are searched. */
const searchMs = 2_000

/** Nothing is lost when an agent cannot be reached before the prompt is sent; a run that resumes may have a task there. */
const maxOpenMs = 30_000

/** Opens a run; undefined when it must be left before. Returns the failure of an agent that cannot be reached. */
async function tryToOpen(
  endpoint: RuntimeEndpoint,
  deps: A2aDeps,
  task: Task,
): Promise<A2aRun | RuntimeFailure | undefined> {
  const { context } = task
  if (context.isDraining()) return undefined
  try {
    return await openRun(endpoint, deps, task)
  } catch (failure) {
    // The next prompt stops a task that goes on at the agent.
    if (context.signal.aborted) return undefined
    if (failure instanceof RuntimeFailure) return failure
    throw failure
  }
}

/** Reads the log and the card of the agent. A run that is stopped before it resumes is opened to stop its task. */
async function openRun(endpoint: RuntimeEndpoint, deps: A2aDeps, task: Task): Promise<A2aRun> {
  const { session, context } = task
  const { wait, memories } = deps
  const reading = new Reading(context.preview)
  for await (const event of context.history()) reading.addLogged(event)
  const signal = context.signal.aborted ? AbortSignal.timeout(searchMs) : context.signal
  const isResumed = stateIn(session.refs).prompt === task.prompt.id
  const maxMs = isResumed ? undefined : maxOpenMs
  const agent = await withRetries({ context, wait }, () => openAgent(deps, endpoint, signal), maxMs)
  const clean = (text: string) => cleanText(text, endpoint)
  return { ...task, agent, notes: createNotes(session.refs, context), reading, wait, memories, clean, staleReads: 0 }
}

/** Runs the prompt to its end, or until it must be left. */
async function* work(run: A2aRun): AsyncGenerator<Batch> {
  const { context, reading } = run
  if (mustLeave(context)) return
  try {
    const isOver = yield* deliver(run)
    if (!isOver) yield* follow(run)
  } catch (failure) {
    if (context.signal.aborted) return
    if (!(failure instanceof RuntimeFailure)) throw failure
    await giveUp(run)
    yield [...reading.finish(), failed(failure.type, failure.message)]
  }
}

/** Stops the task of a run that has failed here. */
async function giveUp({ agent, notes, prompt }: A2aRun): Promise<void> {
  const { task, is_over } = notes.state
  if (notes.state.prompt !== prompt.id || task === undefined || is_over) return
  await notes.write({ state: { is_over: await tryToCancel(agent, task) } })
}

/** Stops the task at the agent, and logs what it has sent. */
async function* leave(run: A2aRun): AsyncGenerator<Batch> {
  const { agent, notes, prompt, context, reading } = run
  // A draining process leaves the task to the next owner.
  if (context.isDraining() || notes.state.prompt !== prompt.id || notes.state.is_over) return
  // Rejects when another process owns the session and its task.
  await notes.write({ state: { is_cancelled: true } })
  const task = notes.state.task ?? (await sentTask(run))
  const isOver = task === undefined || (await tryToCancel(agent, task))
  await notes.write({ state: { task, is_over: isOver } })
  const events = reading.finish()
  if (events.length > 0) yield events
}

/** Returns the task of a message that was sent at the moment of the interrupt. */
async function sentTask({ agent, notes, prompt, wait }: A2aRun): Promise<string | undefined> {
  const { continues } = notes.state
  if (continues !== undefined) return continues
  const search = async () =>
    (await agent.api.taskOfMessage(messageIdOf(prompt), notes.contextId, AbortSignal.timeout(searchMs)))?.id
  try {
    const found = await search()
    if (found !== undefined) return found
    await wait(secondSearchMs)
    return await search()
  } catch {
    // The agent may be unreachable, or unable to list its tasks: the task then ends by itself.
    return undefined
  }
}
