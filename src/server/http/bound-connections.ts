import type { FastifyInstance } from 'fastify'
import type { Log } from '../platform/log.ts'

interface Bounds {
  readonly log: Pick<Log, 'warn'>
  /** Maximum number of connections; further ones are closed at once. Undefined for no limit. */
  readonly maxConnections: number | undefined
}

const logPeriodMs = 10_000

/**
 * Bounds the connections of the server. Logs connections that cannot be accepted for lack of file descriptors: without
 * a listener the error would end the process.
 */
export function boundConnections(app: FastifyInstance, { log, maxConnections }: Bounds): void {
  if (maxConnections !== undefined) app.server.maxConnections = maxConnections
  let loggedAt = Number.NEGATIVE_INFINITY
  const report = (fields: object) => {
    if (performance.now() - loggedAt < logPeriodMs) return
    loggedAt = performance.now()
    log.warn(fields, 'rejecting connections: file descriptors run out')
  }
  app.server.on('drop', () => report({ maxConnections }))
  // Only now: errors of listen, such as a port in use, are reported by the caller of listen.
  app.addHook('onListen', async () => {
    app.server.on('error', error => report({ err: error }))
  })
}
