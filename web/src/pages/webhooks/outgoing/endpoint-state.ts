import type { EndpointDelivery, WebhookEndpoint } from '../../../../../src/contract/webhook-endpoints.ts'
import type { WebhookReply } from '../../../../../src/contract/webhook-replies.ts'
import type { StateName } from '../../../theme.ts'

interface Shown {
  readonly state: StateName
  readonly word: string
}

/** Returns the state of an endpoint; one that fails is not disabled yet. */
export function endpointState({ status, failing_since }: WebhookEndpoint): Shown {
  if (status === 'disabled') return { state: 'failed', word: 'disabled' }
  if (status === 'paused') return { state: 'stopped', word: 'paused' }
  return failing_since === null ? { state: 'done', word: 'active' } : { state: 'failed', word: 'failing' }
}

export const endpointDeliveryStates: Readonly<Record<EndpointDelivery['state'], Shown>> = {
  pending: { state: 'waiting', word: 'pending' },
  delivered: { state: 'done', word: 'delivered' },
  dead: { state: 'failed', word: 'given up' },
}

export const replyStates: Readonly<Record<WebhookReply['state'], Shown>> = {
  pending: { state: 'waiting', word: 'pending' },
  delivered: { state: 'done', word: 'posted' },
  failed: { state: 'failed', word: 'failed' },
  skipped: { state: 'stopped', word: 'skipped' },
}

export const replyTargets: Readonly<Record<WebhookReply['type'], string>> = {
  github_comment: 'GitHub comment',
  slack_thread: 'Slack thread',
  callback: 'address',
}
