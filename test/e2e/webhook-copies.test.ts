import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { WebhookAcceptance, WebhookSignature } from '../../src/contract/webhooks.ts'
import { send } from '../support/service/send.ts'
import { signedBy, signingSecret } from '../support/triggers/webhook-senders.ts'
import { startWebhookService } from '../support/triggers/webhooks.ts'

const { database, newAgent, post, service, setSecret } = await startWebhookService()

await setSecret('SIGNING', signingSecret)
await setSecret('BOTH', `${signingSecret}\nthe-next-secret`)

const agentFor = async (signature: Omit<WebhookSignature, 'secret_key'>, secretKey = 'SIGNING') =>
  (await newAgent({ secret_key: 'NO_TOKEN', signature: { mode: 'instead', secret_key: secretKey, ...signature } })).id
const body = '{"event":"paid","amount":7}'
const now = () => Math.floor(Date.now() / 1_000)

async function acceptance(agentId: string, headers: Readonly<Record<string, string>>) {
  const answer = await post(agentId, { headers, body })
  assert.equal(answer.status, 202, answer.text)
  return answer.json<WebhookAcceptance>()
}

const timed = ['slack', 'stripe', 'standard-webhooks', 'custom with a time'] as const
for (const name of timed) {
  test(`M4: ${name}: a captured delivery under another delivery id is a duplicate of the first`, async () => {
    const { setting, headersAt } = signedBy(name)
    const id = await agentFor(setting)
    const captured = headersAt(now(), body)
    const first = await acceptance(id, { ...captured, 'x-own-id': 'first' })
    assert.equal(first.status, 'accepted')
    for (const other of ['idempotency-key', 'x-delivery-id', 'x-request-id', 'x-github-delivery', 'x-own-id']) {
      const again = await acceptance(id, { ...captured, [other]: `copy-${other}` })
      assert.deepEqual([again.status, again.session_id], ['duplicate', first.session_id], other)
    }
    assert.equal((await acceptance(id, captured)).status, 'duplicate', 'without any id')
  })

  test(`M4: ${name}: an equal body that was signed at another time is another delivery`, async () => {
    const { setting, headersAt } = signedBy(name)
    const id = await agentFor(setting)
    const sessions = new Set<string>()
    for (const at of [now(), now() - 1, now() - 2]) {
      const { status, session_id } = await acceptance(id, headersAt(at, body))
      assert.equal(status, 'accepted')
      sessions.add(session_id)
    }
    assert.equal(sessions.size, 3)
  })
}

test('M4: one of 8 concurrent copies under different ids makes a session', async () => {
  const { setting, headersAt } = signedBy('slack')
  const id = await agentFor(setting)
  const captured = headersAt(now(), body)
  const copies = Array.from({ length: 8 }, (_, at) =>
    post(id, { headers: { ...captured, 'x-request-id': `c${at}` }, body }),
  )
  const answers = (await Promise.all(copies)).map(answer => answer.json<WebhookAcceptance>().status)
  assert.equal(answers.filter(status => status === 'accepted').length, 1, answers.join())
  assert.equal((await sessionsOf(id)).length, 1)
})

test('M4: a copy with one of two signatures left out is a duplicate', async () => {
  const id = await agentFor({ preset: 'stripe' }, 'BOTH')
  const at = now()
  const [one, two] = [signingSecret, 'the-next-secret'].map(key =>
    createHmac('sha256', key).update(`${at}.${body}`).digest('hex'),
  )
  assert.equal((await acceptance(id, { 'stripe-signature': `t=${at},v1=${one},v1=${two}` })).status, 'accepted')
  assert.equal((await acceptance(id, { 'stripe-signature': `t=${at},v1=${two}` })).status, 'duplicate')
})

test('M4: github: an equal body under another delivery id is a duplicate, unless dedupe is none', async () => {
  for (const dedupe of [undefined, 'body', 'none'] as const) {
    const { setting, headersAt } = signedBy('github')
    const id = await agentFor({ ...setting, ...(dedupe && { dedupe }) })
    assert.equal((await acceptance(id, { ...headersAt(0, body), 'x-github-delivery': 'a' })).status, 'accepted')
    const again = await acceptance(id, { ...headersAt(0, body), 'x-github-delivery': 'b', 'x-github-event': 'other' })
    assert.equal(again.status, dedupe === 'none' ? 'accepted' : 'duplicate', dedupe)
  }
})

