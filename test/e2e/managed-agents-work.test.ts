import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import AnthropicV1, { toFile } from '@anthropic-ai/sdk'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { AnsweredMessage } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { legacyScript, sendJson, startScriptedUpstream as startMcp, tool } from '../support/mcp/scripted-upstream.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { configFor } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const token = 'tok-secret-of-the-wiki-1234'
const wiki = await startMcp(
  (
    (script: ReturnType<typeof legacyScript>): typeof script =>
    (request, response) =>
      request.headers.authorization === `Bearer ${token}`
        ? script(request, response)
        : sendJson(response, { error: 'who are you' }, 401)
  )(legacyScript(() => [tool('look_up')])),
)

/** Answers of the agent and of the grader, in order. */
const script: { work: Answer[]; grades: string[] } = { work: [], grades: [] }
const models = await startScriptedUpstream({
  script: ({ body }) => {
    const isGrader = JSON.stringify(body['system'] ?? '').includes('You are a grader')
    return (isGrader ? { text: script.grades.shift() ?? '' } : script.work.shift()) ?? {}
  },
})
after(() => models.stop())
const service = await startService({
  config: configFor(models).replace('"allow":[', `"allow":[${JSON.stringify(new URL(wiki.url).host)},`),
})
const { url: baseURL, key: apiKey } = service
const client = new AnthropicV1({ baseURL, apiKey, maxRetries: 0 })
const { agents, environments, memoryStores, sessions, vaults } = client.beta
const stranger = new AnthropicV1({
  baseURL,
  apiKey: (await holderOf(service, { owner_id: 'other' })).key,
  maxRetries: 0,
})

const verdict = (result: string, explanation: string) => JSON.stringify({ result, explanation })
const environment = await environments.create({ name: 'Here' })

/** A session of a new agent. */
async function newSession(agentFields: object = {}, fields: object = {}) {
  const agent = await agents.create({ name: 'Ada', model: 'scripted', ...agentFields })
  return sessions.create({ agent: agent.id, environment_id: environment.id, ...fields })
}

/** Follows a session from its start to the end of its run. */
async function eventsOf(id: string): Promise<SessionEvent[]> {
  const seen: SessionEvent[] = []
  for await (const event of await sessions.events.stream(id, {}, { query: { after: '0' } })) {
    seen.push(event as unknown as SessionEvent)
    if (event.type === 'session.status_idle') break
  }
  return seen
}
const message = (text: string) => ({ type: 'user.message' as const, content: [{ type: 'text' as const, text }] })
const ofType = <T extends SessionEvent['type']>(events: readonly SessionEvent[], type: T) =>
  events.filter((event): event is Extract<SessionEvent, { type: T }> => event.type === type)

test('an outcome: the grader asks for a revision and is then satisfied, in one run', async () => {
  script.work = [{ text: 'Two lines.' }, { text: 'Three lines.' }]
  script.grades = [verdict('needs_revision', 'only two lines'), verdict('satisfied', 'three lines')]
  const session = await newSession()
  const sent = await sessions.events.send(session.id, {
    events: [
      {
        type: 'user.define_outcome',
        description: 'Write a haiku',
        rubric: { type: 'text', content: '- Has three lines' },
        max_iterations: 5,
      },
    ],
  })
  const [defined, ...more] = sent.data ?? []
  assert.ok(defined?.type === 'user.define_outcome' && defined.outcome_id.startsWith('outc_'))
  assert.deepEqual([more, defined.max_iterations, defined.rubric.type], [[], 5, 'text'])
  const events = await eventsOf(session.id)
  const ends = ofType(events, 'span.outcome_evaluation_end')
  assert.deepEqual(
    ends.map(({ outcome_id, iteration, result, explanation }) => [outcome_id, iteration, result, explanation]),
    [
      [defined.outcome_id, 0, 'needs_revision', 'only two lines'],
      [defined.outcome_id, 1, 'satisfied', 'three lines'],
    ],
  )
  assert.deepEqual(
    ends.map(({ outcome_evaluation_start_id: id }) => id),
    ofType(events, 'span.outcome_evaluation_start').map(({ id }) => id),
  )
  assert.ok(ofType(events, 'span.outcome_evaluation_ongoing').length >= 2)
  const { outcome_evaluations: shown } = await sessions.retrieve(session.id)
  assert.deepEqual(
    shown.map(({ outcome_id, result, iteration, explanation, completed_at }) => [
      outcome_id,
      result,
      iteration,
      explanation,
      typeof completed_at,
    ]),
    [[defined.outcome_id, 'satisfied', 1, 'three lines', 'string']],
  )
  // The grader is booked to the session like the agent.
  await eventually(async () => {
    const { calls } = (await send(service, `GET /api/usage/calls?session_id=${session.id}`)).json<{
      calls: unknown[]
    }>()
    return calls.length === 4
  })
})

