import { anthropicTypeOf } from '../../../contract/error-codes.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import { type AwsFrame, createAwsEventStream } from '../bytes/aws-event-stream.ts'
import { bedrockMessage, codeOfException } from '../upstream/bedrock.ts'

/**
 * Returns a function that unwraps Claude's events from an AWS event stream into server-sent events with unchanged JSON
 * text. An exception becomes an `error` event. Throws EventStreamError for bytes that are not an event stream.
 */
export function createBedrockUnwrap(): (chunk: Buffer) => readonly Buffer[] {
  const read = createAwsEventStream()
  return chunk => read(chunk).flatMap(frame => eventsOf(frame))
}

function eventsOf(frame: AwsFrame): readonly Buffer[] {
  const json = bedrockEvent(frame)
  return json === undefined ? [] : [eventOf(json)]
}

/** Returns the JSON text of Claude's event in a frame, or an error event for an exception; else undefined. */
export function bedrockEvent({ event = '', data }: Pick<AwsFrame, 'event' | 'data'>): Buffer | undefined {
  const payload = recordOf(jsonOr(data, undefined))
  if (event === 'chunk') {
    const bytes = payload['bytes']
    return typeof bytes === 'string' ? Buffer.from(bytes, 'base64') : undefined
  }
  return /(exception|error|failure)$/i.test(event) ? errorEvent(event, payload) : undefined
}

const eventStart = Buffer.from('event: ')
const dataStart = Buffer.from('\ndata: ')
const frameEnd = Buffer.from('\n\n')

function eventOf(json: Buffer): Buffer {
  // A line break in the JSON would end the data line, so each line of the JSON gets its own data line.
  const lines = json.includes(0x0a) ? Buffer.from(json.toString().split(/\r?\n/).join('\ndata: ')) : json
  return Buffer.concat([eventStart, Buffer.from(typeOf(json)), dataStart, lines, frameEnd])
}

const usualStart = /^\{"type":"(\w+)"/

/** Returns the event name, which only the JSON holds. */
function typeOf(json: Buffer): string {
  const usual = usualStart.exec(json.toString('latin1', 0, 64))?.[1]
  if (usual !== undefined) return usual
  const { type } = recordOf(jsonOr(json.toString(), undefined))
  return typeof type === 'string' && /^\w+$/.test(type) ? type : 'message'
}

function errorEvent(name: string, payload: unknown): Buffer {
  const message = bedrockMessage(payload) ?? `Amazon Bedrock: ${name}`
  const error = { type: anthropicTypeOf(codeOfException(name)), message }
  return Buffer.from(JSON.stringify({ type: 'error', error }))
}
