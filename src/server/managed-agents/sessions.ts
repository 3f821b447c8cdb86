import type { Pool, PoolClient } from 'pg'
import type {
  DialectSession,
  ManagedSessionCreate,
  ManagedSessionUpdate,
  ManagedStatus,
} from '../../contract/managed-sessions.ts'
import type { Session } from '../../contract/sessions.ts'
import type { AgentStore, StoredAgent } from '../agents/store.ts'
import type { BudgetStore } from '../budgets/store.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { AppError, invalid, notFound } from '../platform/errors.ts'
import type { MetadataMap } from '../platform/metadata.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { toSnapshot } from './agent-object.ts'
import type { SkillBlocks } from './agent-setup.ts'
import type { ManagedAgents } from './agents.ts'
import { runtimeKey } from './agents.ts'
import type { Environments } from './environments.ts'
import { usdOf } from './money.ts'
import { changesOfSession, type SessionChanges } from './session-changes.ts'
import type { SessionDetailsStore, SessionQuery } from './session-details-store.ts'
import { toDialectSession } from './session-object.ts'
import { overridesOf, repositoryOf, type WantedAgent, wantedAgent } from './session-write.ts'

type SessionRow = Awaited<ReturnType<Sessions['open']>>

interface Deps {
  readonly pool: Pool
  readonly store: SessionDetailsStore
  readonly sessions: Pick<Sessions, 'open' | 'among' | 'createWithin' | 'revise' | 'remove'>
  /** Gives the session another title, in the transaction of the client. */
  readonly rename: (on: PoolClient, sessionId: string, title: string) => Promise<void>
  /** Replaces its metadata, in the transaction of the client. */
  readonly setMetadata: (on: PoolClient, sessionId: string, metadata: MetadataMap) => Promise<void>
  readonly toSession: (row: SessionRow) => Session
  readonly withOverrides: (agent: StoredAgent, environment: SessionRow['environment']) => StoredAgent
  readonly agents: Pick<AgentStore, 'find' | 'version'>
  readonly managedAgents: Pick<ManagedAgents, 'foundFor' | 'checkSetup'>
  readonly environments: Pick<Environments, 'forSession'>
  readonly budgets: Pick<BudgetStore, 'find' | 'setLimits'>
  readonly blocks: SkillBlocks
}

/** Our sessions in the words of the Managed Agents dialect. What may be done with one is for `Sessions` to say. */
export type DialectSessions = ReturnType<typeof createDialectSessions>

