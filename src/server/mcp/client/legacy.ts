import { apiVersion } from '../../../contract/api.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, nonEmptyText, textOf } from '../../platform/json.ts'
import { pause } from '../../platform/timers.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { type RpcMessage, resultOf } from './json-rpc.ts'
import { discard, readEvents, responseIn } from './read-answer.ts'
import { serverFailure } from './server-failure.ts'
import type { Upstream, UpstreamAnswer } from './upstream.ts'

/** Header with the id of a session. */
export const sessionHeader = 'mcp-session-id'

/** Revisions with sessions, newest first. Dialects: section 6.3. */
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** Returns the revision for a client with these parameters of `initialize`: its own, if it is supported, else the newest. */
export function agreedVersion({ protocolVersion }: Json): string {
  const given = textOf(protocolVersion)
  return legacyVersions.includes(given) ? given : (legacyVersions[0] ?? '')
}

/** One request of the client. */
export interface RpcCall {
  readonly method: string
  readonly params: Json
  readonly signal: AbortSignal
  readonly onMessage: (message: RpcMessage) => void
  /** Answers a request of the server. Without it, every request but `ping` is refused. */
  readonly onRequest?: AnswerRequest
  /** Called with every part of the answer. The call then has no separate limit of silence. */
  readonly onBytes?: () => void
}

/** Returns the answer to a request of the server. */
export type AnswerRequest = (message: RpcMessage) => Promise<RpcOutcome>

/** Result or error of a request. */
export type RpcOutcome =
  | { readonly result: Json }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } }

/** An initialized session with a server. */
export interface LegacySession {
  readonly protocolVersion: string
  /** Result of `initialize`. */
  readonly initialized: Json
  /** Rejects with `SessionExpired` when the server does not know the session any more. */
  request(call: RpcCall): Promise<Json>
  /**
   * Opens the server's own stream of the session and resolves once it is open; to undefined if the server has none.
   * The returned promise resolves when the stream ends.
   */
  listen(
    stream: Pick<RpcCall, 'signal' | 'onMessage' | 'onRequest'>,
  ): Promise<{ readonly ended: Promise<void> } | undefined>
  /** Ends the session at the server, if it has one. */
  end(): Promise<void>
}

/** The server forgot the session. */
export class SessionExpired extends Error {
  override readonly name = 'SessionExpired'
}

/** The server does not accept `initialize`. */
export class NotLegacy extends Error {
  override readonly name = 'NotLegacy'
}

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
  /** Capabilities that the server may use; none by default. */
  readonly capabilities?: Json
}

const silenceMs = 60_000
const endMs = 5_000
const accept = 'application/json, text/event-stream'
/** How often a broken stream is resumed without a new event. */
const maxResumes = 5
const resumeMs = { default: 1_000, max: 30_000 }

