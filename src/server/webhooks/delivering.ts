import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import { type Delivery, maxWebhookBytes, type WebhookConfig } from '../../contract/webhooks.ts'
import { nextVersion, type RowCipher } from '../db/encrypted-rows.ts'
import type { Caller } from '../http/caller.ts'
import type { RunAs } from '../keys/run-as.ts'
import { AppError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import { nonEmptyText } from '../platform/json.ts'
import type { Log } from '../platform/log.ts'
import { traceHeadersOf } from '../platform/trace-context.ts'
import type { Sessions, Started } from '../sessions/sessions.ts'
import type { WebhookReplies } from '../webhook-replies/replies.ts'
import type { Claimed, ClaimOf, NewDelivery } from './claim-store.ts'
import { conversationOf, hashOfConversation } from './conversation.ts'
import { eventOf, headersIn, reasonToSkip } from './event-filter.ts'
import { filesIn, withoutFiles } from './files.ts'
import { type Headers, headerOf, loggedHeaders } from './headers.ts'
import { indented, type Payload } from './payload.ts'
import type { Conversation, DeliveryStore } from './store.ts'
import { filledTemplate } from './template.ts'

interface Deps {
  readonly store: DeliveryStore
  readonly sessions: Pick<Sessions, 'startWithin' | 'prepareFirst'>
  readonly runAs: RunAs
  readonly cipher: RowCipher<'webhook_payloads'>
  /** Records where the reply to a prompt goes. */
  readonly expectReply: WebhookReplies['expect']
  /** Returns why a delivery is not answered although its event matches. */
  readonly reasonNotToAnswer: (settings: WebhookConfig, payload: unknown) => string | undefined
  readonly log: Pick<Log, 'warn'>
}

/** A received delivery that is not yet in a session. */
export interface IncomingDelivery {
  readonly deliveryId: string
  readonly kind: Delivery['kind']
  readonly replayOf?: string
  /** Caller of a replay or an example, who pays. Absent: the key that set up the webhook pays. */
  readonly by?: Caller
  /** Digest of a signed delivery that is accepted only once. */
  readonly signedDigest?: Buffer | undefined
  readonly headers: Headers
  readonly payload: Payload
}

/** The agent that a delivery is for, with its settings. */
export interface Receiver {
  readonly agent: Agent
  readonly settings: WebhookConfig
}

/** `id` is the log entry. `sessionId` is empty when a filter skipped the delivery. */
type Outcome =
  | { readonly got: 'done'; readonly id: string; readonly sessionId: string }
  | Exclude<Claimed, { got: 'ours' }>

/** Longer payloads are delivered but not stored. */
const maxStoredBytes = 1024 * 1024
const maxTitleLength = 120
/** Longer titles, before they are cut, are not used. In characters. */
const maxTitleFieldsLength = 100_000

/**
 * Starts one session or message per delivery, also under retries and crashes. Throws `conflict` for an inactive agent.
 */
export type Deliver = (receiver: Receiver, incoming: IncomingDelivery) => Promise<Outcome>

export function createDeliver(deps: Deps): Deliver {
  const { store, sessions, runAs, cipher, expectReply, log } = deps

  /** Releases the claim, so that the next delivery of this id starts again. When that fails, the claim expires. */
  async function releaseClaim(mine: ClaimOf, error: unknown): Promise<void> {
    const text = error instanceof AppError ? error.message : 'internal error'
    await store.finish(mine, { status: 'failed', error: text }).catch(cause => {
      log.warn(
        { err: cause, agent_id: mine.agent_id },
        'could not release the claim of a delivery; it expires after 60 s',
      )
    })
  }

  /** Stores session, message and the finished delivery in one transaction, so that a retry finds all or none. */
  async function start(receiver: Receiver, incoming: IncomingDelivery, mine: ClaimOf, id: string): Promise<string> {
    const { agent, settings } = receiver
    const ownerId = agent.owner_id ?? ''
    const { by } = incoming
    const payer: Caller = by
      ? { principal: by.principal, role: 'user', ownerScope: ownerId, key: by.key }
      : await runAs({ ownerId, principal: ownerId, runAsKeyId: agent.run_as_key_id })
    const trace = by ? by.trace : traceHeadersOf(incoming.headers)
    const caller = trace ? { ...payer, trace } : payer
    const body = { ...sessionOf(receiver, incoming), prompt: messageOf(settings, incoming.payload) }
    const files = filesIn(settings, incoming.payload.value).map(file => ({ type: 'file' as const, file }))
    const parts = [{ type: 'text' as const, text: body.prompt }, ...files]
    const [message] = files.length === 0 ? [] : await sessions.prepareFirst(body, [{ parts }], caller)
    const name = conversationOf(settings.conversation, incoming.payload.value)
    const conversation = name === undefined ? undefined : { agentId: agent.id, key: hashOfConversation(name) }
    const started = await store
      .transaction(async client => {
        const result = await inConversation(client, conversation, existingId =>
          sessions.startWithin(client, { body, caller, existingId, message }),
        )
        const finalState = { status: 'accepted', session_id: result.sessionId, prompt_id: result.promptId } as const
        if (!(await store.finish(mine, finalState, client))) throw new TakenOver()
        const prompt = { sessionId: result.sessionId, promptId: result.promptId, deliveryId: id }
        // A test delivery is the caller's own text: its answer goes to no issue and no channel.
        if (incoming.kind !== 'test')
          await expectReply(client, { ...receiver, payload: incoming.payload.value, ...prompt })
        return result
      })
      .catch(error => {
        throw conversation && error instanceof AppError && error.code === 'not_found' ? sessionDeleted(error) : error
      })
    started.publish()
    return started.sessionId
  }

  /** Starts in the session of the conversation, and records the session for the next delivery. */
  async function inConversation(
    client: PoolClient,
    conversation: Conversation | undefined,
    start: (existingId: string | undefined) => Promise<Started>,
  ): Promise<Started> {
    if (!conversation) return start(undefined)
    const existing = await store.lockConversation(client, conversation)
    const started = await start(existing)
    const { sessionId } = started
    if (sessionId !== existing) await store.setConversation(client, { ...conversation, sessionId })
    return started
  }

  function rowOf({ agent, settings }: Receiver, incoming: IncomingDelivery, mine: ClaimOf): NewDelivery {
    const { headers, payload, kind, replayOf = null, signedDigest = null } = incoming
    const { agent_id, delivery_id } = mine
    const version = nextVersion(undefined)
    const isStored = payload.bytes.length <= maxStoredBytes
    return {
      ...mine,
      id: newId('del'),
      owner_id: agent.owner_id ?? '',
      kind,
      replay_of: replayOf,
      event: eventOf({ headers, payload: payload.value }) ?? null,
      headers: loggedHeaders(headers, headersIn(settings.events ?? [])),
      payload_bytes: payload.bytes.length,
      payload: isStored ? { version, ...cipher.encrypt(payload.bytes, { agent_id, delivery_id, version }) } : null,
      signed_digest: signedDigest,
    }
  }

  function reasonToIgnore(settings: WebhookConfig, { headers, payload }: IncomingDelivery): string | undefined {
    const reason = reasonToSkip(settings.events ?? [], { headers, payload: payload.value })
    return reason ?? deps.reasonNotToAnswer(settings, payload.value)
  }

  return async (receiver, incoming) => {
    const { agent, settings } = receiver
    if (agent.status !== 'active')
      throw new AppError('conflict', `agent ${agent.id} is ${agent.status}; resume it first`)
    const mine: ClaimOf = { agent_id: agent.id, delivery_id: incoming.deliveryId, claim: randomUUID() }
    const claimed = await store.claim(rowOf(receiver, incoming, mine), settings.rpm_limit ?? undefined)
    if (claimed.got !== 'ours') return claimed
    const { id } = claimed
    try {
      const reason = reasonToIgnore(settings, incoming)
      if (reason === undefined) return { got: 'done', id, sessionId: await start(receiver, incoming, mine, id) }
      const isOurs = await store.finish(mine, { status: 'skipped', error: reason })
      return isOurs ? { got: 'done', id, sessionId: '' } : { got: 'processing' }
    } catch (error) {
      if (error instanceof TakenOver) return { got: 'processing' }
      await releaseClaim(mine, error)
      throw error
    }
  }
}

/** Another attempt has taken over the delivery; this attempt rolls back. */
class TakenOver extends Error {}

const sessionDeleted = (cause: unknown): AppError =>
  new AppError('unavailable', 'session of this conversation was just deleted; retry after 1 s', {
    cause,
    headers: { 'retry-after': '1' },
  })

/** Gaps: section 5, `environment` of webhook sessions, and section 11, rule 6. */
const sessionOf = ({ agent, settings }: Receiver, { deliveryId, headers, payload }: IncomingDelivery) => ({
  agent_id: agent.id,
  title: [...(titleOf(settings, payload) ?? `Webhook ${deliveryId}`)].slice(0, maxTitleLength).join(''),
  environment: {
    ...settings.environment,
    source: 'webhook',
    request_id: deliveryId,
    content_type: headerOf(headers, 'content-type') ?? null,
    user_agent: headerOf(headers, 'user-agent') ?? null,
  },
})

/** Returns the filled template on one line; undefined without one, and when it is empty. */
function titleOf({ title }: WebhookConfig, { value }: Payload): string | undefined {
  const filled = title ? filledTemplate(title, value, maxTitleFieldsLength) : undefined
  return nonEmptyText(filled?.replaceAll(/\s+/g, ' ').trim())
}

/**
 * Returns the message for the agent: the filled template, or the payload as JSON when there is no template or it is
 * blank.
 */
export function messageOf(settings: WebhookConfig, whole: Payload): string {
  const { template } = settings
  const payload = withoutFiles(whole, filesIn(settings, whole.value))
  const text = template ? filledTemplate(template, payload.value, maxWebhookBytes) : ''
  if (text === undefined)
    throw new AppError('payload_too_large', `message of the template exceeds ${maxWebhookBytes} characters`)
  return text.trim() === '' ? indented(payload) : text
}
