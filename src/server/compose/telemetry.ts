import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { apiVersion } from '../../contract/api.ts'
import type { Config } from '../config/config.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { countsStore } from '../telemetry/counts-store.ts'
import { createMetrics, type Readings } from '../telemetry/metrics/metrics.ts'
import { createMetricsListener } from '../telemetry/metrics-listener.ts'
import { serveMetrics } from '../telemetry/routes.ts'
import { combined } from '../telemetry/telemetry.ts'

interface Needs {
  readonly config: Pick<Config, 'metrics' | 'telemetry' | 'role'>
  readonly log: Log
  readonly pool: Pool
  /** Pool for the writes of model calls. */
  readonly callPool: Pool
  /** Returns the alias of a deployment; undefined for an unknown id. */
  readonly aliasOf: (deployment: string) => string | undefined
  readonly readings: () => Omit<Readings, 'exported'>
}

/** Metrics and traces: what the other sections report to, and how it leaves the process. */
export function composeTelemetry({ config, log, pool, callPool, aliasOf, readings }: Needs) {
  const { isEnabled, isPublic, listen } = config.metrics
  const metrics = isEnabled
    ? createMetrics({
        aliasOf,
        readings: () => ({ ...readings(), exported: () => [] }),
        store: countsStore(pool),
        pools: { main: pool, calls: callPool },
        version: apiVersion,
        role: config.role,
        log,
      })
    : undefined
  const listener = metrics && listen && createMetricsListener({ metrics, address: listen, log })
  const parts: readonly Part[] = listener ? [{ name: 'metrics address', ...listener }] : []

  return {
    telemetry: combined(metrics ? [metrics.telemetry] : []),
    parts,
    serve: (app: FastifyInstance) => serveMetrics(app, { metrics, isPublic }),
  }
}
