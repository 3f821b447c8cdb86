import type { Pool, PoolClient } from 'pg'
import type {
  DialectSession,
  ManagedFile,
  ManagedResource,
  ManagedSessionCreate,
  ManagedSessionUpdate,
  ManagedStatus,
} from '../../contract/managed-sessions.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import type { SessionStores } from '../memory-stores/session-stores.ts'
import { AppError, notFound } from '../platform/errors.ts'
import type { MetadataMap } from '../platform/metadata.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { usdOf } from './money.ts'
import type { FileResources, PlannedFile } from './resources/file-resources.ts'
import { changesOfSession, type SessionChanges } from './session-changes.ts'
import type { SessionDetailsStore, SessionQuery } from './session-details-store.ts'
import { toDialectSession } from './session-object.ts'
import { createSessionPlan, type SessionPlanDeps } from './session-plan.ts'
import type { SessionReading, SessionRow } from './session-reading.ts'
import { filesIn, onlyBuiltin, ownRuntime, repositoryField, storesIn } from './session-write.ts'
import type { ManagedVaults } from './vaults/managed-vaults.ts'

interface Deps extends SessionPlanDeps {
  readonly pool: Pool
  readonly store: SessionDetailsStore
  readonly sessions: Pick<
    Sessions,
    'open' | 'among' | 'check' | 'prepareFirst' | 'createWithin' | 'queueMessages' | 'revise' | 'remove'
  >
  /** Changes the title of the session, in the transaction of the client. */
  readonly rename: (on: PoolClient, sessionId: string, title: string) => Promise<void>
  /** Replaces its metadata, in the transaction of the client. */
  readonly setMetadata: (on: PoolClient, sessionId: string, metadata: MetadataMap) => Promise<void>
  readonly read: SessionReading
  readonly vaults: Pick<ManagedVaults, 'checkForSession'>
  readonly memoryStores: Pick<SessionStores, 'prepare' | 'attach'>
  readonly fileResources: FileResources
  readonly budgets: Pick<BudgetStore, 'find' | 'setLimits'>
}

/** Our sessions as objects of the Managed Agents dialect. `Sessions` has the rules. */
export type DialectSessions = ReturnType<typeof createDialectSessions>

