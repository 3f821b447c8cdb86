import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { isRecord, type Json, recordOf, textOf } from '../../platform/json.ts'
import type { McpClient } from '../client/client.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { type LegacySession, SessionExpired } from '../client/legacy.ts'
import { metaKeys, modernVersion } from '../client/modern.ts'
import type { Upstream } from '../client/upstream.ts'
import { withoutDenied } from '../proxy/policy.ts'
import { bridgedCapabilities, canAnswer, type ServerRequest, serverCapabilities } from './capabilities.ts'
import type { ClientReply } from './client-reply.ts'
import type { AcquiredSession, LegacyPool } from './legacy-pool.ts'
import {
  askingMethods,
  elicitationsIn,
  failureForModern,
  notificationForModern,
  paramsForLegacy,
  resultForModern,
  type Wants,
  wantsOf,
} from './messages.ts'
import { type OpenCall, startCall } from './open-call.ts'
import type { ParkedCalls } from './parked-calls.ts'
import type { BridgeRequest } from './request.ts'
import { watchSilence } from './silence.ts'
import { createSubscriptions } from './subscriptions.ts'

interface Deps {
  readonly client: Pick<McpClient, 'onSession'>
  readonly pool: LegacyPool
  readonly parked: ParkedCalls
  readonly upstream: Upstream
  readonly nextId: () => number
}

/** Methods that the modern era does not have, although legacy servers know them. */
const removedMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/cancel',
])

/** Serves modern clients from a legacy server. Dialects: section 6.2. */
export function createForModernClients({ client, pool, parked, upstream, nextId }: Deps) {
  const subscriptions = createSubscriptions({ upstream, nextId })
  /** Progress tokens of different clients can be equal. */
  const newToken = () => `switchyard-${nextId()}`

  /** Sends a request in which the server can neither ask nor log, on the session that all of them share. */
  async function plain(request: BridgeRequest, reply: Sends): Promise<Json> {
    const { server, caller, message } = request
    return client.onSession({ server, principal: caller.principal }, async session => {
      const method = textOf(message['method'])
      const silence = watchSilence(server)
      const signal = AbortSignal.any([request.signal, silence.signal])
      const token = newToken()
      const params = paramsForLegacy(recordOf(message['params']), token)
      const onMessage = passTo(reply, wantsOf(message), token)
      try {
        const result = await session.request({ method, params, signal, onMessage, onBytes: silence.heard })
        return resultForModern(method, result, session.initialized['serverInfo'])
      } finally {
        silence.stop()
      }
    })
  }

  /** Returns a session for a call, with the level of log messages that the client wants. */
  async function acquired(request: BridgeRequest, level: string | undefined): Promise<AcquiredSession> {
    const { server, caller, signal } = request
    const capabilities = capabilitiesOf(request)
    for (let attempt = 0; ; attempt++) {
      const found = await pool.acquire({ server, principal: caller.principal, capabilities })
      try {
        await setLevel(found.session, level, signal)
        return found
      } catch (error) {
        found.release('broken')
        if (!(error instanceof SessionExpired) || attempt > 0) throw error
      }
    }
  }

  async function started(request: BridgeRequest): Promise<OpenCall> {
    const { server, message } = request
    const progressToken = newToken()
    return startCall({
      server,
      acquired: await acquired(request, wantsOf(message).level),
      capabilities: capabilitiesOf(request),
      method: textOf(message['method']),
      params: paramsForLegacy(recordOf(message['params']), progressToken),
      progressToken,
    })
  }

  /** Returns the call that a request continues, and gives it the answers of the client. */
  function continued({ message, server, caller }: BridgeRequest): OpenCall {
    const params = recordOf(message['params'])
    const { inputResponses = {}, requestState } = params
    if (!isRecord(inputResponses))
      throw new RpcFailure(rpcCodes.invalidParams, 'params.inputResponses must be an object')
    const asked = { method: textOf(message['method']), params }
    const call = parked.take(requestState, { server, principal: caller.principal }, asked)
    call.answer(inputResponses)
    return call
  }

  /** Runs a call until its result, or until the server asks the client. */
  async function asking(request: BridgeRequest, reply: Sends, isRetry = false): Promise<Json> {
    const { message, server, caller, signal } = request
    const isContinued = 'requestState' in recordOf(message['params'])
    const call = isContinued ? continued(request) : await started(request)
    const cancel = () => call.cancel(new AppError('upstream_unreachable', 'the client cancelled the call'))
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const step = await call.next(passTo(reply, wantsOf(message), call.progressToken))
      if (step.kind === 'result') return resultForModern(textOf(message['method']), step.result, call.serverInfo)
      return {
        ...inputRequired(step.questions),
        requestState: parked.park(call, { server, principal: caller.principal }),
      }
    } catch (error) {
      if (!(error instanceof SessionExpired) || isContinued || isRetry) throw error
    } finally {
      signal.removeEventListener('abort', cancel)
    }
    return asking(request, reply, true)
  }

  async function resultOf(request: BridgeRequest, reply: Sends): Promise<Json> {
    const method = textOf(request.message['method'])
    if (method === 'server/discover') return discovered(request)
    if (removedMethods.has(method)) throw new RpcFailure(rpcCodes.unknownMethod, `method ${method} is not supported`)
    const result = needsOwnSession(request) ? await asking(request, reply) : await plain(request, reply)
    return request.rule ? recordOf((withoutDenied({ result }, request.rule) ?? { result })['result']) : result
  }

  const discovered = ({ server, caller }: BridgeRequest): Promise<Json> =>
    client.onSession({ server, principal: caller.principal }, async ({ initialized }: LegacySession) => {
      const { serverInfo, instructions } = initialized
      const result = {
        supportedVersions: [modernVersion],
        capabilities: serverCapabilities(initialized['capabilities']),
        ...(typeof instructions === 'string' && { instructions }),
      }
      return resultForModern('server/discover', result, serverInfo)
    })

  /** Returns the result of a request; `input_required` if the server asks. Throws RpcFailure, and NotLegacy like `serve`. */
  async function answerTo(request: BridgeRequest, reply: Sends): Promise<Json> {
    try {
      return await resultOf(request, reply)
    } catch (error) {
      if (!(error instanceof RpcFailure)) throw error
      const elicitations = elicitationsIn(error)
      if (!elicitations) throw failureForModern(error)
      return demanded(elicitations, request)
    }
  }

  return {
    answerTo,

    /** Answers a request. Throws NotLegacy, before anything was sent to the client, for a server that is not legacy. */
    async serve(request: BridgeRequest, reply: ClientReply): Promise<void> {
      if (request.message['method'] === 'subscriptions/listen') return subscriptions.serve(request, reply)
      await reply.result(await answerTo(request, reply))
    },
  }
}