export function createDialectSessions(deps: Deps) {
  const { pool, store, sessions, blocks } = deps

  /** As the dialect shows them, in the order of the rows; those that were deleted meanwhile are left out. */
  async function present(rows: readonly SessionRow[]): Promise<DialectSession[]> {
    const details = await store.of(rows.map(({ id }) => id))
    const agentOf = versionReader(deps.agents)
    const shown = rows.map(async row => {
      const facts = details.get(row.id)
      const found = await agentOf(row)
      // A model that the session names is the one that its prompts run with.
      const agent = found && toSnapshot(asRun(deps.withOverrides(found, row.environment), row), blocks)
      return facts ? [toDialectSession({ session: deps.toSession(row), details: facts, agent })] : []
    })
    return (await Promise.all(shown)).flat()
  }

  async function get(id: string, caller: Caller): Promise<DialectSession> {
    const [shown] = await present([await sessions.open(id, caller)])
    if (!shown) throw notFound('session', id)
    return shown
  }

  /** Rows by id, in the order of the ids. */
  async function rowsOf(ids: readonly string[], caller: Caller): Promise<SessionRow[]> {
    const rows = new Map((await sessions.among(ids, caller)).map(row => [row.id, row]))
    return ids.flatMap(id => rows.get(id) ?? [])
  }

  /** Only ever a tighter limit: to loosen one is for admins, where the audit log has it. */
  async function setBudget(client: PoolClient, id: string, budget: ManagedSessionUpdate['budget']): Promise<void> {
    const name = { scope: 'session', scope_id: id } as const
    const { max_usd: before = null, ...others } = (await deps.budgets.find(name, client)) ?? noLimits
    const usd = budget ? usdOf(budget.max_list_cost.amount) : null
    if (usd === before) return
    if (before !== null && (usd === null || Number(usd) > Number(before))) {
      throw new AppError(
        'forbidden',
        `budget can only be lowered here; admins raise it: PUT /api/budgets/session/${id}`,
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

  /** What the environment of the session says of an agent that runs otherwise. */
  async function changesOf({ id, version, setup }: WantedAgent, runtime: string | undefined, caller: Caller) {
    if (!setup) return {}
    const current = await deps.agents.find(id, caller.ownerScope)
    if (!current) throw notFound('agent', id)
    const wanted = version ?? current.config['pinned_version']
    const chosen = typeof wanted === 'number' ? (await deps.agents.version(id, wanted))?.agent : current
    if (!chosen) throw notFound('version', String(wanted))
    await deps.managedAgents.checkSetup(setup, runtime ?? chosen.config['runtime'])
    return overridesOf(chosen, setup, { blocks, found: await deps.managedAgents.foundFor(setup, caller) })
  }

  return {
    get,

    /** Made with its environment, its limit and its first messages, or not at all. */
    async create(body: ManagedSessionCreate, caller: Caller, idempotency: Idempotency | undefined) {
      const { initial_events: events = [], metadata = {}, vault_ids = [], title = null } = body
      if (vault_ids.length > 0)
        throw invalid('vault_ids must be empty: there are no vaults yet; secrets are under /api/vault')
      const wanted = wantedAgent(body.agent)
      const { id: environment_id, config } = await deps.environments.forSession(body.environment_id, caller)
      const runtime = metadata[runtimeKey]
      const changes = await changesOf(wanted, runtime, caller)
      const environment = { ...repositoryOf(body.resources), environment_id, config, ...changes }
      const first = events[0]?.content[0]?.text
      const plan = {
        agent_id: wanted.id,
        environment,
        metadata,
        ...(wanted.version !== undefined && { agent_version: wanted.version }),
        ...(title !== null && { title }),
        ...(first !== undefined && { prompt: first }),
        ...(runtime !== undefined && { runtime }),
      }
      let tell = () => {}
      let ignored: readonly string[] = []
      const { id } = await transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const messages = events.map(({ content }) => content)
          const made = await sessions.createWithin(client, { body: plan, caller, messages })
          await store.insert(client, made.id, { environment_id, is_untitled: !title?.trim() })
          if (body.budget) await setBudget(client, made.id, body.budget)
          tell = made.tell
          ignored = made.ignored
          return { id: made.id }
        }),
      )
      tell()
      // A repository is a resource in the words of the dialect.
      const named = ignored.map(field => field.replace(/^environment\.(repository|ref)$/, 'resources[0]'))
      return { session: await get(id, caller), ignored: [...new Set(named)] }
    },

    /** Only what differs is written, and told to readers. */
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

    /** Refused while it has work; repeating it changes nothing. */
    async archive(id: string, caller: Caller): Promise<DialectSession> {
      await sessions.revise(id, caller, async (client, { status }) => {
        if (status === 'running' || status === 'pending') {
          throw new AppError('conflict', `session ${id} is running; interrupt it before it is archived`)
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
     * Up to `limit` sessions of these statuses; undefined: of all. The status is a matter of rules and not of one table, so
     * pages are read until enough of them fit.
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

/** The title of a session that nobody named. */
const untitled = 'New session'

const noLimits = {
  max_usd: null,
  soft_usd: null,
  duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel: null,
} as const

const asRun = (agent: StoredAgent, { environment: { model } }: SessionRow): StoredAgent =>
  typeof model === 'string' && model !== '' ? { ...agent, model } : agent

/** Reads each version once, however many sessions run it. */
function versionReader({ version }: Pick<AgentStore, 'version'>) {
  const read = new Map<string, ReturnType<typeof version>>()
  return async ({ agent_id: id, agent_version: number }: SessionRow): Promise<StoredAgent | undefined> => {
    if (number === null) return undefined
    const key = `${id} ${number}`
    const found = read.get(key) ?? version(id, number)
    read.set(key, found)
    return (await found)?.agent
  }
}