test('an outcome in initial_events, whose grader has the last word', async () => {
  script.work = [{ text: 'Nothing.' }, { text: 'It lacks a file.' }]
  script.grades = [verdict('needs_revision', 'no file')]
  const rubric = { type: 'text' as const, content: '- There is a file' }
  const initial_events = [{ type: 'user.define_outcome' as const, description: 'A file', rubric, max_iterations: 1 }]
  const session = await newSession({}, { initial_events })
  const events = await eventsOf(session.id)
  assert.equal(events.at(-1)?.outcome?.result, 'max_iterations_reached')
  assert.equal(ofType(events, 'agent.message').length, 2)
  assert.equal((await sessions.retrieve(session.id)).outcome_evaluations[0]?.result, 'max_iterations_reached')
})

test('our own prompts take an outcome; its result is in the answer and on the prompt', async () => {
  script.work = [{ text: 'Done.' }]
  script.grades = ['no verdict', 'no verdict either']
  const { id } = await newSession()
  const outcome = { rubric: '- Is done', max_iterations: 2, model: 'scripted' }
  const body = { parts: [{ type: 'text', text: 'Do it' }], outcome }
  const answer = await send(service, `POST /session/${id}/message`, { body })
  assert.equal(answer.status, 200, answer.text)
  assert.equal(answer.json<AnsweredMessage>().outcome?.result, 'failed')
  const { data } = (await send(service, `GET /session/${id}/prompts`)).json<{ data: Prompt[] }>()
  const [prompt] = data
  assert.deepEqual(
    [prompt?.outcome?.description, prompt?.outcome?.model, prompt?.outcome?.result, prompt?.state],
    ['Do it', 'scripted', 'failed', 'done'],
  )
  for (const [fields, words] of [
    [{ outcome: { rubric: ' ' } }, /outcome\.rubric/],
    [{ outcome: { ...outcome, max_iterations: 21 } }, /outcome\.max_iterations/],
    [{ outcome, mode: 'steer' }, /outcome cannot be combined with mode/],
  ] as const) {
    const refused = await send(service, `POST /session/${id}/message`, { body: { ...body, ...fields } })
    assert.equal(refused.status, 400)
    assert.match(refused.text, words)
  }
})

test('a runtime that evaluates no outcomes rejects one, and names what else it does not use', async () => {
  const harness = {
    alias: 'lab',
    api_spec: 'claude_managed_agents',
    api_base: 'https://lab.example.com',
    api_key: 'sk-lab-1',
  }
  assert.equal((await send(service, 'POST /api/runtime-harnesses', { body: harness })).status, 200)
  const { id } = (await send(service, 'POST /session', { body: { runtime: 'lab' } })).json<{ id: string }>()
  const body = { parts: [{ type: 'text', text: 'Do it' }], outcome: { rubric: '- Is done' } }
  const refused = await send(service, `POST /session/${id}/message`, { body })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /outcome is not supported by runtime lab \(outcomes is false\)/)

  const metadata = { switchyard_runtime: 'lab' }
  const rubric = { type: 'text' as const, content: '- Is done' }
  const initial_events = [{ type: 'user.define_outcome' as const, description: 'Do it', rubric }]
  await assert.rejects(
    newSession({}, { metadata, initial_events }),
    /initial_events\[0\] is not supported by runtime lab/,
  )
  const [store, vault] = [await memoryStores.create({ name: 'Lab' }), await vaults.create({ display_name: 'Lab' })]
  const agent = await agents.create({ name: 'Ada', model: 'scripted' })
  const made = await send(service, 'POST /v1/sessions', {
    body: {
      agent: agent.id,
      environment_id: environment.id,
      metadata,
      vault_ids: [vault.id],
      resources: [{ type: 'memory_store', memory_store_id: store.id }],
    },
  })
  assert.equal(made.status, 200, made.text)
  assert.match(String(made.headers['x-switchyard-ignored']), /vault_ids.*resources\[0\]/)
})

