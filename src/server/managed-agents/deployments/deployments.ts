import type { Pool, PoolClient } from 'pg'
import type {
  AgentOfDeployment,
  DeploymentCreate,
  DeploymentRun,
  DeploymentUpdate,
  ManagedDeployment,
} from '../../../contract/managed-deployments.ts'
import type { AgentStore } from '../../agents/store.ts'
import type { Audit } from '../../audit/audit.ts'
import { transaction } from '../../db/connect.ts'
import { once, sqlOfClient } from '../../db/once.ts'
import type { By, Caller } from '../../http/caller.ts'
import type { Idempotency } from '../../http/idempotency.ts'
import { runAsOf } from '../../http/reach.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { patched } from '../../platform/metadata.ts'
import type { DialectSessions } from '../sessions.ts'
import { toDeployment, toDeploymentRun } from './deployment-object.ts'
import type { DeploymentRow, DeploymentStore, DeploymentValues, SessionStart } from './deployment-store.ts'
import { type StartRun, sessionOf } from './run-start.ts'
import type { DeploymentRunStore } from './run-store.ts'
import type { DeploymentTiming } from './timing.ts'

interface Deps {
  readonly pool: Pool
  readonly store: DeploymentStore
  readonly runs: DeploymentRunStore
  readonly agents: Pick<AgentStore, 'find' | 'version'>
  readonly sessions: Pick<DialectSessions, 'check'>
  readonly start: StartRun
  readonly timing: DeploymentTiming
  readonly audit: Audit
}

type Change = (before: DeploymentRow, now: Date) => DeploymentValues

/** Deployments: agents with all that their sessions start with, and a schedule. Each belongs to the owner of its agent. */
export type Deployments = ReturnType<typeof createDeployments>

