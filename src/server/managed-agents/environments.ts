import type { Pool, PoolClient } from 'pg'
import type { Environment, EnvironmentCreate, EnvironmentUpdate } from '../../contract/environments.ts'
import type { Audit } from '../audit/audit.ts'
import { transaction } from '../db/connect.ts'
import { once, sqlOfClient } from '../db/once.ts'
import type { By, Caller } from '../http/caller.ts'
import type { Idempotency } from '../http/idempotency.ts'
import { invalid, notFound } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { patched } from '../platform/metadata.ts'
import { resolvedConfig, updatedConfig } from './environment-config.ts'
import type { EnvironmentRow, EnvironmentStore } from './environment-store.ts'

interface Deps {
  readonly pool: Pool
  readonly store: EnvironmentStore
  readonly audit: Audit
}

interface Page {
  readonly withArchived: boolean
  readonly after: string | undefined
  readonly limit: number
}

/** The rules of environments: each belongs to its creator, and an archived one cannot be changed. */
export type Environments = ReturnType<typeof createEnvironments>

export function createEnvironments({ pool, store, audit }: Deps) {
  function record(client: PoolClient, action: string, { by, before, after }: Change): Promise<void> {
    const { id = '', owner_id = null } = after ?? before ?? {}
    return audit.record(sqlOfClient(client), {
      actor: by.actor,
      action: `environment.${action}`,
      objectId: id,
      ownerId: owner_id,
      before: before && publicFields(before),
      after: after && publicFields(after),
    })
  }

  /** Runs `work` and records the change in the audit log. Records nothing when `work` returns `before`. */
  async function change(action: string, { id, ...by }: By & { id: string }, work: Work): Promise<EnvironmentRow> {
    return transaction(pool, async client => {
      const before = await store.lock(client, id, by.caller.ownerScope)
      if (!before) throw notFound('environment', id)
      const after = await work(client, before)
      if (after === before) return before
      await record(client, action, { by, before, after })
      return after ?? before
    })
  }

  return {
    async get(id: string, caller: Caller): Promise<Environment> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw notFound('environment', id)
      return toEnvironment(row)
    },

    list: async (page: Page, caller: Caller): Promise<Environment[]> =>
      (await store.list({ ...page, owner: caller.ownerScope })).map(toEnvironment),

    create: (body: EnvironmentCreate, by: By, idempotency: Idempotency | undefined): Promise<Environment> =>
      transaction(pool, client =>
        once(sqlOfClient(client), idempotency, async () => {
          const { name, description = null, config, metadata = {} } = body
          const fields = { name, description, config: resolvedConfig(config), metadata }
          const after = await store.insert(client, newId('env'), { ...fields, owner_id: by.caller.principal })
          await record(client, 'create', { by, after })
          return toEnvironment(after)
        }),
      ),

    update: async (id: string, body: EnvironmentUpdate, by: By): Promise<Environment> =>
      toEnvironment(
        await change('update', { id, ...by }, (client, before) => {
          if (before.archived_at) throw invalid(`environment ${id} is archived and cannot be changed`)
          return store.update(client, id, {
            name: body.name ?? before.name,
            description: body.description === undefined ? before.description : body.description,
            config: updatedConfig(before.config, body.config),
            metadata: patched(before.metadata, withoutBlanks(body.metadata)),
          })
        }),
      ),

    archive: async (id: string, by: By): Promise<Environment> =>
      toEnvironment(
        await change('archive', { id, ...by }, async (client, before) =>
          before.archived_at ? before : store.archive(client, id),
        ),
      ),

    async remove(id: string, by: By): Promise<void> {
      await change('delete', { id, ...by }, async client => {
        await store.remove(client, id)
        return undefined
      })
    },

    /** Returns the environment for a new session of the caller. Throws `invalid_request` for an archived one. */
    async forSession(id: string, caller: Caller): Promise<EnvironmentRow> {
      const row = await store.find(id, caller.ownerScope)
      if (!row) throw notFound('environment', id)
      if (row.archived_at) throw invalid(`environment ${id} is archived and accepts no new sessions`)
      return row
    },
  }
}

type Work = (client: PoolClient, before: EnvironmentRow) => Promise<EnvironmentRow | undefined>

interface Change {
  readonly by: By
  readonly before?: EnvironmentRow
  readonly after?: EnvironmentRow | undefined
}

/** An empty value removes a key, like null. */
const withoutBlanks = (patch: Readonly<Record<string, string | null>> | null | undefined) =>
  patch && Object.fromEntries(Object.entries(patch).map(([key, value]) => [key, value === '' ? null : value]))

const publicFields = ({ name, config, metadata, archived_at }: EnvironmentRow) => ({
  name,
  config,
  metadata: Object.keys(metadata),
  archived_at,
})

const toEnvironment = (row: EnvironmentRow): Environment => ({
  id: row.id,
  type: 'environment',
  name: row.name,
  description: row.description,
  config: row.config,
  metadata: row.metadata,
  scope: 'organization',
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  archived_at: row.archived_at?.toISOString() ?? null,
})
