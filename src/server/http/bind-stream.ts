import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { routeSchema } from './bind.ts'
import { fastifyPath } from './paths.ts'

/** Serves a route whose handler writes the response itself: its response schema is for the OpenAPI document only. */
export function bindStream(
  app: FastifyInstance,
  route: Route,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): void {
  const { response: _text, ...schema } = routeSchema(route)
  app.route({ method: route.method, url: fastifyPath(route), config: { route }, schema, handler })
}