export function createDeployments(deps: Deps) {
  const { pool, store, runs, agents, audit } = deps
  const shown = (row: DeploymentRow): ManagedDeployment => toDeployment(row, deps.timing.upcoming)

  async function found(id: string, { ownerScope }: Caller): Promise<DeploymentRow> {
    const row = await store.find(id, ownerScope)
    if (!row) throw notFound('deployment', id)
    return row
  }

  /** Returns the version of the agent that the sessions run, and its owner, whose objects they may use. */
  async function agentOf(choice: AgentOfDeployment, { ownerScope }: Caller) {
    const { id, version } = typeof choice === 'string' ? { id: choice, version: undefined } : choice
    const agent = await agents.find(id, ownerScope)
    if (!agent) throw notFound('agent', id)
    if (agent.status === 'archived') throw invalid(`agent ${id} is archived`)
    if (version !== undefined && !(await agents.version(id, version))) throw notFound('version', String(version))
    return { agent_id: id, agent_version: version ?? agent.version, owner_id: agent.owner_id ?? '' }
  }

  /** Throws for a deployment whose sessions could not be created from objects of its owner. */
  async function check(values: Omit<DeploymentValues, 'id'>, caller: Caller): Promise<void> {
    const { owner_id: owner } = values
    try {
      await deps.sessions.check(sessionOf(values), { ...caller, ownerScope: owner })
    } catch (cause) {
      if (caller.ownerScope !== undefined || !(cause instanceof AppError) || cause.code !== 'not_found') throw cause
      throw new AppError('not_found', `${cause.message} among the objects of ${owner}, the owner of the agent`, {
        cause,
      })
    }
  }

  const dueAfter = (row: DeploymentValues, time: Date): Date | null =>
    row.paused_at || row.archived_at ? null : deps.timing.next(row, time)

  function record(client: PoolClient, action: string, { by, row }: { readonly by: By; readonly row: DeploymentRow }) {
    const { id: objectId, owner_id: ownerId, name, agent_id, agent_version, cron, timezone } = row
    const after = { name, agent_id, agent_version, cron, timezone, environment_id: row.start.environment_id }
    const { actor } = by
    return audit.record(sqlOfClient(client), {
      actor,
      action: `managed_deployment.${action}`,
      objectId,
      ownerId,
      after,
    })
  }

  /** Stores the result of `change` for the locked deployment. */
  async function changed(id: string, action: string, by: By, change: Change): Promise<ManagedDeployment> {
    return transaction(pool, async client => {
      const before = await store.lock(client, id, by.caller.ownerScope)
      if (!before) throw notFound('deployment', id)
      const row = await store.update(client, change(before, await store.now(client)))
      await record(client, action, { by, row })
      return shown(row)
    })
  }

  /** Returns the fields of an update. Throws for a deployment whose sessions could not be created. */
  async function checked(
    before: DeploymentRow,
    body: DeploymentUpdate,
    caller: Caller,
  ): Promise<Partial<DeploymentRow>> {
    const { agent, schedule, name, description, metadata } = body
    const start = startAfter(before.start, body)
    const fields = {
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description: description || null }),
      ...(metadata && { metadata: patched(before.metadata, metadata) }),
      ...(schedule !== undefined && deps.timing.stored(schedule)),
      ...(agent !== undefined && (await agentOf(agent, caller))),
      ...(start && { start }),
    }
    if (agent === undefined && schedule === undefined && !start) return fields
    await check({ ...before, ...fields }, caller)
    return { ...fields, ...payerOf(caller) }
  }

  return {
    get: async (id: string, caller: Caller): Promise<ManagedDeployment> => shown(await found(id, caller)),

    async list(query: Omit<Parameters<DeploymentStore['list']>[0], 'owner'>, caller: Caller) {
      return (await store.list({ ...query, owner: caller.ownerScope })).map(shown)
    },

    async create(body: DeploymentCreate, by: By, idempotency: Idempotency | undefined): Promise<ManagedDeployment> {
      const { caller } = by
      const { name, description, metadata = {}, environment_id, initial_events, resources, vault_ids, budget } = body
      const start = { environment_id, initial_events, resources, vault_ids, budget } as SessionStart
      const values: DeploymentValues = {
        ...{ id: newId('depl'), ...payerOf(caller) },
        ...{ name, description: description || null, metadata, start },
        ...(await agentOf(body.agent, caller)),
        ...deps.timing.stored(body.schedule),
        ...{ next_due_at: null, paused_at: null, archived_at: null },
      }
      await check(values, caller)
      return transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const next_due_at = dueAfter(values, await store.now(client))
          const row = await store.insert(client, { ...values, next_due_at })
          await record(client, 'create', { by, row })
          return shown(row)
        }),
      )
    },

    async update(id: string, body: DeploymentUpdate, by: By): Promise<ManagedDeployment> {
      const current = await found(id, by.caller)
      const fields = await checked(current, body, by.caller)
      return changed(id, 'update', by, (before, now) => {
        rejectArchived(before)
        if (before.updated_at.getTime() !== current.updated_at.getTime())
          throw new AppError('conflict', `deployment ${id} was changed by another request; send the update again`)
        const after = { ...before, ...fields }
        return body.schedule === undefined ? after : { ...after, next_due_at: dueAfter(after, now) }
      })
    },

    archive: (id: string, by: By): Promise<ManagedDeployment> =>
      changed(id, 'archive', by, (before, now) => ({
        ...before,
        archived_at: before.archived_at ?? now,
        next_due_at: null,
      })),

    pause: (id: string, by: By): Promise<ManagedDeployment> =>
      changed(id, 'pause', by, (before, now) => {
        rejectArchived(before)
        return { ...before, paused_at: before.paused_at ?? now, next_due_at: null }
      }),

    unpause: (id: string, by: By): Promise<ManagedDeployment> =>
      changed(id, 'unpause', by, (before, now) => {
        rejectArchived(before)
        if (!before.paused_at) return before
        const after = { ...before, paused_at: null }
        return { ...after, next_due_at: dueAfter(after, now) }
      }),

    /**
     * Creates a session now, on behalf of the caller. An error of the creation is the result of the run. A repeated request
     * gets the first run, also when the process was killed before it was stored.
     */
    async run(id: string, caller: Caller, request?: Idempotency): Promise<DeploymentRun> {
      const deployment = await found(id, caller)
      rejectArchived(deployment)
      const fresh = newId('drun')
      const runId = request
        ? await transaction(pool, client => once(sqlOfClient(client), request, async () => fresh))
        : fresh
      const earlier = request && (await runs.find(runId, caller.ownerScope))
      if (earlier) return toDeploymentRun(earlier)
      const result = await deps.start(runId, deployment, async () => caller)
      return toDeploymentRun(await runs.insertManual(deployment, { id: runId, ...result }))
    },

    async runs(query: Omit<Parameters<DeploymentRunStore['list']>[0], 'owner'>, { ownerScope }: Caller) {
      return (await runs.list({ ...query, owner: ownerScope })).map(toDeploymentRun)
    },

    async getRun(id: string, { ownerScope }: Caller): Promise<DeploymentRun> {
      const run = await runs.find(id, ownerScope)
      if (!run) throw notFound('deployment run', id)
      return toDeploymentRun(run)
    },
  }
}

function rejectArchived({ id, archived_at }: DeploymentRow): void {
  if (archived_at) throw invalid(`deployment ${id} is archived`)
}

/** The key of the last change pays for the runs; otherwise an edit could spend the budget of another key. */
const payerOf = (caller: Caller) => ({ principal: caller.principal, key_id: runAsOf(caller) })

/** Returns what sessions start with after an update; undefined when it stays. */
function startAfter(before: SessionStart, body: DeploymentUpdate): SessionStart | undefined {
  const { environment_id, initial_events, resources, vault_ids, budget } = body
  const given = { environment_id, initial_events, resources, vault_ids, budget }
  const changes = new Map(Object.entries(given).filter(([, value]) => value !== undefined))
  if (changes.size === 0) return undefined
  const after = [...Object.entries(before).filter(([field]) => !changes.has(field)), ...changes]
  return Object.fromEntries(after.filter(([, value]) => value !== null)) as SessionStart
}
