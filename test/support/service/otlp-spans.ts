import { doubleIn, hexIn, type Message, messagesIn, numberIn, readMessage, textIn } from './protobuf-reader.ts'

// Field numbers of opentelemetry/proto/trace/v1/trace.proto.

export interface Attribute {
  readonly key: string
  readonly value: {
    readonly stringValue?: string | undefined
    readonly intValue?: string | undefined
    readonly boolValue?: boolean | undefined
    readonly doubleValue?: number | undefined
    readonly arrayValue?: readonly Attribute['value'][] | undefined
  }
}

interface Link {
  readonly traceId: string | undefined
  readonly spanId: string | undefined
  readonly traceState: string | undefined
}

export interface ReceivedSpan extends Link {
  readonly parentSpanId: string | undefined
  readonly links: readonly Link[]
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code: number; readonly message: string | undefined }
}

/** Returns the spans of a request to `/v1/traces`, and the attributes of their resource. */
export function spansOfRequest(body: Buffer): { resource: readonly Attribute[]; spans: readonly ReceivedSpan[] } {
  const [ofResource] = messagesIn(readMessage(body), 1)
  const [resource] = messagesIn(ofResource, 1)
  const spans = messagesIn(ofResource, 2).flatMap(ofScope => messagesIn(ofScope, 2))
  return { resource: messagesIn(resource, 1).map(attributeOf), spans: spans.map(spanOf) }
}

const linkOf = (message: Message): Link => ({
  traceId: hexIn(message, 1),
  spanId: hexIn(message, 2),
  traceState: textIn(message, 3),
})

function spanOf(message: Message): ReceivedSpan {
  const [status] = messagesIn(message, 15)
  return {
    ...linkOf(message),
    parentSpanId: hexIn(message, 4),
    name: textIn(message, 5) ?? '',
    kind: Number(numberIn(message, 6)),
    startTimeUnixNano: String(numberIn(message, 7)),
    endTimeUnixNano: String(numberIn(message, 8)),
    attributes: messagesIn(message, 9).map(attributeOf),
    links: messagesIn(message, 13).map(linkOf),
    status: { code: Number(numberIn(status, 3) ?? 0n), message: textIn(status, 2) },
  }
}

function attributeOf(message: Message): Attribute {
  const [value] = messagesIn(message, 2)
  return { key: textIn(message, 1) ?? '', value: anyValueOf(value) }
}

function anyValueOf(value: Message | undefined): Attribute['value'] {
  const bool = numberIn(value, 2)
  const [array] = messagesIn(value, 5)
  return {
    stringValue: textIn(value, 1),
    boolValue: bool === undefined ? undefined : bool === 1n,
    intValue: numberIn(value, 3)?.toString(),
    doubleValue: doubleIn(value, 4),
    arrayValue: array && messagesIn(array, 1).map(anyValueOf),
  }
}
