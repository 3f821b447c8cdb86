// Captures signed deliveries of each sender and sends them again, as they are and under other delivery ids, in turn and at once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { WebhookAcceptance } from '../../src/contract/webhooks.ts'
import { signedBy, signingSecret } from '../support/triggers/webhook-senders.ts'
import { startWebhookService } from '../support/triggers/webhooks.ts'

const { database, newAgent, post, setSecret } = await startWebhookService()

await setSecret('SIGNING', signingSecret)
const body = '{"event":"paid"}'
const otherIds = ['idempotency-key', 'x-delivery-id', 'x-request-id', 'x-github-delivery', 'linear-delivery']

for (const name of ['slack', 'stripe', 'github', 'standard-webhooks', 'custom with a time'] as const) {
  test(`M4: ${name}: a captured delivery starts one session`, async () => {
    const { setting, headersAt } = signedBy(name)
    const signature = { mode: 'instead', ...setting, secret_key: 'SIGNING' } as const
    const { id } = await newAgent({ secret_key: 'NO_TOKEN', signature })
    const captured = headersAt(Math.floor(Date.now() / 1_000), body)
    const copies = otherIds.map(header => ({ ...captured, [header]: `copy-${header}` }))
    const together = await Promise.all([captured, ...copies].map(headers => post(id, { headers, body })))
    assert.ok(together.every(({ status }) => status === 202 || status === 503))
    for (const headers of [captured, ...copies]) {
      const answer = await post(id, { headers, body })
      assert.equal(answer.json<WebhookAcceptance>().status, 'duplicate')
    }
    const { rows } = await database.query('select id from sessions where agent_id = $1', [id])
    assert.equal(rows.length, 1)
  })
}
