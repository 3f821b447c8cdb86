import type { WebhookConfig, WebhookSignature } from '../../../../../src/contract/webhooks.ts'

/** Programs that the set-up knows. `custom` is any other signature, `bearer` a plain token. */
export type SenderId = 'github' | 'slack' | 'stripe' | 'linear' | 'gitlab' | 'standard-webhooks' | 'bearer' | 'custom'

export interface Sender {
  readonly id: SenderId
  readonly name: string
  /** True when the sender creates the secret, which is then pasted here. */
  readonly givesSecret: boolean
  /** Header with the delivery id; undefined when the sender sends none. */
  readonly idHeader: string | undefined
  /** What to do at the sender, in order. `{url}` and `{secret}` stand for the values of this set-up. */
  readonly steps: readonly string[]
  /** What a person should know about repeats. */
  readonly note: string | undefined
  readonly conversation: string | undefined
  /** Names of events that people often want. */
  readonly events: readonly string[]
}

const github: Sender = {
  id: 'github',
  name: 'GitHub',
  givesSecret: false,
  idHeader: 'X-GitHub-Delivery',
  steps: [
    'Open Settings, Webhooks of the repository or organisation, and choose Add webhook.',
    'Payload URL: {url}',
    'Content type: application/json',
    'Secret: {secret}',
    'Choose the events, then Add webhook. GitHub sends a ping, which appears in the deliveries.',
  ],
  note: 'GitHub does not sign the time. An equal body is therefore accepted once in 7 days, whatever its id.',
  conversation: 'github-issue',
  events: ['issues.opened', 'issue_comment.created', 'pull_request.opened', 'push'],
}

const slack: Sender = {
  id: 'slack',
  name: 'Slack',
  givesSecret: true,
  idHeader: undefined,
  steps: [
    'Open your app at api.slack.com/apps. Basic Information shows the Signing Secret: paste it in the next step here, and save.',
    'Open Event Subscriptions, and turn Enable Events on.',
    'Request URL: {url}',
    'Subscribe to bot events such as app_mention, then Save Changes.',
  ],
  note: 'Slack sends no delivery id. A request that it signs again is a new delivery.',
  conversation: 'slack-thread',
  events: ['event_callback'],
}

const stripe: Sender = {
  id: 'stripe',
  name: 'Stripe',
  givesSecret: true,
  idHeader: undefined,
  steps: [
    'Open Developers, Webhooks in Stripe, and add a destination for the events that you want.',
    'Endpoint URL: {url}',
    'Reveal the Signing secret of the destination (whsec_…), paste it in the next step here, and save.',
  ],
  note: 'Stripe sends no delivery id. A request that it signs again is a new delivery.',
  conversation: undefined,
  events: ['invoice.payment_failed', 'charge.dispute.created', 'customer.subscription.deleted'],
}

const linear: Sender = {
  id: 'linear',
  name: 'Linear',
  givesSecret: true,
  idHeader: 'Linear-Delivery',
  steps: [
    'Open Settings, API in Linear, and create a webhook.',
    'URL: {url}',
    'Copy the Signing secret of the webhook, paste it in the next step here, and save.',
  ],
  note: undefined,
  conversation: 'linear-issue',
  events: ['Issue.create', 'Comment.create'],
}

const gitlab: Sender = {
  id: 'gitlab',
  name: 'GitLab',
  givesSecret: false,
  idHeader: 'X-Gitlab-Event-UUID',
  steps: [
    'Open Settings, Webhooks of the project or group, and choose Add new webhook.',
    'URL: {url}',
    'Leave Secret token empty. Add a custom header: name Authorization, value Bearer {secret}',
    'Choose the triggers, then Add webhook.',
  ],
  note: undefined,
  conversation: 'gitlab-issue',
  events: ['Issue Hook', 'Note Hook', 'Merge Request Hook', 'Push Hook'],
}

const standard: Sender = {
  id: 'standard-webhooks',
  name: 'Standard Webhooks',
  givesSecret: false,
  idHeader: 'webhook-id',
  steps: ['Endpoint: {url}', 'Signing secret: {secret}'],
  note: 'Senders that create the secret themselves show it as whsec_…: paste that one.',
  conversation: undefined,
  events: [],
}

const bearer: Sender = {
  id: 'bearer',
  name: 'Bearer token',
  givesSecret: false,
  idHeader: 'x-request-id',
  steps: [
    'Send POST {url}',
    'Header Authorization: Bearer {secret}',
    'Header Content-Type: application/json',
    'Send an id of the delivery in x-request-id, so that a repeat starts nothing.',
  ],
  note: undefined,
  conversation: undefined,
  events: [],
}

const custom: Sender = {
  id: 'custom',
  name: 'Another signature',
  givesSecret: false,
  idHeader: undefined,
  steps: ['Endpoint: {url}', 'Signing secret: {secret}'],
  note: 'A signature without a time can be sent again by whoever captured it. Prefer a header with the time.',
  conversation: undefined,
  events: [],
}

export const senders: readonly Sender[] = [github, slack, stripe, linear, gitlab, standard, bearer, custom]

export const senderOf = (id: SenderId): Sender => senders.find(sender => sender.id === id) ?? bearer

/** Header of Linear's signature. Its bodies contain the time, so that equal bodies are repeats. */
const linearHeader = 'linear-signature'

/** Returns the signature settings of a sender; undefined for senders that send a bearer token. */
export function signatureOf(id: SenderId, secretKey: string): WebhookSignature | undefined {
  switch (id) {
    case 'github':
    case 'slack':
    case 'stripe':
    case 'standard-webhooks':
      return { preset: id, secret_key: secretKey, mode: 'instead' }
    case 'linear':
      return { preset: 'custom', secret_key: secretKey, mode: 'instead', header: linearHeader, dedupe: 'body' }
    case 'custom':
      return { preset: 'custom', secret_key: secretKey, mode: 'instead', header: 'x-signature' }
    case 'gitlab':
    case 'bearer':
      return undefined
  }
}

/** Returns the sender that settings were made for. Without a signature, GitLab and others cannot be told apart. */
export function senderFor({ signature, conversation, events }: WebhookConfig): SenderId {
  if (!signature) {
    const isGitlab = conversation === 'gitlab-issue' || events?.some(event => gitlab.events.includes(String(event)))
    return isGitlab === true ? 'gitlab' : 'bearer'
  }
  if (signature.preset !== 'custom') return signature.preset
  return signature.header?.toLowerCase() === linearHeader ? 'linear' : 'custom'
}
