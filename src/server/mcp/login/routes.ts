import type { FastifyInstance } from 'fastify'
import { mcpRoutes as routes } from '../../../contract/mcp.ts'
import type { Input } from '../../../contract/route.ts'
import { bind, routeSchema } from '../../http/bind.ts'
import type { Actor } from '../../http/caller.ts'
import { fastifyPath } from '../../http/paths.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import type { McpServers } from '../registry/servers.ts'
import type { Logins } from './logins.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'find'>
  readonly logins: Logins
}

/** Headers of the page of a callback, whose address contains the code. */
const pageHeaders = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
} as const

/** Serves logins at MCP servers. The callback is bound by hand: it returns a page. */
export function serveMcpLogins(app: FastifyInstance, { servers, logins }: Deps): void {
  bind(app, routes.authorize, async ({ params }, caller) => logins.begin(await servers.find(params.server_id, caller)))
  bind(app, routes.logout, async ({ params }, caller, { actor }) => {
    const server = await servers.find(params.server_id, caller)
    if (!(await logins.remove(server, actor))) throw notFound('login', server.server_name)
    return { ok: true as const }
  })

  async function completed(callback: Input<typeof routes.callback>['query'], actorOf: ActorOf): Promise<string> {
    const taken = await logins.take(callback)
    const { server_id, principal } = taken.place
    const server = await servers.find(server_id, { key: undefined, principal })
    if (server.url !== taken.url || server.login === undefined)
      throw invalid('the server has changed since the login began; begin it again')
    await logins.complete(server, taken, callback, actorOf(principal))
    return `${principal} can use the MCP server ${server.server_name} now. You can close this page.`
  }

  app.route({
    method: 'GET',
    url: fastifyPath(routes.callback),
    config: { route: routes.callback },
    schema: routeSchema(routes.callback),
    handler: async (request, reply) => {
      const { query } = request as { query: Input<typeof routes.callback>['query'] }
      const actorOf: ActorOf = principal => ({
        principal,
        role: 'user',
        keyId: undefined,
        address: app.addressOf(request.raw),
        requestId: request.id,
      })
      const send = (status: number, title: string, text: string) =>
        reply
          .code(status)
          .headers(pageHeaders)
          .type('text/html; charset=utf-8')
          .serializer(String)
          .send(page(title, text))
      try {
        return await send(200, 'Login complete', await completed(query, actorOf))
      } catch (error) {
        if (!(error instanceof AppError) || error.code === 'internal' || error.code === 'unavailable') throw error
        return send(400, 'Login failed', error.message)
      }
    },
  })
}

type ActorOf = (principal: string) => Actor

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text: string): string =>
  text.replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ').replaceAll(/[&<>"]/g, each => entities[each] ?? each)

const page = (title: string, text: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
  `<body><h1>${title}</h1><p>${escaped(text)}</p></body></html>`
