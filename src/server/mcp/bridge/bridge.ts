import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Notifications } from '../../db/notifications.ts'
import { rpcCodes } from '../../http/json-rpc-error.ts'
import type { Keyring } from '../../platform/encryption.ts'
import { AppError, invalid } from '../../platform/errors.ts'
import { nonEmptyText } from '../../platform/json.ts'
import type { McpClient } from '../client/client.ts'
import { failureIn, isResponse, messagesIn, type RpcMessage } from '../client/json-rpc.ts'
import { legacyVersions, NotLegacy, sessionHeader } from '../client/legacy.ts'
import { modernCodes } from '../client/modern.ts'
import { checkModernRequest, type HeaderOf, isModernHere } from '../client/modern-request.ts'
import type { Upstream } from '../client/upstream.ts'
import type { SessionIds } from '../proxy/session-ids.ts'
import type { RegisteredServer, ToolRule } from '../registry/server.ts'
import { type ClientReply, createClientReply } from './client-reply.ts'
import { createForLegacyClients } from './for-legacy-clients.ts'
import { createForModernClients } from './for-modern-clients.ts'
import { createLegacyPool } from './legacy-pool.ts'
import { createSession, isBridgedId, openSession } from './legacy-session.ts'
import { createParkedCalls } from './parked-calls.ts'
import type { BridgeRequest } from './request.ts'
import { createSessionMessages } from './session-messages.ts'
import { createSessionStates, keyOf } from './session-state.ts'
import { serveSessionStream } from './session-stream.ts'
import { createAskingToolCalls } from './tool-calls.ts'

interface Deps {
  readonly upstream: Upstream
  readonly client: Pick<McpClient, 'eraOf' | 'detect' | 'onSession'>
  readonly sessionIds: SessionIds
  readonly notifications: Pick<Notifications, 'on' | 'send'>
  readonly keyring: Keyring
  readonly nowMs: () => number
}

/** A checked request to the proxy. */
export interface Incoming {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly server: RegisteredServer
  readonly rule: ToolRule
  /** Session id that the client sent. */
  readonly given: string | undefined
  /** Messages of the body; empty without a body. */
  readonly messages: readonly RpcMessage[]
  readonly isBatch: boolean
  /** Aborts when the client disconnects, its key is revoked, or a stream must end because the process stops. */
  readonly signal: AbortSignal
}

/** An answer of a server that may belong to the other era. */
interface Rejection {
  readonly status: number
  readonly text: string
}

/** How long a modern server is not asked whether it accepts sessions after all. */
const modernOnlyMs = 10 * 60_000

/** Serves clients of one era from servers of the other. Requests within one era are not its business. */
export type Bridge = ReturnType<typeof createBridge>

