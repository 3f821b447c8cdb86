import { rpcCodes } from '../../http/json-rpc-error.ts'
import { type Json, recordOf, textOf } from '../../platform/json.ts'
import { RpcFailure } from '../client/json-rpc.ts'
import { agreedVersion } from '../client/legacy.ts'
import { discoverModern, interimModern, metaKeys } from '../client/modern.ts'
import { logLevels } from '../client/modern-request.ts'
import type { Upstream } from '../client/upstream.ts'
import { withoutDenied } from '../proxy/policy.ts'
import { bridgedCapabilities, serverCapabilities } from './capabilities.ts'
import type { ClientReply } from './client-reply.ts'
import { createHeaderMarks } from './header-marks.ts'
import type { BridgedSession } from './legacy-session.ts'
import { askingMethods, resultForLegacy } from './messages.ts'
import { requestInput } from './questions.ts'
import type { BridgeRequest } from './request.ts'
import type { SessionState, SessionStates } from './session-state.ts'
import { watchSilence } from './silence.ts'

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
  readonly states: Pick<SessionStates, 'setLevel' | 'subscribe'>
}

/** A request of a legacy client in its session. */
export interface SessionRequest extends BridgeRequest {
  readonly session: BridgedSession
  readonly state: SessionState
}

/** How often a modern server may ask for more input during one call. */
const maxRounds = 20
/** Level of log messages for clients that did not set one. */
const defaultLevel = 'info'

/** Methods that modern servers have. */
const forwarded: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
])

/** Serves legacy clients from a modern server. Dialects: section 6.2. */
export function createForLegacyClients(deps: Deps) {
  const marks = createHeaderMarks()

  /** Sends a request to the server and passes what it reports until its result. */
  async function send(request: SessionRequest, params: Json, reply: ClientReply): Promise<Json> {
    const { server, session, state, message } = request
    const method = textOf(message['method'])
    const silence = watchSilence(server)
    const inputSchema = method === 'tools/call' ? marks.schemaOf(server, params) : undefined
    try {
      const call = {
        method,
        params,
        inputSchema,
        client: clientFields(session, state),
        signal: AbortSignal.any([request.signal, silence.signal]),
        onBytes: silence.heard,
        onMessage: reply.send,
      }
      return await interimModern(server, call, deps)
    } catch (error) {
      if (!isHeaderMismatch(error) || method !== 'tools/call' || inputSchema !== undefined) throw error
      await marks.refresh(server, page => listed(request, page))
      if (marks.schemaOf(server, params) === undefined) throw error
    } finally {
      silence.stop()
    }
    return send(request, params, reply)
  }

  const listed = ({ server, session, state, signal }: SessionRequest, params: Json): Promise<Json> =>
    interimModern(
      server,
      { method: 'tools/list', params, signal, onMessage: () => undefined, client: clientFields(session, state) },
      deps,
    )

  /** Repeats a request with the answers of the client, as long as the server asks for more. */
  async function completed(request: SessionRequest, reply: ClientReply): Promise<Json> {
    const { message, server } = request
    const params = recordOf(message['params'])
    let more: Json = {}
    for (let round = 0; round < maxRounds; round++) {
      const result = await send(request, { ...params, ...more }, reply)
      const type = result['resultType'] ?? 'complete'
      if (type === 'complete') return result
      if (type !== 'input_required' || !askingMethods.has(textOf(message['method'])))
        throw new RpcFailure(
          rpcCodes.internal,
          `MCP server ${server.server_name} returned a result of type ${textOf(type).slice(0, 40)}, which is not supported`,
        )
      const { inputRequests, requestState } = result
      const asked = { request, session: request.session, state: request.state, reply }
      more = {
        ...(inputRequests !== undefined && { inputResponses: await requestInput(inputRequests, asked) }),
        ...(requestState !== undefined && { requestState }),
      }
    }
    throw new RpcFailure(
      rpcCodes.internal,
      `MCP server ${server.server_name} asked for input more than ${maxRounds} times`,
    )
  }

  async function resultOf(request: SessionRequest, reply: ClientReply): Promise<Json> {
    const { message, server, session, rule } = request
    const method = textOf(message['method'])
    const params = recordOf(message['params'])
    if (method === 'ping') return {}
    if (method === 'logging/setLevel') {
      deps.states.setLevel(session.id, levelIn(params))
      return {}
    }
    if (method === 'resources/subscribe' || method === 'resources/unsubscribe') {
      await deps.states.subscribe(session.id, method, params)
      return {}
    }
    if (!forwarded.has(method)) throw new RpcFailure(rpcCodes.unknownMethod, `method ${method} is not supported`)
    const result = resultForLegacy(await completed(request, reply))
    if (method !== 'tools/list') return result
    const tools = marks.noted(server, result)
    return rule ? recordOf((withoutDenied({ result: tools }, rule) ?? { result: tools })['result']) : tools
  }

  return {
    /** Answers a request in a session. */
    async serve(request: SessionRequest, reply: ClientReply): Promise<void> {
      await reply.result(await resultOf(request, reply))
    },

    /** Returns the result of `initialize`, and the facts of the new session. */
    async initialized({ server, message, signal }: BridgeRequest) {
      const params = recordOf(message['params'])
      const capabilities = bridgedCapabilities(params['capabilities'])
      const found = await discoverModern(server, signal, { ...deps, client: { [metaKeys.capabilities]: capabilities } })
      const version = agreedVersion(params)
      const offered = serverCapabilities(found['capabilities'])
      const { instructions } = found
      const identity = recordOf(recordOf(found['_meta'])[metaKeys.server])
      const result = {
        protocolVersion: version,
        capabilities: offered,
        serverInfo: { name: server.server_name, version: 'unknown', ...identity },
        ...(typeof instructions === 'string' && { instructions }),
      }
      return { result, facts: { version, capabilities, hasLogs: 'logging' in offered } }
    },
  }
}

/** Returns the fields of `_meta` that stand for the session. */
export const clientFields = (
  { capabilities, hasLogs }: BridgedSession,
  { level = defaultLevel }: SessionState,
): Json => ({
  [metaKeys.capabilities]: capabilities,
  ...(hasLogs && { [metaKeys.logLevel]: level }),
})

const isHeaderMismatch = (error: unknown): boolean =>
  error instanceof RpcFailure && error.code === rpcCodes.headerMismatch

function levelIn({ level }: Json): string {
  const found = logLevels.find(each => each === level)
  if (found) return found
  throw new RpcFailure(rpcCodes.invalidParams, `params.level must be one of ${logLevels.join(', ')}`)
}
