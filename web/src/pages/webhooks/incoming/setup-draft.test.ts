import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookConfig } from '../../../../../src/contract/webhooks.ts'
import { senders } from './senders.ts'
import { settingsFrom, setupOf, withSender } from './setup-draft.ts'

const id = 'agent_1'
const agentWith = (webhook: WebhookConfig | undefined) => ({ id, config: webhook === undefined ? {} : { webhook } })

const stored: readonly (readonly [name: string, webhook: WebhookConfig])[] = [
  ['nothing', {}],
  ['a named token', { secret_key: 'TOKEN' }],
  ['GitHub', { signature: { preset: 'github', secret_key: 'GITHUB', mode: 'instead' }, events: ['issues'] }],
  [
    'a signature and a token',
    { secret_key: 'TOKEN', signature: { preset: 'slack', secret_key: 'SLACK', mode: 'also' } },
  ],
  [
    'another signature',
    {
      signature: {
        preset: 'custom',
        secret_key: 'X',
        mode: 'instead',
        header: 'x-sign',
        prefix: 'v1=',
        algorithm: 'sha512',
        encoding: 'base64',
        timestamp_header: 'x-time',
        separator: ':',
      },
    },
  ],
  [
    'everything else',
    {
      events: ['push', { field: 'sender.type', not_in: ['Bot'] }],
      template: '{{ref}}',
      conversation: 'ref',
      delivery_id_header: 'x-my-id',
      rpm_limit: 5,
      files: { each: 'mail.attachments', data: 'content' },
      reply: { type: 'callback', secret_key: 'R', url: 'https://example.com/r' },
      title: '{{issue.title}}',
      environment: { repository: 'https://example.com/a/b', auto_create_pr: true },
    },
  ],
]
for (const [name, webhook] of stored) {
  test(`settings survive the form: ${name}`, () =>
    assert.deepEqual(settingsFrom(setupOf(agentWith(webhook)), id), webhook))
}

test('a change of the sender changes the signature and keeps filter and template', () => {
  const draft = setupOf(agentWith({ events: ['a'], template: 't', secret_key: 'TOKEN' }))
  assert.deepEqual(settingsFrom(withSender(draft, 'github'), id), {
    events: ['a'],
    template: 't',
    signature: { preset: 'github', secret_key: 'TOKEN', mode: 'instead' },
  })
  assert.deepEqual(settingsFrom(withSender(withSender(draft, 'github'), 'bearer'), id), {
    events: ['a'],
    template: 't',
    secret_key: 'TOKEN',
  })
})

for (const { id: sender, givesSecret } of senders) {
  test(`${sender} is found again in its settings`, () => {
    const webhook = settingsFrom(withSender(setupOf(agentWith({})), sender), id)
    const found = setupOf(agentWith(webhook)).sender
    // Without a signature only a conversation or an event tells GitLab from others.
    assert.equal(found, sender === 'gitlab' ? 'bearer' : sender)
    assert.equal(givesSecret && webhook.signature === undefined, false)
  })
}
