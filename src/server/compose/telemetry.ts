import type { FastifyInstance } from 'fastify'
import type { Pool } from 'pg'
import { apiVersion } from '../../contract/api.ts'
import type { Config } from '../config/config.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import { countsStore } from '../telemetry/counts-store.ts'
import { createMetrics, type Readings } from '../telemetry/metrics/metrics.ts'
import { createMetricsListener } from '../telemetry/metrics-listener.ts'
import type { Otlp } from '../telemetry/otlp/otlp.ts'
import { serveMetrics } from '../telemetry/routes.ts'
import { combined } from '../telemetry/telemetry.ts'

interface Needs {
  readonly config: Pick<Config, 'metrics' | 'telemetry' | 'role'>
  readonly log: Log
  /** Export to a collector; undefined without one. */
  readonly otlp: Otlp | undefined
  readonly pool: Pool
  /** Pool for the writes of model calls. */
  readonly callPool: Pool
  /** Returns the alias of a deployment; undefined for an unknown id. */
  readonly aliasOf: (deployment: string) => string | undefined
  readonly readings: () => Omit<Readings, 'exported'>
}

/** Metrics and traces: what the other sections report to, and how it leaves the process. */
export async function composeTelemetry({ config, log, otlp, pool, callPool, aliasOf, readings }: Needs) {
  const { isEnabled, isPublic, listen } = config.metrics
  const metrics = isEnabled
    ? createMetrics({
        aliasOf,
        readings: () => ({ ...readings(), exported: () => otlp?.counts() ?? [] }),
        store: countsStore(pool),
        pools: { main: pool, calls: callPool },
        version: apiVersion,
        role: config.role,
        log,
      })
    : undefined
  const listener = metrics && listen && createMetricsListener({ metrics, address: listen, log })
  // Loaded only when a collector is configured.
  const tracing =
    otlp && (await import('../telemetry/otlp/tracing.ts')).createTracing(otlp, config.telemetry.hasContent)
  otlp?.reportTo(log)
  const receivers = [...(metrics ? [metrics.receiver] : []), ...(tracing ? [tracing.receiver] : [])]
  const parts: readonly Part[] = [
    ...(otlp ? [{ name: 'telemetry export', stop: otlp.stop }] : []),
    ...(listener ? [{ name: 'metrics address', ...listener }] : []),
  ]

  return {
    telemetry: combined(receivers),
    /** Adds the trace context to calls where that is configured. */
    traced: (call: Gateway['call']) => tracing?.traced(call) ?? call,
    observeContent: tracing?.observeContent,
    /** Returns the trace context of a tool call; undefined while nothing is traced. */
    traceOfToolCall: tracing?.ofToolCall ?? (() => undefined),
    parts,
    serve: (app: FastifyInstance) => serveMetrics(app, { metrics, isPublic }),
  }
}
