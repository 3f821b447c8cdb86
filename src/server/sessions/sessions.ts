import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import type { UserContent } from '../../contract/event-routes.ts'
import type { OutcomeWrite } from '../../contract/outcomes.ts'
import type { Prompt, PromptMode } from '../../contract/prompts.ts'
import type { Session } from '../../contract/sessions.ts'
import type { AgentStore } from '../agents/store.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { patched } from '../platform/metadata.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { type CreationDeps, createCreation } from './creation.ts'
import { createEventTransaction } from './event-transaction.ts'
import { sentParts } from './files/sent-file.ts'
import type { Appended } from './log/event-log.ts'
import { checkOutcomes, outcomeMode, withOutcome } from './outcome.ts'
import { modelOfSession } from './prompt-model.ts'
import type { Halt, Halted, PromptWrite } from './queue/prompt-queue.ts'
import type { PromptStore } from './queue/prompt-store.ts'
import { createSentEvents, type SentEventDeps } from './sent-events.ts'
import { createSessionCache, type FixedFacts } from './session-cache.ts'
import { type SessionRow, toSession } from './session-row.ts'
import type { SessionFilter, SessionWithLog } from './session-store.ts'
import type { Approvals } from './waits/approvals.ts'
import { withRoom } from './with-room.ts'

interface Deps extends CreationDeps, SentEventDeps {
  readonly pool: Pool
  readonly prompts: PromptStore
  readonly agents: Pick<AgentStore, 'find' | 'version' | 'versionConfig' | 'within'>
  readonly approvals: Pick<Approvals, 'checkInput' | 'decideWithin' | 'closeWithin'>
  readonly resultSchemas: Pick<ResultSchemas, 'schemaProblem'>
  /** Stops the run of a deleted session in this process and removes the session at its runtime. */
  readonly dispose: (sessionId: string) => Promise<void>
  /** Called with each session whose prompts were ended without its run. */
  readonly onStopped: (sessionId: string) => void
  /** Deletes the session's files when the database has no disk space left. Returns false when that is not the cause. */
  readonly makeRoom: (sessionId: string, cause: unknown) => Promise<boolean>
}

export type { Started } from './creation.ts'
export type { EventReading } from './event-reading.ts'
export type { SentPart } from './files/sent-file.ts'
export type { Halted } from './queue/prompt-queue.ts'
export type { ThreadArchive } from './thread-archive.ts'

/** The rules of sessions: creation, queue, interruption and deletion. */
export type Sessions = ReturnType<typeof createSessions>

