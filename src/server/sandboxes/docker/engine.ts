import { Agent, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'

/** An error response of the engine. */
export class EngineError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
  }
}

/** The engine did not respond, or what it sent cannot be read. It may have executed the request. */
export class EngineUnreachable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'EngineUnreachable'
  }
}

export interface EngineCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Below the API version, with its query. */
  readonly path: string
  readonly body?: object
  /** Default 30 s. */
  readonly timeoutMs?: number
  /** Called with each JSON object of a response that consists of several. */
  readonly onObject?: (object: Json) => void
  readonly signal?: AbortSignal
}

/** Client of the Engine API. */
export interface Engine {
  readonly socketPath: string
  /** Returns the JSON body; undefined without one. Errors: `EngineError`, `EngineUnreachable`. */
  call(call: EngineCall): Promise<unknown>
  /** Returns the connection to the streams of a container. */
  attach(path: string): Promise<Attached>
}

/** A connection after its upgrade. `head` is what arrived with the response. */
export interface Attached {
  readonly socket: Socket
  readonly head: Buffer
}

/** The version that this client speaks, and the oldest whose fields it needs (Docker 20.10). */
const newest = [1, 47] as const
const oldest = [1, 41] as const
const defaultTimeoutMs = 30_000
const maxBodyBytes = 8 * 1024 * 1024

/** Connects to the engine and agrees on the API version. Errors: `EngineUnreachable`, or why it cannot be used. */
export async function connectEngine(socketPath: string): Promise<Engine> {
  const open = client(socketPath, '')
  const versions = recordOf(await open.call({ method: 'GET', path: '/version', timeoutMs: 10_000 }))
  const [max, min] = [versionOf(versions['ApiVersion']), versionOf(versions['MinAPIVersion'])]
  if (!max) throw new EngineUnreachable('the engine reports no API version')
  const chosen = isBelow(max, newest) ? max : newest
  if (isBelow(chosen, oldest))
    throw new Error(`the engine speaks API ${max.join('.')}; update it to ${oldest.join('.')} or later (Docker 20.10)`)
  if (min && isBelow(chosen, min)) throw new Error(`the engine needs API ${min.join('.')}, which is too new`)
  return client(socketPath, `/v${chosen.join('.')}`)
}

type Version = readonly [major: number, minor: number]

function versionOf(value: unknown): Version | undefined {
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})$/.exec(textOf(value)) ?? []
  return major === undefined ? undefined : [Number(major), Number(minor)]
}

const isBelow = (one: Version, other: Version): boolean =>
  one[0] < other[0] || (one[0] === other[0] && one[1] < other[1])

function client(socketPath: string, base: string): Engine {
  // A connection per request: an engine that restarts leaves no stale ones.
  const agent = new Agent({ keepAlive: false })
  const headersOf = (body: string | undefined) => ({
    host: 'docker',
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
  })

  return {
    socketPath,
    async call({ method, path, body, timeoutMs = defaultTimeoutMs, onObject, signal }) {
      const text = body && JSON.stringify(body)
      const late = AbortSignal.timeout(timeoutMs)
      const either = signal ? AbortSignal.any([late, signal]) : late
      try {
        const response = await responseOf(
          request({ socketPath, agent, method, path: `${base}${path}`, headers: headersOf(text), signal: either }),
          text,
        )
        return await contentOf(response, onObject)
      } catch (error) {
        throw known(error, late.aborted ? `does not respond within ${timeoutMs / 1000} s` : undefined)
      }
    },

    attach(path) {
      return new Promise((resolve, reject) => {
        const headers = { ...headersOf(undefined), connection: 'Upgrade', upgrade: 'tcp' }
        const sent = request({ socketPath, agent, method: 'POST', path: `${base}${path}`, headers })
        const fail = (error: unknown) => {
          sent.destroy()
          reject(known(error))
        }
        sent.setTimeout(defaultTimeoutMs, () => fail(new Error(`does not respond within ${defaultTimeoutMs / 1000} s`)))
        sent.once('error', fail)
        sent.once('upgrade', (_response, socket: Socket, head) => {
          socket.setTimeout(0)
          socket.on('error', () => {})
          resolve({ socket, head })
        })
        sent.once('response', response => {
          void contentOf(response, undefined).then(() => fail(new Error('did not upgrade the connection')), fail)
        })
        sent.end()
      })
    },
  }
}

const known = (error: unknown, reason?: string): Error => {
  if (error instanceof EngineError || error instanceof EngineUnreachable) return error
  return new EngineUnreachable(reason ?? (error instanceof Error ? error.message : String(error)), error)
}

function responseOf(sent: ReturnType<typeof request>, text: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', resolve)
    sent.end(text)
  })
}

async function contentOf(response: IncomingMessage, onObject: EngineCall['onObject']): Promise<unknown> {
  const status = response.statusCode ?? 0
  const isGood = status >= 200 && status < 300
  if (isGood && onObject) return await readObjects(response, onObject)
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new Error(`sent more than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  if (!isGood && status !== 304) throw new EngineError(status, messageOf(text))
  return text.trim() === '' ? undefined : parsed(text)
}

/** Reads a sequence of JSON objects, one per line. */
async function readObjects(response: IncomingMessage, onObject: (object: Json) => void): Promise<undefined> {
  let rest = ''
  response.setEncoding('utf8')
  for await (const chunk of response as AsyncIterable<string>) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxBodyBytes) throw new Error('sent a line that is too long')
    for (const line of lines) if (line.trim() !== '') onObject(recordOf(parsed(line)))
  }
  if (rest.trim() !== '') onObject(recordOf(parsed(rest)))
  return undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new EngineUnreachable('sent a response that is not JSON', cause)
  }
}

const maxMessage = 500

function messageOf(text: string): string {
  try {
    const body = JSON.parse(text) as unknown
    if (isRecord(body) && typeof body['message'] === 'string') return body['message'].slice(0, maxMessage)
  } catch {
    // Not every error has a JSON body.
  }
  return text.trim().slice(0, maxMessage) || 'no message'
}
