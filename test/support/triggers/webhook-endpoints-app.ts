import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import type { NewEvent } from '../../../src/contract/events.ts'
import type { EndpointDelivery, ShownEndpoint } from '../../../src/contract/webhook-endpoints.ts'
import { agentStore } from '../../../src/server/agents/store.ts'
import { createAudit } from '../../../src/server/audit/audit.ts'
import { auditStore } from '../../../src/server/audit/store.ts'
import { createRowCipher } from '../../../src/server/db/encrypted-rows.ts'
import { createNotifications } from '../../../src/server/db/notifications.ts'
import { type Caller, masterCaller } from '../../../src/server/http/caller.ts'
import { createServer } from '../../../src/server/http/server.ts'
import { keyChannel } from '../../../src/server/keys/key-channel.ts'
import { createKeyring, createValueCipher } from '../../../src/server/platform/encryption.ts'
import { newId } from '../../../src/server/platform/ids.ts'
import { createLog } from '../../../src/server/platform/log.ts'
import { createOutbound } from '../../../src/server/platform/outbound.ts'
import { eventStore, withId } from '../../../src/server/sessions/log/event-store.ts'
import { sessionStore } from '../../../src/server/sessions/session-store.ts'
import { createDelivery } from '../../../src/server/webhook-endpoints/delivery.ts'
import { deliveryStore } from '../../../src/server/webhook-endpoints/delivery-store.ts'
import { endpointStore } from '../../../src/server/webhook-endpoints/endpoint-store.ts'
import { createEndpoints } from '../../../src/server/webhook-endpoints/endpoints.ts'
import { createDispatch, createMessageOf } from '../../../src/server/webhook-endpoints/message.ts'
import { serveWebhookEndpoints } from '../../../src/server/webhook-endpoints/routes.ts'
import { createSend } from '../../../src/server/webhook-endpoints/send.ts'
import { freshDatabase } from '../service/database.ts'
import { looseEvent } from '../sessions/loose-event.ts'
import { type AnswerTo, type Received, startWebhookReceiver } from './webhook-receiver.ts'

const log = createLog('silent')
const keyOf = (id: string) => ({ id, models: [], isLimited: false, isNarrow: false, expires: false })
const callers = {
  master: masterCaller,
  ana: { principal: 'ana', role: 'user', ownerScope: 'ana', key: undefined },
  bo: { principal: 'bo', role: 'user', ownerScope: 'bo', key: undefined },
  labelled: { principal: 'key_l', role: 'user', ownerScope: undefined, key: keyOf('key_l') },
} as const satisfies Record<string, Caller>
type Name = keyof typeof callers

/** What a receiver gets of an event. */
export interface Notified {
  readonly type: string
  readonly timestamp: string
  readonly data: { session_id: string; agent_id: string; event: { id: string; seq: number; type: string } }
}
export const notified = ({ text }: Received): Notified => JSON.parse(text)

/** The numbers of a session's events, as they came. */
export const seqs = (received: readonly Received[], sessionId: string): number[] =>
  received.filter(each => notified(each).data.session_id === sessionId).map(each => notified(each).data.event.seq)

/**
 * Webhook endpoints over a fresh database, and short ways to use them. `x-api-key` names the caller. Only receivers
 * that were started here may be called; they have half a second for an answer.
 */
export async function startWebhookEndpointsApp() {
  const { pool, db, url: databaseUrl } = await freshDatabase()
  const keyring = createKeyring([randomBytes(32)])
  const allowed = new Set<string>()
  const outbound = () => createOutbound({ allow: [...allowed] })
  const agents = agentStore(db)
  const endpointRows = endpointStore(pool)
  const deliveries = deliveryStore(pool)
  const audit = createAudit(auditStore(db))
  const cipher = createRowCipher(keyring, 'webhook_endpoint_secrets')
  const send = createSend({ connect: ms => outbound().connect(ms) }, 500)
  const dispatch = createDispatch({ store: endpointRows, cipher, send, log })
  const messageOf = createMessageOf(async () => [])
  const app = createServer({
    authenticate: ({ headers }) => callers[String(headers['x-api-key']) as Name],
    log,
  })
  serveWebhookEndpoints(app, {
    endpoints: createEndpoints({
      store: endpointRows,
      deliveries,
      agents,
      dispatch,
      messageOf,
      cipher,
      answerCipher: createValueCipher(keyring, 'idempotency'),
      outbound,
      audit,
    }),
  })
  const events = eventStore(pool)

  async function call<T = Record<string, unknown>>(caller: Name, line: string, payload?: object, headers = {}) {
    const [method, url = ''] = line.split(' ')
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: { 'x-api-key': caller, ...headers },
      ...(payload && { payload }),
    })
    return { status: answer.statusCode, body: answer.json() as T, text: answer.body }
  }

  return {
    pool,
    call,
    async startReceiver(answer?: AnswerTo) {
      const receiver = await startWebhookReceiver(answer)
      allowed.add(receiver.host)
      return receiver
    },
    /** A replica's deliveries; stopped with the test. */
    async startReplica(
      t: TestContext,
      { retryMs = [50, 50, 50], failingMs = 60_000 }: { retryMs?: readonly number[]; failingMs?: number } = {},
    ) {
      const notifications = createNotifications({ connectionString: databaseUrl }, log)
      const parts = {
        store: deliveries,
        endpoints: endpointRows,
        dispatch,
        messageOf,
        notifications,
        keyChannel,
        audit,
        log,
      }
      const replica = createDelivery({ ...parts, retryMs, failingMs })
      await notifications.start(newId('run'))
      replica.start()
      let isStopped = false
      const stop = async () => {
        if (isStopped) return
        isStopped = true
        await replica.stop()
        await notifications.stop()
      }
      t.after(stop)
      return { stop }
    },
    /** Makes the only endpoint there is. */
    async made(write: object, caller: Name = 'ana'): Promise<ShownEndpoint> {
      await pool.query('delete from webhook_endpoints')
      const answer = await call<ShownEndpoint>(caller, 'POST /api/webhook-endpoints', write)
      assert.equal(answer.status, 201, answer.text)
      return answer.body
    },
    /** Stores an agent of ana's; its id. */
    async newAgent(): Promise<string> {
      const id = newId('agent')
      const fields = { name: 'A', model: 'demo', system: '', description: null, harness: 'builtin', tools: {} }
      const made = { key: undefined, mark: { note: null, created_by: null } }
      await agents.insert({ id, owner_id: 'ana', ...fields, config: {} } as never, made, async () => undefined)
      return id
    },
    /** Stores a session; its id. */
    async newSession(owner_id = 'ana', agent_id = ''): Promise<string> {
      const id = newId('ses')
      const fields = { owner_id, agent_id, title: 's', agent: agent_id, agent_version: null, timezone: null }
      const place = { harness: 'builtin', runtime: 'builtin', environment: {}, ancestors: [] }
      await sessionStore(pool).insert(pool, { id, ...fields, ...place })
      return id
    },
    /** Appends events of these types to a session's log; as they are stored. */
    append: async (sessionId: string, ...added: (string | NewEvent)[]) =>
      (await events.append(
        sessionId,
        added.map(event =>
          withId(typeof event === 'string' ? looseEvent({ type: event, note: `note of ${event}` }) : event),
        ),
      )) ?? [],
    /** The log of an endpoint's deliveries, newest first. */
    deliveriesOf: async (id: string, query = '') =>
      (await call<{ deliveries: EndpointDelivery[] }>('ana', `GET /api/webhook-endpoints/${id}/deliveries${query}`))
        .body.deliveries,
  }
}
