import type { FastifyInstance } from 'fastify'
import { type McpMessage, memoryRoutes } from '../../contract/memories.ts'
import { actorOf, bind, routeSchema } from '../http/bind.ts'
import { fastifyPath } from '../http/paths.ts'
import type { Log } from '../platform/log.ts'
import { defaultToolLimits } from '../tools/tool.ts'
import { memoryTools } from '../tools/toolset.ts'
import { answerMcp, checkMcpVersion } from './mcp.ts'
import type { Memories } from './memories.ts'

/** The memory routes. A scoped caller sees and writes only memories of its owner's agents. */
export function serveMemories(app: FastifyInstance, { memories }: { memories: Memories }): void {
  bind(app, memoryRoutes.list, async ({ params, query }, caller, { setHeader }) => {
    const { items, next_cursor } = await memories.list(params.agent_id, query, caller)
    if (next_cursor !== null) setHeader('x-next-cursor', next_cursor)
    return items
  })
  bind(app, memoryRoutes.create, ({ params, body }, caller, { actor }) =>
    memories.create(params.agent_id, body, { caller, actor }),
  )
  bind(app, memoryRoutes.get, ({ params }, caller) => memories.get(params.agent_id, params.memory_id, caller))
  bind(app, memoryRoutes.update, ({ params, body }, caller, { actor }) =>
    memories.update(params.agent_id, params.memory_id, body, { caller, actor }),
  )
  bind(app, memoryRoutes.remove, ({ params }, caller, { actor }) =>
    memories.remove(params.agent_id, params.memory_id, { caller, actor }),
  )
  bind(app, memoryRoutes.preview, ({ params }, caller) => memories.preview(params.agent_id, caller))
  bind(app, memoryRoutes.export, async ({ params, query }, caller) => {
    const { items, next_cursor } = await memories.export(params.agent_id, query, caller)
    return { memories: items, next_cursor }
  })
  bind(app, memoryRoutes.import, ({ params, body }, caller, { actor }) =>
    memories.import(params.agent_id, body.memories, { caller, actor }),
  )
}

/**
 * MCP server with the memory tools of an agent, for external runtimes. Stateless: one message, one response, no stream.
 */
export function serveMemoryMcp(app: FastifyInstance, { memories, log }: { memories: Memories; log: Log }): void {
  const route = memoryRoutes.mcp
  app.route<{ Params: { agent_id: string }; Body: McpMessage }>({
    method: route.method,
    url: fastifyPath(route),
    config: { route },
    schema: routeSchema(route),
    bodyLimit: route.bodyLimit,
    async handler(request, reply) {
      checkMcpVersion(request.headers['mcp-protocol-version'])
      const { params, caller, body } = request
      const toolMemories = await memories.toolMemories(params.agent_id, { caller, actor: actorOf(request) })
      const signal = new AbortController().signal
      const context = { memories: toolMemories, signal, limits: defaultToolLimits, log }
      const tools = memoryTools.filter(({ name }) => caller.behalf?.memoryTools.includes(name) ?? true)
      const answer = await answerMcp(body, { tools, context })
      // 202 for a notification. Source: MCP, streamable HTTP.
      return answer ? reply.send(answer) : reply.code(202).send()
    },
  })
}
