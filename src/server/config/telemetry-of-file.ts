import { withoutTrailing } from '../platform/trailing.ts'
import type { ListenAddress, MetricsSettings, OtlpSettings, TelemetrySettings } from './export-settings.ts'
import type { ConfigFile, Place } from './file.ts'
import { requestHeaders } from './request-headers.ts'

interface Reading {
  readonly file: ConfigFile
  readonly report: (text: string, place?: Place) => void
}

/** Returns the settings of the block `metrics`. By default the metrics are on and require a key. */
export function metricsOfFile({ file, report }: Reading): MetricsSettings {
  const { enabled = true, public: isPublic = false, listen } = file.value.metrics ?? {}
  const address = listen === undefined ? undefined : addressOf(listen)
  if (listen !== undefined && !address) {
    report('metrics.listen must be an address with a port, such as 127.0.0.1:9464', file.place(['metrics', 'listen']))
  }
  if (!enabled && (isPublic || listen !== undefined))
    report('metrics.public and metrics.listen need metrics.enabled: true', file.place(['metrics', 'enabled']))
  return { isEnabled: enabled, isPublic, listen: address }
}

function addressOf(text: string): ListenAddress | undefined {
  const [, host, port] = /^(\[[\da-f:]+\]|[^:[\]/\s]+):(\d{1,5})$/i.exec(text) ?? []
  if (host === undefined || port === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

/** Returns the settings of the block `telemetry`. Without an endpoint nothing is exported. */
export function telemetryOfFile(reading: Reading): TelemetrySettings {
  const { file, report } = reading
  const { content = false, otlp } = file.value.telemetry ?? {}
  if (content && otlp?.endpoint === undefined)
    report('telemetry.content needs telemetry.otlp.endpoint', file.place(['telemetry', 'content']))
  return { hasContent: content, otlp: otlp && otlpOf(otlp, reading) }
}

type OtlpBlock = NonNullable<NonNullable<ConfigFile['value']['telemetry']>['otlp']>

function otlpOf(otlp: OtlpBlock, { file, report }: Reading): OtlpSettings | undefined {
  const { endpoint, headers = {}, logs = false, propagate = false, sample = 1 } = otlp
  const place = file.place(['telemetry', 'otlp'])
  if (sample > 1) report('telemetry.otlp.sample must be a number from 0 to 1', place)
  const checked = requestHeaders(headers, (name, text) => report(`telemetry.otlp.headers.${name} ${text}`, place))
  if (endpoint === undefined) {
    report('telemetry.otlp needs an endpoint, such as http://localhost:4318', place)
    return undefined
  }
  const problem = problemOf(endpoint)
  if (problem !== undefined) report(`telemetry.otlp.endpoint ${problem}`, place)
  return {
    endpoint: withoutTrailing(endpoint, '/'),
    headers: checked,
    exportsLogs: logs,
    propagates: propagate,
    sample: Math.min(1, sample),
  }
}

function problemOf(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return 'must be an http or https URL'
  if (/[?#]/.test(text)) return 'must not have a query or a fragment'
  if (url.username !== '' || url.password !== '') return 'must not have a user name; use telemetry.otlp.headers'
  return /\/v1\/(traces|logs)\/?$/.test(text) ? 'must be the base URL, without /v1/traces' : undefined
}
