import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { finishPrompts, startPrompt, storedPrompt, storedSession } from '../../../test/support/sessions/session-rows.ts'
import { startReplyFakes } from '../../../test/support/triggers/reply-fakes.ts'
import { startWebhookReceiver } from '../../../test/support/triggers/webhook-receiver.ts'
import type { Agent } from '../../contract/agents.ts'
import type { WebhookReplySettings } from '../../contract/webhooks.ts'
import { transaction } from '../db/connect.ts'
import { masterCaller } from '../http/caller.ts'
import { newId } from '../platform/ids.ts'
import { createLog } from '../platform/log.ts'
import { createOutbound } from '../platform/outbound.ts'
import { createExchange } from './exchange.ts'
import { createWebhookReplies } from './replies.ts'
import { replyStore } from './reply-store.ts'

const { pool } = await freshDatabase()
const fakes = await startReplyFakes()
const receiver = await startWebhookReceiver()
const store = replyStore(pool)
const signing = `whsec_${randomBytes(32).toString('base64')}`
const outbound = createOutbound({ allow: [fakes.host, receiver.host] })
const agent = { id: 'agent_1', owner_id: 'ada', run_as_key_id: null } as Agent
const open = new Map<string, string | undefined>()

/** The replies of one replica; it sends as soon as it is started. */
function replica(t: TestContext) {
  const replies = createWebhookReplies({
    store,
    exchange: createExchange(outbound, 2_000),
    vault: { value: async ({ name }) => ({ TOKEN: ' the-token\n', SIGNING: signing })[name] },
    outbound: () => outbound,
    agents: { within: () => ({ version: async () => undefined }) },
    answerOf: async () => ({ text: 'It is <fixed>.', failure: { type: 'unknown_error', message: 'internal detail' } }),
    openApproval: async id => (open.has(id) ? { name: 'bash', url: open.get(id) } : undefined),
    log: createLog('silent'),
    retryMs: [30, 30, 30],
  })
  t.after(() => replies.stop())
  return replies
}
type Replies = ReturnType<typeof replica>

const github: WebhookReplySettings = { type: 'github_comment', secret_key: 'TOKEN', url: fakes.url }
const slack: WebhookReplySettings = { type: 'slack_thread', secret_key: 'TOKEN', url: fakes.url }
let issues = 0

/** Queues the prompt of a delivery and starts its run. Each is of a separate issue and thread. */
async function delivered(replies: Replies, reply: WebhookReplySettings) {
  const number = ++issues
  const payload = {
    repository: { full_name: 'acme/site' },
    issue: { number },
    event: { channel: 'C1', ts: `${number}.5` },
  }
  const sessionId = await storedSession(pool)
  const promptId = await storedPrompt(pool, sessionId, { position: 1 })
  const runId = newId('run')
  const prompt = { agent, settings: { reply }, payload, deliveryId: 'del_1', sessionId, promptId }
  await transaction(pool, client => replies.expect(client, prompt))
  await startPrompt(pool, promptId, runId)
  const place = reply.type === 'slack_thread' ? `C1 ${number}.5` : `/repos/acme/site/issues/${number}/comments`
  const logged = async () =>
    replies.list({ agentId: undefined, sessionId, state: undefined }, masterCaller, { after: undefined, limit: 10 })
  return {
    sessionId,
    promptId,
    posted: () => fakes.stored.filter(each => each.place === place),
    logged,
    /** The log once its first entry is over. */
    over: () => eventually(async () => (await logged()).some(({ state }) => state !== 'pending') && logged()),
  }
}

test('the answer of a session is posted once to its issue, whichever replica sends it, and logged', async t => {
  const [one, other] = [replica(t), replica(t)]
  const asked = await delivered(one, github)
  one.start()
  other.start()
  await finishPrompts(pool, asked.sessionId, 'done')
  const [entry, ...others] = await asked.over()
  assert.deepEqual(others, [])
  const [comment, ...more] = asked.posted()
  assert.deepEqual(more, [])
  assert.equal(comment?.text, `It is <fixed>.\n\n<!-- switchyard-reply:${entry?.id} -->`)
  assert.equal(comment?.authorization, 'Bearer the-token')
  assert.deepEqual(
    [entry?.state, entry?.kind, entry?.attempts, entry?.http_status, entry?.external_id, entry?.delivery_id],
    ['delivered', 'answer', 1, 201, comment?.id, 'del_1'],
  )
  assert.ok(!JSON.stringify(entry).includes('the-token'))
})

for (const [name, settings] of [
  ['GitHub', github],
  ['Slack', slack],
] as const) {
  test(`a post to ${name} whose response was lost is found at the receiver and not repeated`, async t => {
    const replies = replica(t)
    const asked = await delivered(replies, settings)
    fakes.fates.push('lose')
    replies.start()
    await finishPrompts(pool, asked.sessionId, 'done')
    const [entry] = await asked.over()
    assert.deepEqual([entry?.state, entry?.attempts], ['delivered', 2])
    assert.equal(asked.posted().length, 1)
    assert.equal(entry?.external_id, asked.posted()[0]?.id)
  })
}

