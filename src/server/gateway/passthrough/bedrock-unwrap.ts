import { anthropicTypeOf } from '../../../contract/errors.ts'
import { jsonOr, recordOf } from '../../platform/json.ts'
import { type AwsFrame, createAwsEventStream } from '../bytes/aws-event-stream.ts'
import { bedrockMessage, codeOfException } from '../upstream/bedrock.ts'

/**
 * Takes the events of a Claude out of an AWS event stream, as server-sent events with their JSON text as it came. An
 * exception becomes an `error` event. Throws for bytes that are no event stream.
 */
export function createBedrockUnwrap(): (chunk: Buffer) => readonly Buffer[] {
  const read = createAwsEventStream()
  return chunk => read(chunk).flatMap(frame => eventsOf(frame))
}

function eventsOf(frame: AwsFrame): readonly Buffer[] {
  const json = bedrockEvent(frame)
  return json === undefined ? [] : [eventOf(json)]
}

/** The JSON text of the event of Claude's that a frame holds, or that its exception is; undefined for any other frame. */
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
  // Line breaks between the parts of a JSON text would end the line; each goes on in a line of its own.
  const lines = json.includes(0x0a) ? Buffer.from(json.toString().split(/\r?\n/).join('\ndata: ')) : json
  return Buffer.concat([eventStart, Buffer.from(typeOf(json)), dataStart, lines, frameEnd])
}

const usualStart = /^\{"type":"(\w+)"/

/** The name of an event stands in its JSON only. */
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
