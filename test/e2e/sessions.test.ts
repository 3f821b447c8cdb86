import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import type { Agent } from '../../src/contract/agents.ts'
import type { ManagedSession, OpencodeMessage, Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { lack } from '../support/service/lack.ts'
import { isRunning, toolRuns } from '../support/service/processes.ts'
import { send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService({ models: ['scripted', 'other'] })

const post = (path: string, body?: unknown) => send(service, `POST ${path}`, body === undefined ? {} : { body })
const get = (path: string) => send(service, `GET ${path}`)
const managed = '/api/v1/managed_agents/sessions'

async function create(body: object = {}): Promise<Session> {
  const answer = await post('/session', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Session>()
}
async function createAgent(fields: object = {}): Promise<Agent> {
  return (await post('/api/agents', { name: 'Ada', owner_id: 'team', ...fields })).json<Agent>()
}
const prompt = (text: string, model = 'scripted') => ({ model: { modelID: model }, parts: [{ type: 'text', text }] })
const statusOf = async (id: string) => (await get(`/session/${id}`)).json<Session>().status
const idle = (id: string) => eventually(async () => (await statusOf(id)) === 'idle', { what: 'the idle session' })

/** The states of a session's prompts, which no route shows once it is deleted. */
async function storedStates(id: string): Promise<string[]> {
  const client = new Client({ connectionString: service.databaseUrl })
  await client.connect()
  try {
    const text = 'select state from prompts where session_id = $1 order by position'
    return (await client.query<{ state: string }>(text, [id])).rows.map(({ state }) => state)
  } finally {
    await client.end()
  }
}

test('tools run in bubblewrap: with any other sandbox these tests would prove little', {
  skip: lack('bubblewrap'),
}, () => {
  const reason = 'bubblewrap does not work on this machine: install it, and allow it to make namespaces'
  assert.match(service.logs(), /"driver":"bubblewrap"/, reason)
})

test('POST /session with {} or without a body is 200 with every field of the record', async () => {
  for (const body of [{}, undefined]) {
    const answer = await post('/session', body)
    assert.equal(answer.status, 200)
    const { id, time, ...rest } = answer.json<Session>()
    assert.match(id, /^ses_/)
    assert.ok(Math.abs(Date.now() - time.created) < 60_000 && time.updated >= time.created)
    assert.deepEqual(rest, {
      title: 'New session',
      agent: '',
      agent_id: '',
      agent_version: null,
      harness: 'builtin',
      runtime: 'builtin',
      runtime_agent_ref_id: null,
      provider_session_id: null,
      provider_run_id: null,
      status: 'idle',
      environment: {},
      metadata: {},
      timezone: null,
      forked_from: null,
      parent_session_id: null,
      slug: id,
      projectID: 'global',
      directory: '/workspace',
      version: '0.1.0',
    })
    assert.equal((await get(`/session/${id}`)).text, answer.text)
  }
})

test('with a prompt the session starts at once and becomes idle when it is done', async () => {
  const session = await create({ prompt: 'hello there' })
  assert.ok(['pending', 'running'].includes(session.status), session.status)
  assert.equal(session.title, 'hello there')
  await idle(session.id)
  const messages = (await get(`/session/${session.id}/message`)).json<OpencodeMessage[]>()
  assert.deepEqual(
    messages.map(({ info }) => info['role']),
    ['user', 'assistant'],
  )
})

test('the title is the given one, else 80 characters of the prompt on one line, else "New session"', async () => {
  assert.equal((await create({ title: 'Mine', prompt: 'hello' })).title, 'Mine')
  assert.equal((await create({ title: '  ', prompt: ' a\n b ' })).title, 'a b')
  assert.equal((await create({ prompt: '😀'.repeat(90) })).title, '😀'.repeat(80))
  assert.equal((await create({ title: '' })).title, 'New session')
  assert.equal((await post('/session', { title: 'x'.repeat(201) })).status, 400)
})

test('an agent is named by agent or agent_id, which wins; a harness alias replaces it', async () => {
  const agent = await createAgent({ harness: 'builtin', model: 'other' })
  for (const body of [{ agent: agent.id }, { agent_id: agent.id }, { agent_id: agent.id, agent: 'builtin' }]) {
    const session = await create(body)
    assert.deepEqual([session.agent, session.agent_id, session.agent_version], [agent.id, agent.id, 1])
  }
  const alias = await create({ agent: 'builtin' })
  assert.deepEqual([alias.agent, alias.agent_id, alias.runtime], ['builtin', '', 'builtin'])
  for (const body of [{ agent: 'agent_nothing' }, { agent_id: 'agent_nothing' }, { agent_id: 'builtin' }]) {
    const answer = await post('/session', body)
    assert.equal(answer.status, 404, JSON.stringify(body))
    assert.deepEqual(answer.json(), {
      error: { type: 'gateway_error', message: `agent ${Object.values(body)[0]} not found` },
    })
  }
})

test('the model of an initial prompt is that of the body, the environment, the agent, the configuration', async () => {
  const agent_id = (await createAgent({ model: 'other' })).id
  const modelUsed = async (body: object) => {
    const { id } = await create({ ...body, prompt: 'hello' })
    await idle(id)
    return upstream.requests.at(-1)?.body['model']
  }
  assert.equal(await modelUsed({}), 'scripted')
  assert.equal(await modelUsed({ agent_id }), 'other')
  assert.equal(await modelUsed({ agent_id, environment: { model: 'scripted' } }), 'scripted')
  assert.equal(await modelUsed({ agent_id, environment: { model: 'other' }, model: 'scripted' }), 'scripted')
})

test('a paused agent is 409; an unknown runtime, a wrong time zone and a blank repository are 400', async () => {
  const { id } = await createAgent()
  await post(`/api/agents/${id}/pause`)
  assert.equal((await post('/session', { agent: id })).status, 409)
  for (const [body, named] of [
    [{ runtime: 'nope' }, /runtime "nope"/],
    [{ timezone: 'Mars/Olympus' }, /^timezone "Mars/],
    [{ tz: 'Mars/Olympus' }, /^tz "Mars/],
    [{ tz: '+02:00' }, /^tz/],
    [{ timezone: 'Mars/Olympus', tz: 'Europe/Paris' }, /^timezone/],
    [{ environment: { repository: '  ' } }, /environment\.repository/],
    [{ environment: { repository: 7 } }, /environment\.repository/],
  ] as const) {
    const answer = await post('/session', body)
    assert.equal(answer.status, 400, JSON.stringify(body))
    assert.match(answer.json<{ error: { message: string } }>().error.message, named)
  }
})

test('timezone wins over tz, and the environment is kept as sent', async () => {
  assert.equal((await create({ timezone: 'Europe/Paris', tz: 'Asia/Tokyo' })).timezone, 'Europe/Paris')
  assert.equal((await create({ tz: 'Asia/Tokyo' })).timezone, 'Asia/Tokyo')
  const environment = {
    repository: 'https://example.org/r.git',
    ref: 'main',
    auto_create_pr: true,
    own: { deep: [1, null] },
  }
  const { id } = await create({ environment })
  assert.deepEqual((await get(`/session/${id}`)).json<Session>().environment, environment)
})

test('an Idempotency-Key makes one session with one prompt', async () => {
  const headers = { 'idempotency-key': 'session-1' }
  const body = { title: 'once', prompt: 'hello' }
  const answers = await Promise.all(Array.from({ length: 4 }, () => send(service, 'POST /session', { headers, body })))
  const ids = new Set(answers.map(answer => answer.json<Session>().id))
  assert.equal(ids.size, 1)
  const [id = ''] = ids
  await idle(id)
  assert.equal((await get(`/session/${id}/prompts`)).json<{ data: unknown[] }>().data.length, 1)
  const other = await send(service, 'POST /session', { headers, body: { ...body, title: 'other' } })
  assert.equal(other.status, 422)
})

test('GET /session pages newest first with x-next-cursor, and filters by agent and status', async () => {
  const agent_id = (await createAgent()).id
  const made: string[] = []
  for (let count = 0; count < 5; count++) made.unshift((await create({ agent_id })).id)
  const failed = await create({ agent_id, prompt: 'hello', model: 'no-such-model' })
  await eventually(async () => (await statusOf(failed.id)) === 'error', { what: 'the failed session' })

  for (const path of ['/session', managed]) {
    const seen: string[] = []
    let cursor = ''
    do {
      const answer = await get(`${path}?agent_id=${agent_id}&limit=4${cursor}`)
      const body = answer.json<Session[] | { data: Session[]; next_cursor: string | null }>()
      const next = Array.isArray(body) ? answer.headers['x-next-cursor'] : body.next_cursor
      seen.push(...(Array.isArray(body) ? body : body.data).map(({ id }) => id))
      cursor = next ? `&cursor=${next}` : ''
    } while (cursor !== '')
    assert.deepEqual(seen, [failed.id, ...made], path)
  }
  const byStatus = async (status: string) =>
    (await get(`/session?agent_id=${agent_id}&status=${status}`)).json<Session[]>().map(({ id }) => id)
  assert.deepEqual(await byStatus('error'), [failed.id])
  assert.deepEqual(await byStatus('idle'), made)
  assert.deepEqual(await byStatus('running'), [])
  assert.deepEqual((await get('/session?agent_id=agent_nothing')).json(), [])
  assert.equal((await get('/session?limit=1&directory=/x')).json<Session[]>().length, 1)
})

test('an unknown model fails the run by name, and a later prompt runs', async () => {
  const { id } = await create({ prompt: 'hello', model: 'no-such-model' })
  const tail = await followEvents(service, id)
  const error = await tail.event('session.error')
  assert.match(JSON.stringify(error['error']), /no-such-model/)
  assert.equal((await get(`/session/${id}`)).json<Session>().status, 'error')
  assert.equal((await post(`/session/${id}/prompt_async`, prompt('hello'))).status, 204)
  await tail.event('session.status_idle')
  tail.close()
  await idle(id)
})

test('GET …/message shows the conversation with tools; POST …/message waits for the answer', async () => {
  const { id } = await create()
  const text = saying({ ...bash('echo one; exit 3'), text: 'Let me see.' }, { text: 'Seen.' })
  const answer = (await post(`/session/${id}/message`, prompt(text))).json<OpencodeMessage>()
  const [user, assistant] = (await get(`/session/${id}/message`)).json<OpencodeMessage[]>()
  assert.deepEqual(assistant, answer)
  assert.deepEqual(
    user?.parts.map(part => [part['type'], part['text']]),
    [['text', text]],
  )
  const { id: messageId, time, tokens, ...info } = answer.info
  assert.match(String(messageId), /^msg_/)
  assert.deepEqual(info, {
    sessionID: id,
    role: 'assistant',
    parentID: user?.info['id'],
    modelID: 'scripted',
    providerID: 'switchyard',
    mode: 'build',
    agent: 'builtin',
    path: { cwd: '/workspace', root: '/workspace' },
    cost: 0,
    finish: 'stop',
  })
  assert.deepEqual(tokens, { input: 50, output: 20, reasoning: 0, cache: { read: 0, write: 0 } })
  assert.ok((time as { completed: number }).completed >= (time as { created: number }).created)
  assert.deepEqual(
    answer.parts.map(part => part['type']),
    ['text', 'tool', 'text'],
  )
  const state = answer.parts[1]?.['state'] as Record<string, unknown>
  assert.equal(state['status'], 'error')
  assert.match(String(state['error']), /one\n\[exit code 3\]/)
  for (const part of answer.parts) {
    assert.match(String(part['id']), /^prt_/)
    assert.deepEqual([part['sessionID'], part['messageID']], [id, messageId])
  }
  assert.equal((await get(`/session/${id}/message?limit=1`)).json<OpencodeMessage[]>()[0]?.info['role'], 'assistant')
  assert.equal((await get('/session/ses_nothing/message')).status, 404)
  assert.equal((await post('/session/ses_nothing/message', prompt('hello'))).status, 404)
})

test('sandbox_status and the workspace folder follow the life of the sandbox', async () => {
  const { id } = await create()
  const look = async () => (await get(`${managed}/${id}`)).json<ManagedSession>()
  assert.equal((await look()).sandbox_status, 'none')
  await post(`/session/${id}/prompt_async`, prompt(saying(bash('echo kept > file; sleep 0.5'), { text: 'done' })))
  await eventually(async () => (await look()).sandbox_status === 'running', { what: 'the running sandbox' })
  await eventually(async () => (await look()).sandbox_status === 'stopped', { what: 'the stopped sandbox' })
  const { workspace } = await look()
  assert.equal(workspace, join(service.dataDir, 'workspaces', id))
  assert.ok(existsSync(join(String(workspace), 'file')))
  await send(service, `DELETE ${managed}/${id}`)
  assert.deepEqual([(await look()).sandbox_status, (await look()).workspace], ['dead', null])
})

for (const [path, status] of [
  [managed, 204],
  ['/session', 200],
] as const) {
  test(`DELETE ${path}/{id} stops the work, cancels what waits, removes the files, and keeps the log`, async () => {
    const seconds = path === managed ? '613.31' : '617.37'
    const { id } = await create({ prompt: saying(bash(`touch made; sleep ${seconds}`)) })
    for (const text of ['second', 'third']) await post(`/session/${id}/prompt_async`, prompt(text))
    const tail = await followEvents(service, id)
    await tail.event('agent.tool_use')
    const folder = join(service.dataDir, 'workspaces', id)
    await eventually(() => existsSync(join(folder, 'made')) && toolRuns(`sleep ${seconds}`))

    const gone = await send(service, `DELETE ${path}/${id}`)
    assert.equal(gone.status, status)
    assert.equal(gone.text, status === 204 ? '' : 'true')
    await tail.ended
    assert.equal(tail.events.at(-1)?.type, 'session.deleted')
    assert.equal(existsSync(folder), false)
    await eventually(() => !isRunning(`sleep ${seconds}`), { what: 'the end of the command' })

    assert.equal((await get(`/session/${id}`)).status, 404)
    assert.equal((await get(`/session/${id}/prompts`)).status, 404)
    assert.equal((await send(service, `DELETE /session/${id}`)).status, 404)
    const listed = (await get('/session?limit=200')).json<Session[]>()
    assert.ok(!listed.some(session => session.id === id), '/session hides it')
    const late = await post(`/session/${id}/prompt_async`, prompt('late'))
    assert.deepEqual(
      [late.status, late.json()],
      [404, { error: { type: 'gateway_error', message: 'session not found' } }],
    )

    assert.equal((await send(service, `DELETE ${managed}/${id}`)).status, 204)
    const record = (await get(`${managed}/${id}`)).json<ManagedSession>()
    assert.deepEqual([record.id, record.status, record.sandbox_status], [id, 'idle', 'dead'])
    const { data } = (await get(`/v1/sessions/${id}/events`)).json<{ data: { type: string }[] }>()
    assert.deepEqual(data, tail.events)
    assert.equal(data.filter(({ type }) => type === 'session.deleted').length, 1)
    assert.equal(data.filter(({ type }) => type === 'session.status_running').length, 1)
    assert.deepEqual(await storedStates(id), ['cancelled', 'cancelled', 'cancelled'])
    const again = await followEvents(service, id)
    await again.ended
    assert.equal(again.text, tail.text)
  })
}

test('an unknown session is 404 with its own words and shape on each path', async () => {
  const nested = { error: { type: 'gateway_error', message: 'session ses_nothing not found' } }
  for (const line of ['GET /session/ses_nothing', 'DELETE /session/ses_nothing', 'POST /session/ses_nothing/abort']) {
    const answer = await send(service, line)
    assert.deepEqual([answer.status, answer.json()], [404, nested], line)
  }
  for (const line of [`GET ${managed}/ses_nothing`, `DELETE ${managed}/ses_nothing`]) {
    const answer = await send(service, line)
    assert.deepEqual([answer.status, answer.json()], [404, { error: 'session ses_nothing not found' }], line)
  }
  const queued = await post('/session/ses_nothing/prompt_async', prompt('hello'))
  assert.deepEqual(
    [queued.status, queued.json()],
    [404, { error: { type: 'gateway_error', message: 'session not found' } }],
  )
})
