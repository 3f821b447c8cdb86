import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../platform/errors.ts'

interface Options {
  /** True for a request of a program that this process runs: it came in by a socket of its own. */
  readonly isLent: (request: IncomingMessage) => boolean
}

/**
 * Leaves only the routes marked `isOnWorkers` to clients of the network; any other is 404 `unknown_path`, once the caller is known.
 * Programs of sessions that run here reach the whole API. To be called before routes are added. Rulings: 27.
 */
export function serveAsWorker(app: FastifyInstance, { isLent }: Options): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { route } = request.routeOptions.config
    done(!route || route.isOnWorkers || isLent(request.raw) ? undefined : elsewhere())
  })
}

const elsewhere = (): AppError =>
  new AppError(
    'unknown_path',
    'this process has the role "worker" and serves only /health; send the request to a process with SWITCHYARD_ROLE api or all',
  )