test('a vault gives the MCP servers of a session its credential, which never comes back', async () => {
  const vault = await vaults.create({ display_name: 'Wiki', metadata: { team: 'red' } })
  const auth = { type: 'static_bearer' as const, token, mcp_server_url: `${wiki.url}/mcp` }
  const made = await vaults.credentials.create(vault.id, { display_name: 'Reader', auth })
  assert.deepEqual(made.auth, { type: 'static_bearer', mcp_server_url: `${wiki.url}/mcp` })
  const texts = [
    JSON.stringify(made),
    JSON.stringify(await vaults.credentials.retrieve(made.id, { vault_id: vault.id })),
    (await send(service, `GET /v1/vaults/${vault.id}/credentials`)).text,
    (await send(service, 'GET /api/vault')).text,
    (await send(service, 'GET /api/audit?limit=200')).text,
  ]
  for (const text of texts) assert.ok(!text.includes(token))

  const { ConflictError, NotFoundError, BadRequestError } = AnthropicV1
  const validate = async (auth: { token: string; mcp_server_url: string }) => {
    const own = await vaults.create({ display_name: 'Tried' })
    const { id } = await vaults.credentials.create(own.id, { auth: { type: 'static_bearer', ...auth } })
    const found = await vaults.credentials.mcpOAuthValidate(id, { vault_id: own.id })
    await assert.rejects(stranger.beta.vaults.credentials.mcpOAuthValidate(id, { vault_id: own.id }), NotFoundError)
    await vaults.credentials.archive(id, { vault_id: own.id })
    const { status } = await vaults.credentials.mcpOAuthValidate(id, { vault_id: own.id })
    assert.equal(status, 'invalid', 'its secret is deleted')
    return [found.status, found.mcp_probe?.http_response?.status_code, found.refresh?.status]
  }
  assert.deepEqual(await validate(auth), ['valid', undefined, undefined])
  assert.deepEqual(await validate({ ...auth, token: 'wrong' }), ['invalid', 401, 'no_refresh_token'])
  const nowhere = { token, mcp_server_url: 'http://127.0.0.1:1/mcp' }
  assert.deepEqual(await validate(nowhere), ['unknown', undefined, undefined])
  await assert.rejects(vaults.credentials.create(vault.id, { auth }), ConflictError)
  await assert.rejects(stranger.beta.vaults.retrieve(vault.id), NotFoundError)
  const variable = { type: 'environment_variable', secret_name: 'A', secret_value: 'b', networking: {} }
  await assert.rejects(vaults.credentials.create(vault.id, { auth: variable } as never), /auth\.type/)
  const refreshed = { type: 'mcp_oauth', access_token: 'a', mcp_server_url: 'https://wiki.example', refresh: { a: 1 } }
  await assert.rejects(vaults.credentials.create(vault.id, { auth: refreshed } as never), /auth\.refresh/)

  const named = {
    mcp_servers: [{ type: 'url' as const, name: 'wiki', url: `${wiki.url}/mcp` }],
    tools: [{ type: 'mcp_toolset' as const, mcp_server_name: 'wiki' }],
  }
  script.work = [{ tool_calls: [{ name: 'wiki__look_up', input: {} }] }, { text: 'Found.' }]
  const fields = { vault_ids: [vault.id], initial_events: [message('Look it up')] }
  const session = await newSession(named, fields)
  assert.deepEqual(session.vault_ids, [vault.id])
  const events = await eventsOf(session.id)
  assert.deepEqual(
    ofType(events, 'agent.mcp_tool_result').map(({ is_error: isError }) => isError ?? false),
    [false],
  )
  assert.ok(!JSON.stringify(events).includes(token))

  // Another session has no credential, and an archived vault none to give.
  script.work = [{ text: 'No tools.' }]
  const without = await newSession(named, { initial_events: [message('Look it up')] })
  assert.ok(ofType(await eventsOf(without.id), 'session.warning').length > 0)
  const archived = await vaults.archive(vault.id)
  assert.equal(typeof archived.archived_at, 'string')
  await assert.rejects(newSession({}, { vault_ids: [vault.id] }), BadRequestError)
  assert.deepEqual(await vaults.delete(vault.id), { id: vault.id, type: 'vault_deleted' })
  const { keys } = (await send(service, 'GET /api/vault')).json<{ keys: { key: string }[] }>()
  assert.ok(!keys.some(({ key }) => key === made.id))
})

