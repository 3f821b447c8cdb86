import { type Json, listOf, recordOf } from '../../platform/json.ts'
import type { RpcMessage } from '../client/json-rpc.ts'
import { type LegacySession, openLegacy } from '../client/legacy.ts'
import { metaKeys } from '../client/modern.ts'
import type { Upstream } from '../client/upstream.ts'
import { watchAborts } from './aborts.ts'
import type { ClientReply } from './client-reply.ts'
import type { BridgeRequest } from './request.ts'

interface Deps {
  readonly upstream: Upstream
  readonly nextId: () => number
}

const openMs = 30_000
const maxResources = 100
const keepAliveMs = 25_000

/** What a client wants to be notified of, by method of the notification. */
const lists = {
  toolsListChanged: ['tools', 'notifications/tools/list_changed'],
  promptsListChanged: ['prompts', 'notifications/prompts/list_changed'],
  resourcesListChanged: ['resources', 'notifications/resources/list_changed'],
} as const

/**
 * Subscriptions of modern clients at legacy servers: each has a separate session, whose stream has the notifications.
 */
export function createSubscriptions({ upstream, nextId }: Deps) {
  /** Returns the part of the filter that the server supports. */
  function accepted(filter: Json, session: LegacySession): Json {
    const capabilities = recordOf(session.initialized['capabilities'])
    const changes = Object.entries(lists).filter(
      ([name, [group]]) => filter[name] === true && recordOf(capabilities[group])['listChanged'] === true,
    )
    const uris = listOf(filter['resourceSubscriptions']).filter(uri => typeof uri === 'string')
    const isSubscribable = recordOf(capabilities['resources'])['subscribe'] === true && uris.length > 0
    return {
      ...Object.fromEntries(changes.map(([name]) => [name, true])),
      ...(isSubscribable && { resourceSubscriptions: uris.slice(0, maxResources) }),
    }
  }

  return {
    /** Serves `subscriptions/listen` until the client or the server ends it. */
    async serve({ server, message, signal }: BridgeRequest, reply: ClientReply): Promise<void> {
      const own = { [metaKeys.subscription]: message['id'] }
      const session = await openLegacy(server, AbortSignal.any([signal, AbortSignal.timeout(openMs)]), {
        upstream,
        nextId,
      })
      const filter = accepted(recordOf(recordOf(message['params'])['notifications']), session)
      const notify = (method: unknown, params: Json): void =>
        reply.send({ jsonrpc: '2.0', method, params: { ...params, _meta: { ...recordOf(params['_meta']), ...own } } })
      // Nothing may come before the acknowledgement.
      let early: RpcMessage[] | undefined = []
      const pass = (event: RpcMessage): void => {
        if (isWanted(event, filter)) notify(event['method'], recordOf(event['params']))
      }
      const onMessage = (event: RpcMessage): void => void (early ? early.push(event) : pass(event))
      const keepAlive = setInterval(reply.comment, keepAliveMs)
      try {
        const stream = Object.keys(filter).length > 0 ? await session.listen({ signal, onMessage }) : undefined
        notify('notifications/subscriptions/acknowledged', { notifications: stream ? filter : {} })
        for (const event of early) pass(event)
        early = undefined
        if (stream) {
          for (const uri of listOf(filter['resourceSubscriptions']))
            await session.request({ method: 'resources/subscribe', params: { uri }, signal, onMessage })
          await Promise.race([stream.ended, watchAborts(signal)])
        }
        if (!signal.aborted) await reply.result({ resultType: 'complete', _meta: own })
      } finally {
        clearInterval(keepAlive)
        await session.end().catch(() => undefined)
      }
    },
  }
}

function isWanted({ method, params }: RpcMessage, filter: Json): boolean {
  if (method === 'notifications/resources/updated')
    return listOf(filter['resourceSubscriptions']).includes(recordOf(params)['uri'])
  return Object.entries(lists).some(([name, [, notification]]) => notification === method && filter[name] === true)
}
