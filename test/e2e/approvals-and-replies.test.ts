import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import type { WebhookReply } from '../../src/contract/webhook-replies.ts'
import type { Delivery, WebhookAcceptance } from '../../src/contract/webhooks.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { startReplyFakes } from '../support/triggers/reply-fakes.ts'
import { startWebhookReceiver } from '../support/triggers/webhook-receiver.ts'
import { configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const receiver = await startWebhookReceiver()
const fakes = await startReplyFakes()
const file = JSON.parse(configFor(upstream))
const config = JSON.stringify({
  ...file,
  general_settings: { public_url: 'https://switchyard.example', approval_links: ['webhook_endpoints', 'replies'] },
  outbound: { allow: [...file.outbound.allow, receiver.host, fakes.host] },
})
const service = await startService({ config })
after(() => upstream.stop())

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.json<T>()
}

const tools = [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }]
const newAgent = (config: object = {}) =>
  ok<Agent>('POST /api/agents', { name: 'Careful', owner_id: 'team', model: 'scripted', tools, config })
const { id: careful } = await newAgent()

const isQuestion = (event: SessionEvent) =>
  (event.stop_reason as { type: string } | undefined)?.type === 'requires_action'
const isEnd = (event: SessionEvent) => (event.stop_reason as { type: string } | undefined)?.type === 'end_turn'
const promptFor = (command: string) =>
  saying({ text: 'May I?', tool_calls: [{ name: 'bash', input: { command } }] }, { text: 'All done.' })

