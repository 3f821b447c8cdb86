import type { FastifyInstance } from 'fastify'
import { vaultRoutes } from '../../contract/vault.ts'
import { bind } from '../http/bind.ts'
import { pageOf } from '../http/page.ts'
import { placeIn, type Vault } from './vault.ts'

/** The vault routes. They accept values and never return one. */
export function serveVault(app: FastifyInstance, { vault }: { vault: Vault }): void {
  bind(app, vaultRoutes.list, async ({ query }, caller) => {
    const { items, next_cursor } = await pageOf(query, page => vault.list(caller, page), placeIn)
    return { keys: items, next_cursor }
  })
  bind(app, vaultRoutes.get, ({ params, query }, caller) => vault.get({ ...params, ...query }, caller))
  bind(app, vaultRoutes.set, async ({ body }, caller, { actor }) => {
    await vault.set(body, { caller, actor })
    return { ok: true as const }
  })
  bind(app, vaultRoutes.remove, async ({ params, query }, caller, { actor }) => {
    await vault.remove({ ...params, ...query }, { caller, actor })
    return { ok: true as const }
  })
}
