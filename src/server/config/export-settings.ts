interface LogSinkBase {
  readonly name: string
  /** Unix milliseconds until which recorded bodies are exported; undefined: no bodies. */
  readonly bodiesUntilMs: number | undefined
}

/** File of JSON lines. */
export interface FileSinkSettings extends LogSinkBase {
  readonly type: 'file'
  /** Absolute. */
  readonly path: string
  readonly maxBytes: number
  readonly maxAgeMs: number
  /** Number of rotated files to keep. */
  readonly keep: number
}

/** Receiver over HTTP. */
export interface RemoteSinkSettings extends LogSinkBase {
  readonly type: 'http' | 'otlp'
  readonly url: string
  readonly format: 'json' | 'jsonl'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly bearer: string | undefined
  /** Global vault entry with the bearer token. */
  readonly bearerVaultKey: string | undefined
}

/** Receiver of the rows of the usage ledger. */
export type LogSinkSettings = FileSinkSettings | RemoteSinkSettings

/** Metrics for Prometheus. */
export interface MetricsSettings {
  /** False: nothing is counted, and `GET /metrics` is 404. */
  readonly isEnabled: boolean
  /** True: `GET /metrics` needs no key. */
  readonly isPublic: boolean
  /** Separate address that serves only the metrics, without a key. */
  readonly listen: ListenAddress | undefined
}

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** Traces and logs for OpenTelemetry. */
export interface TelemetrySettings {
  /** Undefined: nothing is exported. */
  readonly otlp: OtlpSettings | undefined
  /** True: spans contain messages, tool arguments and tool results. */
  readonly hasContent: boolean
}

/** An OpenTelemetry collector, reached by OTLP over HTTP. */
export interface OtlpSettings {
  /** Base URL without a trailing slash; `/v1/traces` and `/v1/logs` are appended. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** True: log lines are exported, too. */
  readonly exportsLogs: boolean
  /** True: upstreams get the trace context of a call. */
  readonly propagates: boolean
  /** Share of the traces that are exported, from 0 to 1. */
  readonly sample: number
}