export function createBridge({ upstream, client, sessionIds, notifications, keyring, nowMs }: Deps) {
  let lastId = 0
  const connection = { upstream, nextId: () => ++lastId }
  const pool = createLegacyPool({ ...connection, nowMs })
  const parked = createParkedCalls()
  const states = createSessionStates({ messages: createSessionMessages({ notifications, keyring }) })
  const forModern = createForModernClients({ ...connection, client, pool, parked })
  const forLegacy = createForLegacyClients({ ...connection, states })
  const callTool = createAskingToolCalls({ ...connection, client, forModern })
  /** Servers that reject `initialize`, with the end of this knowledge. */
  const modernOnly = new Map<string, number>()

  const isModernOnly = (server: RegisteredServer): boolean => (modernOnly.get(serverKey(server)) ?? 0) > nowMs()

  async function toLegacyServer(incoming: Incoming, message: RpcMessage): Promise<boolean> {
    const { server, request, signal, reply } = incoming
    const { principal } = request.caller
    if ((await client.eraOf(server, principal, signal)) === 'modern') return false
    const id = idOf(message)
    if (id === undefined) {
      if (isResponse(message)) throw invalid('request body must be a request or a notification')
      await reply.code(202).send()
      return true
    }
    try {
      await answered(incoming, message, async (bridged, clientReply) => {
        checkModernRequest(message, headerOf(request))
        await forModern.serve(bridged, clientReply)
      })
      return true
    } catch (error) {
      // The server was replaced by a modern one.
      if (!(error instanceof NotLegacy)) throw error
      const { era } = await client.detect(server, principal, signal)
      if (era === 'modern') return false
      throw new AppError('upstream_unreachable', error.message, { cause: error })
    }
  }

  async function initialize(incoming: Incoming, message: RpcMessage): Promise<void> {
    const { server, request, reply } = incoming
    await answered(incoming, message, async (bridged, clientReply) => {
      const { result, facts } = await forLegacy.initialized(bridged)
      const { id } = createSession(facts, sessionIds, { server, principal: request.caller.principal })
      reply.header(sessionHeader, id)
      await clientReply.result(result)
    })
  }

  /** Serves a request that names a bridged session. */
  async function inSession(incoming: Incoming, given: string): Promise<void> {
    const { request, reply, server, rule, messages, signal } = incoming
    const { caller } = request
    const session = openSession(given, sessionIds, { server, principal: caller.principal })
    const state = states.of(session.id)
    if (request.method === 'DELETE') {
      states.end(session.id)
      return void (await reply.code(200).send({}))
    }
    checkVersion(headerOf(request))
    const place = { server, caller, rule, session, state }
    if (request.method === 'GET') {
      rejectResume(headerOf(request))
      const stream = createClientReply(reply, { id: 0, accept: 'text/event-stream', isModern: false })
      return serveSessionStream({ ...place, signal }, stream, connection)
    }
    const [message] = messages
    if (!message || incoming.isBatch)
      throw invalid('a batch is not supported in this session; send one message a request')
    const id = idOf(message)
    if (id === undefined) {
      states.pass(session.id, message)
      return void (await reply.code(202).send())
    }
    const cancelled = new AbortController()
    state.inFlight.set(keyOf(id), cancelled)
    try {
      await answered(incoming, message, async (bridged, clientReply) => {
        const on = AbortSignal.any([signal, cancelled.signal])
        const work = forLegacy.serve({ ...bridged, session, state, signal: on }, clientReply)
        // A cancelled request has no response.
        await work.catch(error => (cancelled.signal.aborted ? clientReply.close() : Promise.reject(error)))
      })
    } finally {
      state.inFlight.delete(keyOf(id))
    }
  }

  return {
    callTool,

    /** Answers a request to a server of the other era. Returns false for a request that the server itself must answer. */
    async serves(incoming: Incoming): Promise<boolean> {
      const { given, messages, isBatch, server, request } = incoming
      if (given !== undefined && isBridgedId(given)) {
        await inSession(incoming, given)
        return true
      }
      const [message] = messages
      if (!message || isBatch) return false
      if (isModernHere(message, headerOf(request))) return toLegacyServer(incoming, message)
      if (given !== undefined || !isModernOnly(server)) return false
      if (message['method'] !== 'initialize') throw invalid('header mcp-session-id is missing; send initialize first')
      await initialize(incoming, message)
      return true
    },

    /** True for an answer that a server of the other era may have given. */
    isSuspect({ messages, isBatch, request }: Incoming, status: number): boolean {
      const [message] = messages
      if (!message || isBatch) return false
      return isModernHere(message, headerOf(request)) ? status >= 400 : message['method'] === 'initialize'
    },

    /** Answers a request that a server of the other era rejected. Returns false if the server meant its answer. */
    async takesOver(incoming: Incoming, { status, text }: Rejection): Promise<boolean> {
      const [message] = incoming.messages
      const { server, request, signal } = incoming
      const failure = messagesIn(text).map(failureIn)[0]
      if (!message || (status < 400 && !failure)) return false
      const isInitialize = !isModernHere(message, headerOf(request))
      if (!isInitialize && failure && isModernError(failure.code)) return false
      const found = await client.detect(server, request.caller.principal, signal).catch((error: unknown) => {
        if (error instanceof AppError) return undefined
        throw error
      })
      if (!found || (found.era === 'modern') !== isInitialize) return false
      if (!isInitialize) return toLegacyServer(incoming, message)
      modernOnly.set(serverKey(server), nowMs() + modernOnlyMs)
      await initialize(incoming, message)
      return true
    },

    close(): void {
      parked.close()
      pool.close()
    },
  }
}

const serverKey = ({ server_id, url }: RegisteredServer): string => `${server_id} ${url}`

/** Errors with which modern servers reject requests. */
const isModernError = (code: number): boolean =>
  modernCodes.has(code) || code === rpcCodes.unknownMethod || code === rpcCodes.invalidParams

const headerOf =
  ({ headers }: FastifyRequest): HeaderOf =>
  name =>
    nonEmptyText(headers[name])

/** Returns the id of a request; undefined for notifications and responses. */
function idOf(message: RpcMessage): string | number | undefined {
  const { id, method } = message
  return typeof method === 'string' && (typeof id === 'string' || typeof id === 'number') ? id : undefined
}

/** Runs `work` and answers its failure. Rejects if the client is not there any more. */
async function answered(
  { request, reply, server, rule, signal }: Incoming,
  message: RpcMessage,
  work: (bridged: BridgeRequest, clientReply: ClientReply) => Promise<void>,
): Promise<void> {
  const clientReply = createClientReply(reply, {
    id: idOf(message) ?? 0,
    accept: nonEmptyText(request.headers.accept) ?? '',
    isModern: isModernHere(message, headerOf(request)),
  })
  try {
    await work({ server, caller: request.caller, rule, message, signal }, clientReply)
  } catch (error) {
    if (error instanceof NotLegacy) throw error
    if (!signal.aborted) return clientReply.failure(error)
    if (!clientReply.isOpen()) throw error
    clientReply.close()
  }
}

function checkVersion(header: HeaderOf): void {
  const version = header('mcp-protocol-version')
  if (version === undefined || legacyVersions.includes(version)) return
  throw invalid(`header mcp-protocol-version must be one of ${legacyVersions.join(', ')} in this session`)
}

function rejectResume(header: HeaderOf): void {
  if (header('last-event-id') === undefined) return
  throw invalid('last-event-id is not supported in this session, whose events have no ids; open the stream without it')
}
