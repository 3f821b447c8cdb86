import { isRecord, type Json, jsonOr, recordOf, textIn } from '../../platform/json.ts'
import { FrameSplitter, readFrame } from '../bytes/event-frames.ts'
import type { Ask, Call, Outcome } from '../core/call.ts'
import type { UpstreamFrame } from '../core/codec.ts'
import { formType } from '../endpoints/request.ts'
import { isEndpoint } from '../endpoints/table.ts'
import type { Answer } from './answer-tap.ts'
import { HookFailure } from './client.ts'

/** A call, and what it asks for. */
export interface CheckedCall {
  readonly call: Call
  readonly ask: Ask
}

/** The body of a request to a hook of phase `pre`. */
export const requestBody = (checked: CheckedCall): string => `{"phase":"pre","call":${callText(checked)}}`

/** The body of a request to a hook of phase `post`. */
export const answerBody = (checked: CheckedCall, answer: Answer, outcome: Outcome['outcome']): string =>
  `{"phase":"post","call":${callText(checked)},"response":${responseText(answer, outcome)}}`

/** The client's JSON goes in as it is: numbers keep their digits, and nothing is built of it. */
function callText({ call, ask }: CheckedCall): string {
  const { kind, requestId, caller, session } = call
  const facts = {
    request_id: requestId,
    kind,
    model: ask.model,
    stream: ask.stream,
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

/** The JSON object `facts` with one more member, whose value is JSON already. */
const withMember = (facts: object, name: string, value: string): string =>
  `${JSON.stringify(facts).slice(0, -1)},"${name}":${value}}`

const isJson = (text: string): boolean => jsonOr(text, undefined) !== undefined

const contentTypeOf = ({ headers }: Call): string => [headers['content-type']].flat()[0] ?? 'application/json'

/** True for a call whose body the gateway reads as a form: those with files. */
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

/** The data of each event, as JSON text. */
const eventsIn = (chunks: readonly Buffer[]): string[] =>
  framesIn(chunks).flatMap(({ data }) => (isJson(data) ? [data] : []))

/** Fields by which a call was let in, and which its caller counts on. */
const kept = ['stream', 'previous_response_id'] as const

/** The call with the body that a hook gave. How it is answered, and what it goes on from, stays. */
export function withRequestBody(call: Call, body: unknown): Call {
  if (isForm(call)) throw new HookFailure('it answered replace, but the request is a form')
  if (!isRecord(body)) throw new HookFailure('body in its answer must be a JSON object')
  const given = recordOf(jsonOr(call.body.toString('utf8'), undefined))
  const replaced: Record<string, unknown> = { ...body }
  for (const name of kept) {
    if (given[name] === undefined) delete replaced[name]
    else replaced[name] = given[name]
  }
  return { ...call, body: Buffer.from(JSON.stringify(replaced)) }
}

/** The answer with the content that a hook gave. */
export function withAnswerBody(answer: Answer, body: unknown): Answer {
  if (answer.isStream) return { ...answer, chunks: [streamOf(answer, body)] }
  if (!isRecord(body)) throw new HookFailure('body in its answer must be a JSON object')
  const bytes = Buffer.from(JSON.stringify(body))
  const headers = { ...answer.headers, 'content-type': 'application/json', 'content-length': String(bytes.length) }
  return { ...answer, headers, chunks: [bytes], isCut: false }
}

/** Events in the framing of the stream in whose place they go out. */
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
