import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { FrameSplitter, readFrame } from '../bytes/event-frames.ts'
import type { Call, Outcome, ParsedRequest } from '../core/call.ts'
import type { UpstreamFrame } from '../core/codec.ts'
import { formType } from '../endpoints/request.ts'
import { isEndpoint } from '../endpoints/table.ts'
import type { Answer } from './answer-tap.ts'
import { HookFailure } from './client.ts'

/** A call with its parsed request. */
export interface CheckedCall {
  readonly call: Call
  readonly parsed: ParsedRequest
}

/** Returns the body of a request to a hook of phase `pre`. */
export const requestBody = (checked: CheckedCall): string => `{"phase":"pre","call":${callText(checked)}}`

/** Returns the body of a request to a hook of phase `post`. */
export const answerBody = (checked: CheckedCall, answer: Answer, outcome: Outcome['outcome']): string =>
  `{"phase":"post","call":${callText(checked)},"response":${responseText(answer, outcome)}}`

/** Includes the client's JSON unparsed, so that numbers keep their digits. */
function callText({ call, parsed }: CheckedCall): string {
  const { kind, requestId, caller, session } = call
  const facts = {
    request_id: requestId,
    kind,
    model: parsed.model,
    stream: parsed.stream,
    principal: caller.principal,
    key_id: caller.key?.id ?? null,
    ...(session && {
      session_id: session.session_id,
      agent_id: session.agent_id,
      owner_id: session.owner_id,
      run_id: session.run_id,
    }),
    content_type: contentTypeOf(call),
  }
  return withMember(facts, 'body', isForm(call) ? 'null' : call.body.toString('utf8'))
}

function responseText({ status, headers, isStream, chunks }: Answer, outcome: Outcome['outcome']): string {
  const facts = { status, content_type: headers['content-type'] ?? null, outcome }
  if (isStream) return withMember(facts, 'events', `[${eventsIn(chunks).join(',')}]`)
  const text = Buffer.concat(chunks).toString('utf8')
  return withMember(facts, 'body', isJson(text) ? text : 'null')
}

/** Returns `facts` as JSON with one more member, whose value is JSON text. */
const withMember = (facts: object, name: string, value: string): string =>
  `${JSON.stringify(facts).slice(0, -1)},"${name}":${value}}`

const isJson = (text: string): boolean => jsonOr(text, undefined) !== undefined

const contentTypeOf = ({ headers }: Call): string => [headers['content-type']].flat()[0] ?? 'application/json'

/** True for a call whose body is a multipart form. */
export const isForm = (call: Call): boolean => isEndpoint(call.kind) && formType(call, call.kind) !== undefined

function framesIn(chunks: readonly Buffer[]): UpstreamFrame[] {
  const frames: UpstreamFrame[] = []
  const splitter = new FrameSplitter(
    bytes => {
      const frame = readFrame(bytes)
      if (frame) frames.push(frame)
    },
    { maxBytes: Number.POSITIVE_INFINITY },
  )
  for (const chunk of chunks) splitter.push(chunk)
  splitter.finish()
  return frames
}

/** Returns the data of each event, as JSON text. */
const eventsIn = (chunks: readonly Buffer[]): string[] =>
  framesIn(chunks).flatMap(({ data }) => (isJson(data) ? [data] : []))

/** Fields that a hook cannot replace: admission depended on them, and the client relies on them. */
const fixedFields = ['stream', 'previous_response_id'] as const

/** Returns the call with the body of a hook. Streaming and the previous response cannot be changed. */
export function withRequestBody(call: Call, body: unknown): Call {
  if (isForm(call)) throw new HookFailure('action replace is not possible for a form')
  if (!isRecord(body)) throw new HookFailure('body in its answer must be a JSON object')
  const given = recordOf(jsonOr(call.body.toString('utf8'), undefined))
  const replaced: Record<string, unknown> = { ...body }
  for (const name of fixedFields) {
    if (given[name] === undefined) delete replaced[name]
    else replaced[name] = given[name]
  }
  return { ...call, body: Buffer.from(JSON.stringify(replaced)) }
}

/** Returns the answer with the content of a hook. */
export function withAnswerBody(answer: Answer, body: unknown): Answer {
  if (answer.isStream) return { ...answer, chunks: [streamOf(answer, body)] }
  if (!isRecord(body)) throw new HookFailure('body in its answer must be a JSON object')
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = { ...answer.headers, 'content-type': 'application/json', 'content-length': String(bytes.length) }
  return { ...answer, headers, chunks: [bytes], isCut: false }
}

/** Returns events in the framing of the stream that they replace. */
function streamOf({ chunks }: Answer, body: unknown): Buffer {
  if (!Array.isArray(body) || !body.every(isRecord))
    throw new HookFailure('body in its answer must be a list of events, each a JSON object')
  const frames = framesIn(chunks)
  const isNamed = frames.some(({ event }) => event !== undefined)
  const end = frames.at(-1)?.data === '[DONE]' ? 'data: [DONE]\n\n' : ''
  return Buffer.from(body.map(event => frameOf(event, isNamed)).join('') + end)
}

function frameOf(event: Json, isNamed: boolean): string {
  const name = isNamed ? textIn(event['type']) : undefined
  const head = name !== undefined && /^[\w.-]+$/.test(name) ? `event: ${name}\n` : ''
  return `${head}data: ${JSON.stringify(event)}\n\n`
}