test('an uploaded file is a resource of a session, and another one is the rubric of its outcome', async () => {
  const upload = async (name: string, content: string) =>
    client.beta.files.upload({ file: await toFile(Buffer.from(content), name, { type: 'text/plain' }) })
  const [data, rubric] = [await upload('data.csv', 'a,b\n1,2\n'), await upload('rubric.md', '- Names both columns')]
  script.work = [{ tool_calls: [{ name: 'bash', input: { command: 'cat inputs/data.csv' } }] }, { text: 'a and b' }]
  script.grades = [verdict('satisfied', 'names both')]
  const session = await newSession(
    { tools: [{ type: 'agent_toolset_20260401' }] },
    {
      resources: [{ type: 'file', file_id: data.id, mount_path: '/workspace/inputs/data.csv' }],
      initial_events: [
        {
          type: 'user.define_outcome',
          description: 'Name the columns of inputs/data.csv',
          rubric: { type: 'file', file_id: rubric.id },
        },
      ],
    },
  )
  const events = await eventsOf(session.id)
  assert.match(JSON.stringify(ofType(events, 'agent.tool_result')), /a,b/)
  const [defined] = ofType(events, 'user.define_outcome')
  assert.deepEqual(defined?.rubric, { type: 'text', content: '- Names both columns' })
  assert.equal(events.at(-1)?.outcome?.result, 'satisfied')

  const added = await sessions.resources.add(session.id, { type: 'file', file_id: data.id })
  assert.equal(added.mount_path, `/workspace/uploads/${data.id}/data.csv`)
  const listed: string[] = []
  for await (const each of sessions.resources.list(session.id)) listed.push(each.type)
  assert.deepEqual(listed, ['file', 'file'])
  const { status } = await send(service, `GET /api/sessions/${session.id}/files/uploads/${data.id}/data.csv`)
  assert.equal(status, 200)
  await sessions.resources.delete(added.id, { session_id: session.id })
  await assert.rejects(sessions.resources.retrieve(added.id, { session_id: session.id }), AnthropicV1.NotFoundError)

  const { BadRequestError } = AnthropicV1
  const outside = { type: 'file' as const, file_id: data.id, mount_path: '/etc/passwd' }
  await assert.rejects(newSession({}, { resources: [outside] }), /resources\[0\]\.mount_path must begin with/)
  await assert.rejects(stranger.beta.sessions.resources.add(session.id, outside), AnthropicV1.NotFoundError)
  const binary = await client.beta.files.upload({ file: await toFile(Buffer.from([0xff, 0xfe, 0]), 'x.bin') })
  const unreadable = {
    type: 'user.define_outcome' as const,
    description: 'x',
    rubric: { type: 'file' as const, file_id: binary.id },
  }
  await assert.rejects(sessions.events.send(session.id, { events: [unreadable] }), BadRequestError)
})

