import type { FastifyInstance } from 'fastify'
import type { Log } from '../platform/log.ts'

interface Bounds {
  readonly log: Pick<Log, 'warn'>
  /** Connections at most; one more is closed at once. No bound when undefined. */
  readonly maxConnections: number | undefined
}

const logPeriodMs = 10_000

/**
 * Bounds the connections of the server. One that cannot be accepted, for want of a descriptor, is logged; without a listener
 * it would end the process.
 */
export function boundConnections(app: FastifyInstance, { log, maxConnections }: Bounds): void {
  if (maxConnections !== undefined) app.server.maxConnections = maxConnections
  let loggedAt = Number.NEGATIVE_INFINITY
  const report = (fields: object) => {
    if (performance.now() - loggedAt < logPeriodMs) return
    loggedAt = performance.now()
    log.warn(fields, 'connections are refused: file descriptors run out')
  }
  app.server.on('drop', () => report({ maxConnections }))
  // Not before: a port that is in use is reported by whoever listens.
  app.addHook('onListen', async () => {
    app.server.on('error', error => report({ err: error }))
  })
}
