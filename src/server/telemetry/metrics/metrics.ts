import type { Deployment } from '../../../contract/deployments.ts'
import type { Log } from '../../platform/log.ts'
import type { Counts } from '../counts-store.ts'
import type { TelemetryReceiver } from '../telemetry.ts'
import { otherName } from './bounded-names.ts'
import { createCallMetrics } from './call-metrics.ts'
import { createDatabaseMetrics, type PoolState } from './database-metrics.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { readProcess } from './process-metrics.ts'
import { createSessionMetrics } from './session-metrics.ts'

/** What a scrape reads from the parts of the process. */
export interface Readings {
  readonly modelStreams: () => number
  readonly eventStreams: () => number
  readonly sessionsRunning: () => number
  readonly deployments: () => readonly Pick<Deployment, 'model_name' | 'provider' | 'state'>[]
  /** Mean delay of the event loop, in milliseconds. */
  readonly loopDelayMs: () => number
  /** Spans and log records so far; empty while nothing is exported. */
  readonly exported: () => readonly ExportCounts[]
}

export interface ExportCounts {
  readonly signal: 'traces' | 'logs'
  readonly exported: number
  readonly droppedByQueue: number
  readonly droppedByCollector: number
}

interface Deps {
  /** Returns the alias of a deployment in the configuration; undefined for an unknown id. */
  readonly aliasOf: (deployment: string) => string | undefined
  readonly readings: () => Readings
  readonly store: { readonly read: () => Promise<Counts>; readonly sessions: () => Promise<number> }
  readonly pools: Readonly<Record<string, PoolState>>
  readonly version: string
  readonly role: string
  readonly log: Pick<Log, 'debug'>
}

/** The metrics of this process. */
export interface Metrics {
  readonly receiver: TelemetryReceiver
  /** Returns all metrics in the text format of Prometheus. Concurrent scrapes share the queries of the database. */
  scrape(): Promise<string>
}

export function createMetrics(deps: Deps): Metrics {
  const instruments = createInstruments()
  const readDatabase = createDatabaseMetrics({ instruments, ...deps })
  instruments.set('switchyard_build_info', 1, { version: deps.version, role: deps.role })
  return {
    receiver: {
      ...createCallMetrics({ instruments, aliasOf: deps.aliasOf }),
      ...createSessionMetrics(instruments),
    },
    async scrape() {
      await readDatabase()
      read(instruments, deps.readings())
      return instruments.text()
    },
  }
}

function read(instruments: Instruments, readings: Readings): void {
  instruments.set('switchyard_model_streams_open', readings.modelStreams())
  instruments.set('switchyard_event_streams_open', readings.eventStreams())
  instruments.set('switchyard_sessions_running', readings.sessionsRunning())
  showDeployments(instruments, readings.deployments())
  readProcess(instruments, readings.loopDelayMs())
  for (const { signal, exported, droppedByQueue, droppedByCollector } of readings.exported()) {
    instruments.total('switchyard_telemetry_exported_total', exported, { signal })
    instruments.total('switchyard_telemetry_dropped_total', droppedByQueue, { signal, reason: 'queue_full' })
    instruments.total('switchyard_telemetry_dropped_total', droppedByCollector, { signal, reason: 'collector' })
  }
}

/** Series of deployments beyond this number are summed up as `other`. */
const maxDeployments = 200

function showDeployments(instruments: Instruments, deployments: ReturnType<Readings['deployments']>): void {
  instruments.clear('switchyard_deployments')
  const counts = new Map<string, { count: number; labels: { model: string; provider: string; state: string } }>()
  for (const [index, { model_name, provider, state }] of deployments.entries()) {
    const labels = { model: index < maxDeployments ? model_name : otherName, provider, state }
    const key = `${labels.model} ${provider} ${state}`
    counts.set(key, { labels, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  for (const { count, labels } of counts.values()) instruments.set('switchyard_deployments', count, labels)
}
