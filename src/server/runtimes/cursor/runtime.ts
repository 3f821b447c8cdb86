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
import { cutOff, heldBack } from './events.ts'
import { errorType } from './failures.ts'
import { follow, readingOf } from './follow.ts'
import { createNotes, stateIn } from './notes.ts'
import { runFor, tryToCancel } from './start.ts'
import { type CursorDeps, type CursorTask, mustLeave } from './task.ts'

/** What agents at Cursor can do for us. Approvals and files stay there. */
export const cursorCapabilities: Capabilities = {
  ...noCapabilities,
  streaming: true,
  interrupt: true,
  resume: true,
  model_per_prompt: true,
  compaction: false,
}

/** Cursor cloud agents: one agent a session, one run a prompt. No other folder knows their wire format. */
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
          yield [...(await openEnds(task)), failed(errorType(failure.code, failure.type), failure.message)]
        }
      }
      // A process that hands its sessions over leaves the run to the next owner.
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

/** Stops the run at Cursor, and tells what was still open here. */
async function* leave(task: CursorTask): AsyncGenerator<Batch> {
  const { notes, prompt } = task
  const { agentId } = notes
  if (agentId === null || notes.state.prompt !== prompt.id || notes.state.is_over) return
  // Rejects when the session is not ours any more: then the run is another owner's.
  await notes.write({ state: { is_cancelled: true } })
  const runId = await begunRun(task, agentId)
  const isOver = runId === undefined || (await tryToCancel(task, { agentId, runId }))
  await notes.write({ ...(runId !== undefined && { runId }), state: { is_over: isOver } })
  const events = await openEnds(task)
  if (events.length > 0) yield events
}

/** Longest look for a run that was begun in the very moment of the interrupt. */
const lookMs = 2_000

/** The run of the prompt, also when its answer never reached us. */
async function begunRun({ api, notes }: CursorTask, agentId: string): Promise<string | undefined> {
  const { runId, state } = notes
  if (runId !== null && runId !== state.before) return runId
  try {
    const latest = await api.latestRun(agentId, AbortSignal.timeout(lookMs))
    return latest === state.before ? undefined : latest
  } catch {
    // Whatever it is, the next prompt looks again before it begins a run.
    return undefined
  }
}

/** What was held back, and a result for each tool call that has none. */
async function openEnds(task: CursorTask) {
  const reading = task.reading ?? (await readingOf(task, task.notes.runId ?? ''))
  return [...heldBack(reading), ...cutOff(reading)]
}
