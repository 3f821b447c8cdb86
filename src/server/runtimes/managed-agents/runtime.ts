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
import { Book, cutOffResults } from './book.ts'
import { disposeOf } from './dispose.ts'
import { follow } from './follow.ts'
import type { Wait } from './patience.ts'
import { provision } from './provision.ts'
import { runStateOf } from './run-state.ts'
import { Turn } from './turn.ts'

export interface ManagedAgentsDeps {
  readonly outbound: Pick<Outbound, 'connect'>
  /** What the session's agent remembers, as a block for its system prompt; empty without any. */
  readonly memories: (session: RunSession) => Promise<string>
  /** Waits before a call or a stream is tried again. */
  readonly wait: Wait
}

interface Parts extends ManagedAgentsDeps {
  readonly endpoint: RuntimeEndpoint
  readonly capabilities: Capabilities
}

/** Sessions on one server of the Managed Agents protocol. */
export function managedAgentsRuntime(parts: Parts): Runtime {
  const { outbound, endpoint, capabilities, wait } = parts
  return {
    id: endpoint.id,
    parks: true,
    capabilities,
    async *run(session, prompt, context) {
      const api = managedAgentsApi(outbound, endpoint)
      const book = new Book()
      try {
        for await (const event of context.history()) book.add(event)
        yield* runOver(parts, { api, book, session, prompt, context })
      } finally {
        await api.close()
      }
    },
    dispose: session => closing(managedAgentsApi(outbound, endpoint), api => disposeOf(api, session, wait)),
  }
}

interface Task {
  readonly api: ManagedAgentsApi
  readonly book: Book
  readonly session: RunSession
  readonly prompt: RunPrompt
  readonly context: RunContext
}

async function* runOver({ endpoint, memories, wait }: Parts, task: Task): AsyncGenerator<Batch> {
  const { book, context, prompt, session } = task
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
      yield [...cutOffResults(book), failed(error.type, error.message)]
      return
    }
  }
  const message = turn ? turn.sent : state.message
  const sessionId = turn?.sessionId ?? session.refs.provider_session_id
  // A run that is stopped before it goes on may be at work over there too.
  const isAtWork = message?.prompt_id === prompt.id && sessionId !== null
  if (signal.aborted) yield* cutOff(task, isAtWork ? sessionId : undefined)
}

/** Stops the turn over there, and gives every open tool call its result. */
async function* cutOff({ api, book, context }: Task, sessionId: string | undefined): AsyncGenerator<Batch> {
  // A process that goes away leaves the turn to the next owner.
  if (context.isDraining()) return
  if (sessionId !== undefined) {
    // Who has lost the session must not stop the turn that another owner follows: this rejects then.
    await context.remember({ provider_session_id: sessionId })
    await api.send(sessionId, [{ type: 'user.interrupt' }]).catch(leaveToNextPrompt)
  }
  const results = cutOffResults(book)
  if (results.length > 0) yield results
}

/** A turn that could not be stopped is stopped before the next prompt is sent. */
function leaveToNextPrompt(error: unknown): void {
  if (!(error instanceof RuntimeFailure)) throw error
}
