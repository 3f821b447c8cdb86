import type { Readable, Writable } from 'node:stream'
import { isRecord, type Json, jsonOr, recordOf, textOf } from '../../platform/json.ts'
import { linesOf } from '../../platform/lines.ts'

/** Error response of the peer. */
export class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.name = 'RpcError'
    this.code = code
  }
}

/** The peer exited, closed its output or sent data that cannot be read. */
export class PeerDisconnected extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'PeerDisconnected'
  }
}

/** Request of the peer that waits for our response. */
export interface PeerRequest {
  readonly method: string
  readonly params: Json
  /** Only the first response is sent. */
  answer(result: Json): void
  reject(code: number, message: string): void
}

interface Handlers {
  /** The next message is read once it resolves. */
  onNotification(method: string, params: Json): Promise<void>
  onRequest(request: PeerRequest): Promise<void>
}

/** JSON-RPC 2.0 with one message per line. */
export interface JsonRpc {
  /** Resolves with the result. Rejects with `RpcError`, with the code of the peer, or with `PeerDisconnected`. */
  request(method: string, params: object): Promise<Json>
  notify(method: string, params: object): void
  /** Resolves with the reason once the peer is disconnected. */
  readonly closed: Promise<string>
}

export const unknownMethod = -32601

interface Waiting {
  resolve(result: Json): void
  reject(error: Error): void
}

/**
 * Connects to the pipes of a program. Lines that are not messages are skipped, since programs also print other text.
 */
export function jsonRpc({ input, output }: { input: Readable; output: Writable }, handlers: Handlers): JsonRpc {
  const waiting = new Map<number, Waiting>()
  let lastId = 0
  let closeReason: string | undefined

  const send = (message: object): void => {
    if (closeReason === undefined) output.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  const settle = (id: unknown, { result, error }: Json): void => {
    const one = typeof id === 'number' ? waiting.get(id) : undefined
    if (!one) return
    waiting.delete(Number(id))
    if (isRecord(error)) one.reject(new RpcError(Number(error['code']) || 0, messageOf(error)))
    else one.resolve(recordOf(result))
  }
  const take = async (message: Json): Promise<void> => {
    const { id, method } = message
    if (typeof method !== 'string') return settle(id, message)
    const params = recordOf(message['params'])
    if (id === undefined || id === null) return handlers.onNotification(method, params)
    return handlers.onRequest(peerRequest({ id, method, params }, send))
  }
  const read = async (): Promise<string> => {
    for await (const line of linesOf(input)) {
      const message = line.trimStart().startsWith('{') ? jsonOr(line, undefined) : undefined
      if (isRecord(message)) await take(message)
    }
    return 'it closed its output'
  }
  const closed = read()
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
    .then(reason => {
      closeReason = reason
      for (const one of waiting.values()) one.reject(new PeerDisconnected(reason))
      waiting.clear()
      return reason
    })

  return {
    closed,
    request(method, params) {
      if (closeReason !== undefined) return Promise.reject(new PeerDisconnected(closeReason))
      lastId += 1
      const id = lastId
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        send({ id, method, params })
      })
    },
    notify: (method, params) => send({ method, params }),
  }
}

/** Returns the message of an error with its details: many programs put the cause there. */
function messageOf(error: Json): string {
  const message = textOf(error['message'])
  const { details, message: inner, error: cause, reason } = recordOf(error['data'])
  const detail = typeof error['data'] === 'string' ? error['data'] : textOf(details ?? inner ?? cause ?? reason)
  return detail === '' || detail === message ? message : `${message}: ${detail}`
}

function peerRequest(
  { id, method, params }: { id: unknown; method: string; params: Json },
  send: (message: object) => void,
): PeerRequest {
  let isAnswered = false
  const once = (message: object): void => {
    if (isAnswered) return
    isAnswered = true
    send({ id, ...message })
  }
  return {
    method,
    params,
    answer: result => once({ result }),
    reject: (code, message) => once({ error: { code, message } }),
  }
}
