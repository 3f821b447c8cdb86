import type { RemoteSinkSettings } from '../config/export-settings.ts'
import { blockedReasonFor, type Outbound } from '../platform/outbound.ts'
import { smallRequest } from '../platform/small-request.ts'
import { receiverFailure, statusFailure } from '../platform/webhook-failure.ts'
import { otlpBody, rejectedBy } from './otlp.ts'
import { type LogRecord, type LogSink, SinkFailure } from './sink.ts'

interface Deps {
  /** Guard of the current configuration. */
  readonly guard: () => Outbound
  /** Returns the value of a global vault entry. */
  readonly secretOf: (name: string) => Promise<string | undefined>
}

const totalMs = 10_000
/** Statuses with which a receiver rejects the content of a request. */
const rejectedStatuses = new Set([400, 413, 422])

/** Returns a sink that sends batches over HTTP, as OTLP logs or as JSON. Redirects are not followed. */
export function createRemoteSink(settings: RemoteSinkSettings, { guard, secretOf }: Deps): LogSink {
  const { name, type, url } = settings

  async function bearer(): Promise<string | undefined> {
    const { bearer: token, bearerVaultKey } = settings
    if (bearerVaultKey === undefined) return token
    const secret = await secretOf(bearerVaultKey)
    if (secret === undefined) throw new SinkFailure(`vault entry ${bearerVaultKey} does not exist; add it to the vault`)
    return secret
  }

  async function post(headers: Readonly<Record<string, string>>, body: string) {
    const outbound = guard()
    const blocked = blockedReasonFor(url, outbound)
    if (blocked !== undefined) throw new SinkFailure(blocked)
    try {
      return await smallRequest(outbound, { method: 'POST', url, headers, body, totalMs })
    } catch (error) {
      throw new SinkFailure(receiverFailure(error, totalMs))
    }
  }

  return {
    name,
    async send(records) {
      const { contentType, body } = encoded(settings, records)
      const token = await bearer()
      const headers = {
        ...settings.headers,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        'content-type': contentType,
      }
      const { status, text } = await post(headers, body)
      const failure = statusFailure(status)
      if (failure !== undefined) throw new SinkFailure(failure, { isRejected: rejectedStatuses.has(status) })
      const rejected = type === 'otlp' ? rejectedBy(text) : 0
      if (rejected > 0)
        throw new SinkFailure(`receiver rejected ${rejected} of ${records.length} records`, { isRejected: true })
    },
  }
}

function encoded({ type, format }: RemoteSinkSettings, records: readonly LogRecord[]) {
  if (type === 'otlp') return { contentType: 'application/json', body: otlpBody(records) }
  if (format === 'json') return { contentType: 'application/json', body: JSON.stringify(records) }
  const body = records.map(record => `${JSON.stringify(record)}\n`).join('')
  return { contentType: 'application/x-ndjson', body }
}
