import { rpcCodes } from '../../http/json-rpc-error.ts'
import { AppError } from '../../platform/errors.ts'
import { recordOf } from '../../platform/json.ts'
import { RpcFailure, type RpcMessage } from '../client/json-rpc.ts'
import { interimModern, metaKeys } from '../client/modern.ts'
import type { Upstream } from '../client/upstream.ts'
import { watchAborts } from './aborts.ts'
import type { ClientReply } from './client-reply.ts'
import { clientFields, type SessionRequest } from './for-legacy-clients.ts'

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
}

interface Subscription {
  /** Resolves when the server sends notifications from now on. */
  readonly acknowledged: Promise<void>
  /** Resolves when the server or `close` ended it. */
  readonly ended: Promise<void>
  close(): void
}

const keepAliveMs = 25_000
const passed: ReadonlySet<unknown> = new Set([
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
])

/** Opens a subscription at a modern server with all that the session of the client covers. */
function opened(request: Omit<SessionRequest, 'message'>, reply: ClientReply, deps: Deps): Subscription {
  const { server, session, state, signal } = request
  const closed = new AbortController()
  const acknowledged = Promise.withResolvers<void>()
  const onMessage = ({ method, params }: RpcMessage): void => {
    if (method === 'notifications/subscriptions/acknowledged') acknowledged.resolve()
    if (!passed.has(method)) return
    const { _meta, ...rest } = recordOf(params)
    const { [metaKeys.subscription]: _id, ...meta } = recordOf(_meta)
    const own = { ...rest, ...(Object.keys(meta).length > 0 && { _meta: meta }) }
    reply.send({ jsonrpc: '2.0', method, ...(Object.keys(own).length > 0 && { params: own }) })
  }
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    ...(state.resources.size > 0 && { resourceSubscriptions: [...state.resources] }),
  }
  const ended = interimModern(
    server,
    {
      method: 'subscriptions/listen',
      params: { notifications },
      client: clientFields({ ...session, hasLogs: false }, state),
      signal: AbortSignal.any([signal, closed.signal]),
      onBytes: () => undefined,
      onMessage,
    },
    deps,
  ).then(
    () => acknowledged.reject(new Error('the subscription ended before it began')),
    (error: unknown) => acknowledged.reject(error),
  )
  return { acknowledged: acknowledged.promise, ended, close: () => closed.abort() }
}

/** Serves the stream of a session: the notifications of a modern server, until the client or the server ends it. */
export async function serveSessionStream(
  request: Omit<SessionRequest, 'message'>,
  reply: ClientReply,
  deps: Deps,
): Promise<void> {
  const { state, signal } = request
  const done = Promise.withResolvers<void>()
  let current = opened(request, reply, deps)
  const watch = (subscription: Subscription): void => {
    void subscription.ended.then(() => current === subscription && done.resolve())
  }
  await current.acknowledged.catch((error: unknown) => {
    throw asUnsupported(error)
  })
  reply.open()
  watch(current)
  const listening = {
    async restart(): Promise<void> {
      const next = opened(request, reply, deps)
      await next.acknowledged
      const last = current
      current = next
      watch(next)
      last.close()
    },
    end: done.resolve,
  }
  // One stream has all notifications, so a new one takes the place of one that the client may have lost.
  state.listening?.end()
  state.listening = listening
  const keepAlive = setInterval(reply.comment, keepAliveMs)
  try {
    await Promise.race([done.promise, watchAborts(signal)])
  } finally {
    clearInterval(keepAlive)
    if (state.listening === listening) state.listening = undefined
    current.close()
    reply.close()
  }
}

/** A server without subscriptions has no stream, as its clients expect it of older servers. */
function asUnsupported(error: unknown): unknown {
  if (!(error instanceof RpcFailure) || error.code !== rpcCodes.unknownMethod) return error
  return new AppError('method_not_allowed', 'this server sends no notifications', {
    headers: { allow: 'POST, DELETE' },
  })
}
