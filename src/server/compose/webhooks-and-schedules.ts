import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { AgentStore } from '../agents/store.ts'
import type { Audit } from '../audit/audit.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import { createRowCipher } from '../db/encrypted-rows.ts'
import type { Notifications } from '../db/notifications.ts'
import type { AddressOf } from '../http/client-address.ts'
import type { LoginLimiter } from '../http/login-limiter.ts'
import { keyChannel } from '../keys/key-channel.ts'
import type { RunAs } from '../keys/run-as.ts'
import { createValueCipher, type Keyring } from '../platform/encryption.ts'
import type { Part } from '../platform/lifecycle.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { serveSchedules } from '../schedules/routes.ts'
import { createSchedules } from '../schedules/schedules.ts'
import { scheduleStore } from '../schedules/store.ts'
import { createTicker } from '../schedules/ticker.ts'
import type { EventStore } from '../sessions/log/event-store.ts'
import { createAnswerOf } from '../sessions/log/run-answer.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ApprovalLinks } from '../sessions/waits/approval-links.ts'
import {
  observedCounts,
  observedExchange,
  observedSchedules,
  observedSend,
  observedWebhooks,
} from '../telemetry/observed-triggers.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Vault } from '../vault/vault.ts'
import { createDelivery } from '../webhook-endpoints/delivery.ts'
import { deliveryStore as endpointDeliveryStore } from '../webhook-endpoints/delivery-store.ts'
import { endpointStore } from '../webhook-endpoints/endpoint-store.ts'
import { createEndpoints } from '../webhook-endpoints/endpoints.ts'
import { createDispatch, createMessageOf } from '../webhook-endpoints/message.ts'
import { serveWebhookEndpoints } from '../webhook-endpoints/routes.ts'
import { createSend } from '../webhook-endpoints/send.ts'
import { createExchange } from '../webhook-replies/exchange.ts'
import { createWebhookReplies } from '../webhook-replies/replies.ts'
import { replyStore } from '../webhook-replies/reply-store.ts'
import { reasonNotToAnswer } from '../webhook-replies/reply-target.ts'
import { serveWebhookReplies } from '../webhook-replies/routes.ts'
import { createAdmission } from '../webhooks/admission.ts'
import { createWebhookCheck } from '../webhooks/check.ts'
import { countStore } from '../webhooks/count-store.ts'
import { createDeliver } from '../webhooks/delivering.ts'
import { createDeliveryCounts } from '../webhooks/delivery-counts.ts'
import { serveWebhooks } from '../webhooks/routes.ts'
import { deliveryStore } from '../webhooks/store.ts'
import { createWebhooks } from '../webhooks/webhooks.ts'

interface Needs {
  readonly config: Pick<Config, 'masterKey' | 'approvalLinks'>
  readonly log: Log
  readonly keyring: Keyring
  readonly pool: Pool
  readonly db: Kysely<Database>
  readonly notifications: Notifications
  readonly audit: Audit
  readonly vault: Vault
  readonly logins: LoginLimiter
  readonly addressOf: AddressOf
  /** Outbound connections. */
  readonly outbound: Pick<Outbound, 'connect'>
  /** Checks the addresses of receivers. */
  readonly guard: () => Outbound
  readonly agentRows: AgentStore
  readonly sessions: Sessions
  readonly runAs: RunAs
  readonly approvalLinks: Pick<ApprovalLinks, 'of' | 'pending'>
  readonly events: EventStore
  readonly telemetry: Telemetry
}

/** Triggers of prompts (webhooks and schedules), and webhook endpoints that are notified of events. */
export function composeWebhooksAndSchedules(needs: Needs) {
  const {
    config,
    log,
    keyring,
    pool,
    db,
    notifications,
    audit,
    vault,
    logins,
    outbound,
    guard,
    agentRows,
    sessions,
    runAs,
    telemetry,
  } = needs

  // webhooks
  const countRows = countStore(pool)
  const counted = createDeliveryCounts({ store: countRows, log, nowMs: () => Date.now() })
  const counts = observedCounts(counted, telemetry)
  const admission = createAdmission({
    agents: agentRows,
    vault,
    masterKey: config.masterKey,
    logins,
    addressOf: needs.addressOf,
    log,
    nowMs: () => Date.now(),
    counts,
  })
  const deliveries = deliveryStore({ pool, db })
  const payloadCipher = createRowCipher(keyring, 'webhook_payloads')
  const linksInReplies = config.approvalLinks.includes('replies')
  const replies = createWebhookReplies({
    store: replyStore(pool),
    exchange: observedExchange(createExchange(outbound), telemetry),
    vault,
    outbound: guard,
    agents: agentRows,
    answerOf: createAnswerOf(needs.events),
    async openApproval(id) {
      const [approval] = await needs.approvalLinks.pending([id])
      const [link] = approval && linksInReplies ? await needs.approvalLinks.of([id]) : []
      return approval && { name: approval.name, url: link?.url }
    },
    log,
  })
  const received = createWebhooks({
    store: deliveries,
    agents: agentRows,
    deliver: createDeliver({
      store: deliveries,
      sessions,
      runAs,
      cipher: payloadCipher,
      expectReply: replies.expect,
      reasonNotToAnswer,
      log,
    }),
    cipher: payloadCipher,
    // Its answers and errors are reported as such.
    counts: counted,
  })
  const webhooks = observedWebhooks(received, telemetry)

  // schedules
  const scheduleRows = scheduleStore(pool)
  const schedules = createSchedules({ pool, store: scheduleRows, agents: agentRows, sessions, audit })
  const ticker = createTicker({
    pool,
    store: observedSchedules(scheduleRows, telemetry),
    sessions,
    agents: agentRows,
    runAs,
    log,
  })

  // webhook endpoints
  const endpointRows = endpointStore(pool)
  const deliveryRows = endpointDeliveryStore(pool)
  const endpointCipher = createRowCipher(keyring, 'webhook_endpoint_secrets')
  const dispatch = createDispatch({
    store: endpointRows,
    cipher: endpointCipher,
    send: observedSend(createSend(outbound), telemetry),
    log,
  })
  const sendsLinks = config.approvalLinks.includes('webhook_endpoints')
  const messageOf = createMessageOf(sendsLinks ? needs.approvalLinks.of : async () => [])
  const endpoints = createEndpoints({
    store: endpointRows,
    deliveries: deliveryRows,
    agents: agentRows,
    dispatch,
    messageOf,
    cipher: endpointCipher,
    answerCipher: createValueCipher(keyring, 'idempotency'),
    outbound: guard,
    audit,
  })
  const delivery = createDelivery({
    store: deliveryRows,
    endpoints: endpointRows,
    dispatch,
    messageOf,
    notifications,
    keyChannel,
    audit,
    log,
  })

  const parts: readonly Part[] = [
    { name: 'counts of webhook requests', start: counts.start, stop: counts.stop },
    { name: 'schedules', isSessionWork: true, start: ticker.start, drain: ticker.stop },
    { name: 'webhook replies', isSessionWork: true, start: replies.start, drain: replies.stop },
    { name: 'webhook deliveries', isSessionWork: true, start: delivery.start, drain: delivery.stop },
  ]

  return {
    parts,
    serve(app: FastifyInstance) {
      const nowMs = () => Date.now()
      const check = createWebhookCheck({ agents: agentRows, secretsOf: admission.secretsOf, webhooks, nowMs })
      serveWebhooks(app, { admission, webhooks, check, counts: countRows })
      serveWebhookReplies(app, { replies })
      serveSchedules(app, { schedules })
      serveWebhookEndpoints(app, { endpoints })
    },
  }
}
