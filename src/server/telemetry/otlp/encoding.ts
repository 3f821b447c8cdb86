import type { Attributes, AttributeValue, Span } from './span.ts'
import { traceIdOf } from './trace-context.ts'

// The JSON encoding of OTLP 1.x: 64-bit numbers are texts, ids are hexadecimal digits, enumerations are numbers.

const scope = { name: 'switchyard' }
const spanKinds = { internal: 1, client: 3 } as const
const errorStatus = 2

/** Returns the body of a request to `/v1/traces`. */
export const tracesBody = (resource: Attributes, spans: readonly Span[]): string =>
  JSON.stringify({
    resourceSpans: [
      { resource: { attributes: listed(resource) }, scopeSpans: [{ scope, spans: spans.map(encodedSpan) }] },
    ],
  })

const encodedSpan = ({ traceId, spanId, parentId, name, kind, startMs, endMs, attributes, error }: Span) => ({
  traceId,
  spanId,
  ...(parentId !== undefined && { parentSpanId: parentId }),
  name,
  kind: spanKinds[kind],
  startTimeUnixNano: nanoseconds(startMs),
  endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
  attributes: listed(attributes),
  status: error === undefined ? {} : { code: errorStatus, message: error },
})

/** Returns the body of a request to `/v1/logs`. `lines` are lines of the log as JSON. */
export const logsBody = (
  resource: Attributes,
  lines: readonly string[],
  traceOf: (requestId: string) => string | undefined,
): string =>
  JSON.stringify({
    resourceLogs: [
      {
        resource: { attributes: listed(resource) },
        scopeLogs: [{ scope, logRecords: lines.flatMap(line => encodedLine(line, traceOf)) }],
      },
    ],
  })

const severities: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }

function encodedLine(line: string, traceOf: (requestId: string) => string | undefined): object[] {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line) as Record<string, unknown>
  } catch {
    return []
  }
  const { level, time, msg, ...others } = fields
  const requestId = others['request_id']
  const attributes = Object.entries(others).map(([name, value]) => [name, attributeOf(value)])
  return [
    {
      timeUnixNano: nanoseconds(Date.parse(String(time))),
      severityNumber: severities[String(level)] ?? 0,
      severityText: String(level),
      body: { stringValue: String(msg) },
      attributes: listed(Object.fromEntries(attributes) as Attributes),
      ...(typeof requestId === 'string' && { traceId: traceOf(requestId) ?? traceIdOf(requestId) }),
    },
  ]
}

const attributeOf = (value: unknown): AttributeValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : JSON.stringify(value)

const listed = (attributes: Attributes): object[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: encodedValue(value) }],
  )

function encodedValue(value: AttributeValue): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  return { arrayValue: { values: value.map(encodedValue) } }
}

/** A double cannot hold the nanoseconds since 1970. */
const nanoseconds = (ms: number): string => String(BigInt(Math.round((Number.isFinite(ms) ? ms : 0) * 1_000)) * 1_000n)