export function createDialectSessions(deps: Deps) {
  const { pool, store, sessions, read } = deps
  const planOf = createSessionPlan(deps)

  const present = async (rows: readonly SessionRow[]): Promise<DialectSession[]> =>
    (await read(rows)).map(toDialectSession)

  async function get(id: string, caller: Caller): Promise<DialectSession> {
    const [shown] = await present([await sessions.open(id, caller)])
    if (!shown) throw notFound('session', id)
    return shown
  }

  /** Returns rows in the order of the ids. */
  async function rowsOf(ids: readonly string[], caller: Caller): Promise<SessionRow[]> {
    const rows = new Map((await sessions.among(ids, caller)).map(row => [row.id, row]))
    return ids.flatMap(id => rows.get(id) ?? [])
  }

  /** Sets the budget. It can only be lowered here: only admins may raise it, which is recorded in the audit log. */
  async function setBudget(client: PoolClient, id: string, budget: ManagedSessionUpdate['budget']): Promise<void> {
    const name = { scope: 'session', scope_id: id } as const
    const { max_usd: before = null, ...others } = (await deps.budgets.find(name, client)) ?? noLimits
    const usd = budget ? usdOf(budget.max_list_cost.amount) : null
    if (usd === before) return
    if (before !== null && (usd === null || Number(usd) > Number(before))) {
      throw new AppError(
        'forbidden',
        `budget can only be lowered here; an admin can raise it with PUT /api/budgets/session/${id}`,
      )
    }
    await deps.budgets.setLimits(client, name, { ...others, max_usd: usd })
  }

  async function write(client: PoolClient, id: string, { title, metadata, budget }: SessionChanges): Promise<void> {
    await store.change(client, id, title === undefined ? undefined : title === null)
    if (metadata) await deps.setMetadata(client, id, metadata)
    if (title !== undefined) await deps.rename(client, id, title ?? untitled)
    if (budget !== undefined) await setBudget(client, id, budget)
  }

  /** Checks the vaults of a new session, and returns its memory stores and files. */
  async function suppliesOf({ vault_ids = [], resources }: ManagedSessionCreate, caller: Caller) {
    await deps.vaults.checkForSession(vault_ids, caller)
    return {
      stores: await deps.memoryStores.prepare(storesIn(resources), caller),
      files: await deps.fileResources.plan(filesIn(resources), caller),
    }
  }

  /** Checks a new session, and returns what it is created from. */
  async function prepared(body: ManagedSessionCreate, caller: Caller) {
    const supplies = await suppliesOf(body, caller)
    const { plan, environment_id, sent, ignoredFiles } = await planOf(body, caller)
    const [file] = filesIn(body.resources)
    if (file) await deps.fileResources.checkRuntime(await sessions.check(plan, caller), `${file.field}.type`)
    return {
      ...supplies,
      plan,
      environment_id,
      ignoredFiles,
      messages: await sessions.prepareFirst(plan, sent, caller),
    }
  }

  /** Copies the files of a new session and queues its messages. Without its files there is no session. */
  async function addFiles(id: string, { files, messages, caller, model }: FirstWork): Promise<void> {
    try {
      for (const file of files) await deps.fileResources.add(id, file, caller)
      await sessions.queueMessages(id, messages, { caller, model })
    } catch (error) {
      await sessions.remove(id, caller)
      throw error
    }
  }

  return {
    get,

    /** Throws for a session that could not be created. */
    async check(body: ManagedSessionCreate, caller: Caller): Promise<void> {
      await sessions.check((await prepared(body, caller)).plan, caller)
    },

    /** Copies an uploaded file into the workspace of a session. */
    async addFile(id: string, resource: ManagedFile, caller: Caller): Promise<ManagedResource> {
      const { runtime } = await sessions.open(id, caller)
      await deps.fileResources.checkRuntime(runtime, 'type')
      const [file] = await deps.fileResources.plan([{ resource, field: 'resource' }], caller)
      const added = file && (await deps.fileResources.add(id, file, caller))
      const found = (await get(id, caller)).resources.find(each => each.id === added)
      if (!found) throw notFound('resource', added ?? '')
      return found
    },

    async removeFile(id: string, resourceId: string, caller: Caller): Promise<void> {
      await sessions.open(id, caller)
      await deps.fileResources.remove(id, resourceId, caller)
    },

    /**
     * Creates a session with its environment, budget and first messages in one transaction; with files, the messages
     * follow once these are copied.
     */
    async create(body: ManagedSessionCreate, caller: Caller, { idempotency, deploymentId }: Creation) {
      const { vault_ids = [], title } = body
      const { plan, environment_id, stores, files, messages, ignoredFiles } = await prepared(body, caller)
      const source = deploymentId !== undefined && { source: 'deployment', deployment_id: deploymentId }
      const environment = { ...plan.environment, ...source }
      // A run works on the files of its start.
      const [first, later] = files.length > 0 ? [[], messages] : [messages, []]
      let publish = () => {}
      let fill: ((id: string) => Promise<void>) | undefined
      let ignored: readonly string[] = []
      const { id } = await transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const made = await sessions.createWithin(client, { body: { ...plan, environment }, caller, messages: first })
          await store.insert(client, made.id, {
            environment_id,
            is_untitled: !title?.trim(),
            vault_ids,
            deployment_id: deploymentId ?? null,
          })
          await deps.memoryStores.attach(client, made.id, stores)
          if (body.budget) await setBudget(client, made.id, body.budget)
          publish = made.publish
          fill = sessionId => addFiles(sessionId, { files, messages: later, caller, model: made.model })
          ignored = [...made.ignored, ...(made.runtime === ownRuntime ? [] : onlyBuiltin(body))]
          return { id: made.id }
        }),
      )
      publish()
      // A repeated key finds the session with its files.
      if (files.length > 0) await fill?.(id)
      // The dialect calls a repository a resource.
      const named = ignored.map(field => field.replace(/^environment\.(repository|ref)$/, repositoryField(body)))
      return { session: await get(id, caller), ignored: [...new Set([...named, ...ignoredFiles])] }
    },

    /** Writes and logs only the fields that differ. */
    async update(id: string, body: ManagedSessionUpdate, caller: Caller): Promise<DialectSession> {
      await sessions.revise(id, caller, async (client, session) => {
        const details = (await store.of([id], client)).get(id)
        if (!details) throw notFound('session', id)
        const { metadata } = session
        const changes = changesOfSession({ title: details.is_untitled ? null : session.title, metadata, body })
        if (changes) await write(client, id, changes)
        return changes
      })
      return get(id, caller)
    },

    /** Archives a session. Throws `conflict` while it has work. Idempotent. */
    async archive(id: string, caller: Caller): Promise<DialectSession> {
      await sessions.revise(id, caller, async (client, { status }) => {
        if (status === 'running' || status === 'pending') {
          throw new AppError('conflict', `session ${id} is running; interrupt it before archiving`)
        }
        await store.archive(client, id)
        return undefined
      })
      return get(id, caller)
    },

    async remove(id: string, caller: Caller): Promise<void> {
      await sessions.open(id, caller)
      await sessions.remove(id, caller)
    },

    /**
     * Returns up to `limit` sessions with the given statuses; undefined selects all. The status is computed, not
     * stored, so pages are read until enough sessions match.
     */
    async list(
      query: Omit<SessionQuery, 'owner' | 'onlyBusy'>,
      statuses: readonly ManagedStatus[] | undefined,
      caller: Caller,
    ) {
      if (statuses?.length === 0) return []
      const onlyBusy = statuses?.every(status => status === 'running') ?? false
      const found: DialectSession[] = []
      for (let { after } = query; ; ) {
        const ids = await store.ids({ ...query, after, onlyBusy, owner: caller.ownerScope })
        const shown = await present(await rowsOf(ids, caller))
        found.push(...shown.filter(({ status }) => statuses?.includes(status) ?? true))
        if (found.length >= query.limit || ids.length < query.limit) return found.slice(0, query.limit)
        after = ids.at(-1)
      }
    },
  }
}

interface Creation {
  readonly idempotency: Idempotency | undefined
  /** Deployment that creates the session. */
  readonly deploymentId?: string
}

interface FirstWork {
  readonly files: readonly PlannedFile[]
  readonly messages: Parameters<Sessions['queueMessages']>[1]
  readonly caller: Caller
  readonly model: string
}

/** The title of a session without a title. */
const untitled = 'New session'

const noLimits = {
  max_usd: null,
  soft_usd: null,
  duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel: null,
} as const
