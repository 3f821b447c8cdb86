import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { AuditEntry } from '../../src/contract/audit.ts'
import type { Budget } from '../../src/contract/budgets.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { createPool } from '../../src/server/db/connect.ts'
import type { UsageRow } from '../../src/server/usage/rows.ts'
import { call, startPricedService } from '../support/keys/priced-service.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'

const { service, ok, key, setBudget, budget, request: ask } = await startPricedService()
const unlimited = {
  max_budget: null,
  soft_budget: null,
  budget_duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel_requests: null,
}
const unused = { budget_reset_at: null, spend: 0, reserved: 0, parallel_requests: 0 }
const pool = createPool({ url: service.databaseUrl, max: 1, onLost: () => undefined })
after(() => pool.end())
/** Rows of the ledger; undefined while there is none. */
const rowsOf = async (condition: string, value: unknown) => {
  const { rows } = await pool.query<UsageRow>(`select * from usage where ${condition}`, [value])
  return rows.length > 0 ? rows : undefined
}
const statusOf = async (line: string, sent: object = {}, secret = service.key) =>
  (await send({ ...service, key: secret }, line, sent)).status

test('PUT /api/budgets/{scope}/{id} sets every limit, GET reads it, a further PUT replaces all, DELETE removes it', async () => {
  const write = {
    max_budget: 0.1,
    soft_budget: 0.05,
    budget_duration: '30d',
    rpm_limit: 5,
    tpm_limit: 6,
    max_parallel_requests: 7,
  }
  const { budget_reset_at, ...made } = await setBudget('owner', 'acme & co', write)
  const { budget_reset_at: _, ...rest } = unused
  assert.deepEqual(made, { ...rest, ...write, scope: 'owner', scope_id: 'acme & co', scope_name: null })
  const days = (Date.parse(budget_reset_at ?? '') - Date.now()) / 86_400_000
  assert.ok(days > 29.9 && days <= 30.1, `${days} days`)
  assert.deepEqual(await budget('owner', 'acme & co'), { ...made, budget_reset_at })
  assert.deepEqual(await setBudget('owner', 'acme & co', { max_budget: 1e-9 }), {
    ...unused,
    ...unlimited,
    scope: 'owner',
    scope_id: 'acme & co',
    scope_name: null,
    max_budget: 1e-9,
  })
  const line = '/api/budgets/owner/acme%20%26%20co'
  assert.equal(await statusOf(`DELETE ${line}`), 204)
  assert.equal(await statusOf(`DELETE ${line}`), 404)
  const missing = await send(service, `GET ${line}`)
  assert.deepEqual(
    [missing.status, missing.json()['error']],
    [404, { type: 'gateway_error', message: 'budget of owner acme & co not found' }],
  )
})

test('PUT /api/budgets rejects what is no limit, no scope, and a key, whose limits are its own fields', async () => {
  const refused = async (line: string, body: object) => {
    const answer = await send(service, line, { body })
    assert.equal(answer.status, 400, answer.text)
    return answer.json<{ error: { message: string } }>().error.message
  }
  assert.match(await refused('PUT /api/budgets/owner/x', { max_budget: -1 }), /max_budget/)
  assert.match(await refused('PUT /api/budgets/owner/x', { max_budget: '5' }), /max_budget/)
  assert.match(await refused('PUT /api/budgets/owner/x', { budget_duration: '30 days' }), /budget_duration/)
  assert.match(await refused('PUT /api/budgets/owner/x', { rpm_limit: 0 }), /rpm_limit/)
  assert.match(await refused('PUT /api/budgets/nation/x', {}), /scope/)
  assert.match(await refused('PUT /api/budgets/key/key_1', {}), /scope/)
  assert.equal(await statusOf('PUT /api/budgets/team/team_none', { body: {} }), 404)
  assert.equal(await statusOf('PUT /api/budgets/agent/agent_none', { body: {} }), 404)
  assert.equal(await statusOf('PUT /api/budgets/session/ses_none', { body: {} }), 404)
})

