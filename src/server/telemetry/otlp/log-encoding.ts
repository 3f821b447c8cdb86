import { isRecord, jsonOr } from '../../platform/json.ts'
import { type Attributes, attributeOf, attributesJson, nanoseconds, textJson, valueJson } from '../../platform/otlp.ts'
import type { Frame } from './batches.ts'
import { traceIdOf } from './trace-ids.ts'

// The JSON encoding of OTLP 1.x: ids are hexadecimal digits, enumerations are numbers.

const scope = '{"name":"switchyard"}'

/** Lines of the log become records only when they are sent: then the traces of their requests are known. */
export const linesFrame: Frame = { start: () => Buffer.alloc(0) }

/** Returns the body of a request to `/v1/logs`. `lines` are lines of the log as JSON. */
export function logsBody(
  resource: Attributes,
  lines: string,
  traceOf: (requestId: string) => string | undefined,
): Buffer {
  const records = lines
    .split('\n')
    .flatMap(line => recordJson(line, traceOf))
    .join(',')
  const ofScope = `{"scope":${scope},"logRecords":[${records}]}`
  return Buffer.from(
    `{"resourceLogs":[{"resource":{"attributes":[${attributesJson(resource)}]},"scopeLogs":[${ofScope}]}]}`,
  )
}

const severities: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }

/** Returns a line of the log as a record; none for a line that is no JSON object. */
function recordJson(line: string, traceOf: (requestId: string) => string | undefined): string[] {
  const fields = jsonOr(line, undefined)
  if (!isRecord(fields)) return []
  const { level, time, msg, ...others } = fields
  const requestId = others['request_id']
  const own = Object.fromEntries(Object.entries(others).map(([name, value]) => [name, attributeOf(value)]))
  const at = `"timeUnixNano":"${nanoseconds(Date.parse(String(time)))}"`
  const severity = `"severityNumber":${severities[String(level)] ?? 0},"severityText":${textJson(String(level))}`
  const content = `"body":${valueJson(String(msg))},"attributes":[${attributesJson(own)}]`
  const traceId = typeof requestId === 'string' ? (traceOf(requestId) ?? traceIdOf(requestId)) : undefined
  return [`{${at},${severity},${content}${traceId === undefined ? '' : `,"traceId":"${traceId}"`}}`]
}
