import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import type { AuditEntry } from '../../src/contract/audit.ts'
import type { Freeze, RunningSession, SpendingKey } from '../../src/contract/controls.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { type Answered, open, send, type Target } from '../support/service/send.ts'
import { type ServiceOptions, startService } from '../support/service/service.ts'
import { saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const prices = { input_cost_per_token: 0, output_cost_per_token: 0.001 }
const params = { model: 'anthropic/scripted', api_base: upstream.url, api_key: 'sk-upstream', ...prices }
const aws = { aws_region_name: 'us-east-1', aws_access_key_id: 'id', aws_secret_access_key: 'secret' }
const options: ServiceOptions = {
  databaseUrl,
  config: JSON.stringify({
    model_list: [
      { model_name: 'scripted', params },
      { model_name: 'bedrock/nova', params: { model: 'bedrock/nova', ...aws } },
    ],
    outbound: { allow: [`127.0.0.1:${upstream.port}`] },
  }),
}
/** Requests come in at the one that runs nothing. */
const here = await startService({ ...options, env: { SWITCHYARD_ROLE: 'api' } })
let there = await startService(options)
after(async () => {
  upstream.release()
  await Promise.all([here.stop(), there.stop(), upstream.stop()])
})

async function ok<T>(target: Target, line: string, body?: unknown): Promise<T> {
  const answer = await send(target, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

/** Lifts what a test has frozen, also one that failed. */
afterEach(async () => {
  const { freezes } = await ok<{ freezes: Freeze[] }>(here, 'GET /v1/freezes')
  for (const { id } of freezes) await ok(here, `DELETE /v1/freezes/${id}`)
})

const parts = (text: string) => ({ model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
const slow = saying({ delayMs: 60_000, text: 'late' })
const statusOf = async (id: string) => (await ok<Session>(here, `GET /session/${id}`)).status
const promptsOf = async (id: string) => (await ok<{ data: Prompt[] }>(here, `GET /session/${id}/prompts`)).data
const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(here, `GET /v1/sessions/${id}/events?limit=1000`)).data

/** A session whose model does not answer, with a prompt behind the one that runs. */
async function busySession(caller: Target, fields: object = {}): Promise<string> {
  const { id } = await ok<Session>(caller, 'POST /session', fields)
  for (const text of [slow, 'behind it']) await ok(caller, `POST /session/${id}/prompt_async`, parts(text))
  await eventually(async () => (await statusOf(id)) === 'running')
  return id
}

interface Stopped {
  readonly sessions: number
  readonly runs: number
  readonly prompts: number
}
const stop = (target: Target, body: object) => ok<Stopped>(target, 'POST /v1/stop', body)
const newAgent = (owner_id: string) =>
  ok<{ id: string }>(here, 'POST /api/agents', { name: 'A', owner_id, model: 'scripted' })

const ada = await holderOf(here, { owner_id: 'ada' })
const bob = await holderOf(here, { owner_id: 'bob' })

test('S48: a run is stopped from another replica, with what waits behind it, and its log reports why', async () => {
  const id = await busySession(here)
  assert.deepEqual(await stop(here, { session_id: id, reason: 'it loops' }), { sessions: 1, runs: 1, prompts: 1 })
  await eventually(async () => (await statusOf(id)) === 'idle')
  assert.deepEqual(
    (await promptsOf(id)).map(({ state }) => state),
    ['cancelled', 'cancelled'],
  )
  const log = await logOf(id)
  assert.equal(log.find(({ type }) => type === 'user.interrupt')?.['reason'], 'it loops')
  assert.equal(log.filter(({ type }) => type === 'session.prompt_ended').length, 1)
  assert.deepEqual(await stop(here, { session_id: id }), { sessions: 0, runs: 0, prompts: 0 })
  // It takes new work.
  await ok(here, `POST /session/${id}/prompt_async`, parts(saying({ text: 'Here I am.' })))
  await eventually(async () => (await promptsOf(id)).at(-1)?.state === 'done')
})

test('S48: all that runs of an agent, of a key with its descendants, of an owner, and of everybody is stopped, and nothing else', async () => {
  const agent = await newAgent('ada')
  const parent = await holderOf(here, { role: 'admin' })
  const child = await holderOf({ url: here.url, key: parent.key ?? '' }, {})
  const sessions = {
    agent: await busySession(here, { agent_id: agent.id }),
    key: await busySession(child),
    owner: await busySession(bob),
    rest: await busySession(here),
  }
  const running = async () => {
    const all = Object.entries(sessions).map(async ([name, id]) => ((await statusOf(id)) === 'running' ? [name] : []))
    return (await Promise.all(all)).flat()
  }
  const one = { sessions: 1, runs: 1, prompts: 1 }
  assert.deepEqual(await stop(here, { agent_id: agent.id }), one)
  await eventually(async () => (await running()).join() === 'key,owner,rest')
  assert.deepEqual(await stop(here, { key_id: parent.id }), one)
  await eventually(async () => (await running()).join() === 'owner,rest')
  assert.deepEqual(await stop(here, { owner: 'bob' }), one)
  await eventually(async () => (await running()).join() === 'rest')
  assert.deepEqual(await stop(here, { all: true }), one)
  await eventually(async () => (await running()).length === 0)
})

test('S48: model calls that clients make themselves end with a stop of their key, owner or everybody, on any replica', async () => {
  const at = ({ key }: Target): Target => ({ url: there.url, ...(key !== undefined && { key }) })
  const message = (text: string, stream: boolean) => ({
    body: { model: 'scripted', max_tokens: 10, stream, messages: [{ role: 'user', content: text }] },
  })
  const waiting = (caller: Target) => send(at(caller), 'POST /v1/messages', message(slow, false))
  const streaming = async (caller: Target) => {
    const held = saying({ text: 'a long answer', pauseAtFrame: 3 })
    const answer = await open(at(caller), 'POST /v1/messages', message(held, true))
    answer.on('error', () => {}).resume()
    return { ended: new Promise<boolean>(done => answer.once('close', () => done(answer.complete))) }
  }
  const seen = upstream.requests.length
  const [whole, stream, others] = [waiting(ada), streaming(ada), streaming(bob)]
  const { ended } = await stream
  const other = await others
  await eventually(() => upstream.requests.length === seen + 3)

  await ok(here, 'POST /v1/stop', { key_id: ada.id })
  const answer = await whole
  assert.deepEqual(
    [answer.status, answer.json<{ error: object }>().error],
    [403, { type: 'permission_error', message: 'the call was stopped on request; new calls of this key are served' }],
  )
  assert.equal(await ended, false)
  await ok(here, 'POST /v1/stop', { owner: 'bob' })
  assert.equal(await other.ended, false)

  const masters = waiting(there)
  await eventually(() => upstream.requests.length === seen + 4)
  await ok(here, 'POST /v1/stop', { all: true })
  assert.equal((await masters).status, 403)
  assert.equal((await send(at(ada), 'POST /v1/messages', message('hello', false))).status, 200)
})

test('each caller stops what is its own; a stop is in the audit log', async () => {
  const id = await busySession(ada)
  const agent = await newAgent('ada')
  const label = await holderOf(here)
  const refused: readonly (readonly [Target, object, number])[] = [
    [bob, { session_id: id }, 404],
    [bob, { agent_id: agent.id }, 404],
    [bob, { key_id: ada.id }, 404],
    [bob, { owner: 'ada' }, 403],
    [bob, { all: true }, 403],
    [label, { key_id: ada.id }, 404],
    [label, { owner: 'ada' }, 403],
    [label, { all: true }, 403],
    [here, {}, 400],
    [here, { all: true, owner: 'ada' }, 400],
    [here, { session_id: 'nothing' }, 404],
    [here, { agent_id: 'nothing' }, 404],
    [here, { key_id: 'nothing' }, 404],
    [here, { all: false }, 400],
  ]
  for (const [target, body, status] of refused) {
    const answer = await send(target, 'POST /v1/stop', { body })
    assert.equal(answer.status, status, `${JSON.stringify(body)}: ${answer.text}`)
  }
  assert.equal(await statusOf(id), 'running')
  assert.equal((await stop(ada, { owner: 'ada', reason: 'enough' })).runs, 1)
  await eventually(async () => (await statusOf(id)) === 'idle')
  const { entries } = await ok<{ entries: AuditEntry[] }>(here, 'GET /api/audit?action=work.stop&limit=1')
  const [entry] = entries
  assert.deepEqual([entry?.object_id, entry?.principal, entry?.after], ['owner:ada', 'ada', { reason: 'enough' }])
})

test('running work is listed with its cost per minute, to each caller only its own', async () => {
  const spent = {
    text: 'So.',
    usage: { input_tokens: 5, output_tokens: 100 },
    tool_calls: [{ name: 'bash', input: { command: 'true' } }],
  }
  const { id } = await ok<Session>(ada, 'POST /session', { prompt: saying(spent, { delayMs: 60_000 }) })
  interface Running {
    readonly running_sessions: number
    readonly cost_per_minute: number | null
    readonly sessions: RunningSession[]
    readonly keys: SpendingKey[]
  }
  const runningOf = (target: Target) => ok<Running>(target, 'GET /v1/running')
  const found = await eventually(async () => {
    const session = (await runningOf(here)).sessions.find(({ session_id }) => session_id === id)
    return session?.calls_per_minute === 1 && session
  })
  assert.deepEqual(
    [found.owner_id, found.key_id, found.runtime, found.waiting_prompts, found.cost_per_minute?.toFixed(3)],
    ['ada', ada.id, 'builtin', 0, '0.100'],
  )
  const adas = await runningOf(ada)
  assert.deepEqual([adas.running_sessions, adas.sessions.length], [1, 1])
  assert.ok(adas.keys.some(({ key_id, calls_per_minute }) => key_id === ada.id && calls_per_minute > 0))
  const bobs = await runningOf(bob)
  assert.deepEqual([bobs.running_sessions, bobs.sessions], [0, []])
  assert.ok(bobs.keys.every(({ key_id }) => key_id === bob.id))
  await stop(here, { session_id: id })
  await eventually(async () => (await statusOf(id)) === 'idle')
})

const chat = { model: 'scripted', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] }
/** A call in each protocol, and what its own clients read of the refusal. */
const protocols: readonly (readonly [
  line: string,
  body: object,
  shown: (answer: Answered) => unknown,
  expected: unknown,
])[] = [
  ['POST /v1/messages', chat, ({ json }) => json<{ error: { type: string } }>().error.type, 'billing_error'],
  ['POST /v1/messages', { ...chat, stream: true }, ({ json }) => json<{ type: string }>().type, 'error'],
  ['POST /v1/chat/completions', chat, ({ json }) => json<{ error: { code: string } }>().error.code, 'spending_frozen'],
  [
    'POST /v1/responses',
    { model: 'scripted', input: 'Hi' },
    ({ json }) => json<{ error: { type: string; code: string } }>().error,
    'spending_frozen',
  ],
  [
    'POST /v1/embeddings',
    { model: 'scripted', input: 'Hi' },
    ({ json }) => json<{ error: { code: string } }>().error.code,
    'spending_frozen',
  ],
  [
    'POST /v1beta/models/scripted:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
    ({ json }) => json<{ error: { status: string } }>().error.status,
    'FAILED_PRECONDITION',
  ],
  [
    'POST /bedrock/model/nova/converse',
    { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
    ({ headers }) => headers['x-amzn-errortype'],
    'ServiceQuotaExceededException',
  ],
]

test('while spending is frozen each protocol gets its own error, on every replica, and nothing is sent', async () => {
  const freeze = await ok<Freeze>(here, 'PUT /v1/freezes', { all: true, reason: 'month is over' })
  assert.deepEqual(
    [freeze.scope, freeze.scope_id, freeze.reason, freeze.created_by],
    ['all', null, 'month is over', 'master'],
  )
  await eventually(async () => (await send(there, 'POST /v1/messages', { body: chat })).status === 402)
  const before = upstream.requests.length
  for (const target of [here, there]) {
    for (const [line, body, shown, expected] of protocols) {
      const answer = await send(target, line, { body })
      assert.equal(answer.status, 402, `${line}: ${answer.text}`)
      const found = shown(answer)
      assert.equal(typeof found === 'object' ? (found as { code: string }).code : found, expected, answer.text)
      assert.match(answer.text, /all spending has been frozen since .*: month is over; an admin can lift the freeze/)
    }
    // It costs nothing.
    assert.equal((await send(target, 'POST /v1/messages/count_tokens', { body: chat })).status, 200)
  }
  assert.equal(upstream.requests.length, before)
  await ok(here, `DELETE /v1/freezes/${freeze.id}`)
  await eventually(async () => (await send(there, 'POST /v1/messages', { body: chat })).status === 200)
})

test('a freeze of a key is for it and its descendants, one of an owner for all its keys; others continue', async () => {
  const parent = await holderOf(here, { role: 'admin' })
  const child = await holderOf({ url: here.url, key: parent.key ?? '' }, {})
  const at = (holder: Target) => send({ url: here.url, key: holder.key ?? '' }, 'POST /v1/messages', { body: chat })
  await ok(here, 'PUT /v1/freezes', { key_id: parent.id })
  await ok(here, 'PUT /v1/freezes', { owner: 'ada', reason: 'first' })
  const again = await ok<Freeze>(here, 'PUT /v1/freezes', { owner: 'ada', reason: 'second' })
  for (const holder of [parent, child, ada]) assert.equal((await at(holder)).status, 402)
  for (const holder of [bob, here]) assert.equal((await at(holder)).status, 200)
  assert.match((await at(ada)).text, /spending of owner ada has been frozen since .*: second/)
  const { freezes } = await ok<{ freezes: Freeze[] }>(here, 'GET /v1/freezes')
  assert.deepEqual(
    freezes.map(({ scope, scope_id }) => [scope, scope_id]),
    [
      ['owner', 'ada'],
      ['key', parent.id],
    ],
  )
  const { entries } = await ok<{ entries: AuditEntry[] }>(here, `GET /api/audit?object_id=${again.id}`)
  assert.deepEqual(
    entries.map(({ action, before, after }) => [action, before?.['reason'], after?.['reason']]),
    [
      ['freeze.set', 'first', 'second'],
      ['freeze.set', undefined, 'first'],
    ],
  )
})

test('a frozen session waits, in the middle of its turn and before it, over a restart, and continues when the freeze is lifted', async () => {
  // Answered by the service itself: a call that comes before the freeze must not wait at the upstream.
  const onDemo = { ...chat, model: 'demo' }
  upstream.hold()
  const before = upstream.requests.length
  const midway = saying({ tool_calls: [{ name: 'bash', input: { command: 'echo once' } }] }, { text: 'All done.' })
  const { id: first } = await ok<Session>(ada, 'POST /session', { prompt: midway })
  await upstream.received(before + 1)
  const freeze = await ok<Freeze>(here, 'PUT /v1/freezes', { owner: 'ada' })
  await eventually(
    async () => (await send({ ...ada, url: there.url }, 'POST /v1/messages', { body: onDemo })).status === 402,
  )
  upstream.release()
  const { id: second } = await ok<Session>(ada, 'POST /session', { prompt: 'Later' })
  const heldOf = async (id: string) => (await promptsOf(id))[0]?.held_by
  await eventually(async () => (await heldOf(first)) === 'freeze' && (await heldOf(second)) === 'freeze')
  const [, pause] = (await logOf(second)).filter(({ type }) => type.startsWith('session.status_'))
  assert.deepEqual(pause?.['stop_reason'], {
    type: 'budget_reached',
    scope: 'owner',
    scope_id: 'ada',
    is_frozen: true,
    max_usd: null,
    needed_usd: null,
    resets_at: null,
  })
  await there.kill()
  there = await startService(options)
  assert.equal((await send({ ...ada, url: there.url }, 'POST /v1/messages', { body: chat })).status, 402)
  assert.deepEqual([await heldOf(first), await heldOf(second)], ['freeze', 'freeze'])
  const sent = upstream.requests.length
  await ok(here, `DELETE /v1/freezes/${freeze.id}`)
  await eventually(
    async () => (await promptsOf(first))[0]?.state === 'done' && (await promptsOf(second))[0]?.state === 'done',
  )
  assert.equal(upstream.requests.length, sent + 2)
})

test('a frozen prompt can be stopped', async () => {
  await ok(here, 'PUT /v1/freezes', { owner: 'bob' })
  const { id } = await ok<Session>(bob, 'POST /session', { prompt: 'Later' })
  await eventually(async () => (await promptsOf(id))[0]?.held_by === 'freeze')
  assert.deepEqual(await stop(bob, { session_id: id }), { sessions: 1, runs: 0, prompts: 1 })
  assert.equal(await statusOf(id), 'idle')
})

test('a limited admin freezes keys below itself, and lifts no freeze that one without limits has set', async () => {
  const admin = await holderOf(here, { role: 'admin', owner_id: 'ada' })
  const own = await holderOf({ url: here.url, key: admin.key ?? '' }, { owner_id: 'ada' })
  const status = async (target: Target, line: string, body?: object) =>
    (await send(target, line, body ? { body } : {})).status
  for (const body of [{ all: true }, { owner: 'bob' }, { owner: 'ada' }])
    assert.equal(await status(admin, 'PUT /v1/freezes', body), 403)
  for (const key_id of [bob.id, ada.id]) assert.equal(await status(admin, 'PUT /v1/freezes', { key_id }), 404)
  const byIt = await ok<Freeze>(admin, 'PUT /v1/freezes', { key_id: own.id })
  await ok(admin, `DELETE /v1/freezes/${byIt.id}`)
  const byMaster = await ok<Freeze>(here, 'PUT /v1/freezes', { key_id: own.id })
  await ok(admin, 'PUT /v1/freezes', { key_id: own.id, reason: 'mine now' })
  assert.equal(await status(admin, `DELETE /v1/freezes/${byMaster.id}`), 403)
  const others = await ok<Freeze>(here, 'PUT /v1/freezes', { owner: 'bob' })
  assert.equal(await status(admin, `DELETE /v1/freezes/${others.id}`), 404)
  assert.equal(await status(ada, 'GET /v1/freezes'), 403)
  const shown = await ok<{ freezes: Freeze[] }>(admin, 'GET /v1/freezes')
  assert.deepEqual(
    shown.freezes.map(({ id }) => id),
    [byMaster.id],
  )
})
