// Sends right signatures with further characters before, in and behind them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signedBy, signingSecret } from '../support/triggers/webhook-senders.ts'
import { startWebhookService } from '../support/triggers/webhooks.ts'

const { newAgent, post, setSecret } = await startWebhookService()

await setSecret('SIGNING', signingSecret)
const body = '{"event":"paid"}'

for (const name of ['slack', 'stripe', 'github', 'standard-webhooks', 'custom without a time'] as const) {
  test(`L4: ${name}: a signature with further characters is rejected`, async () => {
    const { setting, headersAt, signatureHeader } = signedBy(name)
    const signature = { mode: 'instead', ...setting, secret_key: 'SIGNING' } as const
    const { id } = await newAgent({ secret_key: 'NO_TOKEN', signature })
    const headers = headersAt(Math.floor(Date.now() / 1_000), body)
    const right = headers[signatureHeader] ?? ''
    const middle = `${right.slice(0, -8)}!${right.slice(-8)}`
    for (const changed of [`${right}zz`, `${right}0`, `${right}!`, `${right}==`, `${right}-_`, middle]) {
      const answer = await post(id, { headers: { ...headers, [signatureHeader]: changed }, body })
      assert.equal(answer.status, 401, changed)
    }
    assert.equal((await post(id, { headers, body })).status, 202)
  })
}
