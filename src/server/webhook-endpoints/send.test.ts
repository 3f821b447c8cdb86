import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Notified, startWebhookEndpointsApp } from '../../../test/support/triggers/webhook-endpoints-app.ts'
import type { ReceiverAnswer } from '../../../test/support/triggers/webhook-receiver.ts'
import type { EndpointTestResult } from '../../contract/webhook-endpoints.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createSend } from './send.ts'

const { call, startReceiver, made } = await startWebhookEndpointsApp()

const refusedUrls = [
  ['http://127.0.0.1:9/hook', /^url is not allowed: .*outbound.allow/],
  ['https://localhost/hook', /^url is not allowed/],
  ['https://[::1]/hook', /^url is not allowed/],
  ['https://169.254.169.254/latest', /^url is not allowed/],
  ['http://example.com/hook', /^url must start with https/],
  ['https://user:pass@example.com/', /^url is not allowed/],
  ['ftp://example.com/', /^url is not allowed/],
  ['no address', /^url is not allowed/],
  ['', /^url must/],
] as const
for (const [url, message] of refusedUrls) {
  test(`S29: the address ${JSON.stringify(url)} is rejected with 400 and the name of the field`, async () => {
    const { id } = await made({ url: 'https://example.com/hook' })
    for (const line of ['POST /api/webhook-endpoints', `PATCH /api/webhook-endpoints/${id}`]) {
      const answer = await call<{ error: { message: string } }>('ana', line, { url })
      assert.equal(answer.status, 400, answer.text)
      assert.match(answer.body.error.message, message)
    }
  })
}

test('S29: a name that resolves to loopback is rejected at the connection', async () => {
  const receiver = await startReceiver()
  const guard = createOutbound({
    allow: [],
    lookup: (_name, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  const { port } = new URL(receiver.url)
  const { isDelivered, error } = await createSend(guard)({
    url: `http://inner.example:${port}/`,
    headers: {},
    body: '{}',
  })
  assert.equal(isDelivered, false)
  assert.match(error ?? '', /not a public address/)
  assert.equal(receiver.requests.length, 0)
})

const canary = 'words-of-the-receiver'
const answers: readonly (readonly [string, ReceiverAnswer, RegExp, number | null])[] = [
  ['a redirect is not followed', { status: 302, location: '/elsewhere', body: canary }, /redirect/, 302],
  ['an error', { status: 500, body: canary }, /^receiver returned status 500$/, 500],
  ['no answer', 'hang', /^no complete response within 0.5 s$/, null],
]
for (const [guarantee, answer, error, status] of answers) {
  test(`S29: POST /test, ${guarantee}: reported by status, without text of the receiver`, async () => {
    const receiver = await startReceiver(() => answer)
    const { id } = await made({ url: receiver.url })
    const sent = await call<EndpointTestResult>('ana', `POST /api/webhook-endpoints/${id}/test`)
    assert.deepEqual([sent.status, sent.body.ok, sent.body.http_status], [200, false, status], sent.text)
    assert.match(sent.body.error ?? '', error)
    assert.ok(!sent.text.includes(canary))
    assert.equal(receiver.requests.length, 1)
  })
}

test('POST /test sends a signed message that names the endpoint, and a long response is not a failure', async () => {
  const receiver = await startReceiver(() => ({ status: 200, body: 'x'.repeat(1_000_000) }))
  const { id, secret } = await made({ url: receiver.url })
  const sent = await call<EndpointTestResult>('ana', `POST /api/webhook-endpoints/${id}/test`)
  assert.deepEqual([sent.body.ok, sent.body.http_status, sent.body.error], [true, 200, null])
  const [message] = receiver.requests
  const verified = new Webhook(secret).verify(
    message?.text ?? '',
    message?.headers as Record<string, string>,
  ) as Notified
  assert.deepEqual([verified.type, verified.data], ['webhook.test', { endpoint_id: id }])
})
