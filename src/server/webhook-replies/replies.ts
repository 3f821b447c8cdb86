import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import type { Agent } from '../../contract/agents.ts'
import type { WebhookReply } from '../../contract/webhook-replies.ts'
import type { WebhookConfig } from '../../contract/webhooks.ts'
import type { AgentStore } from '../agents/store.ts'
import type { Caller } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import type { Log } from '../platform/log.ts'
import type { Outbound } from '../platform/outbound.ts'
import { every } from '../platform/timers.ts'
import type { AnswerOf } from '../sessions/log/run-answer.ts'
import type { Vault } from '../vault/vault.ts'
import type { Exchange } from './exchange.ts'
import { type Post, type Posted, receivers } from './receivers.ts'
import type { ClaimedReply, DueDestination, NewReply, ReplyStore, Settled } from './reply-store.ts'
import { replyTypeOf, targetOf } from './reply-target.ts'

interface Deps {
  readonly store: ReplyStore
  readonly exchange: Exchange
  readonly vault: Pick<Vault, 'value'>
  /** Checks the hosts of `config.webhook.reply.url`. */
  readonly outbound: () => Pick<Outbound, 'lists'>
  readonly answerOf: AnswerOf
  readonly agents: { within(client: PoolClient): Pick<AgentStore, 'version'> }
  /** Returns the tool call of an approval that is still pending, with its signed link where links are sent. */
  readonly openApproval: (id: string) => Promise<{ name: string; url: string | undefined } | undefined>
  readonly log: Pick<Log, 'warn'>
  /** Delays between attempts in milliseconds; after the last attempt a reply has failed. */
  readonly retryMs?: readonly number[]
}

/** A queued prompt of a delivery. */
export interface Answerable {
  readonly agent: Agent
  readonly settings: WebhookConfig
  readonly payload: unknown
  /** Entry of the delivery log. */
  readonly deliveryId: string
  readonly sessionId: string
  readonly promptId: string
}

/** 5 s, 30 s, 2 min, 10 min, 1 h, 6 h. */
const defaultRetryMs = [5, 30, 120, 600, 3_600, 21_600].map(seconds => seconds * 1_000)
const pollMs = 1_000
const maxPlanned = 100
const maxParallel = 4

/** Replies to webhook deliveries: queued once a prompt ends or asks, and posted by any replica. */
export type WebhookReplies = ReturnType<typeof createWebhookReplies>

export function createWebhookReplies(deps: Deps) {
  const { store, log } = deps
  let isStarted = false
  let stopTimer: (() => Promise<void>) | undefined

  /** Queues what the prompts that ended or ask need. */
  async function plan(): Promise<void> {
    for (const destination of await store.due(maxPlanned)) {
      const hasEnded = destination.state !== 'running' && destination.state !== 'waiting'
      await store.queue(destination, repliesOf(destination), hasEnded)
    }
  }

  /** Sends what is due, some replies at a time. A poll without any claims once. */
  async function sendDue(): Promise<void> {
    while (isStarted) {
      const claimed = await claimSome()
      if (claimed.length === 0) return
      await Promise.all(claimed.map(async reply => store.settle(reply, await attempt(deps, reply))))
    }
  }

  async function claimSome(): Promise<ClaimedReply[]> {
    const claimed: ClaimedReply[] = []
    while (isStarted && claimed.length < maxParallel) {
      const reply = await store.claim(randomUUID())
      if (!reply) break
      claimed.push(reply)
    }
    return claimed
  }

  async function poll(): Promise<void> {
    await plan()
    await sendDue()
  }

  return {
    /** Records where the replies to a prompt go, in the transaction that queues it. */
    async expect(on: PoolClient, { agent, settings, ...prompt }: Answerable): Promise<void> {
      const type = replyTypeOf(settings)
      if (!settings.reply || !type) return
      const { secret_key, url } = settings.reply
      const target = targetOf(type, url, prompt.payload)
      const version = await deps.agents.within(on).version(agent.id, agent.version)
      const to = {
        prompt_id: prompt.promptId,
        session_id: prompt.sessionId,
        agent_id: agent.id,
        owner_id: agent.owner_id ?? '',
        delivery_id: prompt.deliveryId,
        type,
        secret_key,
        // Otherwise a key with limits could have any global entry sent.
        may_be_global: version?.agent.run_as_key_id === null,
      }
      if (typeof target !== 'string') return store.expect(on, { ...to, target })
      const none = { id: newId('rpl'), kind: 'answer', subject: prompt.promptId, reason: target } as const
      await store.skip(on, { ...to, target: { base: '' } }, none)
    },

    list: (
      filter: { agentId: string | undefined; sessionId: string | undefined; state: string | undefined },
      { ownerScope }: Caller,
      page: { after: string | undefined; limit: number },
    ): Promise<WebhookReply[]> => store.list({ ...filter, owner: ownerScope, ...page }),

    start() {
      isStarted = true
      stopTimer = every(pollMs, () =>
        poll().catch((cause: unknown) =>
          log.warn({ err: cause }, 'cannot read webhook replies; retrying in the next poll'),
        ),
      )
    },

    /** Waits for the attempts in flight. */
    async stop() {
      isStarted = false
      await stopTimer?.()
    },
  }
}