test('a deployment is made, changed, run, paused and archived; its sessions name it', async () => {
  const { deployments, deploymentRuns } = client.beta
  const agent = await agents.create({ name: 'Ada', model: 'scripted' })
  const made = await deployments.create({
    name: 'Morning report',
    agent: agent.id,
    environment_id: environment.id,
    initial_events: [message('Report')],
    schedule: { type: 'cron', expression: '30 9 * * 1-5', timezone: 'Europe/Berlin' },
  })
  assert.deepEqual(
    [made.type, made.agent, made.status],
    ['deployment', { id: agent.id, type: 'agent', version: 1 }, 'active'],
  )
  assert.equal(made.schedule?.upcoming_runs_at?.length, 5)
  assert.deepEqual(await deployments.retrieve(made.id), made)

  script.work = [{ text: 'Reported.' }]
  const run = await deployments.run(made.id)
  assert.deepEqual(
    [run.type, run.deployment_id, run.error, run.trigger_context],
    ['deployment_run', made.id, null, { type: 'manual' }],
  )
  assert.deepEqual(await deploymentRuns.retrieve(run.id), run)
  const session = await sessions.retrieve(run.session_id ?? '')
  const own = (await send(service, `GET /session/${session.id}`)).json<{ environment: Record<string, unknown> }>()
  assert.deepEqual([own.environment['source'], own.environment['deployment_id']], ['deployment', made.id])
  assert.deepEqual(
    [session.deployment_id, session.title, session.environment_id],
    [made.id, 'Morning report', environment.id],
  )
  assert.ok(ofType(await eventsOf(session.id), 'agent.message').length > 0)
  const listed = await Array.fromAsync(sessions.list({ deployment_id: made.id }))
  assert.deepEqual(
    listed.map(({ id }) => id),
    [session.id],
  )

  const { BadRequestError, NotFoundError } = AnthropicV1
  const changed = await deployments.update(made.id, { name: 'Report', schedule: null, metadata: { team: 'red' } })
  assert.deepEqual(
    [changed.name, changed.schedule, changed.metadata, changed.initial_events],
    ['Report', null, { team: 'red' }, made.initial_events],
  )
  await assert.rejects(deployments.update(made.id, { vault_ids: ['vlt_none'] }), BadRequestError)
  assert.equal((await deployments.pause(made.id)).paused_reason?.type, 'manual')
  assert.ok((await Array.fromAsync(deployments.list({ status: 'paused' }))).some(({ id }) => id === made.id))
  assert.equal((await deployments.unpause(made.id)).status, 'active')
  await assert.rejects(stranger.beta.deployments.retrieve(made.id), NotFoundError)
  assert.deepEqual((await stranger.beta.deploymentRuns.list()).data, [])

  await agents.archive(agent.id)
  assert.equal((await deployments.run(made.id)).error?.type, 'session_creation_rejected_error')
  const failed = await Array.fromAsync(deploymentRuns.list({ deployment_id: made.id, has_error: true, limit: 1 }))
  assert.equal(failed.length, 1)
  assert.ok((await deployments.archive(made.id)).archived_at)
  await assert.rejects(deployments.run(made.id), BadRequestError)
})