/** The open question of a session, and the tail of its log. */
async function questionOf(id: string) {
  const tail = await followEvents(service, id)
  await tail.event(isQuestion)
  const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${id}&state=pending`)
  const [question] = approvals
  assert.ok(question)
  return { id, tail, question }
}
const asking = async (command: string, agent_id = careful) =>
  questionOf((await ok<Session>('POST /session', { agent_id, prompt: promptFor(command) })).id)

const resultsOf = (events: readonly SessionEvent[]) =>
  events.filter(({ type }) => type === 'agent.tool_result').map(({ content }) => JSON.stringify(content))
const decide = (id: string, body: object, key?: string) =>
  send(key === undefined ? service : { ...service, key }, `POST /api/approvals/${id}`, { body })

test('changed arguments are checked against the tool; the call runs with them once, and the log has both versions and who', async () => {
  const { tail, question } = await asking('echo original-run')
  const wrong = await decide(question.id, { result: 'allow', input: { command: 5 } })
  assert.equal(wrong.status, 400, wrong.text)
  assert.match(wrong.text, /input does not match the schema of tool bash/)
  assert.equal((await decide(question.id, { result: 'deny', input: {} })).status, 400)
  const input = { command: 'echo edited-run' }
  const decided = await decide(question.id, { result: 'allow', input, digest: question.digest })
  assert.equal(decided.status, 200, decided.text)
  const { edited_input, input: original, decided_by } = decided.json<Approval>()
  assert.deepEqual([edited_input, original, decided_by], [input, { command: 'echo original-run' }, 'master'])
  await tail.event(isEnd)
  const use = tail.events.find(({ type }) => type === 'agent.tool_use')
  const confirmed = tail.events.find(({ type }) => type === 'user.tool_confirmation')
  assert.deepEqual(use?.input, { command: 'echo original-run' })
  assert.deepEqual([confirmed?.input, confirmed?.decided_by], [input, 'master'])
  const [result = '', ...others] = resultsOf(tail.events)
  assert.deepEqual(others, [])
  assert.match(result, /A person changed the arguments of this call; it ran with: .*"text":"edited-run/)
  assert.ok(!result.includes('original-run'))
  tail.close()
})

test('changed arguments can be sent as an event', async () => {
  const { id, tail, question } = await asking('echo original-run')
  const event = { type: 'user.tool_confirmation', tool_use_id: question.id, result: 'allow' }
  const wrong = await send(service, `POST /v1/sessions/${id}/events`, { body: { events: [{ ...event, input: [] }] } })
  assert.equal(wrong.status, 400, wrong.text)
  await ok(`POST /v1/sessions/${id}/events`, { events: [{ ...event, input: { command: 'echo by-event' } }] })
  await tail.event(isEnd)
  assert.match(resultsOf(tail.events).join(), /"text":"by-event/)
  tail.close()
})

test('S37: of many answers at once one wins, and the others are 409', async () => {
  const { tail, question } = await asking('echo one-run')
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, at) => decide(question.id, { result: at % 2 === 0 ? 'allow' : 'deny' })),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)])
  await tail.event(isEnd)
  assert.equal(tail.events.filter(({ type }) => type === 'user.tool_confirmation').length, 1)
  assert.equal(resultsOf(tail.events).length, 1)
  tail.close()
})

test('only the approvers of the agent may answer; others get 403, also as an event', async () => {
  const made = async () => ok<{ id: string; key: string }>('POST /api/keys', { label: 'k', role: 'user' })
  const [approver, other] = [await made(), await made()]
  const { id: agentId } = await newAgent({ approvals: { approvers: [approver.id] } })
  const { id, tail, question } = await asking('echo approved-run', agentId)
  assert.deepEqual(question.approvers, [approver.id])
  for (const key of [undefined, other.key]) {
    const refused = await decide(question.id, { result: 'allow' }, key)
    assert.equal(refused.status, 403, refused.text)
    assert.match(refused.text, new RegExp(`may only be answered by ${approver.id}`))
  }
  const events = [{ type: 'user.tool_confirmation', tool_use_id: question.id, result: 'deny' }]
  assert.equal((await send(service, `POST /v1/sessions/${id}/events`, { body: { events } })).status, 403)
  assert.equal((await decide(question.id, { result: 'allow' }, approver.key)).status, 200)
  await tail.event(isEnd)
  assert.match(resultsOf(tail.events).join(), /approved-run/)
  tail.close()
})

test('an approval that expires is no denial: the log and the model get that, and a late answer is 409', async () => {
  const { id: agentId } = await newAgent({ approvals: { expires_in: '1s' } })
  const { tail, question } = await asking('echo late-run', agentId)
  const expired = await tail.event(({ type }) => type === 'session.approval_expired')
  assert.equal(expired.tool_use_id, question.id)
  await tail.event(isEnd)
  assert.match(resultsOf(tail.events).join(), /expired without an answer; this is not a denial/)
  assert.equal(tail.events.filter(({ type }) => type === 'session.approval_expired').length, 1)
  const late = await decide(question.id, { result: 'allow' })
  assert.equal(late.status, 409)
  assert.match(late.text, /is expired/)
  tail.close()
})

test('the time limit of an agent does not count the wait for an answer', async () => {
  const { id: agentId } = await newAgent({ time_limit_seconds: 6 })
  const { id, tail, question } = await asking('echo slow-answer', agentId)
  const { data } = await ok<{ data: { state: string }[] }>(`GET /session/${id}/prompts`)
  assert.equal(data[0]?.state, 'running')
  await new Promise(resolve => setTimeout(resolve, 7_000))
  await decide(question.id, { result: 'allow' })
  await tail.event(isEnd)
  assert.match(resultsOf(tail.events).join(), /slow-answer/)
  tail.close()
})

test('S37: a session that a webhook has started can be answered by admins only, unless its agent names approvers', async () => {
  const { id: agentId } = await newAgent({ webhook: { template: '{{text}}' } })
  const { key } = await ok<{ key: string }>('POST /api/keys', { label: 'k', role: 'user' })
  await ok('POST /api/vault', { key: `WEBHOOK_${agentId}_SECRET`, value: 'token-of-the-webhook' })
  const delivered = await send({ url: service.url }, `POST /api/agents/${agentId}/webhook`, {
    headers: { authorization: 'Bearer token-of-the-webhook' },
    body: { text: promptFor('echo webhook-run') },
  })
  const { tail, question } = await questionOf(delivered.json<WebhookAcceptance>().session_id)
  assert.deepEqual(question.approvers, ['admin', 'link'])
  assert.equal((await decide(question.id, { result: 'allow' }, key)).status, 403)
  assert.equal((await decide(question.id, { result: 'allow' })).status, 200)
  await tail.event(isEnd)
  tail.close()
})

test('S37: so can a session that an agent of such a session has called', async () => {
  const { id: agentId } = await newAgent({ webhook: { template: '{{text}}' }, agents: [careful] })
  await ok('POST /api/vault', { key: `WEBHOOK_${agentId}_SECRET`, value: 'token-of-the-caller' })
  const call = { name: 'agent__careful', input: { prompt: promptFor('echo called') } }
  const delivered = await send({ url: service.url }, `POST /api/agents/${agentId}/webhook`, {
    headers: { authorization: 'Bearer token-of-the-caller' },
    body: { text: saying({ text: 'I delegate.', tool_calls: [call] }, { text: 'All done.' }) },
  })
  const { session_id } = delivered.json<WebhookAcceptance>()
  const called = await eventually(async () => (await ok<Session[]>(`GET /session/${session_id}/children`))[0])
  const { tail, question } = await questionOf(called.id)
  assert.deepEqual(question.approvers, ['admin', 'link'])
  tail.close()
})

test('settings of approvals that cannot be used are rejected with the name of the field', async () => {
  for (const [approvals, field] of [
    [{ expires_in: '31d' }, /config.approvals.expires_in must be at most 30d/],
    [{ expires_in: 'soon' }, /expires_in/],
    [{ approvers: ['everyone'] }, /approvers/],
    [{ approver: ['admin'] }, /approver/],
  ] as const) {
    const body = { name: 'A', owner_id: 'team', config: { approvals } }
    const answer = await send(service, 'POST /api/agents', { body })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, field)
  }
})

/** The path of the signed link that a webhook endpoint gets for an approval. */
async function linkFor(approvalId: string): Promise<string> {
  const linked = await eventually(() =>
    receiver.accepted
      .map(({ text }) => JSON.parse(text).data.approval_links?.[0])
      .find(each => each?.approval_id === approvalId),
  )
  assert.match(linked.url, /^https:\/\/switchyard\.example\/approvals\/evt_\w+\?token=[\w-]{43}$/)
  return linked.url.slice('https://switchyard.example'.length)
}
const stranger = { url: service.url }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

test('a signed link shows the exact call without a key or scripts, and answers it once', async () => {
  await ok('POST /api/webhook-endpoints', {
    url: receiver.url,
    agent_ids: [careful],
    events: ['session.status_idle'],
  })
  const { tail, question } = await asking('echo "<b>linked</b>\u202e"')
  const link = await linkFor(question.id)
  for (let looks = 0; looks < 2; looks++) {
    const page = await send(stranger, `GET ${link}`)
    assert.equal(page.status, 200, page.text)
    assert.match(page.text, /echo \\&quot;&lt;b&gt;linked&lt;\/b&gt;\\u\{202e\}/)
    assert.doesNotMatch(page.text, /<script|<b>/)
    assert.match(String(page.headers['content-security-policy']), /default-src 'none'/)
    assert.equal(page.headers['referrer-policy'], 'no-referrer')
  }
  const answers = await Promise.all(
    ['result=allow&message=', 'result=deny&message=no'].map(body =>
      send(stranger, `POST ${link}`, { headers: form, body }),
    ),
  )
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 404])
  await tail.event(isEnd)
  const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${question.session_id}`)
  assert.equal(approvals[0]?.decided_by, 'link')
  assert.equal(tail.events.find(({ type }) => type === 'user.tool_confirmation')?.decided_by, 'link')
  const used = await send(stranger, `GET ${link}`)
  const again = await send(stranger, `POST ${link}`, { headers: form, body: 'result=allow' })
  const forged = await send(stranger, `GET ${link.slice(0, -1)}${link.endsWith('A') ? 'B' : 'A'}`)
  const unknown = await send(stranger, `GET /approvals/evt_unknown?token=${link.slice(-43)}`)
  const bare = await send(stranger, `GET /approvals/${question.id}`)
  for (const { status, text } of [used, again, forged, unknown, bare])
    assert.deepEqual([status, text], [404, used.text])
  tail.close()
})

