import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** Where a request goes, and the key that it carries unless its own headers name another. */
export interface Target {
  readonly url: string
  readonly key?: string
}

export interface Sent {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Text and bytes are sent as they are, anything else as JSON. */
  readonly body?: unknown
}

/** A whole answer. */
export interface Answered {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  json<T = Record<string, unknown>>(): T
}

/** Sends a request with the path exactly as it is spelt, and reads the answer to its end. */
export async function send(target: Target, line: string, { headers = {}, body }: Sent = {}): Promise<Answered> {
  const response = await open(target, line, { headers, body })
  const text = (await buffer(response)).toString()
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: <T>() => JSON.parse(text) as T,
  }
}

/** As `send`, but fails for an error and returns the JSON of the answer; undefined for an empty one. */
export async function sendOk<T>(target: Target, line: string, sent: Sent = {}): Promise<T> {
  const answer = await send(target, line, sent)
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

/** As `send`, but resolves with the head; the caller reads the body. `line` is `METHOD /path`. */
export function open({ url, key }: Target, line: string, { headers = {}, body }: Sent = {}): Promise<IncomingMessage> {
  const space = line.indexOf(' ')
  const { hostname, port } = new URL(url)
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body)
  const bytes = body === undefined ? undefined : isRaw ? Buffer.from(body) : Buffer.from(JSON.stringify(body))
  const sent = new Set(Object.keys(headers).map(name => name.toLowerCase()))
  const isAnonymous = sent.has('authorization') || sent.has('x-api-key')
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: hostname,
        port,
        method: line.slice(0, space),
        path: line.slice(space + 1),
        headers: {
          ...(key && !isAnonymous && { authorization: `Bearer ${key}` }),
          ...(bytes && !sent.has('transfer-encoding') && { 'content-length': bytes.length }),
          ...(bytes && !sent.has('content-type') && { 'content-type': 'application/json' }),
          ...(headers as Record<string, string | string[]>),
        },
      },
      resolve,
    )
    outgoing.on('error', reject)
    outgoing.end(bytes)
  })
}
