import type { Examples } from './example.ts'

const payload = { action: 'opened', issue: { number: 7, title: 'The door squeaks' } }
const schedule = { name: 'Morning report', cron: '30 9 * * MON-FRI', timezone: 'Europe/Berlin' }
const delivery = { params: { delivery_id: '{webhook_delivery_id}' } }

/** Webhooks, schedules and webhook endpoints. */
export const triggerExamples: Examples = {
  'webhooks.receive': { body: payload, notRun: 'the secret of the webhook authenticates it, not a key' },
  'webhooks.preview': { body: { payload, settings: { template: '#{{issue.number}} {{issue.title}}' } } },
  'webhooks.check': { body: { payload, headers: { 'x-github-event': 'issues' } } },
  'deliveries.list': { query: { agent_id: '{agent_id}' } },
  'deliveries.send': { body: { agent_id: '{agent_id}', payload } },
  'deliveries.get': delivery,
  'deliveries.replay': delivery,
  'webhook_counts.list': { query: { agent_id: '{agent_id}' } },
  'webhook_replies.list': { query: { agent_id: '{agent_id}' } },
  'schedules.list': { query: { agent_id: '{agent_id}', include: 'last_run' } },
  'schedules.create': { body: { ...schedule, agent_id: '{agent_id}', prompt: 'Write the report' } },
  'schedules.preview': { body: { cron: '30 9 * * MON-FRI', timezone: 'Europe/Berlin', count: 3 } },
  'schedules.update': { body: { cron: '0 8 * * MON-FRI' } },
  'webhook_endpoints.create': {
    body: { url: 'https://hooks.example.com/switchyard', owner_id: 'me', events: ['session.status_idle'] },
  },
  'webhook_endpoints.update': { body: { status: 'paused' } },
  'webhook_endpoints.rotate': { body: { grace: '1h' } },
  'webhook_endpoints.test': { notRun: 'sends an event to the address of the endpoint' },
  'webhook_endpoints.replay': { notRun: 'needs an event that an endpoint received' },
}
