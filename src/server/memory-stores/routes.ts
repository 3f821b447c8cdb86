import type { FastifyInstance } from 'fastify'
import { memoryStoreRoutes } from '../../contract/memory-stores.ts'
import { memoryVersionRoutes } from '../../contract/memory-versions.ts'
import { bind } from '../http/bind.ts'
import { createdRange } from '../http/created-range.ts'
import { pageOf } from '../http/page.ts'
import type { MemoryStores } from './memory-stores.ts'

/** Memories of a page that has their content. Source: Managed Agents, memories. */
const maxFullPage = 20

interface PageQuery {
  readonly limit?: number
  readonly page?: string
}

/** Serves the memory stores of the Managed Agents dialect. */
export function serveMemoryStores(app: FastifyInstance, { stores }: { stores: MemoryStores }): void {
  bind(app, memoryStoreRoutes.create, ({ body }, caller, { actor, idempotency }) =>
    stores.create(body, { caller, actor }, idempotency),
  )
  bind(app, memoryStoreRoutes.list, async ({ query }, caller) => {
    const filter = { ...createdRange(query), withArchived: query.include_archived ?? false }
    const load = (page: { after: string | undefined; limit: number }) => stores.list({ ...page, ...filter }, caller)
    return listed(await pageOf(cursorOf(query), load, ({ id }) => id))
  })
  bind(app, memoryStoreRoutes.get, ({ params }, caller) => stores.get(params.memory_store_id, caller))
  bind(app, memoryStoreRoutes.update, ({ params, body }, caller, { actor }) =>
    stores.update(params.memory_store_id, body, { caller, actor }),
  )
  bind(app, memoryStoreRoutes.archive, ({ params }, caller, { actor }) =>
    stores.archive(params.memory_store_id, { caller, actor }),
  )
  bind(app, memoryStoreRoutes.remove, async ({ params: { memory_store_id: id } }, caller, { actor }) => {
    await stores.remove(id, { caller, actor })
    return { id, type: 'memory_store_deleted' as const }
  })

  bind(app, memoryStoreRoutes.createMemory, ({ params, query, body }, caller, { actor }) =>
    stores.createMemory(params.memory_store_id, body, query.view ?? 'basic', { caller, actor }),
  )
  bind(app, memoryStoreRoutes.memories, async ({ params, query }, caller) => {
    const { view = 'basic', path_prefix: prefix = '/', ...page } = query
    const load = (each: { after: string | undefined; limit: number }) =>
      stores.memories(params.memory_store_id, { ...each, prefix, view }, caller)
    return listed(await pageOf(cursorOf(limited(page, view)), load, ({ path }) => path))
  })
  bind(app, memoryStoreRoutes.memory, ({ params, query }, caller) =>
    stores.memory(params.memory_store_id, params.memory_id, query.view ?? 'full', caller),
  )
  bind(app, memoryStoreRoutes.updateMemory, ({ params, query, body }, caller, { actor }) => {
    const by = { view: query.view ?? 'basic', caller, actor }
    return stores.updateMemory(params.memory_store_id, params.memory_id, body, by)
  })
  bind(app, memoryStoreRoutes.removeMemory, async ({ params, query }, caller, { actor }) => {
    const { memory_store_id, memory_id: id } = params
    await stores.removeMemory(memory_store_id, id, query.expected_content_sha256, { caller, actor })
    return { id, type: 'memory_deleted' as const }
  })
}

/** Serves the history of the memories of a store. */
export function serveMemoryVersions(app: FastifyInstance, { stores }: { stores: MemoryStores }): void {
  bind(app, memoryVersionRoutes.list, async ({ params, query }, caller) => {
    const { view = 'basic', memory_id: memoryId, api_key_id: keyId, session_id: sessionId, operation } = query
    const filter = { ...createdRange(query), view, memoryId, keyId, sessionId, operation }
    const load = (page: { after: string | undefined; limit: number }) =>
      stores.versions(params.memory_store_id, { ...page, ...filter }, caller)
    return listed(await pageOf(cursorOf(limited(query, view)), load, ({ id }) => id))
  })
  bind(app, memoryVersionRoutes.get, ({ params, query }, caller) =>
    stores.version(params.memory_store_id, params.memory_version_id, query.view ?? 'full', caller),
  )
  bind(app, memoryVersionRoutes.redact, ({ params }, caller, { actor }) =>
    stores.redact(params.memory_store_id, params.memory_version_id, { caller, actor }),
  )
}

/** A page with contents is shorter. */
const limited = <Q extends PageQuery>(query: Q, view: 'basic' | 'full'): Q =>
  view === 'full' ? { ...query, limit: Math.min(query.limit ?? maxFullPage, maxFullPage) } : query

const cursorOf = ({ limit, page }: PageQuery) => ({
  ...(limit !== undefined && { limit }),
  ...(page !== undefined && { cursor: page }),
})

const listed = <T>({ items, next_cursor }: { readonly items: T[]; readonly next_cursor: string | null }) => ({
  data: items,
  next_page: next_cursor,
})
