import type { McpTool, McpToolResult } from '../../../contract/mcp.ts'
import { addAll } from '../../platform/add-all.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, listOf, nonEmptyText, recordOf } from '../../platform/json.ts'
import { untilAborted } from '../../platform/until-aborted.ts'
import type { RegisteredServer } from '../registry/server.ts'
import type { Era } from '../registry/state-store.ts'
import type { RpcMessage } from './json-rpc.ts'
import { type LegacySession, NotLegacy, openLegacy, SessionExpired } from './legacy.ts'
import { hasValidMarks } from './mirrored-headers.ts'
import { discoverModern, modernVersion, NotModern, requestModern } from './modern.ts'
import { timedOut } from './read-answer.ts'
import type { Upstream } from './upstream.ts'

/** A call of a tool. */
export interface ToolCall {
  readonly name: string
  readonly arguments: Json
  /** Cancels the call at the server. */
  readonly signal: AbortSignal
  /** Called with the parameters of each progress notification, without the token. */
  readonly onProgress?: (progress: Json) => void
  /** Schema of the tool, for parameters that modern servers expect in headers. */
  readonly inputSchema?: unknown
}

/** Era and revision of a server. */
export interface Detected {
  readonly era: Era
  readonly protocolVersion: string
}

/** Client of registered servers, of both eras. The sessions of legacy servers are separate for each principal. */
export interface McpClient {
  /** Lists all tools. Rejects with AppError or RpcFailure. */
  listTools(server: RegisteredServer, principal: string, signal: AbortSignal): Promise<McpTool[]>
  callTool(server: RegisteredServer, principal: string, call: ToolCall): Promise<McpToolResult>
  /** Finds the era of a server by asking it. */
  detect(server: RegisteredServer, principal: string, signal: AbortSignal): Promise<Detected>
  /** Returns the era of a server that is known already, else asks the server. */
  eraOf(server: RegisteredServer, principal: string, signal: AbortSignal): Promise<Era>
  /**
   * Runs `work` on the session of a principal at a legacy server, in which the client has no capabilities. A forgotten
   * session is opened again, once.
   */
  onSession<T>(
    place: { readonly server: RegisteredServer; readonly principal: string },
    work: (session: LegacySession) => Promise<T>,
  ): Promise<T>
  /** Ends the sessions. */
  close(): Promise<void>
}

interface Deps {
  readonly upstream: Upstream
  /** Returns the stored era of a server. */
  readonly knownEra: (server: RegisteredServer) => Promise<Era | undefined>
  readonly nowMs: () => number
}

interface OpenSession {
  readonly session: Promise<LegacySession>
  usedMs: number
  inFlight: number
}

const maxPages = 50
const maxTools = 2_000
const openMs = 30_000
const idleMs = 5 * 60_000
const sweepMs = 60_000