test('a link works for its own approval only, and is not sent when the approvers of the agent do not include links', async () => {
  const [one, other] = [await asking('echo one-link'), await asking('echo other-link')]
  const [link] = [await linkFor(one.question.id), await linkFor(other.question.id)]
  const crossed = link.replace(one.question.id, other.question.id)
  assert.equal((await send(stranger, `POST ${crossed}`, { headers: form, body: 'result=allow' })).status, 404)
  for (const { question, tail } of [one, other]) {
    assert.equal((await decide(question.id, { result: 'deny' })).status, 200)
    tail.close()
  }
  assert.equal((await send(stranger, `GET ${link}`)).status, 404, 'decided in another way')
})

test('a comment on GitHub starts a session; its approval and its answer are posted to the issue, and are not answered', async () => {
  await ok('POST /api/vault', { key: 'GITHUB_TOKEN', value: 'the-token' })
  const { id: agentId } = await newAgent({
    webhook: {
      template: '{{comment.body}}',
      reply: { type: 'github_comment', secret_key: 'GITHUB_TOKEN', url: fakes.url },
    },
  })
  await ok('POST /api/vault', { key: `WEBHOOK_${agentId}_SECRET`, value: 'token-of-the-webhook' })
  const comment = async (body: string) => {
    const payload = { repository: { full_name: 'acme/site' }, issue: { number: 7 }, comment: { body } }
    const headers = { authorization: 'Bearer token-of-the-webhook' }
    const answer = await send(stranger, `POST /api/agents/${agentId}/webhook`, { headers, body: payload })
    return answer.json<WebhookAcceptance>()
  }
  const { session_id } = await comment(promptFor('echo from-the-issue'))
  await eventually(() => fakes.stored.length === 1)
  const [link = ''] = /https:\/\/switchyard\.example\S+/.exec(fakes.stored[0]?.text ?? '') ?? []
  const path = link.slice('https://switchyard.example'.length)
  assert.equal((await send(stranger, `POST ${path}`, { headers: form, body: 'result=allow' })).status, 200)
  await eventually(() => fakes.stored.length === 2)
  const answer = fakes.stored[1]
  assert.match(answer?.text ?? '', /^All done\.\n\n<!-- switchyard-reply:rpl_\w+ -->$/)
  assert.deepEqual([answer?.place, answer?.authorization], ['/repos/acme/site/issues/7/comments', 'Bearer the-token'])
  const { replies } = await eventually(async () => {
    const page = await ok<{ replies: WebhookReply[] }>(
      `GET /api/webhook-replies?session_id=${session_id}&state=delivered`,
    )
    return page.replies.length === 2 && page
  })
  assert.deepEqual(
    replies.map(({ kind }) => kind),
    ['answer', 'approval'],
  )
  const own = await comment(answer?.text ?? '')
  assert.equal(own.session_id, '')
  const { deliveries } = await ok<{ deliveries: Delivery[] }>(`GET /api/deliveries?agent_id=${agentId}&status=skipped`)
  assert.equal(deliveries[0]?.error, 'comment is a reply of this service')
})

test('a reply without a type, and a callback without a URL, are rejected with the name of the field', async () => {
  for (const [reply, field] of [
    [{ secret_key: 'TOKEN' }, /config.webhook.reply.type is required/],
    [{ secret_key: 'TOKEN', type: 'callback' }, /url/],
    [{ type: 'slack_thread' }, /secret_key/],
  ] as const) {
    const body = { name: 'A', owner_id: 'team', config: { webhook: { reply } } }
    const answer = await send(service, 'POST /api/agents', { body })
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, field)
  }
})
