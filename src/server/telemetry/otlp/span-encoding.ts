import type { Attributes, AttributeValue } from '../../platform/otlp.ts'
import {
  createProtobufWriter,
  encoded,
  fieldSize,
  type ProtobufWriter,
  textSize,
  varintSize,
} from '../../platform/protobuf-writer.ts'
import type { TraceContext } from '../../platform/trace-context.ts'
import type { Frame } from './batches.ts'
import type { Span } from './span.ts'

// The protocol-buffers encoding of OTLP 1.x, opentelemetry/proto/trace/v1/trace.proto. It is a third as long as the JSON
// encoding, and a span costs half as much CPU time.

const inRequest = { resourceSpans: 1 } as const
const inResourceSpans = { resource: 1, scopeSpans: 2 } as const
const inResource = { attributes: 1 } as const
const inScopeSpans = { scope: 1, spans: 2 } as const
const inScope = { name: 1 } as const
const inSpan = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  startTime: 7,
  endTime: 8,
  attributes: 9,
  links: 13,
  status: 15,
} as const
const inLink = { traceId: 1, spanId: 2, traceState: 3 } as const
const inStatus = { message: 2, code: 3 } as const
const inKeyValue = { key: 1, value: 2 } as const
const inAnyValue = { string: 1, bool: 2, int: 3, double: 4, array: 5 } as const
const inArray = { values: 1 } as const

const spanKinds = { internal: 1, client: 3 } as const
const errorStatus = 2

/** Returns the frame of requests to `/v1/traces`, whose items are those of `createSpanEncoder`. */
export function tracesFrame(resource: Attributes): Frame {
  const before = encoded(writer =>
    writer.bytes(
      inResourceSpans.resource,
      encoded(inner => writeAttributes(inner, inResource.attributes, resource)),
    ),
  )
  const scope = encoded(writer =>
    writer.bytes(
      inScopeSpans.scope,
      encoded(inner => inner.text(inScope.name, 'switchyard')),
    ),
  )
  return {
    start: length => {
      const scopeSpans = scope.length + length
      return encoded(writer => {
        writer.start(inRequest.resourceSpans, before.length + fieldSize(scopeSpans))
        writer.raw(before)
        writer.start(inResourceSpans.scopeSpans, scopeSpans)
        writer.raw(scope)
      })
    },
  }
}

/** Returns attributes of spans, encoded, for spans that share them. */
export const encodedAttributes = (attributes: Attributes): Buffer =>
  encoded(writer => writeAttributes(writer, inSpan.attributes, attributes))

/** Returns a function that encodes a span. Its result is valid until the next call. */
export function createSpanEncoder(): (span: Span) => Buffer {
  const writer = createProtobufWriter()
  return span => {
    const { parentId, state, links, startMs, endMs, error, sharedAttributes } = span
    writer.clear()
    writer.hex(inSpan.traceId, span.traceId)
    writer.hex(inSpan.spanId, span.spanId)
    if (state !== undefined) writer.text(inSpan.traceState, state)
    if (parentId !== undefined) writer.hex(inSpan.parentSpanId, parentId)
    writer.text(inSpan.name, span.name)
    writer.varint(inSpan.kind, spanKinds[span.kind])
    writeTime(writer, inSpan.startTime, startMs)
    writeTime(writer, inSpan.endTime, Math.max(startMs, endMs))
    if (sharedAttributes) writer.raw(sharedAttributes)
    writeAttributes(writer, inSpan.attributes, span.attributes)
    if (links) for (const link of links) writer.bytes(inSpan.links, linkOf(link))
    if (error !== undefined) writer.bytes(inSpan.status, statusOf(error))
    return writer.asMessage(inScopeSpans.spans)
  }
}

const linkOf = ({ traceId, spanId, state }: TraceContext): Buffer =>
  encoded(writer => {
    writer.hex(inLink.traceId, traceId)
    writer.hex(inLink.spanId, spanId)
    if (state !== undefined) writer.text(inLink.traceState, state)
  })

const statusOf = (message: string): Buffer =>
  encoded(writer => {
    writer.text(inStatus.message, message)
    writer.varint(inStatus.code, errorStatus)
  })

/** Nanoseconds since 1970 do not fit into a number, so they are multiplied in halves. */
function writeTime(writer: ProtobufWriter, field: number, ms: number): void {
  const microseconds = Number.isFinite(ms) ? Math.max(0, Math.round(ms * 1_000)) : 0
  const low = (microseconds % half) * 1_000
  const high = Math.floor(microseconds / half) * 1_000 + Math.floor(low / half)
  writer.fixed64(field, low % half, high)
}

const half = 2 ** 32

function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const name of Object.keys(attributes)) {
    const value = attributes[name]
    if (value !== undefined && value !== null) writeAttribute(writer, field, name, value)
  }
}

/** The key of each attribute, encoded. All names are in this source. */
const keys = new Map<string, Buffer>()

function keyOf(name: string): Buffer {
  const known = keys.get(name)
  if (known) return known
  const key = encoded(writer => writer.text(inKeyValue.key, name))
  keys.set(name, key)
  return key
}

/** Texts and numbers, which are most, are written without a copy. */
function writeAttribute(writer: ProtobufWriter, field: number, name: string, value: AttributeValue): void {
  const key = keyOf(name)
  const size = sizeOf(value)
  writer.start(field, key.length + fieldSize(size))
  writer.raw(key)
  writer.start(inKeyValue.value, size)
  writeValue(writer, value)
}

function sizeOf(value: AttributeValue): number {
  if (typeof value === 'string') return fieldSize(textSize(value))
  if (typeof value === 'boolean') return 2
  if (typeof value !== 'number') return fieldSize(value.reduce((sum, one) => sum + fieldSize(sizeOf(one)), 0))
  return isVarint(value) ? 1 + varintSize(value) : 9
}

function writeValue(writer: ProtobufWriter, value: AttributeValue): void {
  if (typeof value === 'string') writer.text(inAnyValue.string, value)
  else if (typeof value === 'boolean') writer.varint(inAnyValue.bool, value ? 1 : 0)
  else if (typeof value !== 'number') writeList(writer, value)
  else if (isVarint(value)) writer.varint(inAnyValue.int, value)
  else writer.double(inAnyValue.double, value)
}

function writeList(writer: ProtobufWriter, values: readonly string[]): void {
  writer.start(
    inAnyValue.array,
    values.reduce((sum, one) => sum + fieldSize(sizeOf(one)), 0),
  )
  for (const value of values) {
    writer.start(inArray.values, sizeOf(value))
    writeValue(writer, value)
  }
}

/** Other numbers are written as doubles. */
const isVarint = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
