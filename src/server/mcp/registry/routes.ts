import type { FastifyInstance } from 'fastify'
import { mcpRoutes as routes } from '../../../contract/mcp.ts'
import { bind } from '../../http/bind.ts'
import type { McpServers } from './servers.ts'

/** Serves the registry of MCP servers. */
export function serveMcpServers(app: FastifyInstance, { servers }: { readonly servers: McpServers }): void {
  bind(app, routes.list, (_, caller) => servers.list(caller))
  bind(app, routes.create, ({ body }, caller, { actor }) => servers.create(body, { caller, actor }))
  bind(app, routes.get, ({ params }, caller) => servers.get(params.server_id, caller))
  bind(app, routes.update, ({ params, body }, caller, { actor }) =>
    servers.update(params.server_id, body, { caller, actor }),
  )
  bind(app, routes.remove, async ({ params }, caller, { actor }) => {
    await servers.remove(params.server_id, { caller, actor })
    return { ok: true as const }
  })
  bind(app, routes.toolLists, ({ params }, caller) => servers.toolLists(params.server_id, caller))
  bind(app, routes.accept, ({ params, body }, caller, { actor }) =>
    servers.accept(params.server_id, body?.pending_tools_hash, { caller, actor }),
  )
}