test('GET /api/budgets lists all, by scope and in pages; keys are there when they have a limit', async () => {
  const free = await key()
  const limited = await key({ label: 'nightly', rpm_limit: 5 })
  for (const id of ['list-a', 'list-b', 'list-c']) await setBudget('owner', id, { max_budget: 1 })
  const all: Budget[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { budgets: Budget[]; next_cursor: string | null } = await ok(
      `GET /api/budgets?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    all.push(...page.budgets)
    cursor = page.next_cursor
  }
  const names = all.map(({ scope, scope_id }) => `${scope}:${scope_id}`)
  assert.deepEqual(names, [...names].sort())
  assert.ok(['owner:list-a', 'owner:list-b', 'owner:list-c', `key:${limited.id}`].every(name => names.includes(name)))
  assert.ok(!names.includes(`key:${free.id}`))
  const { budgets } = await ok<{ budgets: Budget[] }>('GET /api/budgets?scope=key')
  assert.ok(budgets.length > 0 && budgets.every(({ scope }) => scope === 'key'))
  assert.equal(budgets.find(({ scope_id }) => scope_id === limited.id)?.scope_name, 'nightly')
  assert.equal(await statusOf(`DELETE /api/keys/${limited.id}`), 204)
  const left = await ok<{ budgets: Budget[] }>('GET /api/budgets?scope=key')
  assert.ok(left.budgets.every(({ scope_id }) => scope_id !== limited.id))
})

test('S55: every change of a budget is in the audit log, with what it was before', async () => {
  await setBudget('owner', 'audited', { max_budget: 5 })
  await setBudget('owner', 'audited', { max_budget: 6, rpm_limit: 1 })
  await send(service, 'DELETE /api/budgets/owner/audited')
  const { entries } = await ok<{ entries: AuditEntry[] }>('GET /api/audit?object_id=owner:audited')
  assert.deepEqual(
    entries.map(({ action, before, after }) => [action, before?.['max_budget'], after?.['max_budget']]),
    [
      ['budget.delete', 6, undefined],
      ['budget.set', 5, 6],
      ['budget.set', undefined, 5],
    ],
  )
})

test('S08, S10: an admin of one owner sees and sets what is its own, but not how much its owner may spend', async () => {
  const admin = await key({ role: 'admin', owner_id: 'mine' })
  const agentOf = (owner_id: string) => ok<Agent>('POST /api/agents', { body: { name: 'a', owner_id } })
  const [own, foreign] = [await agentOf('mine'), await agentOf('theirs')]
  for (const [scope, id] of [
    ['owner', 'mine'],
    ['owner', 'theirs'],
    ['agent', foreign.id],
  ] as const)
    await setBudget(scope, id, { max_budget: 1 })
  const put = { body: { max_budget: 2 } }
  assert.equal(await statusOf(`PUT /api/budgets/agent/${own.id}`, put, admin.key), 200)
  assert.equal(await statusOf(`PUT /api/budgets/agent/${foreign.id}`, put, admin.key), 404)
  assert.equal(await statusOf('PUT /api/budgets/owner/theirs', put, admin.key), 404)
  assert.equal(await statusOf('GET /api/budgets/owner/theirs', {}, admin.key), 404)
  assert.equal(await statusOf('GET /api/budgets/owner/mine', {}, admin.key), 200)
  assert.equal(await statusOf('PUT /api/budgets/owner/mine', put, admin.key), 403)
  assert.equal(await statusOf('DELETE /api/budgets/owner/mine', {}, admin.key), 403)
  assert.equal(await statusOf(`DELETE /api/budgets/agent/${foreign.id}`, {}, admin.key), 404)
  const listed = await send({ ...service, key: admin.key }, 'GET /api/budgets')
  assert.deepEqual(
    listed.json<{ budgets: Budget[] }>().budgets.map(({ scope, scope_id }) => [scope, scope_id]),
    [
      ['agent', own.id],
      ['owner', 'mine'],
    ],
  )
  const user = await key({ owner_id: 'mine' })
  assert.equal(await statusOf('GET /api/budgets', {}, user.key), 403)
})

test('the keys of one owner share its budget, and each of them sees whose it is', async () => {
  await setBudget('owner', 'shared', { max_budget: 0.25 })
  const keys = [await key({ owner_id: 'shared' }), await key({ owner_id: 'shared' })]
  for (const { key: secret } of keys) assert.equal((await ask(secret)).status, 200)
  const refused = await ask(keys[0]?.key ?? '')
  assert.equal(refused.status, 402)
  assert.match(refused.text, /budget of owner shared is \$0\.25: \$0\.2 spent/)
  assert.equal(refused.headers['x-switchyard-budget-scope'], 'owner')
  const other = await key({ owner_id: 'another' })
  assert.equal((await ask(other.key)).status, 200)
})

test('a limit that is set reaches running services at once, and so does one that is removed', async () => {
  const { key: secret } = await key({ owner_id: 'changing' })
  assert.equal((await ask(secret)).status, 200)
  await setBudget('owner', 'changing', { max_budget: 0.01 })
  await eventually(async () => (await ask(secret)).status === 402, { withinMs: 2_000 })
  await setBudget('owner', 'changing', {})
  await eventually(async () => (await ask(secret)).status === 200, { withinMs: 2_000 })
})

test('an agent and a session have budgets of their own, which their model calls count in', async () => {
  const agent = await ok<Agent>('POST /api/agents', { body: { name: 'a', owner_id: 'team', model: 'priced' } })
  const session = await ok<Session>('POST /session', { body: { agent_id: agent.id } })
  await setBudget('agent', agent.id, { max_budget: 100 })
  await setBudget('session', session.id, { max_budget: 50 })
  const prompt = { model: { modelID: 'priced' }, parts: [{ type: 'text', text: 'hi' }] }
  await ok(`POST /session/${session.id}/message`, { body: prompt })
  for (const [scope, id] of [
    ['agent', agent.id],
    ['session', session.id],
  ] as const) {
    await eventually(async () => {
      const { spend, reserved, parallel_requests: atWork } = await budget(scope, id)
      return spend === 0.1 && reserved === 0 && atWork === 0
    })
  }
  const [row] = await eventually(() => rowsOf('session_id = $1', session.id))
  assert.deepEqual([row?.agent_id, row?.owner_id, row?.key_id], [agent.id, 'team', null])
  assert.match(row?.run_id ?? '', /^run_/)
})

test('rate and concurrency limits are 429 with retry-after, in the format of either kind of client', async () => {
  const { key: secret } = await key({ rpm_limit: 1 })
  const chat = { model: 'priced', messages: call.messages, max_tokens: 10 }
  assert.equal(await statusOf('POST /v1/chat/completions', { body: chat }, secret), 200)
  const anthropic = await ask(secret)
  assert.deepEqual(
    [anthropic.status, anthropic.json<{ error: { type: string } }>().error.type],
    [429, 'rate_limit_error'],
  )
  const rest = Number(anthropic.headers['retry-after'])
  assert.ok(rest >= 1 && rest <= 60, `${rest} s`)
  const openai = await send({ ...service, key: secret }, 'POST /v1/chat/completions', { body: chat })
  assert.deepEqual([openai.status, openai.json<{ error: { code: string } }>().error.code], [429, 'rate_limit_exceeded'])
})

test('OpenAI’s routes are under the same budgets', async () => {
  const { id, key: secret } = await key({ max_budget: 0.15 })
  const chat = { model: 'priced', messages: call.messages, max_completion_tokens: 100 }
  assert.equal(await statusOf('POST /v1/chat/completions', { body: chat }, secret), 200)
  const responses = { model: 'priced', input: 'hi', max_output_tokens: 100 }
  const refused = await send({ ...service, key: secret }, 'POST /v1/responses', { body: responses })
  assert.deepEqual(
    [refused.status, refused.json<{ error: { code: string } }>().error.code],
    [402, 'insufficient_quota'],
  )
  await eventually(async () => (await budget('key', id)).spend === 0.1)
  const open = await send({ ...service, key: secret }, 'POST /v1/responses', { body: { model: 'priced', input: 'hi' } })
  assert.equal(open.status, 400)
  assert.match(
    open.text,
    /max_tokens is required: key key_\w+ has a limit, and the maximum output of model priced is unknown/,
  )
  const images = {
    ...call,
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } }] }],
  }
  assert.match((await ask(secret, images)).text, /request refers to content outside of it: key key_\w+ has a limit/)
})

test('a count of tokens is a request a minute, and continues when the budget is used up', async () => {
  const { key: secret, id } = await key({ max_budget: 0.1, rpm_limit: 4 })
  assert.equal((await ask(secret)).status, 200)
  assert.equal((await ask(secret)).status, 402)
  const count = () => ask(secret, {}, 'POST /v1/messages/count_tokens')
  assert.deepEqual(
    [(await count()).status, (await count()).status, (await count()).status, (await count()).status],
    [200, 200, 200, 429],
  )
  const { spend, reserved, parallel_requests: atWork } = await budget('key', id)
  assert.deepEqual([spend, reserved, atWork], [0.1, 0, 0])
})

test('a soft limit is reported with every answer once it is reached, and logged once', async () => {
  const { id, key: secret } = await key({ soft_budget: 0.1, max_budget: 1 })
  const warning = async () => (await ask(secret)).headers['x-switchyard-budget-warning']
  assert.equal(await warning(), undefined)
  await eventually(async () => (await budget('key', id)).spend === 0.1)
  assert.equal(await warning(), 'key: spent=0.1, soft_budget=0.1, max_budget=1')
  assert.match(String(await warning()), /^key: spent=/)
  const warnings = service
    .logs()
    .split('\n')
    .filter(line => line.includes('soft budget reached') && line.includes(id))
  assert.equal(warnings.length, 1)
})

test('a key with nothing but a soft limit is notified, and never rejected', async () => {
  const { id, key: secret } = await key({ soft_budget: 0.05 })
  assert.equal((await ask(secret)).headers['x-switchyard-budget-warning'], undefined)
  await eventually(async () => (await budget('key', id)).spend === 0.1)
  const { status, headers } = await ask(secret)
  assert.deepEqual([status, headers['x-switchyard-budget-warning']], [200, 'key: spent=0.1, soft_budget=0.05'])
})

test('a raised budget lets calls through at once, and what is spent stays', async () => {
  const { id, key: secret } = await key({ max_budget: 0.1 })
  assert.deepEqual([(await ask(secret)).status, (await ask(secret)).status], [200, 402])
  await ok(`PATCH /api/keys/${id}`, { body: { max_budget: 0.2 } })
  assert.equal((await ask(secret)).status, 200)
  await eventually(async () => (await budget('key', id)).spend === 0.2)
})

test('the ledger states whose key paid, what was held, and at which rates', async () => {
  const { id, key: secret } = await key({ max_budget: 1, owner_id: 'ledger' })
  const requestId = (await ask(secret)).headers['x-switchyard-request-id']
  const [row] = await eventually(() => rowsOf('request_id = $1', requestId))
  assert.deepEqual(
    [row?.key_id, row?.owner_id, row?.protocol, row?.price_source, row?.held_usd, row?.cost_usd],
    [id, 'ledger', 'anthropic-messages', 'config', '0.1', '0.1'],
  )
  assert.deepEqual(row?.rates, {
    input: '0',
    cache_read: '0',
    cache_write_5m: '0',
    cache_write_1h: '0',
    output: '0.001',
  })
})

test('a service that is stopped settles every call that it has answered', async () => {
  const { url: databaseUrl } = await freshDatabase()
  const other = await startPricedService({ databaseUrl })
  const { id, key: secret } = await other.key({ max_budget: 10 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => other.request(secret)))
  await other.service.stop()
  assert.ok(answers.every(({ status }) => status === 200))
  const pool = createPool({ url: databaseUrl, max: 1, onLost: () => undefined })
  const { rows } = await pool.query(
    `select spent_usd::float8 as spent, reserved_usd::float8 as reserved, parallel,
            (select count(*) from usage) as calls, (select count(*) from reservations) as open
     from budgets where scope_id = $1`,
    [id],
  )
  await pool.end()
  assert.deepEqual(rows, [{ spent: 2, reserved: 0, parallel: 0, calls: 20, open: 0 }])
})
