import { newId } from '../../platform/ids.ts'
import { pause } from '../../platform/timers.ts'
import { cleanText } from '../remote/connection.ts'
import {
  type Batch,
  type Capabilities,
  failed,
  noCapabilities,
  type Runtime,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import type { CursorApi } from './api.ts'
import { interruptedResults, pendingEvents } from './events.ts'
import { errorType } from './failures.ts'
import { follow, readingOf } from './follow.ts'
import { createNotes, stateIn } from './notes.ts'
import { runFor, tryToCancel } from './start.ts'
import { type CursorDeps, type CursorTask, mustLeave } from './task.ts'

/** Capabilities of Cursor agents. Approvals and files are handled at Cursor. */
export const cursorCapabilities: Capabilities = {
  ...noCapabilities,
  streaming: true,
  interrupt: true,
  resume: true,
  model_per_prompt: true,
  compaction: false,
}

/** Runs Cursor cloud agents: one agent per session, one run per prompt. */
export function cursorRuntime(endpoint: RuntimeEndpoint, api: CursorApi, deps: CursorDeps): Runtime {
  const words = { clean: (text: string) => cleanText(text, endpoint), newEventId: () => newId('evt') }
  return {
    id: endpoint.id,
    capabilities: cursorCapabilities,
    hasOwnModels: true,

    async *run(session, prompt, context) {
      const notes = createNotes(session.refs, context)
      const task: CursorTask = { wait: pause, ...deps, api, session, prompt, context, notes, words, reading: undefined }
      try {
        if (!mustLeave(context)) yield* follow(task, await runFor(task))
      } catch (failure) {
        if (!context.signal.aborted) {
          if (!(failure instanceof RuntimeFailure)) throw failure
          yield [...(await closingEvents(task)), failed(errorType(failure.code, failure.type), failure.message)]
        }
      }
      // A draining process leaves the run to the next owner.
      if (context.signal.aborted && !context.isDraining() && !task.reading?.isOver) yield* leave(task)
    },

    async dispose({ refs }) {
      const { provider_session_id: agentId, provider_run_id: runId } = refs
      if (agentId === null) return
      if (runId !== null && !stateIn(refs).is_over) await tryToCancel({ api }, { agentId, runId })
      await api.deleteAgent(agentId)
    },
  }
}

/** Stops the run at Cursor, and emits the events that close it here. */
async function* leave(task: CursorTask): AsyncGenerator<Batch> {
  const { notes, prompt } = task
  const { agentId } = notes
  if (agentId === null || notes.state.prompt !== prompt.id || notes.state.is_over) return
  // Rejects when another process owns the session and its run.
  await notes.write({ state: { is_cancelled: true } })
  const runId = await createdRun(task, agentId)
  const isOver = runId === undefined || (await tryToCancel(task, { agentId, runId }))
  await notes.write({ ...(runId !== undefined && { runId }), state: { is_over: isOver } })
  const events = await closingEvents(task)
  if (events.length > 0) yield events
}

/** Timeout of the search for a run that was created at the moment of the interrupt. */
const searchMs = 2_000

/** Returns the run of the prompt, also when the response to its creation was lost. */
async function createdRun({ api, notes }: CursorTask, agentId: string): Promise<string | undefined> {
  const { runId, state } = notes
  if (runId !== null && runId !== state.before) return runId
  try {
    const latest = await api.latestRun(agentId, AbortSignal.timeout(searchMs))
    return latest === state.before ? undefined : latest
  } catch {
    // On any failure, the next prompt searches again before it creates a run.
    return undefined
  }
}

/** Returns the pending events, and a result for each tool call without one. */
async function closingEvents(task: CursorTask) {
  const reading = task.reading ?? (await readingOf(task, task.notes.runId ?? ''))
  return [...pendingEvents(reading), ...interruptedResults(reading)]
}
