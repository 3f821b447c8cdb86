import type { Outbound } from '../../platform/outbound.ts'
import { cleanText, closing } from '../remote/connection.ts'
import {
  type Batch,
  type Capabilities,
  failed,
  type RunContext,
  type RunPrompt,
  type RunSession,
  type Runtime,
  type RuntimeEndpoint,
  RuntimeFailure,
} from '../runtime.ts'
import { type ManagedAgentsApi, managedAgentsApi } from './api.ts'
import type { Wait } from './backoff.ts'
import { disposeOf } from './dispose.ts'
import { follow } from './follow.ts'
import { interruptedResults, LogIndex } from './log-index.ts'
import { provision } from './provision.ts'
import { runStateOf } from './run-state.ts'
import { Turn } from './turn.ts'

export interface ManagedAgentsDeps {
  readonly outbound: Pick<Outbound, 'connect'>
  /** Returns the memories of the session's agent as a block for its system prompt; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Waits before a call or a stream is retried. */
  readonly wait: Wait
}

interface Parts extends ManagedAgentsDeps {
  readonly endpoint: RuntimeEndpoint
  readonly capabilities: Capabilities
}

/** Runs sessions on one server of the Managed Agents protocol. */
export function managedAgentsRuntime(parts: Parts): Runtime {
  const { outbound, endpoint, capabilities, wait } = parts
  return {
    id: endpoint.id,
    parks: true,
    capabilities,
    async *run(session, prompt, context) {
      const api = managedAgentsApi(outbound, endpoint)
      const logIndex = new LogIndex()
      try {
        for await (const event of context.history()) logIndex.add(event)
        yield* runOver(parts, { api, logIndex, session, prompt, context })
      } finally {
        await api.close()
      }
    },
    dispose: session => closing(managedAgentsApi(outbound, endpoint), api => disposeOf(api, session, wait)),
  }
}

interface Task {
  readonly api: ManagedAgentsApi
  readonly logIndex: LogIndex
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

async function* runOver({ endpoint, memories, wait }: Parts, task: Task): AsyncGenerator<Batch> {
  const { logIndex, context, prompt, session } = task
  const { signal } = context
  const state = runStateOf(session.refs.runtime_state)
  let turn: Turn | undefined
  try {
    if (!signal.aborted) {
      const made = await provision({ ...task, memories, state, wait })
      if (!made) return
      turn = new Turn({ ...task, ...made, clean: text => cleanText(text, endpoint) })
      yield* follow(turn, wait)
    }
  } catch (error) {
    if (!signal.aborted) {
      if (!(error instanceof RuntimeFailure)) throw error
      yield [...interruptedResults(logIndex), failed(error.type, error.message)]
      return
    }
  }
  const message = turn ? turn.sent : state.message
  const sessionId = turn?.sessionId ?? session.refs.provider_session_id
  // A run that is stopped before it resumes may still be running at the provider.
  const isRunning = message?.prompt_id === prompt.id && sessionId !== null
  if (signal.aborted) yield* interrupt(task, isRunning ? sessionId : undefined)
}

/** Stops the turn at the provider, and gives every open tool call its result. */
async function* interrupt({ api, logIndex, context }: Task, sessionId: string | undefined): AsyncGenerator<Batch> {
  // A draining process leaves the turn to the next owner.
  if (context.isDraining()) return
  if (sessionId !== undefined) {
    // Rejects when another process owns the session, whose turn must not be stopped.
    await context.saveRefs({ provider_session_id: sessionId })
    await api.send(sessionId, [{ type: 'user.interrupt' }]).catch(leaveToNextPrompt)
  }
  const results = interruptedResults(logIndex)
  if (results.length > 0) yield results
}

/** Ignores a failure to stop the turn: it is stopped before the next prompt is sent. */
function leaveToNextPrompt(error: unknown): void {
  if (!(error instanceof RuntimeFailure)) throw error
}
