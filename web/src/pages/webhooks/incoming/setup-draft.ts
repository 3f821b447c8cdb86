import type { Agent } from '../../../../../src/contract/agents.ts'
import type {
  WebhookCondition,
  WebhookConfig,
  WebhookReplySettings,
  WebhookSignature,
} from '../../../../../src/contract/webhooks.ts'
import { type SenderId, senderFor, signatureOf } from './senders.ts'

/** Where the secret comes from. `keep`: the entry stays as it is. */
export type SecretSource = 'generate' | 'paste' | 'keep'

/** What the set-up holds. Empty texts are absent settings. */
export interface SetupDraft {
  readonly sender: SenderId
  /** Vault entry of the secret that the sender signs with, or sends as its token. */
  readonly entry: string
  readonly source: SecretSource
  readonly pasted: string
  /** True when a signed request must have the bearer token, too. */
  readonly needsToken: boolean
  /** Vault entry of that token. */
  readonly tokenEntry: string
  readonly signature: WebhookSignature | undefined
  readonly eventNames: readonly string[]
  readonly conditions: readonly WebhookCondition[]
  readonly template: string
  readonly conversation: string
  readonly idHeader: string
  readonly rpmLimit: number | undefined
  readonly files: NonNullable<WebhookConfig['files']> | undefined
  readonly reply: WebhookReplySettings | undefined
  readonly title: string | undefined
  readonly environment: NonNullable<WebhookConfig['environment']> | undefined
}

/** Name of the entry that the service reads without `secret_key`. */
export const defaultEntry = (agentId: string): string => `WEBHOOK_${agentId}_SECRET`

/** Returns the settings of an agent; an empty object for settings of another shape. */
export function webhookOf({ config }: Pick<Agent, 'config'>): WebhookConfig {
  const given = config['webhook']
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? (given as WebhookConfig) : {}
}

/** Returns the set-up of an agent as it is stored. */
export function setupOf(agent: Pick<Agent, 'id' | 'config'>): SetupDraft {
  const stored = webhookOf(agent)
  const { signature, events } = stored
  const sender = senderFor(stored)
  return {
    sender,
    entry: signature?.secret_key ?? stored.secret_key ?? defaultEntry(agent.id),
    source: 'keep',
    pasted: '',
    needsToken: signature !== undefined && signature !== null && signature.mode !== 'instead',
    tokenEntry: stored.secret_key ?? defaultEntry(agent.id),
    signature: signature ?? undefined,
    eventNames: (events ?? []).filter(event => typeof event === 'string'),
    conditions: (events ?? []).filter(event => typeof event !== 'string'),
    template: stored.template ?? '',
    conversation: stored.conversation ?? '',
    idHeader: stored.delivery_id_header ?? '',
    rpmLimit: stored.rpm_limit ?? undefined,
    files: stored.files ?? undefined,
    reply: stored.reply ?? undefined,
    title: stored.title ?? undefined,
    environment: stored.environment ?? undefined,
  }
}

/** Returns the draft for another sender; what belongs to the sender changes, everything else stays. */
export function withSender(draft: SetupDraft, sender: SenderId): SetupDraft {
  const signature = signatureOf(sender, draft.entry)
  return { ...draft, sender, signature, needsToken: false }
}

/** Returns `config.webhook` for the draft. */
export function settingsFrom(draft: SetupDraft, agentId: string): WebhookConfig {
  const events = [...draft.eventNames, ...draft.conditions]
  const { signature } = draft
  const tokenEntry = signature ? draft.tokenEntry : draft.entry
  const isTokenUsed = !signature || draft.needsToken
  return {
    ...(isTokenUsed && tokenEntry !== defaultEntry(agentId) && { secret_key: tokenEntry }),
    ...(signature && { signature: signedAs(draft, signature) }),
    ...(events.length > 0 && { events }),
    ...(draft.template.trim() !== '' && { template: draft.template }),
    ...(draft.conversation.trim() !== '' && { conversation: draft.conversation.trim() }),
    ...(draft.idHeader.trim() !== '' && { delivery_id_header: draft.idHeader.trim() }),
    ...(draft.rpmLimit !== undefined && { rpm_limit: draft.rpmLimit }),
    ...(draft.files && { files: draft.files }),
    ...(draft.reply && { reply: draft.reply }),
    ...(draft.title && { title: draft.title }),
    ...(draft.environment && { environment: draft.environment }),
  }
}

const signedAs = ({ entry, needsToken }: SetupDraft, signature: WebhookSignature): WebhookSignature => ({
  ...signature,
  secret_key: entry,
  mode: needsToken ? 'also' : 'instead',
})