test('a reply whose process was killed after the post is taken over and not repeated', async t => {
  const replies = replica(t)
  const asked = await delivered(replies, github)
  await finishPrompts(pool, asked.sessionId, 'done')
  const killed = createWebhookReplies({
    store: { ...store, settle: () => Promise.reject(new Error('killed')) },
    exchange: createExchange(outbound),
    vault: { value: async () => 'the-token' },
    outbound: () => outbound,
    agents: { within: () => ({ version: async () => undefined }) },
    answerOf: async () => ({ text: 'It is fixed.', failure: null }),
    openApproval: async () => undefined,
    log: createLog('silent'),
  })
  killed.start()
  await eventually(() => asked.posted().length === 1)
  await killed.stop()
  assert.equal((await asked.logged())[0]?.state, 'pending')
  // As if the claim had expired.
  await pool.query(`update webhook_replies set next_attempt_at = clock_timestamp() where session_id = $1`, [
    asked.sessionId,
  ])
  replies.start()
  const [entry] = await asked.over()
  assert.deepEqual([entry?.state, entry?.attempts, asked.posted().length], ['delivered', 2, 1])
})

test('temporary errors are retried, permanent ones are not, and the text of a receiver is not shown', async t => {
  const replies = replica(t)
  const retried = await delivered(replies, github)
  fakes.fates.push(429, 503)
  replies.start()
  await finishPrompts(pool, retried.sessionId, 'done')
  assert.deepEqual(
    (await retried.over()).map(({ state, attempts }) => [state, attempts]),
    [['delivered', 3]],
  )
  assert.equal(retried.posted().length, 1)
  for (const [settings, fate, error] of [
    [github, 404, 'receiver returned status 404'],
    [slack, { slackError: 'channel_not_found' }, 'Slack returned the error channel_not_found'],
    [slack, { slackError: '<script>' }, 'Slack returned the error unknown error'],
  ] as const) {
    const asked = await delivered(replies, settings)
    fakes.fates.push(fate)
    await finishPrompts(pool, asked.sessionId, 'done')
    assert.deepEqual(
      (await asked.over()).map(entry => [entry.state, entry.attempts, entry.error]),
      [['failed', 1, error]],
    )
  }
})

test('a reply in Slack goes to the thread and notifies no channel; a failure is posted without its cause', async t => {
  const replies = replica(t)
  const [answered, failed] = [await delivered(replies, slack), await delivered(replies, slack)]
  replies.start()
  await finishPrompts(pool, answered.sessionId, 'done')
  await finishPrompts(pool, failed.sessionId, 'error')
  await answered.over()
  assert.equal((await failed.over())[0]?.kind, 'failure')
  assert.equal(answered.posted()[0]?.text, 'It is &lt;fixed&gt;.')
  assert.equal(failed.posted()[0]?.text, `The agent could not finish (unknown_error, session ${failed.sessionId}).`)
})

test('a callback is signed like an outbound webhook, with the same id in every attempt', async t => {
  const replies = replica(t)
  const settings: WebhookReplySettings = { type: 'callback', secret_key: 'SIGNING', url: receiver.url }
  const asked = await delivered(replies, settings)
  replies.start()
  await finishPrompts(pool, asked.sessionId, 'done')
  const [entry] = await asked.over()
  const [{ headers, text } = assert.fail('no request')] = receiver.accepted
  const message = new Webhook(signing).verify(text, headers as Record<string, string>) as { type: string; data: object }
  assert.equal(headers['webhook-id'], entry?.id)
  assert.equal(message.type, 'session.reply')
  assert.deepEqual(message.data, {
    id: entry?.id,
    kind: 'answer',
    text: 'It is <fixed>.',
    session_id: asked.sessionId,
    agent_id: 'agent_1',
    delivery_id: 'del_1',
  })
  const unsigned = await delivered(replies, { ...settings, secret_key: 'TOKEN' })
  await finishPrompts(pool, unsigned.sessionId, 'done')
  assert.match((await unsigned.over())[0]?.error ?? '', /secret of a callback must be whsec_/)
})

test('S25: a credential is sent to no host that the operator has not listed; a missing one fails the reply', async t => {
  const replies = replica(t)
  const [elsewhere, missing] = [
    await delivered(replies, { ...github, url: 'https://attacker.example' }),
    await delivered(replies, { ...github, secret_key: 'NOTHING' }),
  ]
  replies.start()
  for (const { sessionId } of [elsewhere, missing]) await finishPrompts(pool, sessionId, 'done')
  assert.match((await elsewhere.over())[0]?.error ?? '', /not in outbound.allow/)
  assert.equal((await missing.over())[0]?.error, 'vault entry NOTHING is missing')
})

test('an approval is posted once while it is open, and the answer follows; what was stopped gets no answer', async t => {
  const replies = replica(t)
  const asked = await delivered(replies, github)
  const approval = newId('evt')
  open.set(approval, 'https://a.example/approvals/x')
  await pool.query(`insert into waits (prompt_id, kind, subject, session_id) values ($1, 'approval', $2, $3)`, [
    asked.promptId,
    approval,
    asked.sessionId,
  ])
  replies.start()
  await eventually(() => asked.posted().length === 1)
  assert.match(
    asked.posted()[0]?.text ?? '',
    /needs approval for the tool call bash .*https:\/\/a\.example\/approvals\/x/,
  )
  await pool.query('delete from waits where prompt_id = $1', [asked.promptId])
  await finishPrompts(pool, asked.sessionId, 'done')
  await eventually(() => asked.posted().length === 2)
  assert.deepEqual((await asked.over()).map(({ kind }) => kind).sort(), ['answer', 'approval'])
  const stopped = await delivered(replies, github)
  await finishPrompts(pool, stopped.sessionId, 'cancelled')
  const isClosed = 'select from webhook_reply_targets where prompt_id = $1 and not is_open'
  await eventually(async () => (await pool.query(isClosed, [stopped.promptId])).rowCount === 1)
  assert.deepEqual(await stopped.logged(), [])
})