/** Opens a session: `initialize`, then `notifications/initialized`. */
export async function openLegacy(
  server: RegisteredServer,
  signal: AbortSignal,
  { upstream, nextId, capabilities = {} }: Deps,
): Promise<LegacySession> {
  let headers: Record<string, string> = { accept, 'content-type': 'application/json' }

  const post = (message: object, on: AbortSignal, limitMs = silenceMs): Promise<UpstreamAnswer> =>
    upstream.exchange(server, {
      method: 'POST',
      headers,
      body: JSON.stringify(message),
      signal: on,
      silenceMs: limitMs,
    })

  const get = (more: Record<string, string>, on: AbortSignal): Promise<UpstreamAnswer> => {
    const { 'content-type': _none, ...own } = headers
    const sent = { ...own, accept: 'text/event-stream', ...more }
    return upstream.exchange(server, { method: 'GET', headers: sent, signal: on, silenceMs, gapMs: 0 })
  }

  async function notify(message: object, on: AbortSignal): Promise<number> {
    const answer = await post(message, on)
    void discard(answer)
    return answer.status
  }

  /** Answers a request of the server. */
  async function reply(message: RpcMessage, onRequest: AnswerRequest | undefined): Promise<void> {
    const { id, method } = message
    if (id === undefined) return
    const outcome = method === 'ping' ? { result: {} } : await (onRequest ?? refuse)(message)
    await notify({ jsonrpc: '2.0', id, ...outcome }, AbortSignal.timeout(silenceMs))
  }

  /** Passes messages of a stream on and answers its requests. */
  const takenBy =
    ({ onMessage, onRequest }: Pick<RpcCall, 'onMessage' | 'onRequest'>) =>
    (message: RpcMessage): void => {
      // The server ends the call by itself when it does not get the answer.
      reply(message, onRequest).catch(() => undefined)
      onMessage(message)
    }

  /** Reads the response to request `id`; a stream that breaks before it is resumed if its events have ids. */
  async function answered(first: UpstreamAnswer, id: number, call: RpcCall): Promise<RpcMessage> {
    const reading = { server, id, onMessage: takenBy(call), onBytes: call.onBytes }
    if (first.contentType !== 'text/event-stream') return responseIn(first, reading)
    let answer: UpstreamAnswer | undefined = first
    let lastEventId: string | undefined
    for (let left = maxResumes; answer && left >= 0; left--) {
      const found = await readEvents(answer, reading)
      if (found.response) return found.response
      if (found.lastEventId !== undefined) left = maxResumes
      lastEventId = found.lastEventId ?? lastEventId
      answer = lastEventId === undefined ? undefined : await resumed(lastEventId, found.retryMs, call.signal)
    }
    throw serverFailure(server, 'closed the stream before the response')
  }

  /** Opens a stream again after its last event; undefined if the server does not resume it. */
  async function resumed(lastEventId: string, retryMs: number | undefined, on: AbortSignal) {
    await pause(Math.min(retryMs ?? resumeMs.default, resumeMs.max), on)
    on.throwIfAborted()
    const answer = await get({ 'last-event-id': lastEventId }, on)
    if (isStream(answer)) return answer
    answer.body.destroy()
    return undefined
  }

  const initializeId = nextId()
  const opened = await post(
    {
      jsonrpc: '2.0',
      id: initializeId,
      method: 'initialize',
      params: {
        protocolVersion: legacyVersions[0],
        capabilities,
        clientInfo: { name: 'switchyard', version: apiVersion },
      },
    },
    signal,
  )
  if (opened.status >= 400 && opened.status < 500) {
    opened.body.destroy()
    throw new NotLegacy(`MCP server ${server.server_name} rejected initialize with status ${opened.status}`)
  }
  const session = nonEmptyText(opened.headers[sessionHeader])
  const result = resultOf(await responseIn(opened, { server, id: initializeId, onMessage: () => undefined }))
  const protocolVersion = textOf(result['protocolVersion'])
  if (!legacyVersions.includes(protocolVersion))
    throw new AppError(
      'upstream_unreachable',
      `MCP server ${server.server_name} speaks ${protocolVersion.slice(0, 40) || 'no revision'}, which is not supported`,
    )
  headers = {
    ...headers,
    'mcp-protocol-version': protocolVersion,
    ...(session !== undefined && { [sessionHeader]: session }),
  }
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal)

  return {
    protocolVersion,
    initialized: result,
    async request(call) {
      const { method, params, signal: on } = call
      const id = nextId()
      const cancel = (): void => {
        const params = { requestId: id, reason: 'cancelled by the client' }
        notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, AbortSignal.timeout(endMs)).catch(
          // The server may be gone, which is why the call is cancelled.
          () => undefined,
        )
      }
      on.addEventListener('abort', cancel, { once: true })
      try {
        const answer = await post({ jsonrpc: '2.0', id, method, params }, on, call.onBytes ? 0 : silenceMs)
        if (answer.status === 404 && session !== undefined) {
          answer.body.destroy()
          throw new SessionExpired()
        }
        return resultOf(await answered(answer, id, call))
      } finally {
        on.removeEventListener('abort', cancel)
      }
    },
    async listen(stream) {
      const answer = await get({}, stream.signal)
      if (!isStream(answer)) {
        answer.body.destroy()
        return undefined
      }
      const reading = readEvents(answer, { server, onMessage: takenBy(stream) })
      // The stream is opened again with the next call; its failure alone fails no call.
      return { ended: reading.then(() => undefined).catch(() => undefined) }
    },
    async end() {
      if (session === undefined) return
      const call = { method: 'DELETE' as const, headers, signal: AbortSignal.timeout(endMs), silenceMs: endMs }
      const answer = await upstream.exchange(server, call)
      answer.body.destroy()
    },
  }
}

const isStream = ({ status, contentType }: UpstreamAnswer): boolean =>
  status === 200 && contentType === 'text/event-stream'

/** Refuses a request of the server that this client has no capability for. */
export const refuse: AnswerRequest = async ({ method }) => ({
  error: { code: rpcCodes.unknownMethod, message: `${textOf(method).slice(0, 100)} is not supported` },
})
