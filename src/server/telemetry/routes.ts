import type { FastifyInstance } from 'fastify'
import type { Route } from '../../contract/route.ts'
import { systemRoutes } from '../../contract/system.ts'
import { fastifyPath } from '../http/paths.ts'
import { AppError } from '../platform/errors.ts'
import { pageFor } from './metrics/formats.ts'
import type { Metrics } from './metrics/metrics.ts'

interface Deps {
  /** Undefined while metrics are off. */
  readonly metrics: Pick<Metrics, 'scrape'> | undefined
  /** True: no key is required. */
  readonly isPublic: boolean
}

/** Serves the metrics. Bound by hand: the response is text in one of two formats, and access is a setting. */
export function serveMetrics(app: FastifyInstance, { metrics, isPublic }: Deps): void {
  const route: Route = isPublic ? { ...systemRoutes.metrics, access: 'public' } : systemRoutes.metrics
  app.route({
    method: 'GET',
    url: fastifyPath(route),
    config: { route },
    async handler(request, reply) {
      if (!metrics) throw new AppError('not_found', 'metrics are off; set metrics.enabled: true and restart')
      const { contentType, body } = pageFor(request.headers.accept, await metrics.scrape())
      return reply.type(contentType).send(body)
    },
  })
}
