import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { Webhook } from 'standardwebhooks'
import type { WebhookAcceptance, WebhookSignature } from '../../src/contract/webhooks.ts'
import type { Answered } from '../support/service/send.ts'
import { secret, startWebhookService } from '../support/triggers/webhooks.ts'

const { messagesOf, newAgent, post, service, setSecret } = await startWebhookService()

const unauthorized = '{"error":{"type":"gateway_error","message":"unauthorized"}}'
const signing = 'a-signing-secret'
const standard = `whsec_${Buffer.from('0123456789abcdef01234567').toString('base64')}`
await setSecret('SIGNING', `${signing}\nthe-next-secret`)
await setSecret('STANDARD', standard)

const instead = (preset: 'github' | 'standard-webhooks' | 'slack' | 'stripe'): WebhookSignature => ({
  preset,
  secret_key: preset === 'standard-webhooks' ? 'STANDARD' : 'SIGNING',
  mode: 'instead',
})
const agentFor = async (signature: WebhookSignature) => (await newAgent({ secret_key: 'NO_TOKEN', signature })).id
const refused = (answer: Answered) => assert.deepEqual([answer.status, answer.text], [401, unauthorized])
const sessionIn = (answer: Answered): string => {
  assert.equal(answer.status, 202, answer.text)
  return answer.json<WebhookAcceptance>().session_id
}

test('@octokit/webhooks signs, unmodified: its deliveries are taken, and no other body under its signature is', async () => {
  const id = await agentFor(instead('github'))
  const body = JSON.stringify({ action: 'opened', issue: { number: 1, title: 'Zürich ☂' } })
  for (const each of [signing, 'the-next-secret']) {
    const signature = await new Webhooks({ secret: each }).sign(body)
    const headers = { 'x-github-delivery': `gh-${each}`, 'x-github-event': 'issues', 'x-hub-signature-256': signature }
    assert.deepEqual(await messagesOf(sessionIn(await post(id, { headers, body }))), [
      JSON.stringify(JSON.parse(body), null, 2),
    ])
    refused(await post(id, { headers, body: `${body} ` }))
  }
  refused(
    await post(id, { headers: { 'x-hub-signature-256': await new Webhooks({ secret: 'wrong' }).sign(body) }, body }),
  )
})

test('standardwebhooks signs, unmodified: its deliveries are taken within 300 s', async () => {
  const id = await agentFor(instead('standard-webhooks'))
  const sender = new Webhook(standard)
  const body = '{"type":"user.created"}'
  const headersAt = (messageId: string, offMs: number) => {
    const at = new Date(Date.now() + offMs)
    return {
      'webhook-id': messageId,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': sender.sign(messageId, at, body),
    }
  }
  assert.equal((await post(id, { headers: headersAt('m1', 0), body })).json<WebhookAcceptance>().request_id, 'm1')
  assert.equal((await post(id, { headers: headersAt('m1', 0), body })).json<WebhookAcceptance>().status, 'duplicate')
  for (const offMs of [-290_000, 290_000]) sessionIn(await post(id, { headers: headersAt(`m${offMs}`, offMs), body }))
  for (const offMs of [-310_000, 310_000]) refused(await post(id, { headers: headersAt('m2', offMs), body }))
  refused(await post(id, { headers: { ...headersAt('m3', 0), 'webhook-id': 'm4' }, body }))
})

test('S28: a captured request that is sent again is a duplicate, and no second run', async () => {
  const id = await agentFor(instead('github'))
  const body = '{"a":1}'
  const headers = {
    'x-github-delivery': 'once',
    'x-hub-signature-256': await new Webhooks({ secret: signing }).sign(body),
  }
  const first = sessionIn(await post(id, { headers, body }))
  const again = (await post(id, { headers, body })).json<WebhookAcceptance>()
  assert.deepEqual([again.status, again.session_id], ['duplicate', first])
})

const slackHeaders = (body: string) => {
  const time = String(Math.floor(Date.now() / 1_000))
  const signature = createHmac('sha256', signing).update(`v0:${time}:${body}`).digest('hex')
  return { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }
}

test('Slack: its first question is answered with its challenge once it is signed, and makes no session', async () => {
  const id = await agentFor(instead('slack'))
  const body = '{"type":"url_verification","challenge":"3eZbrw1a"}'
  const answer = await post(id, { headers: slackHeaders(body), body })
  assert.deepEqual([answer.status, answer.json()], [200, { challenge: '3eZbrw1a' }])
  refused(await post(id, { headers: { ...slackHeaders(body), 'x-slack-signature': `v0=${'0'.repeat(64)}` }, body }))
  refused(await post(id, { body }))
})

test('Stripe: its signature over time and body is taken', async () => {
  const id = await agentFor(instead('stripe'))
  const body = '{"id":"evt_1","type":"invoice.paid"}'
  const time = Math.floor(Date.now() / 1_000)
  const signature = createHmac('sha256', signing).update(`${time}.${body}`).digest('hex')
  sessionIn(await post(id, { headers: { 'stripe-signature': `t=${time},v1=${signature}` }, body }))
  refused(await post(id, { headers: { 'stripe-signature': `t=${time - 1},v1=${signature}` }, body }))
})

test('Gaps: section 11, rule 3: with mode also, the default, token and signature are both needed', async () => {
  await setSecret('TOKEN', secret)
  const { id } = await newAgent({ secret_key: 'TOKEN', signature: { preset: 'github', secret_key: 'SIGNING' } })
  const body = '{}'
  const signature = { 'x-hub-signature-256': await new Webhooks({ secret: signing }).sign(body) }
  const token = { authorization: `Bearer ${secret}` }
  refused(await post(id, { headers: signature, body }))
  refused(await post(id, { headers: token, body }))
  sessionIn(await post(id, { headers: { ...token, ...signature }, body }))
})

test('Gaps: section 11, rule 2: bad JSON is 400 before a wrong signature is 401', async () => {
  await setSecret('TOKEN', secret)
  const { id } = await newAgent({ secret_key: 'TOKEN', signature: { preset: 'github', secret_key: 'SIGNING' } })
  const headers = { authorization: `Bearer ${secret}`, 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }
  assert.equal((await post(id, { headers, body: '{' })).status, 400)
  refused(await post(id, { headers, body: '{}' }))
})

test('S27: the master key is rejected also where it is what the vault holds, or comes with a right signature', async () => {
  await setSecret('MASTER', service.key)
  const { id } = await newAgent({ secret_key: 'MASTER' })
  const headers = { authorization: `Bearer ${service.key}` }
  refused(await post(id, { headers, body: {} }))
  const signed = await agentFor(instead('github'))
  const body = '{}'
  const signature = await new Webhooks({ secret: signing }).sign(body)
  refused(await post(signed, { headers: { ...headers, 'x-hub-signature-256': signature }, body }))
})

test('a signature whose secret is not in the vault is never right', async () => {
  const id = await agentFor({ preset: 'github', secret_key: 'NOWHERE', mode: 'instead' })
  const body = '{}'
  refused(
    await post(id, {
      headers: { 'x-hub-signature-256': `sha256=${createHmac('sha256', '').update(body).digest('hex')}` },
      body,
    }),
  )
})
