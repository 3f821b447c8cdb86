import { apiVersion } from '../../../contract/api.ts'
import { AppError } from '../../platform/errors.ts'
import { type Json, nonEmptyText, textOf } from '../../platform/json.ts'
import type { RegisteredServer } from '../registry/server.ts'
import { type RpcMessage, resultOf } from './json-rpc.ts'
import { responseIn } from './read-answer.ts'
import type { Upstream, UpstreamAnswer } from './upstream.ts'

/** Revisions with sessions, newest first. Dialects: section 6.3. */
export const legacyVersions: readonly string[] = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** One request of the client. */
export interface RpcCall {
  readonly method: string
  readonly params: Json
  readonly signal: AbortSignal
  readonly onMessage: (message: RpcMessage) => void
}

/** An initialized session with a server. */
export interface LegacySession {
  readonly protocolVersion: string
  /** Rejects with `SessionExpired` when the server does not know the session any more. */
  request(call: RpcCall): Promise<Json>
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
  readonly upstream: Pick<Upstream, 'exchange'>
  readonly nextId: () => number
}

const silenceMs = 60_000
const endMs = 5_000
const accept = 'application/json, text/event-stream'
const unsupportedMethod = -32_601

/** Opens a session: `initialize`, then `notifications/initialized`. */
export async function openLegacy(
  server: RegisteredServer,
  signal: AbortSignal,
  { upstream, nextId }: Deps,
): Promise<LegacySession> {
  let headers: Record<string, string> = { accept, 'content-type': 'application/json' }

  const post = (message: object, on: AbortSignal): Promise<UpstreamAnswer> =>
    upstream.exchange(server, { method: 'POST', headers, body: JSON.stringify(message), signal: on, silenceMs })

  async function notify(message: object, on: AbortSignal): Promise<number> {
    const answer = await post(message, on)
    answer.body.resume()
    return answer.status
  }

  /** Answers requests of the server, which this client has no capabilities for. */
  function reply(message: RpcMessage): void {
    const { id, method } = message
    if (id === undefined) return
    const outcome =
      method === 'ping'
        ? { result: {} }
        : { error: { code: unsupportedMethod, message: `${textOf(method).slice(0, 100)} is not supported` } }
    // The server ends the call by itself when it does not get the answer.
    notify({ jsonrpc: '2.0', id, ...outcome }, AbortSignal.timeout(silenceMs)).catch(() => undefined)
  }

  const initializeId = nextId()
  const opened = await post(
    {
      jsonrpc: '2.0',
      id: initializeId,
      method: 'initialize',
      params: {
        protocolVersion: legacyVersions[0],
        capabilities: {},
        clientInfo: { name: 'switchyard', version: apiVersion },
      },
    },
    signal,
  )
  if (opened.status >= 400 && opened.status < 500) {
    opened.body.destroy()
    throw new NotLegacy(`MCP server ${server.server_name} rejected initialize with status ${opened.status}`)
  }
  const session = nonEmptyText(opened.headers['mcp-session-id'])
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
    ...(session !== undefined && { 'mcp-session-id': session }),
  }
  await notify({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal)

  return {
    protocolVersion,
    async request({ method, params, signal: on, onMessage }) {
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
        const answer = await post({ jsonrpc: '2.0', id, method, params }, on)
        if (answer.status === 404 && session !== undefined) {
          answer.body.destroy()
          throw new SessionExpired()
        }
        const take = (message: RpcMessage): void => {
          reply(message)
          onMessage(message)
        }
        return resultOf(await responseIn(answer, { server, id, onMessage: take }))
      } finally {
        on.removeEventListener('abort', cancel)
      }
    },
    async end() {
      if (session === undefined) return
      const call = { method: 'DELETE' as const, headers, signal: AbortSignal.timeout(endMs), silenceMs: endMs }
      const answer = await upstream.exchange(server, call)
      answer.body.destroy()
    },
  }
}
