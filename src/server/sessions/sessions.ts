import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import type { SentEvent, SessionEvent } from '../../contract/events.ts'
import type { Prompt, PromptMode } from '../../contract/prompts.ts'
import type { Session, SessionStatus } from '../../contract/sessions.ts'
import type { AgentStore } from '../agents/store.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, invalidCursor, notFound } from '../platform/errors.ts'
import { type MetadataMap, patched } from '../platform/metadata.ts'
import type { ResultSchemas } from '../platform/result-schema/result-schemas.ts'
import { type CreationDeps, createCreation } from './creation.ts'
import { createKnownSessions, type FixedFacts } from './known-sessions.ts'
import { modelOfSession } from './prompt-model.ts'
import type { Halt, Halted, PromptWrite } from './queue/prompt-queue.ts'
import type { PromptStore } from './queue/prompt-store.ts'
import { type SessionRow, toSession } from './session-row.ts'
import type { SessionWithLog } from './session-store.ts'
import { createChanging } from './told-changes.ts'
import type { Approvals } from './waits/approvals.ts'
import { withRoom } from './with-room.ts'

interface Deps extends CreationDeps {
  readonly pool: Pool
  readonly prompts: PromptStore
  readonly agents: Pick<AgentStore, 'find' | 'version' | 'versionConfig' | 'within'>
  readonly approvals: Pick<Approvals, 'decideWithin' | 'closeWithin'>
  readonly resultSchemas: Pick<ResultSchemas, 'refusal'>
  /** Stops what runs for a deleted session in this process, and removes what its runtime keeps of it. */
  readonly dispose: (sessionId: string) => Promise<void>
  /** Deletes the files of a session when the database cannot write for want of room. False when that is not why. */
  readonly makeRoom: (sessionId: string, cause: unknown) => Promise<boolean>
}

export type { Started } from './creation.ts'
export type { Halted } from './queue/prompt-queue.ts'

/** The rules of sessions: creation, the queue, interruption and deletion. */
export type Sessions = ReturnType<typeof createSessions>

