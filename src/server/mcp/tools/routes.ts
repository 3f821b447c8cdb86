import type { FastifyInstance } from 'fastify'
import { type McpListedTool, mcpRoutes as routes } from '../../../contract/mcp.ts'
import { bind } from '../../http/bind.ts'
import { rejectNarrow } from '../../http/reach.ts'
import { AppError } from '../../platform/errors.ts'
import type { McpServers } from '../registry/servers.ts'
import type { McpTools } from './tools.ts'

interface Deps {
  readonly servers: McpServers
  readonly tools: McpTools
}

/** Serves the test of servers, and their tools over REST. */
export function serveMcpTools(app: FastifyInstance, { servers, tools }: Deps): void {
  bind(app, routes.test, async ({ params }, caller) => {
    const server = await servers.find(params.server_id, caller)
    rejectNarrow({ caller })
    return tools.test(server, caller)
  })

  bind(app, routes.tools, async ({ query }, caller) => {
    if (query.server_id !== undefined) {
      const server = await servers.find(query.server_id, caller)
      const found = await tools.listTools(server, caller)
      return { tools: found.map(tool => tools.listed(server, tool)), errors: [] }
    }
    const all = await servers.available(caller)
    const results = await Promise.allSettled(all.map(server => tools.listTools(server, caller)))
    const listed: McpListedTool[] = []
    const errors: { server_name: string; message: string }[] = []
    for (const [at, server] of all.entries()) {
      const result = results[at]
      if (result?.status === 'fulfilled') listed.push(...result.value.map(tool => tools.listed(server, tool)))
      else if (result?.reason instanceof AppError)
        errors.push({ server_name: server.server_name, message: result.reason.message })
      else throw result?.reason
    }
    return { tools: listed, errors }
  })

  bind(app, routes.call, async ({ body }, caller, { signal }) => {
    const server = await servers.find(body.server_id, caller)
    return tools.callTool(server, caller, { name: body.name, arguments: body.arguments ?? {}, signal, via: 'rest' })
  })
}
