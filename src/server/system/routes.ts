import type { FastifyInstance } from 'fastify'
import { allRoutes, apiVersion } from '../../contract/api.ts'
import { systemRoutes } from '../../contract/system.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { bind } from '../http/bind.ts'
import { openApiDocument } from '../http/openapi/document.ts'
import { fastifyPath, fastifyPaths } from '../http/paths.ts'
import type { McpServers } from '../mcp/registry/servers.ts'
import type { RuntimeRegistry } from '../runtimes/runtime.ts'
import type { Readiness } from './readiness.ts'

interface Deps {
  readonly readiness: Readiness
  /** Providers of the models that are configured now. */
  readonly providers: () => readonly string[]
  readonly gateway: Pick<Gateway, 'models'>
  readonly runtimes: Pick<RuntimeRegistry, 'list'>
  readonly mcpServers: Pick<McpServers, 'available'>
}

/** Health, capabilities and the OpenAPI document. */
export function serveSystem(app: FastifyInstance, { readiness, providers, gateway, runtimes, mcpServers }: Deps): void {
  // Built for the first reader, not at start.
  let document: string | undefined
  const ok = { status: 'ok' as const }
  bind(app, systemRoutes.health, async () => ok)
  bind(app, systemRoutes.live, async () => ok)
  // Bound by hand: 200 and 503 have different bodies.
  for (const url of fastifyPaths(systemRoutes.ready)) {
    app.route({
      method: 'GET',
      url,
      exposeHeadRoute: true,
      config: { route: systemRoutes.ready },
      async handler(_request, reply) {
        const reasons = await readiness.reasons()
        if (reasons.length > 0) return reply.code(503).send({ status: 'unavailable', reasons })
        return reply.send(ok)
      },
    })
  }
  app.route({
    method: 'GET',
    url: fastifyPath(systemRoutes.openapi),
    exposeHeadRoute: true,
    config: { route: systemRoutes.openapi },
    handler: async (_request, reply) => {
      document ??= JSON.stringify(openApiDocument())
      return reply.type('application/json; charset=utf-8').send(document)
    },
  })
  bind(app, systemRoutes.capabilities, async (_, caller) => ({
    version: apiVersion,
    providers: [...providers()],
    models: gateway.models(caller.key).map(({ id }) => id),
    runtimes: (await runtimes.list()).map(({ id, name, connected, capabilities }) => ({
      id,
      name,
      connected,
      capabilities: { ...capabilities },
    })),
    mcp_servers: (await mcpServers.available(caller)).map(({ server_name }) => server_name),
    endpoints: allRoutes.map(({ id, method, path }) => ({ id, method, path })),
  }))
}
