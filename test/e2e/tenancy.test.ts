import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { allRoutes, everyPath } from '../../src/contract/api.ts'
import type { Route } from '../../src/contract/route.ts'
import type { NewUser } from '../../src/contract/users.ts'
import { holderOf, makeKey } from '../support/keys/virtual-keys.ts'
import { eventually } from '../support/service/eventually.ts'
import { open, type Sent, send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

// Nothing runs here, so that whatever changes was changed by a request.
const service = await startService({
  env: { SWITCHYARD_ROLE: 'api' },
  config: JSON.stringify({ demo: true, limits: { max_loop_delay_ms: 60_000 } }),
})
const ada = await holderOf(service, { owner_id: 'ada' })
const bob = await holderOf(service, { owner_id: 'bob' })
const adasAdmin = await holderOf(service, { owner_id: 'ada', role: 'admin' })
const bobsAdmin = await holderOf(service, { owner_id: 'bob', role: 'admin' })
const made = async <T>(line: string, body: object): Promise<T> => (await send(service, line, { body })).json<T>()

/** Returns a key of a new user. */
async function keyOfUser(user: Partial<NewUser>, key: object = {}): Promise<Target> {
  const { id } = await made<{ id: string }>('POST /api/users', { name: 'User', ...user })
  return holderOf(service, { user_id: id, ...key })
}
/** Returns a key of a new user that acts as a new team. */
async function keyOfTeam(user: Partial<NewUser>, key: object = {}): Promise<Target> {
  const team_id = (await made<{ id: string }>('POST /api/teams', { name: 'Team' })).id
  const user_id = (await made<{ id: string }>('POST /api/users', { name: 'User', ...user })).id
  await send(service, `PUT /api/teams/${team_id}/members/${user_id}`)
  return holderOf(service, { user_id, team_id, owner_id: team_id, ...key })
}

const viewer = await keyOfUser({ role: 'viewer' })
/** Keys that may use nothing of Ada's. */
const strangers: Readonly<Record<string, Target>> = {
  'a key of another owner': bob,
  'a member': await keyOfUser({}),
  'a service account': await keyOfUser({ kind: 'service_account' }, { role: 'admin' }),
  'a member that acts as its team': await keyOfTeam({}),
  'a viewer': viewer,
}
const strangersAmongAdmins: Readonly<Record<string, Target>> = {
  'an admin key of another owner': bobsAdmin,
  'an admin that acts as its team': await keyOfTeam({ role: 'admin' }, { role: 'admin' }),
}
const strangersOf = ({ access }: Route) => Object.entries(access === 'admin' ? strangersAmongAdmins : strangers)

const database = new Client({ connectionString: service.databaseUrl })
database.on('error', () => undefined)
await database.connect()
after(() => database.end())

const canary = 'ada-canary-4711'
const model = { modelID: 'demo' }
const parts = [{ type: 'text', text: canary }]

async function idOf(target: Target, line: string, body: object): Promise<string> {
  const answer = await send(target, line, { body })
  assert.ok(answer.status < 300, `${line}: ${answer.text}`)
  return answer.json<{ id: string }>().id
}
const newAgent = () => idOf(ada, 'POST /api/agents', { name: canary, owner_id: 'ada', model: 'demo', system: canary })
const newSession = async () => idOf(ada, 'POST /session', { title: canary, agent_id: await newAgent() })

/** A prompt that waits for ever: its budget has to be raised first. */
async function waitingPrompt(session_id: string): Promise<string> {
  const id = `msg_${session_id}`
  const text = `
    insert into prompts (id, session_id, position, parts, model, mode, principal)
    values ($1, $2, 1, $3, 'demo', 'enqueue', 'ada')`
  await database.query(text, [id, session_id, JSON.stringify(parts)])
  await database.query(`insert into waits (prompt_id, kind, session_id) values ($1, 'budget', $2)`, [id, session_id])
  return id
}

/** A dataset with one case. */
async function newDataset(): Promise<{ dataset_id: string; case_id: string }> {
  const dataset_id = await idOf(ada, 'POST /api/datasets', { name: canary })
  const body = { cases: [{ name: canary, prompts: [canary] }] }
  const added = await send(ada, `POST /api/datasets/${dataset_id}/cases`, { body })
  const [first] = added.json<{ cases: { id: string }[] }>().cases
  return { dataset_id, case_id: first?.id ?? assert.fail('no case was added') }
}

/** A tool call that asks. */
async function openQuestion(session_id: string): Promise<string> {
  const id = `evt_${Math.random().toString(36).slice(2)}`
  const text = `
    insert into approvals (id, session_id, tool_use_id, name, input, digest, expires_at)
    values ($1, $2, 'toolu_1', 'bash', '{}', 'digest', clock_timestamp() + interval '1 day')`
  await database.query(text, [id, session_id])
  return id
}

/** A call of a custom tool that waits for its answer. */
async function openCustomCall(session_id: string): Promise<string> {
  const id = `evt_${Math.random().toString(36).slice(2)}`
  const text = `
    insert into custom_tool_calls (id, session_id, prompt_id, tool_use_id, name, input, expires_at)
    values ($1, $2, 'msg_1', 'toolu_1', 'ring', '{}', clock_timestamp() + interval '1 day')`
  await database.query(text, [id, session_id])
  return id
}

/** A prompt that stays queued: no runner is started here. */
async function queuedMessage(session_id: string): Promise<string> {
  const queued = await send(ada, `POST /session/${session_id}/prompt_async`, { body: { model, parts } })
  assert.equal(queued.status, 204, queued.text)
  const [message] = (await send(ada, `GET /session/${session_id}/message`)).json<{ info: { id: string } }[]>()
  return message?.info.id ?? assert.fail('no message')
}

/** A response whose rows are written, and the ledger's row of its call. */
async function storedResponse(): Promise<Parameters> {
  const calls = async () =>
    (await database.query<{ n: number }>('select count(*)::int as n from usage')).rows[0]?.n ?? 0
  const before = await calls()
  const response_id = await idOf(ada, 'POST /v1/responses', { model: 'demo', input: canary })
  await eventually(async () => ((await calls()) > before ? true : undefined))
  assert.equal((await send(ada, `GET /v1/responses/${response_id}`)).status, 200)
  return { response_id }
}

/** A call with a key of Ada's admin whose bodies are recorded, and the ledger's row of it. */
async function recordedCall(): Promise<Parameters> {
  const until = new Date(Date.now() + 3_600_000).toISOString()
  const { key } = await makeKey(adasAdmin, { label: canary, log_bodies: { until } })
  const body = { model: 'demo', messages: [{ role: 'user', content: canary }] }
  const { headers } = await send({ url: service.url, key }, 'POST /v1/chat/completions', { body })
  const request_id = String(headers['x-switchyard-request-id'])
  const text = 'select from usage join call_bodies using (request_id) where request_id = $1'
  await eventually(async () => ((await database.query(text, [request_id])).rowCount === 1 ? true : undefined))
  return { request_id }
}

type Parameters = Readonly<Record<string, string>>

/** A session with a resource. */
async function stockedSession(): Promise<Parameters> {
  const environment_id = await idOf(ada, 'POST /v1/environments', { name: canary })
  const memory_store_id = await idOf(ada, 'POST /v1/memory_stores', { name: canary })
  const resources = [{ type: 'memory_store', memory_store_id }]
  const answer = await send(ada, 'POST /v1/sessions', { body: { agent: await newAgent(), environment_id, resources } })
  assert.equal(answer.status, 200, answer.text)
  const { id: session_id, resources: made } = answer.json<{ id: string; resources: { id: string }[] }>()
  return { session_id, resource_id: made[0]?.id ?? assert.fail('no resource') }
}

/** A deployment whose runs start no session, because its agent is archived. */
async function newDeployment(): Promise<string> {
  const agent = await newAgent()
  const id = await idOf(ada, 'POST /v1/deployments', {
    name: canary,
    agent,
    environment_id: await idOf(ada, 'POST /v1/environments', { name: canary }),
    initial_events: [{ type: 'user.message', content: [{ type: 'text', text: canary }] }],
    schedule: { type: 'cron', expression: '0 0 1 1 *', timezone: 'UTC' },
  })
  await idOf(ada, `POST /v1/agents/${agent}/archive`, {})
  return id
}

/** By the path up to its first id: makes an object of Ada's, and returns its ids. */
const fixtures: Readonly<Record<string, (path: string) => Promise<Parameters>>> = {
  '/api/agents/{agent_id}': async () => ({ agent_id: await newAgent(), version: '1' }),
  '/session/{session_id}': async path => {
    const session_id = await newSession()
    if (path.includes('permission_id')) return { session_id, permission_id: await openQuestion(session_id) }
    if (path.includes('message_id')) return { session_id, message_id: await queuedMessage(session_id) }
    return /prompt_id|(message|summarize)$/.test(path)
      ? { session_id, prompt_id: await waitingPrompt(session_id) }
      : { session_id }
  },
  '/api/sessions/{session_id}': async () => {
    const session_id = await newSession()
    const path = 'notes.txt'
    const answer = await send(ada, `PUT /api/sessions/${session_id}/files/${path}`, { body: canary })
    assert.equal(answer.status, 200, answer.text)
    return { session_id, path }
  },
  '/api/approvals/{approval_id}': async () => ({ approval_id: await openQuestion(await newSession()) }),
  '/api/custom-tool-calls/{custom_tool_use_id}': async () => ({
    custom_tool_use_id: await openCustomCall(await newSession()),
  }),
  '/permission/{request_id}': async () => ({ request_id: await openQuestion(await newSession()) }),
  '/api/v1/managed_agents/sessions/{session_id}': async () => ({ session_id: await newSession() }),
  '/v1/sessions/{session_id}': async path => {
    if (path.includes('resource_id')) return stockedSession()
    const session_id = await newSession()
    return { session_id, thread_id: session_id }
  },
  '/v1/vaults/{vault_id}': async () => {
    const vault_id = await idOf(ada, 'POST /v1/vaults', { display_name: canary })
    const auth = { type: 'static_bearer', mcp_server_url: 'https://mcp.invalid/mcp', token: canary }
    const credential_id = await idOf(ada, `POST /v1/vaults/${vault_id}/credentials`, { auth, display_name: canary })
    return { vault_id, credential_id }
  },
  '/v1/memory_stores/{memory_store_id}': async () => {
    const memory_store_id = await idOf(ada, 'POST /v1/memory_stores', { name: canary, description: canary })
    const memory = { path: '/canary.md', content: canary }
    const answer = await send(ada, `POST /v1/memory_stores/${memory_store_id}/memories`, { body: memory })
    assert.equal(answer.status, 200, answer.text)
    const { id: memory_id, memory_version_id } = answer.json<{ id: string; memory_version_id: string }>()
    return { memory_store_id, memory_id, memory_version_id }
  },
  '/a2a/{agent}': async path => {
    const body = { name: canary, owner_id: 'ada', model: 'demo', config: { a2a: { enabled: true } } }
    const agent = await idOf(ada, 'POST /api/agents', body)
    const task_id = await queuedMessage(await idOf(ada, 'POST /session', { title: canary, agent_id: agent }))
    const config_id = 'config_1'
    if (path.includes('config_id')) {
      const line = `POST /a2a/${agent}/tasks/${task_id}/pushNotificationConfigs`
      const body = { id: config_id, url: 'https://receiver.invalid/push' }
      const answer = await send(ada, line, { body, headers: { 'a2a-version': '1.0' } })
      assert.equal(answer.status, 200, answer.text)
    }
    return { agent, task_id, config_id }
  },
  '/ag-ui/{agent}': async () => ({ agent: await newAgent() }),
  '/v1/agents/{agent_id}': async () => ({ agent_id: await newAgent() }),
  '/v1/environments/{environment_id}': async () => ({
    environment_id: await idOf(ada, 'POST /v1/environments', { name: canary, description: canary }),
  }),
  '/api/keys/{key_id}': async () => ({ key_id: await idOf(adasAdmin, 'POST /api/keys', { label: canary }) }),
  '/api/budgets/{scope}': async () => {
    const scope_id = await newAgent()
    const answer = await send(adasAdmin, `PUT /api/budgets/agent/${scope_id}`, { body: { max_budget: 5 } })
    assert.equal(answer.status, 200, answer.text)
    return { scope_id, scope: 'agent' }
  },
  '/v1/freezes/{freeze_id}': async () => {
    const child = await holderOf(adasAdmin, { owner_id: 'ada' })
    const answer = await send(adasAdmin, 'PUT /v1/freezes', { body: { key_id: child.id, reason: canary } })
    assert.equal(answer.status, 200, answer.text)
    return { freeze_id: answer.json<{ id: string }>().id }
  },
  '/api/v1/managed_agents/agents/{agent_id}': async () => {
    const agent_id = await newAgent()
    const memory_id = await idOf(ada, `POST /api/v1/managed_agents/agents/${agent_id}/memory`, { text: canary })
    return { agent_id, memory_id }
  },
  '/api/deliveries/{delivery_id}': async () => {
    const agent_id = await newAgent()
    return { delivery_id: await idOf(ada, 'POST /api/deliveries', { agent_id, payload: canary }) }
  },
  '/v1/files/{file_id}': async () => {
    const disposition = `Content-Disposition: form-data; name="file"; filename="${canary}"`
    const headers = { 'content-type': 'multipart/form-data; boundary=x', 'anthropic-version': '2023-06-01' }
    const answer = await send(ada, 'POST /v1/files', {
      headers,
      body: `--x\r\n${disposition}\r\n\r\n${canary}\r\n--x--`,
    })
    assert.equal(answer.status, 200, answer.text)
    return { file_id: answer.json<{ id: string }>().id }
  },
  '/api/v1/skills/{skill_id}': async () => {
    const skill_id = await idOf(ada, 'POST /api/v1/skills', { name: canary, content: canary })
    const agent_id = await newAgent()
    const attached = await send(ada, `POST /api/v1/managed_agents/agents/${agent_id}/skill`, { body: { skill_id } })
    assert.equal(attached.status, 200, attached.text)
    return { skill_id, agent_id }
  },
  '/v1/deployments/{deployment_id}': async () => ({ deployment_id: await newDeployment() }),
  '/v1/deployment_runs/{deployment_run_id}': async () => ({
    deployment_run_id: await idOf(ada, `POST /v1/deployments/${await newDeployment()}/run`, {}),
  }),
  '/v1/skills/{skill_id}': async () => ({
    skill_id: await idOf(ada, 'POST /api/v1/skills', { name: canary, content: canary }),
    version: '1',
  }),
  '/api/schedules/{schedule_id}': async () => {
    const body = { name: canary, agent_id: await newAgent(), cron: '0 0 1 1 *', prompt: canary }
    return { schedule_id: await idOf(ada, 'POST /api/schedules', body) }
  },
  '/api/datasets/{dataset_id}': newDataset,
  '/api/experiments/{experiment_id}': async () => {
    const { dataset_id } = await newDataset()
    const body = { dataset_id, agent_id: await newAgent(), name: canary }
    return { experiment_id: await idOf(ada, 'POST /api/experiments', body) }
  },
  '/api/webhook-endpoints/{endpoint_id}': async () => {
    const body = { url: 'https://receiver.invalid/hook', description: canary }
    const endpoint_id = await idOf(ada, 'POST /api/webhook-endpoints', body)
    const delivery_id = `whd_${endpoint_id}`
    const text = `
      insert into webhook_endpoint_deliveries
        (id, endpoint_id, session_id, seq, event_id, event_type, state, attempts, duration_ms)
      values ($1, $2, $3, 1, 'evt_1', 'a.type', 'dead', 1, 1)`
    await database.query(text, [delivery_id, endpoint_id, await newSession()])
    return { endpoint_id, delivery_id }
  },
  '/api/usage/calls/{request_id}': recordedCall,
  '/v1/messages/batches/{batch_id}': async () => {
    const requests = [{ custom_id: canary, params: { model: 'demo' } }]
    return { batch_id: await idOf(ada, 'POST /v1/messages/batches', { requests }) }
  },
  '/v1/batches/{batch_id}': async () => {
    const form = new FormData()
    form.set('purpose', 'batch')
    form.set('file', new Blob([canary]), 'requests.jsonl')
    const headers = { authorization: `Bearer ${ada.key}` }
    const answer = await fetch(`${ada.url}/v1/files`, { method: 'POST', headers, body: form })
    const { id: input_file_id } = (await answer.json()) as { id: string }
    const body = { input_file_id, endpoint: '/v1/embeddings', completion_window: '24h', metadata: { canary } }
    return { batch_id: await idOf(ada, 'POST /v1/batches', body) }
  },
  '/v1/responses/{response_id}': storedResponse,
  '/responses/{response_id}': storedResponse,
  '/openai/v1/responses/{response_id}': storedResponse,
  '/api/vault/{key}': async () => {
    const key = `NAME_${Math.random().toString(36).slice(2)}`
    const answer = await send(ada, 'POST /api/vault', { body: { key, value: canary, scope: 'owner' } })
    assert.equal(answer.status, 200, answer.text)
    return { key }
  },
}

/** What belongs to the service: all who may use such a route see the same. */
const shared: readonly string[] = [
  '/v1/models/{model_id}',
  '/v1/models/{model}',
  '/v1beta/models/{model}',
  '/v1beta/{model}',
  '/models/{model_id}',
  '/openai/deployments/{model}',
  '/anthropic/{path}',
  '/openai/{path}',
  '/gemini/{path}',
  '/bedrock/{path}',
  '/api/models/{model_id}',
  '/api/deployments/{deployment_id}',
  '/api/providers/{provider_id}',
  '/v1/mcp/server/{server_id}',
  '/mcp/{server}',
  '/{server}',
  '/api/runtime-harnesses/{alias}',
  '/api/agent-runtimes/{runtime_id}',
  '/api/users/{user_id}',
  '/api/teams/{team_id}',
]

/** Returns at once, because nothing runs here. */
const a2aMessage = {
  message: { messageId: 'message_1', role: 'ROLE_USER', parts: [{ text: canary }] },
  configuration: { returnImmediately: true },
}

const skillForm =
  '--x\r\nContent-Disposition: form-data; name="files[]"; filename="taken/SKILL.md"\r\n\r\n---\nname: taken\n---\nTaken\r\n--x--'

/** Bodies that pass the checks of their fields, which come before the lookup of the object. */
const bodies: Readonly<Record<string, object | string>> = {
  'agents.update': { name: 'Taken' },
  'managed_agents.update': { name: 'Taken' },
  'environments.update': { name: 'Taken' },
  'dialect_sessions.update': { title: 'Taken' },
  'dialect_sessions.add_resource': { type: 'github_repository', url: 'https://github.com/a/b' },
  'managed_vaults.update': { display_name: 'Taken' },
  'vault_credentials.create': { auth: { type: 'static_bearer', mcp_server_url: 'https://b.invalid/mcp', token: 'b' } },
  'vault_credentials.update': { display_name: 'Taken' },
  'managed_deployments.update': { name: 'Taken' },
  'memory_stores.update': { name: 'Taken' },
  'memory_stores.create_memory': { path: '/taken.md', content: 'Taken' },
  'memory_stores.update_memory': { content: 'Taken' },
  'agents.rollback': { note: 'Taken' },
  'webhooks.preview': { payload: {} },
  'webhooks.check': { payload: {} },
  'sessions.prompt_async': { model, parts },
  'sessions.message': { model, parts, mode: 'reject' },
  'events.send': { events: [{ type: 'user.message', content: parts }] },
  'approvals.decide': { result: 'allow' },
  'custom_tools.answer': { content: parts },
  'opencode.reply': { reply: 'once' },
  'opencode.answer': { response: 'once' },
  'opencode.summarize': {},
  'sessions.update': { title: 'Taken' },
  'sessions.fork': { title: 'Taken' },
  'keys.update': { label: 'taken' },
  'memories.create': { text: 'Taken' },
  'memories.update': { text: 'Taken' },
  'memories.import': { memories: [{ text: 'Taken' }] },
  'memories.mcp': { jsonrpc: '2.0', id: 1, method: 'ping' },
  'keys.rotate': {},
  'budgets.set': { max_budget: 6 },
  'schedules.update': { name: 'taken' },
  'datasets.add': { cases: [{ prompts: ['Taken'] }] },
  'webhook_endpoints.update': { description: 'taken' },
  'webhook_endpoints.rotate': {},
  'skills.update': { name: 'Taken' },
  'skill_folders.create_version': skillForm,
  'skill_folders.update': { default_version: '1' },
  'skills.upgrade': { include_edited: true },
  'a2a.rpc': { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: a2aMessage },
  'a2a.send': a2aMessage,
  'a2a.stream': a2aMessage,
  'ag_ui.run': { threadId: 't', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi' }] },
  'a2a.cancel': {},
  'a2a.create_push': { url: 'https://receiver.invalid/push' },
  'agent_skills.attach': { content: 'Taken', save_to_library: true },
}
/** Returns the body that a caller sends. An agent needs its owner. */
async function bodyOf({ id }: Route, target: Target): Promise<object | string | undefined> {
  const body = bodies[id]
  if (id !== 'agents.update' || typeof body === 'string') return body
  const { owner_id } = (await send(target, 'GET /api/me')).json<{ owner_id: string }>()
  return { ...body, owner_id }
}

const rootOf = ({ path }: Route): string => /^[^{]*\{\w+\}/.exec(path)?.[0] ?? ''
const lineOf = ({ method, path }: Route, values: Parameters): string =>
  `${method} ${path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name]
    assert.ok(value !== undefined, `the fixture of ${path} gives no ${name}`)
    return value
  })}`

/** Without the id of the request, which some shapes of errors hold. */
const anyRequest = (text: string): string => text.replaceAll(/req_[0-9a-f]+/g, 'req_')

/** Every row of every table, but for when keys were used, which is written in the background. */
async function everyRow(): Promise<ReadonlyMap<string, string>> {
  const tables = await database.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  const rows = new Map<string, string>()
  for (const { name } of tables.rows) {
    const found = await database.query<{ row: object }>(`select row_to_json(t) as row from ${name} t order by t::text`)
    rows.set(name, JSON.stringify(found.rows.map(({ row }) => ({ ...row, last_used_at: undefined }))))
  }
  return rows
}

/** The tables whose rows are not as they were. */
async function changedSince(before: ReadonlyMap<string, string>): Promise<string[]> {
  const now = await everyRow()
  return [...now.keys()].filter(name => now.get(name) !== before.get(name))
}

/** The answer; of a stream only its head. */
async function ask(target: Target, line: string, sent: Sent): Promise<{ status: number; text: string }> {
  const response = await open(target, line, sent)
  const status = response.statusCode ?? 0
  if (String(response.headers['content-type']).startsWith('text/event-stream')) {
    response.destroy()
    return { status, text: '' }
  }
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status, text: Buffer.concat(chunks).toString() }
}

const withIds = everyPath.filter(
  ({ path, access }) => path.includes('{') && access !== 'webhook' && access !== 'public',
)

test('every path with an id has a fixture here, or is known to be shared', () => {
  const roots = new Set(withIds.map(rootOf))
  const missing = [...roots].filter(root => !(root in fixtures) && !shared.includes(root))
  assert.deepEqual(missing, [], 'write a fixture that makes such an object for an owner')
  for (const root of [...Object.keys(fixtures), ...shared]) assert.ok(roots.has(root), `${root} is no path any more`)
})

/** Routes that refuse what the service cannot do, or not with that object, once it is known to be the caller's. */
const impossible = new Set([
  'dialect_sessions.add_resource',
  'dialect_sessions.remove_resource',
  'openai.cancelResponse',
  'a2a.extended_card',
  'skill_folders.remove_version',
  'memory_versions.redact',
  'session_threads.archive',
])

/** Clients of A2A name their version in each request. */
const headersOf = ({ path, consumes }: Route): Readonly<Record<string, string>> => {
  if (consumes === 'multipart/form-data') return { 'content-type': 'multipart/form-data; boundary=x' }
  return path.startsWith('/a2a/') ? { 'a2a-version': '1.0' } : {}
}

for (const route of withIds.filter(route => !shared.includes(rootOf(route)))) {
  test(`S10: ${route.method} ${route.path} of another owner is 404 as if it were not there, and changes nothing`, async () => {
    const make = fixtures[rootOf(route)]
    assert.ok(make, `no fixture for ${rootOf(route)}`)
    const values = await make(route.path)
    const owner = route.access === 'admin' ? adasAdmin : ada
    assert.ok(!route.body || bodies[route.id], `give ${route.id} a body that passes its checks`)
    const line = lineOf(route, values)
    const before = await everyRow()

    const headers = headersOf(route)
    const [name = '', value = ''] = Object.entries(values)[0] ?? []
    const nothing = lineOf(route, { ...values, [name]: 'nothing_1' })
    for (const [who, stranger] of strangersOf(route)) {
      const body = await bodyOf(route, stranger)
      const answer = await ask(stranger, line, { headers, body })
      const isRefused = stranger === viewer && !(route.isRead ?? route.method === 'GET')
      assert.equal(answer.status, isRefused ? 403 : 404, `${who}: ${line}: ${answer.text}`)
      const missing = await ask(stranger, nothing, { headers, body })
      assert.equal(missing.status, answer.status, who)
      assert.equal(anyRequest(answer.text.replaceAll(value, 'nothing_1')), anyRequest(missing.text), who)
      assert.ok(!answer.text.includes(canary), who)
    }
    assert.deepEqual(await changedSince(before), [])

    const owned = await ask(owner, line, { headers, body: await bodyOf(route, owner) })
    // 409: the session is busy, which only those learn who may see it.
    const isExpected = owned.status < 300 || owned.status === 409 || (owned.status === 400 && impossible.has(route.id))
    assert.ok(isExpected, `its owner gets ${owned.status} for ${line}: ${owned.text}`)
  })
}

const lists = allRoutes.filter(
  ({ path, method, access }) => !path.includes('{') && method === 'GET' && access !== 'public',
)

test('S10: no list shows anything of another owner, whatever is asked for', async () => {
  const ids = [await newAgent(), await newSession()]
  for (const [path, make] of Object.entries(fixtures))
    ids.push(...Object.values(await make(path)).filter(id => id.length > 8))
  const filters = [
    '',
    '?owner_id=ada',
    `?agent_id=${ids[0]}`,
    `?session_id=${ids[1]}`,
    '?principal=ada',
    '?include_revoked=true',
  ]
  for (const route of lists) {
    for (const [who, stranger] of strangersOf(route))
      for (const filter of filters) {
        const { status, text } = await ask(stranger, `GET ${route.path}${filter}`, {})
        const asked = `${who}: ${route.path}${filter}`
        // 400 and 403: such a filter is not for this caller.
        assert.ok([200, 400, 403].includes(status), `${asked}: ${status} ${text}`)
        for (const mark of [...ids, canary]) assert.ok(!text.includes(mark), `${asked} shows ${mark}`)
      }
  }
})

test('S09: a scoped key makes nothing for another owner, nor out of anything of theirs', async () => {
  const agent = await newAgent()
  const bobs = await idOf(bob, 'POST /api/agents', { name: 'Mine', owner_id: 'bob' })
  const skill = await idOf(ada, 'POST /api/v1/skills', { name: canary, content: canary })
  const adasPlace = await idOf(ada, 'POST /v1/environments', { name: canary })
  const bobsPlace = await idOf(bob, 'POST /v1/environments', { name: 'Mine' })
  const { dataset_id } = await newDataset()
  const bobsDataset = await idOf(bob, 'POST /api/datasets', { name: 'Mine' })
  await send(bob, `POST /api/datasets/${bobsDataset}/cases`, { body: { cases: [{ prompts: ['Mine'] }] } })
  const before = await everyRow()
  for (const [target, line, body, status] of [
    [bob, 'POST /session', { agent }, 404],
    [bob, 'POST /v1/sessions', { agent, environment_id: bobsPlace }, 404],
    [bob, 'POST /v1/sessions', { agent: bobs, environment_id: adasPlace }, 404],
    [bob, 'POST /api/deliveries', { agent_id: agent, payload: {} }, 404],
    [bob, `POST /api/v1/managed_agents/agents/${bobs}/skill`, { skill_id: skill }, 404],
    [bob, 'POST /api/experiments', { dataset_id, agent_id: bobs }, 404],
    [bob, 'POST /api/experiments', { dataset_id: bobsDataset, agent_id: agent }, 404],
    ...Object.values({ ...strangers, ...strangersAmongAdmins })
      .filter(target => target !== viewer)
      .flatMap(
        target =>
          [
            [target, 'POST /api/agents', { name: 'Mine', owner_id: 'ada' }, 403],
            [target, 'POST /session', { agent_id: agent }, 404],
          ] as const,
      ),
    [viewer, 'POST /session', {}, 403],
    [bobsAdmin, 'POST /api/keys', { owner_id: 'ada' }, 403],
    [bobsAdmin, 'POST /api/keys', { owner_id: null }, 403],
  ] as const) {
    const answer = await send(target, line, { body })
    assert.equal(answer.status, status, `${line} ${JSON.stringify(body)}: ${answer.text}`)
  }
  assert.deepEqual(await changedSince(before), [])
})

test('S10: what a scoped key makes belongs to its owner, whichever of their keys made it', async () => {
  const id = await idOf(ada, 'POST /session', {})
  assert.equal((await send(adasAdmin, `GET /session/${id}`)).status, 200)
  assert.equal((await send(bob, `GET /session/${id}`)).status, 404)
})

test('S10: a key with a label only works on the agents and sessions of every owner', async () => {
  const anyone = await holderOf(service, { label: 'anyone' })
  const session = await newSession()
  assert.equal((await send(anyone, `GET /session/${session}`)).status, 200)
  assert.equal((await send(anyone, `DELETE /session/${session}`)).status, 200)
})

test('S10: an agent that was given away is not taken back by making an earlier version current', async () => {
  const agent = await newAgent()
  await send(service, `PATCH /api/agents/${agent}`, { body: { name: 'Given', owner_id: 'bob' } })
  const back = await send(bob, `POST /api/agents/${agent}/versions/1/rollback`)
  assert.deepEqual([back.status, back.json()['owner_id'], back.json()['name']], [200, 'bob', canary])
})

test('S19: a ticket only opens the stream of its session', async () => {
  const [hers, his] = [await newSession(), await idOf(bob, 'POST /session', {})]
  const issued = await send(bob, `POST /v1/sessions/${his}/events/tickets`)
  const { ticket } = issued.json<{ ticket: string }>()
  const stranger = { url: service.url }
  assert.equal((await ask(stranger, `GET /v1/sessions/${hers}/events/stream?ticket=${ticket}`, {})).status, 401)
  assert.equal((await ask(stranger, `GET /v1/sessions/${his}/events/stream?ticket=${ticket}`, {})).status, 200)
})
