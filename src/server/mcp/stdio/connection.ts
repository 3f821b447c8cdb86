import type { Readable, Writable } from 'node:stream'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../platform/json.ts'
import { linesOf } from '../../platform/lines.ts'
import { isResponse, type RpcMessage } from '../client/json-rpc.ts'
import { maxAnswerBytes } from '../client/read-answer.ts'

interface Sending {
  /** Cancels the request at the server. */
  readonly signal: AbortSignal
  /** Called with each progress notification of the request. */
  readonly onMessage: (message: RpcMessage) => void
}

/** JSON-RPC with a program, one message per line. Requests of all clients share it, under ids of the connection. */
export interface StdioConnection {
  /** Resolves with the response, under the id of the request. Rejects with AppError or the reason of the signal. */
  request(message: RpcMessage, sending: Sending): Promise<RpcMessage>
  notify(method: string, params: Json): void
  /** Resolves with the reason once no message can arrive any more. */
  readonly closed: Promise<string>
}

interface InFlight {
  readonly original: RpcMessage
  readonly onMessage: Sending['onMessage']
  resolve(response: RpcMessage): void
  reject(error: Error): void
}

const maxInFlight = 100
/** Bytes that the program has not read yet. */
const maxUnread = 16 * 1024 * 1024

interface Pipes {
  readonly name: string
  readonly input: Readable
  readonly output: Writable
}

export function connectStdio({ name, input, output }: Pipes): StdioConnection {
  const inFlight = new Map<number, InFlight>()
  let lastId = 0
  let closeReason: string | undefined

  const send = (message: object): void => {
    if (closeReason === undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  /** The program serves several clients, so none of them can answer its requests. */
  const answer = (id: unknown, method: string): void =>
    send(
      method === 'ping'
        ? { id, result: {} }
        : { id, error: { code: rpcCodes.unknownMethod, message: `${method.slice(0, 100)} is not supported` } },
    )

  function take(message: RpcMessage): void {
    const { id, method } = message
    if (isResponse(message)) {
      const one = inFlight.get(Number(id))
      inFlight.delete(Number(id))
      one?.resolve({ ...message, id: one.original['id'] })
    } else if (id !== undefined && id !== null) answer(id, textOf(method))
    else if (method === 'notifications/progress') {
      const params = recordOf(message['params'])
      const one = inFlight.get(Number(params['progressToken']))
      if (one) one.onMessage({ ...message, params: { ...params, progressToken: tokenOf(one.original) } })
    }
  }

  const read = async (): Promise<string> => {
    for await (const line of linesOf(input, maxAnswerBytes)) {
      const message = line.trimStart().startsWith('{') ? jsonOr(line, undefined) : undefined
      if (isRecord(message)) take(message)
    }
    return 'closed its output'
  }
  const closed = read()
    .catch((error: unknown) => `sent a message that cannot be read: ${(error as Error).message}`)
    .then(reason => {
      closeReason = reason
      for (const one of inFlight.values()) one.reject(gone(name, reason))
      inFlight.clear()
      return reason
    })

  return {
    closed,
    notify: (method, params) => send({ method, params }),
    request(message, { signal, onMessage }) {
      if (closeReason !== undefined) return Promise.reject(gone(name, closeReason))
      if (signal.aborted) return Promise.reject(signal.reason as Error)
      if (inFlight.size >= maxInFlight || output.writableLength > maxUnread) return Promise.reject(busy(name))
      lastId += 1
      const id = lastId
      const { promise, resolve, reject } = Promise.withResolvers<RpcMessage>()
      const cancel = (): void => {
        if (!inFlight.delete(id)) return
        send({ method: 'notifications/cancelled', params: { requestId: id, reason: 'cancelled by the client' } })
        reject(signal.reason as Error)
      }
      inFlight.set(id, { original: message, onMessage, resolve, reject })
      signal.addEventListener('abort', cancel, { once: true })
      send({ ...withToken(message, id), id })
      return promise.finally(() => signal.removeEventListener('abort', cancel))
    },
  }
}

const tokenOf = ({ params }: RpcMessage): unknown => recordOf(recordOf(params)['_meta'])['progressToken']

/** Returns the request with a progress token that no other client uses. */
function withToken(message: RpcMessage, id: number): RpcMessage {
  if (tokenOf(message) === undefined) return message
  const params = recordOf(message['params'])
  return { ...message, params: { ...params, _meta: { ...recordOf(params['_meta']), progressToken: id } } }
}

const gone = (name: string, reason: string): AppError =>
  new AppError('upstream_unreachable', `MCP server ${name} ${reason}`)

const busy = (name: string): AppError =>
  new AppError('unavailable', `MCP server ${name} has ${maxInFlight} calls in flight, its maximum; retry after 1 s`, {
    headers: { 'retry-after': '1' },
  })