export function createMcpClient({ upstream, knownEra, nowMs }: Deps): McpClient {
  const eras = new Map<string, Era>()
  const sessions = new Map<string, OpenSession>()
  /** Detections in flight. */
  const detections = new Map<string, Promise<Detected>>()
  let lastId = 0
  const deps = { upstream, nextId: () => ++lastId }

  const sweep = setInterval(() => {
    for (const [key, open] of sessions) if (open.inFlight === 0 && open.usedMs < nowMs() - idleMs) drop(key, open)
  }, sweepMs)
  sweep.unref()

  function drop(key: string, open: OpenSession): void {
    if (sessions.get(key) === open) sessions.delete(key)
    // The server forgets an abandoned session by itself.
    open.session.then(session => session.end()).catch(() => undefined)
  }

  /** Runs `work` on the session of the principal, opening it first. A forgotten session is opened again, once. */
  async function onSession<T>(
    { server, principal }: Omit<Place, 'signal'>,
    work: (session: LegacySession) => Promise<T>,
    isRetry = false,
  ): Promise<T> {
    const key = sessionKey({ server, principal })
    // Not the signal of the call: other calls wait for the same session.
    const opening = () => openLegacy(server, AbortSignal.timeout(openMs), deps)
    const open = sessions.get(key) ?? { session: opening(), usedMs: nowMs(), inFlight: 0 }
    sessions.set(key, open)
    open.inFlight++
    try {
      return await work(await open.session)
    } catch (error) {
      const isClosed = await open.session.then(
        () => error instanceof SessionExpired,
        () => true,
      )
      if (isClosed && sessions.get(key) === open) sessions.delete(key)
      if (!(error instanceof SessionExpired) || isRetry) throw error
    } finally {
      open.inFlight--
      open.usedMs = nowMs()
    }
    return onSession({ server, principal }, work, true)
  }

  async function detected({ server, principal }: Omit<Place, 'signal'>): Promise<Detected> {
    const limit = new AbortController()
    const timer = setTimeout(() => limit.abort(timedOut(server)), openMs)
    try {
      await discoverModern(server, limit.signal, deps)
      return { era: 'modern', protocolVersion: modernVersion }
    } catch (error) {
      if (!(error instanceof NotModern)) throw error
    } finally {
      clearTimeout(timer)
    }
    try {
      const { protocolVersion } = await onSession({ server, principal }, async session => session)
      return { era: 'legacy', protocolVersion }
    } catch (error) {
      throw error instanceof NotLegacy ? new AppError('upstream_unreachable', error.message, { cause: error }) : error
    }
  }

  /** Finds the era of a server. Concurrent callers share one detection, which none of them can cancel for the others. */
  function detect({ signal, ...place }: Place): Promise<Detected> {
    const key = sessionKey(place)
    const detection =
      detections.get(key) ??
      detected(place)
        .then(found => {
          eras.set(eraKey(place.server), found.era)
          return found
        })
        .finally(() => detections.delete(key))
    detections.set(key, detection)
    return untilAborted(detection, signal)
  }

  async function eraOf(place: Place): Promise<Era> {
    const key = eraKey(place.server)
    const era = eras.get(key) ?? (await knownEra(place.server)) ?? (await detect(place)).era
    eras.set(key, era)
    return era
  }

  /** Sends a request in the era of the server. After an error of the other era, the era is detected once more. */
  async function request(place: Place, call: Request, isRetry = false): Promise<Json> {
    const { server, signal } = place
    const { method, params, onMessage = () => undefined, inputSchema } = call
    try {
      return (await eraOf(place)) === 'modern'
        ? await requestModern(server, { method, params, signal, onMessage, inputSchema }, deps)
        : await onSession(place, session => session.request({ method, params, signal, onMessage }))
    } catch (error) {
      if (!(error instanceof NotModern || error instanceof NotLegacy)) throw error
      if (isRetry) throw new AppError('upstream_unreachable', error.message, { cause: error })
      await detect(place)
      return request(place, call, true)
    }
  }

  return {
    async listTools(server, principal, signal) {
      const tools: McpTool[] = []
      let cursor: string | undefined
      for (let page = 0; page < maxPages; page++) {
        const params = cursor === undefined ? {} : { cursor }
        const result = await request({ server, principal, signal }, { method: 'tools/list', params })
        addAll(tools, listOf(result['tools']).filter(isTool))
        if (tools.length > maxTools) throw endless(server)
        cursor = nonEmptyText(result['nextCursor'])
        if (cursor === undefined) return tools
      }
      throw endless(server)
    },

    async callTool(server, principal, { name, arguments: args, signal, onProgress, inputSchema }) {
      const progressToken = `switchyard-${++lastId}`
      const onMessage = (message: RpcMessage): void => {
        const { progressToken: given, ...progress } = recordOf(message['params'])
        if (message['method'] === 'notifications/progress' && given === progressToken) onProgress?.(progress)
      }
      const params = { name, arguments: args, ...(onProgress && { _meta: { progressToken } }) }
      const result = await request(
        { server, principal, signal },
        { method: 'tools/call', params, onMessage, inputSchema },
      )
      return { ...result, content: listOf(result['content']).filter(isRecord) }
    },

    detect: (server, principal, signal) => detect({ server, principal, signal }),

    eraOf: (server, principal, signal) => eraOf({ server, principal, signal }),

    onSession: (place, work) => onSession(place, work),

    async close() {
      clearInterval(sweep)
      for (const [key, open] of sessions) drop(key, open)
    },
  }
}

interface Place {
  readonly server: RegisteredServer
  readonly principal: string
  readonly signal: AbortSignal
}

interface Request {
  readonly method: string
  readonly params: Json
  readonly onMessage?: (message: RpcMessage) => void
  readonly inputSchema?: unknown
}

const sessionKey = ({ server, principal }: Omit<Place, 'signal'>): string =>
  JSON.stringify([server.server_id, server.version, server.url, principal])

const eraKey = ({ server_id, url }: RegisteredServer): string => `${server_id} ${url}`

/** A tool without a name, or with invalid header marks, cannot be called. */
const isTool = (tool: unknown): tool is McpTool =>
  isRecord(tool) &&
  typeof tool['name'] === 'string' &&
  tool['name'] !== '' &&
  isRecord(tool['inputSchema']) &&
  hasValidMarks(tool['inputSchema'])

const endless = ({ server_name }: RegisteredServer): AppError =>
  new AppError(
    'upstream_unreachable',
    `MCP server ${server_name} lists more than ${maxTools} tools or ${maxPages} pages of tools`,
  )
