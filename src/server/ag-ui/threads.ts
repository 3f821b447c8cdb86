import type { Pool } from 'pg'
import type { AgUiRunInput } from '../../contract/ag-ui-input.ts'
import type { SessionEvent } from '../../contract/events.ts'
import type { StoredAgent } from '../agents/stored-agent.ts'
import { transaction } from '../db/connect.ts'
import type { Caller } from '../http/caller.ts'
import { AppError, invalid } from '../platform/errors.ts'
import { textOf } from '../platform/json.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { checkTools, contentIn } from './front-end-input.ts'
import { threadField } from './front-ends.ts'
import { inputHash, type NewInput, newInput } from './new-input.ts'
import type { RunLog, ThreadReading } from './run-log.ts'
import type { StoredRun, ThreadName, ThreadStore } from './thread-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: ThreadStore
  readonly sessions: Pick<Sessions, 'createWithin' | 'open' | 'send'>
  readonly log: RunLog
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
  /** The runtime that gives tools, context and state of a front-end to the model. */
  readonly ownRuntime: string
  /** Returns the title of a session from its first prompt. */
  readonly titleOf: (prompt: string) => string
}

/** An agent that a front-end runs, and its caller. */
export interface Running {
  readonly agent: StoredAgent
  readonly caller: Caller
}

/** A run that was started, or found. */
export interface StartedRun {
  readonly run: StoredRun
  /** False when an earlier request has started it. */
  readonly isNew: boolean
  /** Paths of fields of the input that have no effect. */
  readonly ignored: readonly string[]
}

/** Threads of AG-UI: each is a session of an agent, of one principal. The log of the session is the conversation. */
export type Threads = ReturnType<typeof createThreads>

export function createThreads({ pool, store, sessions, log, resultSchemas, ownRuntime, titleOf }: Deps) {
  /** Returns the session of the thread, which is created when there is none. */
  async function sessionOf(input: AgUiRunInput, { agent, caller }: Running): Promise<string> {
    const { threadId } = input
    const name: ThreadName = { principal: caller.principal, agentId: agent.id, threadId }
    const existing = await store.sessionOf(name)
    if (existing !== undefined) return existing
    const first = input.messages.find(({ role }) => role === 'user')
    const title = titleOf(textOf(first?.content))
    const body = { agent_id: agent.id, title, environment: { [threadField]: threadId } }
    try {
      const { id, publish } = await transaction(pool, client =>
        sessions.createWithin(client, {
          body,
          caller,
          messages: [],
          begin: async created => {
            if (!(await store.add(client, created, name))) throw new ThreadExists()
          },
        }),
      )
      publish()
      return id
    } catch (error) {
      if (!(error instanceof ThreadExists)) throw error
      // A concurrent request has created it.
      return sessionOf(input, { agent, caller })
    }
  }

  /** Returns the run with the id of the input; undefined when there is none. */
  async function found(sessionId: string, input: AgUiRunInput): Promise<StartedRun | undefined> {
    const run = await store.run(sessionId, input.runId)
    if (!run) return undefined
    if (run.input_hash.equals(inputHash(input))) return { run, isNew: false, ignored: [] }
    throw new AppError('conflict', `runId ${input.runId} was used for another input; use a new one`)
  }

  /** Sends what is new in an input. */
  async function started(sessionId: string, input: AgUiRunInput, caller: Caller): Promise<StartedRun> {
    const { runtime } = await sessions.open(sessionId, caller)
    const { content, ignored } = contentIn(input, runtime === ownRuntime)
    await checkTools(content, await store.content(sessionId), resultSchemas)
    const before = await store.lastRun(sessionId)
    const thread: ThreadReading = before ? await log.read(before) : { continuesAfter: undefined, questions: [] }
    const users = input.messages.flatMap(({ role, id }) => (role === 'user' ? [id] : []))
    const known = await store.knownMessages(sessionId, users)
    const added = newInput(input, { questions: thread.questions, isKnown: id => known.has(id) })
    if (added.events.length === 0 && thread.continuesAfter === undefined) throw nothingNew()
    const plan = { sessionId, input, added, before: thread.continuesAfter === undefined ? undefined : before, thread }
    const run = await send({ ...plan, content, caller })
    return { run, isNew: true, ignored: [...ignored, ...added.ignored] }
  }

  /** Stores the run together with its events, and with what the front-end gives to the model. */
  async function send({ sessionId, input, added, before, thread, content, caller }: Sending): Promise<StoredRun> {
    const { threadId: thread_id, runId: run_id } = input
    let run: StoredRun | undefined
    await sessions.send(sessionId, added.events, caller, {
      places: added.places,
      async record(client, stored) {
        const prompt = stored.find(isPrompt)
        run = {
          session_id: sessionId,
          thread_id,
          run_id,
          input_hash: inputHash(input),
          prompt_ids: [...(before?.prompt_ids ?? []), ...(prompt?.prompt_id === undefined ? [] : [prompt.prompt_id])],
          after_seq: thread.continuesAfter ?? (prompt?.seq ?? 1) - 1,
          state: content.state,
        }
        if (!(await store.addRun(client, { ...run, message_ids: added.messageIds }))) throw alreadySent()
        await store.setContent(client, sessionId, content)
      },
    })
    if (!run) throw new Error(`run ${run_id} was not recorded (bug)`)
    return run
  }

  return {
    /** Starts the run of an input, or returns the one that an earlier request with the same id has started. */
    async start(input: AgUiRunInput, running: Running): Promise<StartedRun> {
      const sessionId = await sessionOf(input, running)
      const earlier = await found(sessionId, input)
      if (earlier) return earlier
      try {
        return await started(sessionId, input, running.caller)
      } catch (error) {
        // A concurrent request with the same id leaves nothing to send.
        const other = error instanceof AppError ? await found(sessionId, input) : undefined
        if (other) return other
        throw error
      }
    },
  }
}

interface Sending {
  readonly sessionId: string
  readonly input: AgUiRunInput
  readonly added: NewInput
  /** The run that this one continues. */
  readonly before: StoredRun | undefined
  readonly thread: ThreadReading
  readonly content: Parameters<ThreadStore['setContent']>[2]
  readonly caller: Caller
}

const isPrompt = (event: SessionEvent): event is Extract<SessionEvent, { readonly type: 'user.message' }> =>
  event.type === 'user.message'

const nothingNew = () =>
  invalid(
    'messages must have a new message with role "user" after the last one of the agent, or the input must answer what the thread waits for',
  )

/** Also rolls back the transaction of a run that another request has stored. */
const alreadySent = () => new AppError('conflict', 'another run has sent these messages at the same time')

/** Rolls a transaction back whose thread another request has created. */
class ThreadExists extends Error {}
