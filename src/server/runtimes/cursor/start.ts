import { isModelNamed, unknownModel } from '../model-choice.ts'
import { createBackoff, isPassing } from '../remote/backoff.ts'
import { isFailureWithStatus, RuntimeFailure } from '../runtime.ts'
import { newAgentId } from './api.ts'
import { agentBody, findModel, runBody } from './request.ts'
import type { CursorTask } from './task.ts'

/** Maximum number of tries of a call. */
const maxTries = 3
/** Maximum wait for another run of the agent. Dialects: section 3.4. */
const maxBusyMs = 300_000

/**
 * Finds or creates the run of the prompt, and returns its id. The intent is stored before the call that creates
 * something, so a prompt never gets a second agent or a second run. Rejects with `RuntimeFailure`, or with the reason
 * of the signal.
 */
export async function runFor(task: CursorTask): Promise<string> {
  const { notes, prompt } = task
  const { agentId, runId, state } = notes
  const isStarted = agentId !== null && state.prompt === prompt.id
  if (isStarted && runId !== null && runId !== state.before) return runId
  // An unknown model is rejected before anything is created or stored.
  const model = await modelOf(task)
  if (agentId === null) return createAgent(task, { agentId: newAgentId(), model })
  if (!isStarted) return nextRun(task, { agentId, model })
  return state.before === undefined
    ? createAgent(task, { agentId, model })
    : createRun(task, { agentId, model, mayExist: true })
}

/** State of a run that is not created yet. */
const initialState = { before: undefined, last_event_id: undefined, is_cancelled: false, is_over: false }

interface Target {
  readonly agentId: string
  /** Undefined lets Cursor choose. */
  readonly model: string | undefined
}

async function createAgent(task: CursorTask, { agentId, model }: Target): Promise<string> {
  const { api, notes, prompt, session, context } = task
  if (notes.agentId !== agentId)
    await notes.write({ agentId, runId: null, state: { ...initialState, prompt: prompt.id } })
  const body = agentBody({ agentId, session, prompt, memories: await task.memories(session), model })
  try {
    const runId = await withRetries(task, () => api.createAgent(body, context.signal))
    await notes.write({ runId })
    return runId
  } catch (failure) {
    // The id is random, so an earlier call of ours has created the agent.
    if (failure instanceof RuntimeFailure && failure.code === 'agent_id_conflict') return adoptFirstRun(task, agentId)
    throw failure
  }
}

async function adoptFirstRun(task: CursorTask, agentId: string): Promise<string> {
  const runId = await withRetries(task, () => task.api.latestRun(agentId, task.context.signal))
  if (runId === undefined) throw new RuntimeFailure('model_request_failed_error', 'the agent at Cursor has no run')
  await task.notes.write({ runId })
  return runId
}

/** Creates a run of an existing agent, after it has cancelled a run that was left running. */
async function nextRun(task: CursorTask, { agentId, model }: Target): Promise<string> {
  const { api, notes, prompt, context } = task
  let before: string | undefined
  try {
    before = await withRetries(task, () => api.latestRun(agentId, context.signal))
  } catch (failure) {
    if (!isFailureWithStatus(failure, 404)) throw failure
    // An agent without a known run may never have been created.
    if (notes.runId === null) return createAgent(task, { agentId: newAgentId(), model })
    throw new RuntimeFailure(
      'model_request_failed_error',
      'the agent of this session was deleted at Cursor; continue in a new session',
    )
  }
  if (before !== undefined && !notes.state.is_over) await tryToCancel(task, { agentId, runId: before })
  await notes.write({ runId: before ?? null, state: { ...initialState, prompt: prompt.id, before: before ?? '' } })
  return createRun(task, { agentId, model, mayExist: false })
}

/** Creates a run. With `mayExist`, an earlier call of ours may have created it, so it is searched first. */
async function createRun(
  task: CursorTask,
  { agentId, model, mayExist }: Target & { readonly mayExist: boolean },
): Promise<string> {
  const { api, notes, prompt, context, wait } = task
  const { signal } = context
  const body = runBody(prompt, model)
  const busy = createBackoff({ wait, signal, maxMs: maxBusyMs })
  let mustSearch = mayExist
  const findOrCreate = async (): Promise<string> => {
    const existing = mustSearch ? await lostRun(task, agentId) : undefined
    mustSearch = true
    return existing ?? api.createRun(agentId, body, { key: prompt.id, signal })
  }
  for (;;) {
    try {
      const runId = await withRetries(task, findOrCreate)
      await notes.write({ runId })
      return runId
    } catch (failure) {
      if (!(failure instanceof RuntimeFailure && failure.code === 'agent_busy')) throw failure
      await noteForeignRun(task, agentId)
      mustSearch = false
      if (!(await busy.wait(failure.retryAfterMs))) throw stillBusy()
    }
  }
}

const stillBusy = (): RuntimeFailure =>
  new RuntimeFailure(
    'model_request_failed_error',
    `the agent at Cursor was busy with another run for ${maxBusyMs / 1000} s`,
  )

/** Stores the run that blocks the agent, so that it is not mistaken for ours after a crash. */
async function noteForeignRun(task: CursorTask, agentId: string): Promise<void> {
  const before = await withRetries(task, () => task.api.latestRun(agentId, task.context.signal))
  if (before !== undefined && before !== task.notes.state.before)
    await task.notes.write({ runId: before, state: { before } })
}

/** Returns the run of an earlier call whose response was lost: the first one after the known runs. */
async function lostRun({ api, notes, context }: CursorTask, agentId: string): Promise<string | undefined> {
  const newer = await api.runsAfter(agentId, notes.state.before ?? '', context.signal)
  return newer.at(-1)?.id
}

/** Makes a call, and retries it while it may succeed later. */
async function withRetries<T>({ context, wait }: CursorTask, call: () => Promise<T>): Promise<T> {
  const backoff = createBackoff({ wait, signal: context.signal })
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (failure) {
      if (!isPassing(failure) || tries === maxTries || !(await backoff.wait(failure.retryAfterMs))) throw failure
    }
  }
}

/** Cancels a run; returns false when Cursor did not confirm that. */
export async function tryToCancel(
  { api }: Pick<CursorTask, 'api'>,
  place: { readonly agentId: string; readonly runId: string },
): Promise<boolean> {
  try {
    await api.cancel(place)
    return true
  } catch (failure) {
    // The next prompt or the deletion of the agent tries again.
    if (failure instanceof RuntimeFailure) return false
    throw failure
  }
}

/**
 * Returns Cursor's id of the prompt's model; undefined lets Cursor choose. Rejects with `RuntimeFailure` for an unknown
 * model.
 */
async function modelOf(task: CursorTask): Promise<string | undefined> {
  const { api, prompt, context } = task
  if (!isModelNamed(prompt.model)) return undefined
  const models = await withRetries(task, () => api.models(context.signal))
  const found = findModel(prompt.model, models)
  if (found !== undefined) return found
  const ids = models.map(({ id }) => id)
  throw new RuntimeFailure('model_request_failed_error', unknownModel(prompt.model, ids), { status: 400 })
}