/** A prompt that was withdrawn or interrupted gets no answer. */
function repliesOf({ state, run_id, prompt_id, approvals }: DueDestination): NewReply[] {
  const asked = approvals.map(subject => ({ id: newId('rpl'), kind: 'approval' as const, subject }))
  if (state !== 'done' && state !== 'error') return state === 'running' || state === 'waiting' ? asked : []
  return [{ id: newId('rpl'), kind: state === 'done' ? 'answer' : 'failure', subject: run_id ?? prompt_id }]
}

/** Makes one attempt. When the outcome of the one before is unknown, it looks for its reply at the receiver first. */
async function attempt(deps: Deps, reply: ClaimedReply): Promise<Settled> {
  const content = await contentOf(deps, reply)
  if (typeof content === 'string') return over('skipped', content)
  const secret = await secretOf(deps, reply)
  if (typeof secret !== 'string') return over('failed', secret.problem)
  const post: Post = {
    id: reply.id,
    queued: reply.created_at,
    target: reply.target,
    kind: reply.kind,
    secret,
    ...content,
  }
  const receiver = receivers[reply.type]
  const isUnknown = reply.attempts > 1 && (reply.last_status === null || reply.last_status >= 500)
  const found = isUnknown ? await receiver.find?.(deps.exchange, post) : undefined
  // Without a look at the receiver another post could be a second one.
  if (found && (found.isPosted || found.error !== null)) return settledOf(deps, reply, found)
  return settledOf(deps, reply, await receiver.post(deps.exchange, post))
}

function settledOf({ retryMs = defaultRetryMs }: Deps, { attempts }: ClaimedReply, result: Posted): Settled {
  const { isPosted, isFinal, httpStatus, error, externalId } = result
  const wait = retryMs[attempts - 1]
  if (isPosted) return { state: 'delivered', httpStatus, error: null, externalId, retryMs: null }
  if (isFinal || wait === undefined) return { state: 'failed', httpStatus, error, externalId, retryMs: null }
  return { state: 'pending', httpStatus, error, externalId, retryMs: wait * (1 + Math.random() / 10) }
}

const over = (state: 'failed' | 'skipped', error: string): Settled => ({
  state,
  httpStatus: null,
  error,
  externalId: null,
  retryMs: null,
})

/** A credential leaves only for the public host of its service, or one that the operator lists. Security: S25. */
async function secretOf(
  { vault, outbound }: Deps,
  { owner_id, secret_key, may_be_global, type, target }: ClaimedReply,
): Promise<string | { readonly problem: string }> {
  const isPublic = ['https://api.github.com', 'https://slack.com/api'].includes(target.base)
  if (type !== 'callback' && !isPublic && !outbound().lists(target.base))
    return { problem: `host of config.webhook.reply.url is not in outbound.allow` }
  const value = await vault.value({ name: secret_key, ownerId: owner_id, mayBeGlobal: may_be_global })
  return value?.trim() || { problem: `vault entry ${secret_key} is missing` }
}

type Content = Pick<Post, 'text' | 'data'>

/** Returns what to post, or why nothing is posted. A failure is posted without its cause, which may be internal. */
async function contentOf(deps: Deps, reply: ClaimedReply): Promise<Content | string> {
  const { session_id, agent_id, delivery_id, prompt_id, kind, subject } = reply
  const data = { session_id, agent_id, delivery_id }
  if (kind === 'approval') {
    const open = await deps.openApproval(subject)
    if (!open) return 'approval was answered or has expired before'
    const how = open.url === undefined ? `Answer approval ${subject} in the service.` : `Review and answer: ${open.url}`
    const text = `The agent needs approval for the tool call ${open.name} (session ${session_id}). ${how}`
    return { text, data: { ...data, approval_id: subject, ...(open.url !== undefined && { url: open.url }) } }
  }
  const { text, failure } = await deps.answerOf(session_id, { promptId: prompt_id, runId: subject })
  if (kind === 'failure') {
    const said = `The agent could not finish (${failure?.type ?? 'unknown_error'}, session ${session_id}).`
    return { text: said, data: { ...data, error: failure } }
  }
  return text.trim() === '' ? 'run ended without an answer' : { text, data }
}