test('M4: custom without a time: equal bodies are separate deliveries, unless dedupe is body', async () => {
  for (const dedupe of [undefined, 'none', 'body'] as const) {
    const { setting, headersAt } = signedBy('custom without a time')
    const id = await agentFor({ ...setting, ...(dedupe && { dedupe }) })
    assert.equal((await acceptance(id, { ...headersAt(0, body), 'x-request-id': 'a' })).status, 'accepted')
    const again = await acceptance(id, { ...headersAt(0, body), 'x-request-id': 'b' })
    assert.equal(again.status, dedupe === 'body' ? 'duplicate' : 'accepted', dedupe)
  }
})

test('M4: what failed under one id is accepted under another, once', async () => {
  const { setting, headersAt } = signedBy('slack')
  const id = await agentFor(setting)
  const captured = headersAt(now(), body)
  await database.query(`
    create function refuse_session() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before insert on sessions for each row execute function refuse_session()`)
  try {
    assert.equal((await post(id, { headers: { ...captured, 'x-request-id': 'a' }, body })).status, 500)
  } finally {
    await database.query('drop trigger refuse on sessions; drop function refuse_session()')
  }
  assert.equal((await acceptance(id, { ...captured, 'x-request-id': 'b' })).status, 'accepted')
  assert.equal((await acceptance(id, { ...captured, 'x-request-id': 'a' })).status, 'duplicate')
  assert.equal((await sessionsOf(id)).length, 1)
})

test('M4: an abandoned attempt cannot end after its request was accepted under another id', async () => {
  const { setting, headersAt } = signedBy('slack')
  const id = await agentFor(setting)
  const captured = headersAt(now(), body)
  await acceptance(id, { ...captured, 'x-request-id': 'a' })
  await database.query(
    `update webhook_deliveries set status = 'processing', claim = 'theirs', session_id = '',
       claimed_until = clock_timestamp() - interval '1 second' where agent_id = $1`,
    [id],
  )
  assert.equal((await acceptance(id, { ...captured, 'x-request-id': 'b' })).status, 'accepted')
  const { rows } = await database.query(
    'select status, claim from webhook_deliveries where agent_id = $1 order by delivery_id',
    [id],
  )
  assert.deepEqual(rows, [
    { status: 'failed', claim: null },
    { status: 'accepted', claim: null },
  ])
})

test('M4: dedupe is rejected where the signature covers a time', async () => {
  for (const name of timed) {
    const { setting } = signedBy(name)
    const signature = { ...setting, secret_key: 'SIGNING', dedupe: 'none' }
    const config = { webhook: { signature } }
    const answer = await send(service, 'POST /api/agents', { body: { name: 'A', owner_id: 'team', config } })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, /config\.webhook\.signature\.dedupe is not allowed/)
  }
})

test('L4: signatures with bytes before or behind the encoded ones are rejected', async () => {
  for (const name of ['github', 'slack', 'stripe', 'standard-webhooks', 'custom without a time'] as const) {
    const { setting, headersAt, signatureHeader } = signedBy(name)
    const id = await agentFor(setting)
    const headers = headersAt(now(), body)
    const signature = headers[signatureHeader] ?? ''
    for (const changed of [`${signature}zz`, `${signature}!`, `${signature}0`, `${signature} x`, `${signature}=`]) {
      const answer = await post(id, { headers: { ...headers, [signatureHeader]: changed }, body })
      // Parts of a list are signatures each, so one more part leaves the right one as it is.
      const isList = changed.endsWith(' x') && name === 'standard-webhooks'
      assert.equal(answer.status, isList ? 202 : 401, `${name}: ${changed}`)
    }
  }
})

const sessionsOf = async (agentId: string) =>
  (await database.query('select id from sessions where agent_id = $1', [agentId])).rows