export function createSessions(deps: Deps) {
  const { pool, store, prompts, eventLog, queue } = deps
  const sessionCache = createSessionCache(store)
  const eventTransaction = createEventTransaction(pool, eventLog, deps.onStopped)
  const creation = createCreation(deps, { eventTransaction, sessionCache })

  /** Returns a session that the caller may see and that is not deleted. Throws `not_found`. */
  async function open(id: string, caller: Caller): Promise<SessionRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row || row.deleted_at) throw notFound('session', id)
    return row
  }

  /** Returns the agent's default for prompts that arrive while the session is busy. */
  async function busyModeOf({ agent_id, agent_version }: FixedFacts): Promise<PromptMode | undefined> {
    return agent_version === null ? undefined : modeIn(await deps.agents.versionConfig(agent_id, agent_version))
  }

  /** Returns the mode of a prompt. Throws `invalid_request` for one that the runtime does not support. */
  async function modeOf(row: FixedFacts, { mode: asked, outcome }: Pick<SentPrompt, 'mode' | 'outcome'>) {
    const byDefault = await busyModeOf(row)
    const mode = outcome ? outcomeMode(asked, byDefault) : (asked ?? byDefault)
    if (mode === 'steer' && !(await deps.runtimes.find(row.runtime))?.capabilities.steer)
      throw invalid(`mode "steer" is not supported by runtime ${row.runtime}`)
    return mode
  }

  /** Throws `invalid_request` for a schema that cannot be checked, or that the runtime does not support. */
  async function checkSchema({ runtime }: FixedFacts, schema: NonNullable<PromptWrite['outputSchema']>): Promise<void> {
    if (!(await deps.runtimes.find(runtime))?.capabilities.typed_results) {
      throw invalid(`output_schema is not supported by runtime ${runtime}; remove it`)
    }
    const refusal = await deps.resultSchemas.schemaProblem(schema)
    if (refusal !== undefined) throw invalid(`output_schema ${refusal}`)
  }

  /** Returns a session below `id` that is not deleted. Throws `not_found`. */
  async function threadOf(id: string, threadId: string, caller: Caller): Promise<SessionRow> {
    const row = await store.find(threadId, caller.ownerScope)
    if (!row || row.deleted_at || !row.ancestors.includes(id)) throw notFound('thread', threadId)
    return row
  }

  async function deleteWithin(client: PoolClient, id: string, unpublished: Appended[]): Promise<void> {
    const row = await store.lock(client, id)
    if (!row || row.deleted_at) return
    await queue.close(client, id, unpublished)
    await deps.approvals.closeWithin(client, id)
    await store.markDeleted(client, id)
    store.notifyOwner(client, id)
  }

  /** Runs `work` with the session locked, and appends the fields that it returns as `session.updated`. */
  async function revise(id: string, caller: Caller, work: Revision): Promise<void> {
    await open(id, caller)
    await eventTransaction(async (client, unpublished) => {
      await store.lock(client, id)
      const row = await store.find(id, caller.ownerScope, client)
      if (!row || row.deleted_at) throw notFound('session', id)
      const changes = await work(client, toSession(row))
      if (changes)
        unpublished.push(await eventLog.appendByCaller(client, id, [{ type: 'session.updated', ...changes }]))
    })
  }

  return {
    ...creation,
    open,
    revise,
    threadOf,

    /** Returns a session that the caller may see, deleted or not. Throws `not_found`. */
    async find(id: string, caller: Caller): Promise<SessionRow> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw notFound('session', id)
      return row
    },

    /** Like `find`, but only while the session's log is readable. */
    async withLog(id: string, caller: Caller): Promise<SessionWithLog> {
      const found = await store.withLog(id, caller.ownerScope)
      if (!found) throw notFound('session', id)
      return found
    },

    /** Returns those of the given sessions that the caller may see and that are not deleted. */
    among: (ids: readonly string[], caller: Caller): Promise<SessionRow[]> => store.among(ids, caller.ownerScope),

    /**
     * Queues a prompt and resolves after the commit. Returns its id; a repeated message id or key returns the same id.
     */
    async prompt(id: string, { parts, outcome, ...prompt }: SentPrompt, { caller, idempotency }: By): Promise<string> {
      const row = await sessionCache.find(id, caller.ownerScope)
      if (!row) throw new AppError('not_found', 'session not found')
      const mode = await modeOf(row, { mode: prompt.mode, outcome })
      if (prompt.outputSchema) await checkSchema(row, prompt.outputSchema)
      if (outcome) await checkOutcomes(deps, { runtime: row.runtime, field: 'outcome' })
      const said = await creation.prepare(row, sentParts(parts, 'parts'), caller)
      const prepared = outcome ? withOutcome(said, outcome) : said
      const target = { id, caller, prompt: { ...prompt, ...prepared, mode } }
      if (idempotency || mode === 'interrupt' || prompt.outputSchema || outcome || prepared.attach)
        return eventTransaction((client, unpublished) =>
          once(sqlOfClient(client), idempotency, () => queue.enqueue(client, target, unpublished)),
        )
      return queue.accept(target)
    },

    /** Returns the model of a prompt that names none. */
    modelOf: async (id: string, caller: Caller) => modelOfSession(deps, await open(id, caller)),

    /** Handles user events. Returns the stored ones. */
    send: createSentEvents(deps, { eventTransaction, open, threadOf, busyModeOf, prepare: creation.prepare }),

    /** Stops the running prompt, or cancels the paused one. */
    async interrupt(id: string, caller: Caller): Promise<void> {
      await open(id, caller)
      await eventTransaction(async (client, unpublished) => {
        await store.lock(client, id)
        await queue.requestStop(client, id, unpublished)
      })
    },

    /** Cancels a waiting prompt, or stops the turn that runs it. Throws `conflict` when the prompt has ended. */
    async cancel(id: string, promptId: string, caller: Caller): Promise<void> {
      await open(id, caller)
      await eventTransaction(async (client, unpublished) => {
        await store.lock(client, id)
        if (await prompts.isRunning(client, promptId)) await queue.requestStop(client, id, unpublished)
        else await queue.withdraw(client, id, promptId, unpublished)
      })
    },

    /** Stops the run of a session and cancels its waiting prompts. The caller must have checked access. */
    halt: (id: string, halt: Halt): Promise<Halted> =>
      eventTransaction(async (client, unpublished) => {
        const row = await store.lock(client, id)
        return !row || row.deleted_at ? { runs: 0, prompts: 0 } : queue.halt(client, id, halt, unpublished)
      }),

    /** Writes the fields that differ, and logs them as `session.updated`. */
    async update(id: string, { title, metadata }: SessionUpdate, caller: Caller): Promise<SessionRow> {
      await revise(id, caller, async (client, before) => {
        const merged = patched(before.metadata, metadata)
        const changes = {
          ...(title !== undefined && title !== before.title && { title }),
          ...(!isDeepStrictEqual(merged, before.metadata) && { metadata: merged }),
        }
        if (changes.title !== undefined) await store.rename(client, id, changes.title)
        if (changes.metadata) await store.setMetadata(client, id, changes.metadata)
        return Object.keys(changes).length > 0 ? changes : undefined
      })
      return open(id, caller)
    },

    /**
     * Stops the run, cancels waiting prompts, logs the deletion and removes the sandbox, also for the sessions of
     * called agents. On a full disk it deletes files first.
     */
    async remove(id: string, caller: Caller): Promise<void> {
      if (!(await store.find(id, caller.ownerScope))) throw notFound('session', id)
      const recordDeletion = () =>
        eventTransaction(async (client, unpublished) => {
          await deleteWithin(client, id, unpublished)
          const called = await store.descendants(client, id)
          for (const child of called) await deleteWithin(client, child, unpublished)
          return called
        })
      const called = await withRoom(cause => deps.makeRoom(id, cause), recordDeletion)
      await Promise.all([id, ...called].map(deps.dispose))
    },

    async withdraw(id: string, promptId: string, caller: Caller): Promise<void> {
      await open(id, caller)
      await eventTransaction(async (client, unpublished) => {
        await store.lock(client, id)
        await queue.withdraw(client, id, promptId, unpublished)
      })
    },

    async queue(id: string, caller: Caller, page: { after: string | undefined; limit: number }): Promise<Prompt[]> {
      await open(id, caller)
      if (page.after !== undefined && !/^-?\d{1,15} \w+$/.test(page.after)) throw invalidCursor()
      return prompts.list(id, page)
    },

    /** Returns the newest session of each of these agents, which the caller must be allowed to see. */
    lastOf: async (agentIds: readonly string[]): Promise<Session[]> => (await store.lastOf(agentIds)).map(toSession),

    list: (
      filter: ListFilter,
      caller: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<SessionRow[]> =>
      store.list({ ...filter, owner: caller.ownerScope, cursor: page.after, limit: page.limit }),
  }
}

/** A prompt as a client sends it. */
export type SentPrompt = Omit<PromptWrite, 'parts' | 'attach' | 'outcome'> & {
  readonly parts: readonly UserContent[]
  readonly outcome?: OutcomeWrite | undefined
}

interface SessionUpdate {
  readonly title?: string | undefined
  /** A value replaces, null removes, an absent key stays. */
  readonly metadata?: Readonly<Record<string, string | null>> | null | undefined
}

type Revision = (client: PoolClient, session: Session) => Promise<object | undefined>

const modes: readonly PromptMode[] = ['enqueue', 'reject', 'interrupt', 'steer']

// Agents are validated when they are written, but those of older releases may hold any value.
const modeIn = (config: Agent['config'] | undefined) => modes.find(mode => mode === config?.['busy_mode'])

interface By {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
}

type ListFilter = Omit<SessionFilter, 'owner' | 'cursor' | 'limit'>
