import { isModelNamed, unknownModel } from '../model-choice.ts'
import { isRefusal, RuntimeFailure } from '../runtime.ts'
import { newAgentId } from './api.ts'
import { isPassing } from './failures.ts'
import { createPatience } from './patience.ts'
import { agentBody, knownModel, runBody } from './request.ts'
import type { CursorTask } from './task.ts'

/** A call that may succeed later is made this often in all. */
const maxTries = 3
/** Another run of the agent is waited for no longer. Dialects: section 3.4. */
const maxBusyMs = 300_000

/**
 * Id of the run that works on the prompt: found again after a crash, or begun. What is about to be made is stored before
 * the call that makes it, so a prompt never gets a second agent or a second run. Rejects with `RuntimeFailure`, or with
 * the reason of the signal.
 */
export async function runFor(task: CursorTask): Promise<string> {
  const { notes, prompt } = task
  const { agentId, runId, state } = notes
  const isKnown = agentId !== null && state.prompt === prompt.id
  if (isKnown && runId !== null && runId !== state.before) return runId
  // A model that Cursor does not have is refused before anything is made or stored.
  const model = await modelOf(task)
  if (agentId === null) return createAgent(task, { agentId: newAgentId(), model })
  if (!isKnown) return nextRun(task, { agentId, model })
  return state.before === undefined
    ? createAgent(task, { agentId, model })
    : createRun(task, { agentId, model, mayExist: true })
}

/** State of a run that has not begun. */
const fresh = { before: undefined, last_event_id: undefined, is_cancelled: false, is_over: false }

interface Target {
  readonly agentId: string
  /** Undefined leaves the choice to Cursor. */
  readonly model: string | undefined
}

async function createAgent(task: CursorTask, { agentId, model }: Target): Promise<string> {
  const { api, notes, prompt, session, context } = task
  if (notes.agentId !== agentId) await notes.write({ agentId, runId: null, state: { ...fresh, prompt: prompt.id } })
  const body = agentBody({ agentId, session, prompt, memories: await task.memories(session), model })
  try {
    const runId = await persistently(task, () => api.createAgent(body, context.signal))
    await notes.write({ runId })
    return runId
  } catch (failure) {
    // Nobody else knows the id: an earlier call of ours has made the agent.
    if (failure instanceof RuntimeFailure && failure.code === 'agent_id_conflict') return adoptFirstRun(task, agentId)
    throw failure
  }
}

async function adoptFirstRun(task: CursorTask, agentId: string): Promise<string> {
  const runId = await persistently(task, () => task.api.latestRun(agentId, task.context.signal))
  if (runId === undefined)
    throw new RuntimeFailure('model_request_failed_error', 'the agent at Cursor exists, but without a run')
  await task.notes.write({ runId })
  return runId
}

/** A prompt for an agent that has worked before. A run that was left behind must not keep it waiting. */
async function nextRun(task: CursorTask, { agentId, model }: Target): Promise<string> {
  const { api, notes, prompt, context } = task
  let before: string | undefined
  try {
    before = await persistently(task, () => api.latestRun(agentId, context.signal))
  } catch (failure) {
    if (!isRefusal(failure, 404)) throw failure
    // An agent of which no run is known was perhaps never made.
    if (notes.runId === null) return createAgent(task, { agentId: newAgentId(), model })
    throw new RuntimeFailure(
      'model_request_failed_error',
      'the agent of this session is gone at Cursor; go on in a new session',
    )
  }
  if (before !== undefined && !notes.state.is_over) await tryToCancel(task, { agentId, runId: before })
  await notes.write({ runId: before ?? null, state: { ...fresh, prompt: prompt.id, before: before ?? '' } })
  return createRun(task, { agentId, model, mayExist: false })
}

/** `mayExist`: a call of ours may have begun the run already, so it is looked for first. */
async function createRun(
  task: CursorTask,
  { agentId, model, mayExist }: Target & { readonly mayExist: boolean },
): Promise<string> {
  const { api, notes, prompt, context, wait } = task
  const { signal } = context
  const body = runBody(prompt, model)
  const busy = createPatience({ wait, signal, maxMs: maxBusyMs })
  let isUnclear = mayExist
  const findOrCreate = async (): Promise<string> => {
    const known = isUnclear ? await unknownRun(task, agentId) : undefined
    isUnclear = true
    return known ?? api.createRun(agentId, body, { key: prompt.id, signal })
  }
  for (;;) {
    try {
      const runId = await persistently(task, findOrCreate)
      await notes.write({ runId })
      return runId
    } catch (failure) {
      if (!(failure instanceof RuntimeFailure && failure.code === 'agent_busy')) throw failure
      await noteForeignRun(task, agentId)
      isUnclear = false
      if (!(await busy.wait(failure.retryAfterMs))) throw stillBusy()
    }
  }
}

const stillBusy = (): RuntimeFailure =>
  new RuntimeFailure(
    'model_request_failed_error',
    `the agent at Cursor was busy with another run for ${maxBusyMs / 1000} s`,
  )

/** The run that is in the way is not ours: it must not be taken for ours after a crash. */
async function noteForeignRun(task: CursorTask, agentId: string): Promise<void> {
  const before = await persistently(task, () => task.api.latestRun(agentId, task.context.signal))
  if (before !== undefined && before !== task.notes.state.before)
    await task.notes.write({ runId: before, state: { before } })
}

/** The run that a call of ours began, though we did not hear of it: the first one behind those that we knew. */
async function unknownRun({ api, notes, context }: CursorTask, agentId: string): Promise<string | undefined> {
  const newer = await api.runsAfter(agentId, notes.state.before ?? '', context.signal)
  return newer.at(-1)?.id
}

/** Makes a call again while it may succeed later. */
async function persistently<T>({ context, wait }: CursorTask, call: () => Promise<T>): Promise<T> {
  const patience = createPatience({ wait, signal: context.signal })
  for (let tries = 1; ; tries++) {
    try {
      return await call()
    } catch (failure) {
      if (!isPassing(failure) || tries === maxTries || !(await patience.wait(failure.retryAfterMs))) throw failure
    }
  }
}

/** True when the run does not go on, as far as Cursor told. */
export async function tryToCancel(
  { api }: Pick<CursorTask, 'api'>,
  place: { readonly agentId: string; readonly runId: string },
): Promise<boolean> {
  try {
    await api.cancel(place)
    return true
  } catch (failure) {
    // The next prompt, or the deletion of the agent, tries again.
    if (failure instanceof RuntimeFailure) return false
    throw failure
  }
}

/** Cursor's id of the prompt's model; undefined leaves the choice to it. Rejects with `RuntimeFailure` for one that it does not have. */
async function modelOf(task: CursorTask): Promise<string | undefined> {
  const { api, prompt, context } = task
  if (!isModelNamed(prompt.model)) return undefined
  const models = await persistently(task, () => api.models(context.signal))
  const known = knownModel(prompt.model, models)
  if (known !== undefined) return known
  const ids = models.map(({ id }) => id)
  throw new RuntimeFailure('model_request_failed_error', unknownModel(prompt.model, ids), { status: 400 })
}
