import { randomUUID } from 'node:crypto'
import { PassThrough, Readable } from 'node:stream'
import { sseFrame } from '../../../contract/sse.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../platform/json.ts'
import { unchanged } from '../client/authorize.ts'
import { isResponse, type RpcMessage } from '../client/json-rpc.ts'
import { sessionHeader } from '../client/legacy.ts'
import { modernVersion } from '../client/modern.ts'
import { hasRevision } from '../client/modern-request.ts'
import { maxAnswerBytes, timedOut } from '../client/read-answer.ts'
import type { Connections, UpstreamAnswer, UpstreamRequest } from '../client/upstream.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { isUnshared } from './handshake.ts'
import type { RunningServer, StdioPrograms } from './programs.ts'

/**
 * Serves programs as if they had a streamable HTTP endpoint, so that the proxy and the client need no other path for
 * them. A session is only a name, by which a client cancels its calls: the program itself has all clients in one.
 */
export function createStdioUpstream(programs: Pick<StdioPrograms, 'take' | 'close'>): Connections {
  /** Calls of sessions that a client may cancel. */
  const inFlight = new Map<string, AbortController>()

  async function post(server: RegisteredServer, call: UpstreamRequest): Promise<UpstreamAnswer> {
    const message = jsonOr(String(call.body ?? ''), undefined)
    if (!isRecord(message)) return failed(rpcCodes.invalidRequest, 'batches are not supported', { status: 400 })
    const session = call.headers[sessionHeader]
    const { id, method } = message
    if (id === undefined || id === null || isResponse(message)) {
      if (method === 'notifications/cancelled')
        inFlight.get(keyOf(session, recordOf(message['params'])['requestId']))?.abort(cancelled(server))
      return plain(202, '')
    }
    const { running, release } = await programs.take(server)
    const own = ownAnswer(message, running)
    if (own) {
      release()
      return own
    }
    const cancel = new AbortController()
    const key = keyOf(session, id)
    if (session !== undefined) inFlight.set(key, cancel)
    const done = (): void => {
      if (inFlight.get(key) === cancel) inFlight.delete(key)
      release()
    }
    return relay(server, running, { call, message, cancel, done })
  }

  return {
    exchange(server, call) {
      if (call.method === 'POST') return post(server, call)
      // A stream of a session would have messages of other clients too.
      return Promise.resolve(call.method === 'DELETE' ? plain(200, '') : plain(405, '', { allow: 'POST, DELETE' }))
    },
    close: () => programs.close(),
  }
}

const keyOf = (session: string | undefined, id: unknown): string => JSON.stringify([session, id])

/** Answers what concerns the connection, or another era than that of the program. */
function ownAnswer(message: RpcMessage, { era, initialized }: RunningServer): UpstreamAnswer | undefined {
  const { id, method: given } = message
  const method = textOf(given)
  const isModern = hasRevision(message)
  if (era === 'legacy') {
    if (isModern) return plain(400, 'this server supports only revisions with sessions')
    if (method === 'initialize')
      return json({ jsonrpc: '2.0', id, result: initialized }, { [sessionHeader]: randomUUID() })
    if (method === 'ping') return json({ jsonrpc: '2.0', id, result: {} })
  } else if (!isModern)
    return failed(rpcCodes.unsupportedVersion, `this server supports only revision ${modernVersion}`, {
      id,
      status: 400,
      data: { supported: [modernVersion] },
    })
  if (!isUnshared(method)) return undefined
  return failed(rpcCodes.unknownMethod, `${method.slice(0, 100)} is not supported: the server has several clients`, {
    id,
  })
}

interface Relaying {
  readonly call: UpstreamRequest
  readonly message: RpcMessage
  readonly cancel: AbortController
  readonly done: () => void
}

/** Sends a request and answers with its response as JSON, or with an event stream if progress comes first. */
function relay(
  server: RegisteredServer,
  { connection, scrub }: RunningServer,
  { call, message, cancel, done }: Relaying,
): Promise<UpstreamAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
  let body: PassThrough | undefined
  let timer: NodeJS.Timeout | undefined
  const wait = (ms: number): void => {
    clearTimeout(timer)
    if (ms > 0) timer = setTimeout(() => cancel.abort(timedOut(server)), ms)
  }
  const onMessage = (event: RpcMessage): void => {
    if (!body) {
      body = new PassThrough()
      // A reader that leaves early destroys the body, which must not end the process.
      body.on('error', () => undefined)
      body.once('close', () => cancel.abort(cancelled(server)))
      resolve(answerOf(200, body, { 'content-type': 'text/event-stream' }, scrub))
    }
    wait(call.gapMs ?? call.silenceMs)
    body.write(frame(event))
    if (body.writableLength > maxAnswerBytes) body.destroy(tooSlow(server))
  }
  const signal = AbortSignal.any([call.signal, cancel.signal])
  wait(call.silenceMs)
  connection
    .request(message, { signal, onMessage })
    .then(
      response => (body ? void body.end(frame(response)) : resolve(json(response, {}, scrub))),
      (error: Error) => (body ? void body.destroy(error) : reject(error)),
    )
    .finally(() => {
      clearTimeout(timer)
      done()
    })
  return promise
}

const frame = (message: RpcMessage): string => sseFrame({ event: 'message', data: JSON.stringify(message) })

type Headers = Readonly<Record<string, string>>

const answerOf = (
  status: number,
  body: Readable,
  headers: Headers,
  scrub: UpstreamAnswer['scrub'] = unchanged,
): UpstreamAnswer => ({ status, contentType: headers['content-type'] ?? '', headers, body, scrub })

const plain = (status: number, text: string, headers: Headers = {}): UpstreamAnswer =>
  answerOf(status, Readable.from([Buffer.from(text)]), {
    ...headers,
    ...(text !== '' && { 'content-type': 'text/plain' }),
  })

const json = (message: Json, headers: Headers = {}, scrub?: UpstreamAnswer['scrub']): UpstreamAnswer =>
  answerOf(
    200,
    Readable.from([Buffer.from(JSON.stringify(message))]),
    { 'content-type': 'application/json', ...headers },
    scrub,
  )

interface Failed {
  readonly id?: unknown
  readonly status?: number
  readonly data?: Json
}

function failed(code: number, message: string, { id = null, status = 200, data }: Failed): UpstreamAnswer {
  const error = { code, message, ...(data && { data }) }
  return { ...json({ jsonrpc: '2.0', id, error }), status }
}

const cancelled = ({ server_name }: RegisteredServer): AppError =>
  new AppError('upstream_unreachable', `the call of MCP server ${server_name} was cancelled`)

const tooSlow = ({ server_name }: RegisteredServer): AppError =>
  new AppError('upstream_unreachable', `the client reads progress of MCP server ${server_name} too slowly`)