test('a memory store is read and written by a session that has it', async () => {
  const store = await memoryStores.create({ name: 'Team Style', description: 'How the team writes' })
  const memory = await memoryStores.memories.create(store.id, { path: '/tone.md', content: 'Be kind.' })
  assert.deepEqual([memory.type, memory.content, memory.content_size_bytes], ['memory', null, 8])
  const path = '/mnt/memory/team-style'
  script.work = [
    { tool_calls: [{ name: 'list_memory_files', input: {} }] },
    { tool_calls: [{ name: 'read_memory_file', input: { path: `${path}/tone.md` } }] },
    { tool_calls: [{ name: 'write_memory_file', input: { path: `${path}/words/short.md`, content: 'Short words.' } }] },
    { tool_calls: [{ name: 'delete_memory_file', input: { path: `${path}/none.md` } }] },
    { text: 'Saved.' },
  ]
  const resources = [{ type: 'memory_store' as const, memory_store_id: store.id, instructions: 'Read first.' }]
  const session = await newSession({}, { resources, initial_events: [message('Learn')] })
  const [resource] = session.resources
  assert.ok(resource?.type === 'memory_store')
  assert.deepEqual([resource.mount_path, resource.access, resource.name], [path, 'read_write', 'Team Style'])
  const results = ofType(await eventsOf(session.id), 'agent.tool_result')
  assert.deepEqual(
    results.map(({ content }) => JSON.stringify(content)).map(text => /"text":"(.*?)"/.exec(text)?.[1]),
    [`${path}/tone.md 8`, 'Be kind.', `saved ${path}/words/short.md`, 'memory /none.md not found'],
  )
  const system = JSON.stringify(models.requests.at(-1)?.body['system'])
  assert.ok(system.includes(`${path}/: How the team writes Read first.`))

  const found: string[] = []
  for await (const each of memoryStores.memories.list(store.id, { path_prefix: '/words/', view: 'full' }))
    if (each.type === 'memory') found.push(`${each.path} ${each.content}`)
  assert.deepEqual(found, ['/words/short.md Short words.'])

  const { ConflictError, NotFoundError, BadRequestError } = AnthropicV1
  const of = { memory_store_id: store.id }
  const stale = { type: 'content_sha256' as const, content_sha256: '0'.repeat(64) }
  await assert.rejects(
    memoryStores.memories.update(memory.id, { ...of, content: 'x', precondition: stale }),
    ConflictError,
  )
  const right = { ...stale, content_sha256: memory.content_sha256 }
  const changed = await memoryStores.memories.update(memory.id, { ...of, content: 'Be brief.', precondition: right })
  assert.notEqual(changed.memory_version_id, memory.memory_version_id)
  await assert.rejects(memoryStores.memories.create(store.id, { path: '/tone.md', content: '' }), ConflictError)
  await assert.rejects(memoryStores.memories.create(store.id, { path: '/../x', content: '' }), BadRequestError)
  await assert.rejects(stranger.beta.memoryStores.memories.list(store.id), NotFoundError)

  const { memoryVersions } = memoryStores
  const history = await Array.fromAsync(memoryVersions.list(store.id, { limit: 1, view: 'full' }))
  assert.deepEqual(
    history.map(({ operation, path, content, created_by }) => [operation, path, content, created_by?.type]),
    [
      ['modified', '/tone.md', 'Be brief.', 'api_actor'],
      ['created', '/words/short.md', 'Short words.', 'session_actor'],
      ['created', '/tone.md', 'Be kind.', 'api_actor'],
    ],
  )
  const [newest, written, oldest] = history
  assert.ok(newest && written && oldest)
  assert.deepEqual([newest.id, oldest.id], [changed.memory_version_id, memory.memory_version_id])
  assert.deepEqual((await memoryVersions.list(store.id, { session_id: session.id })).data, [
    { ...written, content: null },
  ])
  await assert.rejects(memoryVersions.redact(newest.id, of), BadRequestError)
  const redacted = await memoryVersions.redact(oldest.id, of)
  assert.deepEqual(
    [redacted.content, redacted.path, redacted.content_sha256, redacted.content_size_bytes],
    [null, null, null, null],
  )
  assert.ok(redacted.redacted_at && redacted.redacted_by?.type === 'api_actor')
  assert.deepEqual(await memoryVersions.retrieve(oldest.id, of), redacted)
  await assert.rejects(stranger.beta.memoryStores.memoryVersions.list(store.id), NotFoundError)

  await memoryStores.archive(store.id)
  await assert.rejects(memoryStores.memories.create(store.id, { path: '/new.md', content: '' }), BadRequestError)
  await assert.rejects(newSession({}, { resources }), BadRequestError)
  await memoryStores.memories.delete(memory.id, of)
  const deletions = (await memoryVersions.list(store.id, { memory_id: memory.id, operation: 'deleted' })).data
  assert.deepEqual(
    deletions.map(({ path, content_sha256 }) => [path, content_sha256]),
    [['/tone.md', null]],
  )
  await memoryStores.delete(store.id)
  await assert.rejects(memoryStores.retrieve(store.id), NotFoundError)
})
