/** Headers with a delivery id, in the order in which the service checks them. Gaps: section 11, rule 4. */
export const deliveryIdHeaders = [
  'webhook-id',
  'svix-id',
  'x-github-delivery',
  'linear-delivery',
  'x-gitlab-event-uuid',
  'x-shopify-webhook-id',
  'x-zendesk-webhook-invocation-id',
  'idempotency-key',
  'x-delivery-id',
  'x-request-id',
] as const

/** Conversations that the service knows by a name. */
export const conversationPresets = ['github-issue', 'gitlab-issue', 'linear-issue', 'slack-thread'] as const
