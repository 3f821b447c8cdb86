import { isRecord, jsonOr } from '../../platform/json.ts'
import { type Attributes, attributeOf, encodedAttributes, nanoseconds } from '../../platform/otlp.ts'
import type { TraceContext } from '../../platform/trace-context.ts'
import type { Span } from './span.ts'
import { traceIdOf } from './trace-ids.ts'

// The JSON encoding of OTLP 1.x: ids are hexadecimal digits, enumerations are numbers.

const scope = { name: 'switchyard' }
const spanKinds = { internal: 1, client: 3 } as const
const errorStatus = 2

/** Returns the body of a request to `/v1/traces`. */
export const tracesBody = (resource: Attributes, spans: readonly Span[]): string =>
  JSON.stringify({
    resourceSpans: [
      { resource: { attributes: encodedAttributes(resource) }, scopeSpans: [{ scope, spans: spans.map(encodedSpan) }] },
    ],
  })

const encodedSpan = ({ traceId, spanId, parentId, state, links = [], ...span }: Span) => ({
  traceId,
  spanId,
  ...(parentId !== undefined && { parentSpanId: parentId }),
  ...(state !== undefined && { traceState: state }),
  name: span.name,
  kind: spanKinds[span.kind],
  startTimeUnixNano: nanoseconds(span.startMs),
  endTimeUnixNano: nanoseconds(Math.max(span.startMs, span.endMs)),
  attributes: encodedAttributes(span.attributes),
  ...(links.length > 0 && { links: links.map(encodedLink) }),
  status: span.error === undefined ? {} : { code: errorStatus, message: span.error },
})

const encodedLink = ({ traceId, spanId, state }: TraceContext) => ({
  traceId,
  spanId,
  ...(state !== undefined && { traceState: state }),
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
        resource: { attributes: encodedAttributes(resource) },
        scopeLogs: [{ scope, logRecords: lines.flatMap(line => encodedLine(line, traceOf)) }],
      },
    ],
  })

const severities: Readonly<Record<string, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21 }

function encodedLine(line: string, traceOf: (requestId: string) => string | undefined): object[] {
  const fields = jsonOr(line, undefined)
  if (!isRecord(fields)) return []
  const { level, time, msg, ...others } = fields
  const requestId = others['request_id']
  const attributes = Object.entries(others).map(([name, value]) => [name, attributeOf(value)])
  return [
    {
      timeUnixNano: nanoseconds(Date.parse(String(time))),
      severityNumber: severities[String(level)] ?? 0,
      severityText: String(level),
      body: { stringValue: String(msg) },
      attributes: encodedAttributes(Object.fromEntries(attributes) as Attributes),
      ...(typeof requestId === 'string' && { traceId: traceOf(requestId) ?? traceIdOf(requestId) }),
    },
  ]
}
