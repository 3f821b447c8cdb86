import type { SenderId } from './senders.ts'

interface Sample {
  readonly headers: Readonly<Record<string, string>>
  readonly payload: unknown
}

const issue = {
  action: 'opened',
  repository: { full_name: 'acme/site' },
  issue: { number: 7, title: 'The door squeaks', body: 'Loudly.', labels: [{ name: 'bug' }] },
  sender: { login: 'ana', type: 'User' },
}

/** A delivery as each sender sends it, for previews and tests. */
export const samples: Readonly<Record<SenderId, Sample>> = {
  github: { headers: { 'X-GitHub-Event': 'issues', 'X-GitHub-Delivery': 'test-1' }, payload: issue },
  slack: {
    headers: {},
    payload: {
      type: 'event_callback',
      team_id: 'T01',
      event: { type: 'app_mention', channel: 'C01', ts: '1767225600.000100', user: 'U01', text: 'What is open?' },
    },
  },
  stripe: {
    headers: {},
    payload: {
      id: 'evt_1',
      type: 'invoice.payment_failed',
      data: { object: { id: 'in_1', customer_email: 'ana@example.com', amount_due: 1200, currency: 'eur' } },
    },
  },
  linear: {
    headers: { 'Linear-Delivery': 'test-1', 'Linear-Event': 'Issue' },
    payload: { action: 'create', type: 'Issue', data: { id: 'LIN-7', title: 'The door squeaks' } },
  },
  gitlab: {
    headers: { 'X-Gitlab-Event': 'Issue Hook', 'X-Gitlab-Event-UUID': 'test-1' },
    payload: {
      object_kind: 'issue',
      project: { id: 1, path_with_namespace: 'acme/site' },
      object_attributes: { iid: 7, title: 'The door squeaks', action: 'open' },
    },
  },
  'standard-webhooks': {
    headers: { 'webhook-id': 'test-1' },
    payload: { type: 'ticket.created', timestamp: '2026-01-01T00:00:00Z', data: { id: 7, title: 'The door squeaks' } },
  },
  bearer: { headers: { 'x-request-id': 'test-1' }, payload: { type: 'ticket.created', ticket: { id: 7 } } },
  custom: { headers: { 'x-request-id': 'test-1' }, payload: { type: 'ticket.created', ticket: { id: 7 } } },
}
