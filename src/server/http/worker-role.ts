import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { AppError } from '../platform/errors.ts'

interface Options {
  /** True for requests of programs that this process runs, which arrive on separate sockets. */
  readonly isFromProgram: (request: IncomingMessage) => boolean
}

/**
 * Restricts network clients to routes marked `isOnWorkers`; other routes are 404 `unknown_path` after authentication.
 * Programs of sessions on this worker may use the whole API. Must be called before routes are added.
 */
export function serveAsWorker(app: FastifyInstance, { isFromProgram }: Options): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const { route } = request.routeOptions.config
    done(!route || route.isOnWorkers || isFromProgram(request.raw) ? undefined : elsewhere())
  })
}

const elsewhere = (): AppError =>
  new AppError(
    'unknown_path',
    'this process has the role "worker" and serves only /health and /metrics; send the request to a process with SWITCHYARD_ROLE api or all',
  )
