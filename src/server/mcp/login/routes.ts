import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { mcpRoutes as routes } from '../../../contract/mcp.ts'
import type { Input } from '../../../contract/route.ts'
import { bind, routeSchema } from '../../http/bind.ts'
import type { Actor } from '../../http/caller.ts'
import { fastifyPath } from '../../http/paths.ts'
import { escaped, page, pageHeaders } from '../../http/public-page.ts'
import { AppError, invalid, notFound } from '../../platform/errors.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { McpServers } from '../registry/servers.ts'
import type { Logins } from './logins.ts'

interface Deps {
  readonly servers: Pick<McpServers, 'find'>
  readonly logins: Logins
}

type Returned = Input<typeof routes.callback>['query']

/** Serves logins at MCP servers. The return from a login is bound by hand: it is a page, and its form is not JSON. */
export function serveMcpLogins(app: FastifyInstance, { servers, logins }: Deps): void {
  bind(app, routes.authorize, async ({ params }, caller) => logins.begin(await servers.find(params.server_id, caller)))
  bind(app, routes.logout, async ({ params }, caller, { actor }) => {
    const server = await servers.find(params.server_id, caller)
    if (!(await logins.remove(server, actor))) throw notFound('login', server.server_name)
    return { ok: true as const }
  })

  async function serverOf({ place, url }: Pick<Awaited<ReturnType<Logins['take']>>, 'place' | 'url'>) {
    const { server_id, principal } = place
    const server = await servers.find(server_id, { key: undefined, principal })
    if (server.url === url && server.login !== undefined) return server
    throw invalid('the server has changed since the login began; begin it again')
  }

  /** Asks first: whoever got the address of the login from somebody else would give that person access. */
  async function question(returned: Returned, actorOf: ActorOf): Promise<string> {
    if (returned.error !== undefined) return completed(returned, actorOf)
    const login = await logins.opened(returned)
    return questionPage(await serverOf(login), login.place.principal)
  }

  async function completed(returned: Returned, actorOf: ActorOf): Promise<string> {
    const taken = await logins.take(returned)
    const { principal } = taken.place
    const server = await serverOf(taken)
    await logins.complete(server, taken, returned, actorOf(principal))
    const text = `${principal} can use the MCP server ${server.server_name} now. You can close this page.`
    return page('Login complete', `<p>${escaped(text)}</p>`)
  }

  async function dropped(returned: Returned): Promise<string> {
    await logins.take(returned)
    return page('Login not completed', '<p>Nothing was stored. You can close this page.</p>')
  }

  async function sendPage(request: FastifyRequest, reply: FastifyReply, made: (actorOf: ActorOf) => Promise<string>) {
    const send = (status: number, html: string) =>
      reply.code(status).headers(pageHeaders).type('text/html; charset=utf-8').serializer(String).send(html)
    const actorOf: ActorOf = principal => ({
      principal,
      role: 'user',
      keyId: undefined,
      address: app.addressOf(request.raw),
      requestId: request.id,
    })
    try {
      return await send(200, await made(actorOf))
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal' || error.code === 'unavailable') throw error
      return send(400, page('Login failed', `<p>${escaped(error.message)}</p>`))
    }
  }

  void app.register(async scope => {
    const form = 'application/x-www-form-urlencoded'
    scope.addContentTypeParser(form, { parseAs: 'string' }, async (_request: FastifyRequest, text: string) =>
      Object.fromEntries(new URLSearchParams(text)),
    )
    scope.route({
      method: 'GET',
      url: fastifyPath(routes.callback),
      config: { route: routes.callback },
      schema: routeSchema(routes.callback),
      handler: (request, reply) => sendPage(request, reply, actorOf => question(request.query as Returned, actorOf)),
    })
    scope.route({
      method: 'POST',
      url: fastifyPath(routes.completeLogin),
      config: { route: routes.completeLogin },
      schema: routeSchema(routes.completeLogin),
      bodyLimit: routes.completeLogin.bodyLimit,
      handler: (request, reply) => {
        // Fastify validated them against the schemas of the route.
        const [returned, { result }] = [request.query as Returned, request.body as { result: string }]
        return sendPage(request, reply, actorOf =>
          result === 'allow' ? completed(returned, actorOf) : dropped(returned),
        )
      },
    })
  })
}

type ActorOf = (principal: string) => Actor

/** The form is sent to the address of the page. */
const questionPage = ({ server_name, url }: RegisteredServer, principal: string): string =>
  page(
    `Give ${principal} access to your account?`,
    `<p>${escaped(principal)} of this service will use the MCP server ${escaped(server_name)} (${escaped(url)}) with the ` +
      'account that you have just logged in with. Continue only if you started this login yourself.</p>' +
      '<form method="post"><button name="result" value="allow">Give access</button>' +
      '<button name="result" value="deny">Cancel</button></form>',
  )