/** Where messages before the response go. */
type Sends = Pick<ClientReply, 'send'>

const capabilitiesOf = ({ message }: BridgeRequest): Json =>
  bridgedCapabilities(recordOf(recordOf(message['params'])['_meta'])[metaKeys.capabilities])

/** True for requests in which the server may ask, or that depend on what the client can answer. */
function needsOwnSession(request: BridgeRequest): boolean {
  const params = recordOf(request.message['params'])
  return (
    Object.keys(capabilitiesOf(request)).length > 0 ||
    metaKeys.logLevel in recordOf(params['_meta']) ||
    (params['requestState'] !== undefined && askingMethods.has(textOf(request.message['method'])))
  )
}

async function setLevel(session: AcquiredSession['session'], level: string | undefined, signal: AbortSignal) {
  if (level === undefined || session.level === level) return
  if (!('logging' in recordOf(session.initialized['capabilities']))) return
  await session.request({ method: 'logging/setLevel', params: { level }, signal, onMessage: () => undefined })
  session.level = level
}

/** Returns a function that passes a notification on if it belongs to the request. */
const passTo =
  (reply: Sends, wants: Wants, sentToken: string) =>
  (message: RpcMessage): void => {
    const notification = notificationForModern(message, wants, sentToken)
    if (notification) reply.send(notification)
  }

const inputRequired = (questions: Readonly<Record<string, ServerRequest>>): Json => ({
  resultType: 'input_required',
  inputRequests: questions,
})

/** Asks for elicitations after which the server wants the whole request again. */
function demanded(elicitations: readonly ServerRequest[], request: BridgeRequest): Json {
  const capabilities = capabilitiesOf(request)
  if (elicitations.length === 0 || !elicitations.every(each => canAnswer(capabilities, each)))
    throw new RpcFailure(
      rpcCodes.missingCapability,
      'the server asks for input at a URL, which needs elicitation.url',
      {
        requiredCapabilities: { elicitation: { url: {} } },
      },
    )
  return inputRequired(Object.fromEntries(elicitations.map((each, at) => [`elicitation-${at + 1}`, each])))
}