export function createSessions(deps: Deps) {
  const { pool, store, prompts, eventLog, queue } = deps
  const known = createKnownSessions(store)
  const changing = createChanging(pool, eventLog)
  const creation = createCreation(deps, { changing, known })

  /** The session that the caller may see and that was not deleted. */
  async function open(id: string, caller: Caller): Promise<SessionRow> {
    const row = await store.find(id, caller.ownerScope)
    if (!row || row.deleted_at) throw notFound('session', id)
    return row
  }

  /** What a prompt does in a busy session unless it says so itself: as the agent has it. */
  async function busyModeOf({ agent_id, agent_version }: FixedFacts): Promise<PromptMode | undefined> {
    return agent_version === null ? undefined : modeIn(await deps.agents.versionConfig(agent_id, agent_version))
  }

  /** Refuses a schema that no answer can be checked with, or that the runtime cannot ask for. */
  async function checkSchema({ runtime }: FixedFacts, schema: NonNullable<PromptWrite['outputSchema']>): Promise<void> {
    if (!(await deps.runtimes.find(runtime))?.capabilities.typed_results) {
      throw invalid(`output_schema is not possible: the runtime ${runtime} cannot give typed results; leave it out`)
    }
    const refusal = await deps.resultSchemas.refusal(schema)
    if (refusal !== undefined) throw invalid(`output_schema ${refusal}`)
  }

  /** `work` writes what the engine does not look at; the fields that it answers are told as `session.updated`. */
  async function revise(id: string, caller: Caller, work: Revision): Promise<void> {
    await open(id, caller)
    await changing(async (client, told) => {
      await store.lock(client, id)
      const row = await store.find(id, caller.ownerScope, client)
      if (!row || row.deleted_at) throw notFound('session', id)
      const changes = await work(client, toSession(row))
      if (changes) told.push(await eventLog.appendByCaller(client, id, [{ type: 'session.updated', ...changes }]))
    })
  }

  return {
    ...creation,
    open,
    revise,

    /** The session that the caller may see, also after its deletion. */
    async find(id: string, caller: Caller): Promise<SessionRow> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw notFound('session', id)
      return row
    },

    /** The same, as long as its log can be read. */
    async withLog(id: string, caller: Caller): Promise<SessionWithLog> {
      const found = await store.withLog(id, caller.ownerScope)
      if (!found) throw notFound('session', id)
      return found
    },

    /** Those of the given sessions that the caller may see and that were not deleted. */
    among: (ids: readonly string[], caller: Caller): Promise<SessionRow[]> => store.among(ids, caller.ownerScope),

    /** Queues a prompt; resolves after the commit. The prompt's id, the same for a repeated message id or key. */
    async prompt(id: string, prompt: PromptWrite, { caller, idempotency }: By): Promise<string> {
      const row = await known.find(id, caller.ownerScope)
      if (!row) throw new AppError('not_found', 'session not found')
      const mode = prompt.mode ?? (await busyModeOf(row))
      if (prompt.outputSchema) await checkSchema(row, prompt.outputSchema)
      if (mode === 'steer' && !(await deps.runtimes.find(row.runtime))?.capabilities.steer) {
        throw invalid(`mode "steer" is not possible: the runtime ${row.runtime} cannot steer`)
      }
      const target = { id, caller, prompt: { ...prompt, mode } }
      if (idempotency || mode === 'interrupt' || prompt.outputSchema)
        return changing((client, told) =>
          once(sqlOfClient(client), idempotency, () => queue.enqueue(client, target, told)),
        )
      return queue.accept(target)
    },

    /** The model of a prompt that names none. */
    modelOf: async (id: string, caller: Caller) => modelOfSession(deps, await open(id, caller)),

    /** Sends user events: messages are queued with the model of the session's agent. The stored events. */
    async send(id: string, sent: readonly SentEvent[], caller: Caller): Promise<SessionEvent[]> {
      const row = await open(id, caller)
      const model = await modelOfSession(deps, row)
      const mode = await busyModeOf(row)
      return changing(async (client, told) => {
        await store.lock(client, id)
        for (const event of sent) {
          if (event.type === 'user.interrupt') await queue.requestStop(client, id, told)
          else if (event.type === 'user.tool_confirmation') {
            const { tool_use_id, result, deny_message } = event
            const verdict = { id: tool_use_id, result, message: deny_message ?? undefined }
            await deps.approvals.decideWithin(client, id, { verdict, caller, told })
          } else await queue.enqueue(client, { id, caller, prompt: { parts: event.content, model, mode } }, told)
        }
        // What a sent event led to is in the log, not in the answer.
        return told.flatMap(({ events }) => events.filter(({ type }) => type.startsWith('user.')))
      })
    },

    /** Stops the running prompt, or cancels the paused one, if there is one. */
    async interrupt(id: string, caller: Caller): Promise<void> {
      await open(id, caller)
      await changing(async (client, told) => {
        await store.lock(client, id)
        await queue.requestStop(client, id, told)
      })
    },

    /** Stops a session for an operator: its run, and what waits behind it. What the caller may see was checked before. */
    halt: (id: string, halt: Halt): Promise<Halted> =>
      changing(async (client, told) => {
        const row = await store.lock(client, id)
        return !row || row.deleted_at ? { runs: 0, prompts: 0 } : queue.halt(client, id, halt, told)
      }),

    /** Writes what differs, and says so in the log. */
    async update(id: string, { title, metadata }: SessionUpdate, caller: Caller): Promise<SessionRow> {
      await revise(id, caller, async (client, before) => {
        const noted = patched(before.metadata, metadata)
        const changes = {
          ...(title !== undefined && title !== before.title && { title }),
          ...(!isDeepStrictEqual(noted, before.metadata) && { metadata: noted }),
        }
        if (changes.title !== undefined) await store.rename(client, id, changes.title)
        if (changes.metadata) await store.setMetadata(client, id, changes.metadata)
        return Object.keys(changes).length > 0 ? changes : undefined
      })
      return open(id, caller)
    },

    /** Stops all work, cancels what waits, appends the last event, removes the sandbox. Without room the files go first. */
    async remove(id: string, caller: Caller): Promise<void> {
      if (!(await store.find(id, caller.ownerScope))) throw notFound('session', id)
      const recordDeletion = () =>
        changing(async (client, told) => {
          const row = await store.lock(client, id)
          if (!row || row.deleted_at) return
          await queue.close(client, id, told)
          await deps.approvals.closeWithin(client, id)
          await store.markDeleted(client, id)
          store.notifyOwner(client, id)
        })
      await withRoom(cause => deps.makeRoom(id, cause), recordDeletion)
      await deps.dispose(id)
    },

    async withdraw(id: string, promptId: string, caller: Caller): Promise<void> {
      await open(id, caller)
      await changing(async (client, told) => {
        await store.lock(client, id)
        await queue.withdraw(client, id, promptId, told)
      })
    },

    async queue(id: string, caller: Caller, page: { after: string | undefined; limit: number }): Promise<Prompt[]> {
      await open(id, caller)
      if (page.after !== undefined && !/^-?\d{1,15} \w+$/.test(page.after)) throw invalidCursor()
      return prompts.list(id, page)
    },

    list: (
      filter: ListFilter,
      caller: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<SessionRow[]> =>
      store.list({ ...filter, owner: caller.ownerScope, cursor: page.after, limit: page.limit }),
  }
}

interface SessionUpdate {
  readonly title?: string | undefined
  /** A value replaces, null removes, what is absent stays. */
  readonly metadata?: Readonly<Record<string, string | null>> | null | undefined
}

type Revision = (client: PoolClient, session: Session) => Promise<object | undefined>

const modes: readonly PromptMode[] = ['enqueue', 'reject', 'interrupt', 'steer']

/** Agents are checked when they are written; those of older releases may have anything there. */
const modeIn = (config: Agent['config'] | undefined) => modes.find(mode => mode === config?.['busy_mode'])

interface By {
  readonly caller: Caller
  readonly idempotency: Idempotency | undefined
}

interface ListFilter {
  readonly agentId: string | undefined
  readonly status: SessionStatus | undefined
  readonly text?: string | undefined
  readonly metadata?: MetadataMap | undefined
  readonly withDeleted: boolean
}
