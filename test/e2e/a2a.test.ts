import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { Approval } from '../../src/contract/approvals.ts'
import type { Session } from '../../src/contract/sessions.ts'
import {
  a2aClient,
  applied,
  type Binding,
  type Frame,
  messageOf,
  resultOf,
  stateNames,
  type Task,
} from '../support/a2a/a2a-client.ts'
import { notBehindProxy } from '../support/contract/contract-tests.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { freePort } from '../support/service/free-port.ts'
import { type Sent, send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl } = await freshDatabase()
const options = { databaseUrl, config: configFor(upstream), port: await freePort() }
let service = await startService(options)
after(async () => {
  await service.stop()
  await upstream.stop()
})
const nameOf = await stateNames()
const bob = await holderOf(service, { owner_id: 'bob' })
const bindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

async function ok<T>(line: string, body?: unknown): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.status} ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}
async function newAgent(a2a: unknown = { enabled: true }, more: object = {}): Promise<string> {
  const config = { config: { a2a } }
  const fields = { name: 'Scribe', owner_id: 'ada', model: 'scripted', description: 'Writes notes', ...config, ...more }
  return (await ok<Agent>('POST /api/agents', fields)).id
}
const asking = {
  tools: [{ type: 'agent_toolset_20260401', default_config: { permission_policy: { type: 'always_ask' } } }],
}
const agent = await newAgent()
const careful = await newAgent({ enabled: true }, asking)
const stateOf = ({ status }: Pick<Task, 'status'>) => nameOf(status?.state)
const mayI = (command: string) => saying({ text: 'May I?', ...bash(command) }, { text: 'All done.' })

interface RpcAnswer {
  readonly id: unknown
  readonly result?: { readonly task?: Task } & Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data: readonly { reason: string }[] }
}
const v1 = { 'a2a-version': '1.0' }
const post = (target: Target, body: unknown, headers: Sent['headers'] = v1, to = agent) =>
  send(target, `POST /a2a/${to}`, { headers, body })
async function rpc(method: string, params: unknown = {}, to = agent): Promise<RpcAnswer> {
  const answer = await post(service, { jsonrpc: '2.0', id: 7, method, params }, v1, to)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<RpcAnswer>()
}
const wire = (text: string, more: object = {}, configuration: object = {}) => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more },
  configuration,
})

async function collected(frames: AsyncIterable<Frame>): Promise<{ states: string[]; texts: string; first: unknown }> {
  const states: string[] = []
  let artifacts: Task['artifacts'] = []
  let first: unknown
  for await (const { payload } of frames) {
    first ??= payload?.$case
    if (payload?.$case === 'task') artifacts = payload.value.artifacts
    if (payload?.$case === 'artifactUpdate') artifacts = applied(artifacts, payload.value)
    else if (payload) states.push(stateOf(payload.value))
  }
  return { states, texts: resultOf({ artifacts }), first }
}

test('an agent is served only while config.a2a.enabled is true, and only to those who may see it', async () => {
  const card = (id: string) => `GET /a2a/${id}/.well-known/agent-card.json`
  for (const off of [null, {}, { enabled: false, public_card: true }]) {
    const id = await newAgent(off)
    assert.equal((await send(service, card(id))).status, 404)
    assert.equal((await send({ url: service.url }, card(id))).status, 401)
    const call = await post(service, { jsonrpc: '2.0', id: 1, method: 'ListTasks' }, v1, id)
    assert.deepEqual([call.status, call.json<RpcAnswer>().error?.message], [404, `agent ${id} not found`])
    assert.equal((await send(service, `GET /a2a/${id}/tasks`, { headers: v1 })).status, 404)
  }
  assert.equal((await send(bob, card(agent))).status, 404)
  assert.equal((await post(bob, { jsonrpc: '2.0', id: 1, method: 'ListTasks' })).status, 404)
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [{ enabled: 'yes' }, /config\.a2a\.enabled must be true or false/],
    [{ enabled: true, public: true }, /config\.a2a\.public is unknown; known fields: enabled, public_card/],
    [true, /config\.a2a must be an object/],
  ]
  for (const [a2a, message] of wrong) {
    const body = { name: 'x', owner_id: 'ada', config: { a2a } }
    assert.match((await send(service, 'POST /api/agents', { body })).text, message)
  }
})

test('the card names the agent, its skills, both bindings and the keys; it needs a key unless it is public', {
  skip: notBehindProxy('the card has the address of the service'),
}, async () => {
  const line = (id: string) => `GET /a2a/${id}/.well-known/agent-card.json`
  await ok(`POST /api/v1/managed_agents/agents/${agent}/skill`, { name: 'Terse', content: 'Be terse.' })
  assert.equal((await send({ url: service.url }, line(agent))).status, 401)
  const answer = await send(service, line(agent))
  const card = answer.json<Record<string, unknown> & { skills: { name: string }[] }>()
  assert.deepEqual([card['name'], card['description'], card['version']], ['Scribe', 'Writes notes', '2'])
  assert.deepEqual(
    card['supportedInterfaces'],
    bindings.map(protocolBinding => ({ url: `${service.url}/a2a/${agent}`, protocolBinding, protocolVersion: '1.0' })),
  )
  assert.deepEqual(card['capabilities'], { streaming: true, pushNotifications: true, extendedAgentCard: false })
  assert.deepEqual(
    card.skills.map(({ name }) => name),
    ['Scribe', 'Terse'],
  )
  assert.deepEqual(Object.keys(card['securitySchemes'] as object), ['bearer', 'apiKey'])
  assert.equal(answer.headers['cache-control'], 'private, max-age=60')
  const { etag = '' } = answer.headers
  assert.equal((await send(service, line(agent), { headers: { 'if-none-match': etag } })).status, 304)

  const open = await newAgent({ enabled: true, public_card: true })
  assert.equal((await send({ url: service.url }, line(open))).status, 200)
  const call = await post({ url: service.url }, { jsonrpc: '2.0', id: 1, method: 'ListTasks' }, v1, open)
  assert.equal(call.status, 401, 'only the card is public')
})

for (const binding of bindings) {
  const client = await a2aClient(service, agent, binding)
  const carefulClient = await a2aClient(service, careful, binding)

  test(`${binding}: a message is a task of a session, and the next one of its context continues there`, async () => {
    const first = messageOf(saying({ text: 'Noted.' }))
    const task = await client.sendMessage(first)
    assert.deepEqual([stateOf(task), resultOf(task)], ['COMPLETED', 'Noted.'])
    assert.equal(task.history[0]?.messageId, first.message.messageId)
    assert.deepEqual(await client.getTask({ id: task.id }), task)
    assert.deepEqual((await client.getTask({ id: task.id, historyLength: 0 })).history, [])
    const again = await client.sendMessage(first)
    assert.equal(again.id, task.id, 'a repeated message gets the same task')

    const second = await client.sendMessage(messageOf(saying({ text: 'Again.' }), { contextId: task.contextId }))
    assert.deepEqual([second.contextId, stateOf(second), resultOf(second)], [task.contextId, 'COMPLETED', 'Again.'])
    assert.notEqual(second.id, task.id)
    const { agent_id } = await ok<Session>(`GET /session/${task.contextId}`)
    assert.equal(agent_id, agent)
    const prompts = await ok<{ data: { id: string }[] }>(`GET /session/${task.contextId}/prompts`)
    assert.deepEqual(
      prompts.data.map(({ id }) => id),
      [task.id, second.id],
    )
    const failed = await client.sendMessage(messageOf(saying({ status: 400 }), { contextId: task.contextId }))
    assert.equal(stateOf(failed), 'FAILED')
    assert.ok(failed.status?.message)

    const page = (pageToken: string) =>
      client.listTasks({ contextId: task.contextId, status: 0, pageSize: 2, pageToken, tenant: '' })
    const newest = await page('')
    assert.deepEqual([newest.totalSize, newest.tasks.map(({ id }) => id)], [3, [failed.id, second.id]])
    assert.deepEqual(
      newest.tasks.flatMap(({ artifacts, history }) => [...artifacts, ...history]),
      [],
    )
    const oldest = await page(newest.nextPageToken)
    assert.deepEqual([oldest.nextPageToken, oldest.tasks.map(({ id }) => id)], ['', [task.id]])
    const filter = { contextId: task.contextId, status: 4, includeArtifacts: true, historyLength: 1, tenant: '' }
    const [only] = (await client.listTasks(filter)).tasks
    assert.deepEqual([only?.id, only && stateOf(only), only?.history.length], [failed.id, 'FAILED', 1])
  })

  test(`${binding}: a stream begins with the task and ends with its state; a second reader gets the same`, async () => {
    const { states, texts, first } = await collected(client.sendMessageStream(messageOf(saying({ text: 'One.' }))))
    assert.equal(first, 'task')
    assert.deepEqual([states.at(-1), texts], ['COMPLETED', 'One.'])

    const slow = saying({ text: 'First.', ...bash('sleep 3') }, { text: 'Second.' })
    const task = await client.sendMessage(messageOf(slow, {}, { returnImmediately: true }))
    assert.ok(['SUBMITTED', 'WORKING'].includes(stateOf(task)))
    const readers = await Promise.all([1, 2].map(() => collected(client.resubscribeTask({ id: task.id }))))
    for (const reader of readers) assert.equal(reader.states.at(-1), 'COMPLETED')
    assert.match(resultOf(await client.getTask({ id: task.id })), /First\.\nSecond\./)
    await assert.rejects(collected(client.resubscribeTask({ id: task.id })), /has ended/)
  })

  test(`${binding}: a pending approval is a question; the message that answers it continues the task`, async () => {
    const asked = await carefulClient.sendMessage(messageOf(mayI('echo asked-run')))
    assert.equal(stateOf(asked), 'INPUT_REQUIRED')
    assert.match(JSON.stringify(asked.status?.message?.parts), /bash.*echo asked-run/)
    const [listed] = (await carefulClient.listTasks({ status: 6, tenant: '' })).tasks
    assert.deepEqual([listed?.id, listed && stateOf(listed)], [asked.id, 'INPUT_REQUIRED'])
    const at = { taskId: asked.id, contextId: asked.contextId }
    await assert.rejects(carefulClient.sendMessage(messageOf('go on', at)), /must be the text "approve"/)
    const elsewhere = { taskId: asked.id, contextId: 'ses_other' }
    await assert.rejects(carefulClient.sendMessage(messageOf('approve', elsewhere)), /contextId must be that of task/)

    const done = await carefulClient.sendMessage(messageOf('approve', at))
    assert.deepEqual([done.id, stateOf(done), resultOf(done)], [asked.id, 'COMPLETED', 'May I?\nAll done.'])
    await assert.rejects(carefulClient.sendMessage(messageOf('approve', at)), /has ended/)

    const { states } = await collected(carefulClient.sendMessageStream(messageOf(mayI('echo x'))))
    assert.equal(states.at(-1), 'INPUT_REQUIRED', 'the stream ends with the question')
    const [open] = (await carefulClient.listTasks({ status: 6, tenant: '' })).tasks
    const denied = await carefulClient.sendMessage(messageOf('deny: not today', { taskId: open?.id }))
    assert.equal(stateOf(denied), 'COMPLETED')
    const log = await ok(`GET /v1/sessions/${open?.contextId}/events?types=agent.tool_result`)
    assert.match(JSON.stringify(log), /not today/)
  })

  test(`${binding}: cancel stops a running, a waiting and an asking task, and no other`, async () => {
    const now = { returnImmediately: true }
    const running = await client.sendMessage(messageOf(saying(bash('sleep 60'), { text: 'Late.' }), {}, now))
    const { contextId } = running
    const waiting = await client.sendMessage(messageOf(saying({ text: 'Second.' }), { contextId }, now))
    const last = await client.sendMessage(messageOf(saying({ text: 'Last.' }), { contextId }, now))
    assert.equal(stateOf(await client.cancelTask({ id: waiting.id })), 'CANCELED')
    await eventually(async () => stateOf(await client.getTask({ id: running.id })) === 'WORKING')
    assert.equal(stateOf(await client.cancelTask({ id: running.id })), 'CANCELED')
    await eventually(async () => resultOf(await client.getTask({ id: last.id })) === 'Last.')
    await assert.rejects(client.cancelTask({ id: running.id }), /cannot be canceled/)

    const asked = await carefulClient.sendMessage(messageOf(mayI('echo no')))
    assert.equal(stateOf(await carefulClient.cancelTask({ id: asked.id })), 'CANCELED')
    const { approvals } = await ok<{ approvals: Approval[] }>(`GET /api/approvals?session_id=${asked.contextId}`)
    assert.equal(approvals[0]?.state, 'cancelled')
  })
}

test('a frozen task needs an admin, and continues when the freeze is lifted', async () => {
  const client = await a2aClient(service, await newAgent({ enabled: true }, { owner_id: 'frozen' }), 'HTTP+JSON')
  const { id } = await ok<{ id: string }>('PUT /v1/freezes', { owner: 'frozen' })
  const task = await client.sendMessage(messageOf(saying({ text: 'Thawed.' })))
  assert.equal(stateOf(task), 'AUTH_REQUIRED')
  assert.match(JSON.stringify(task.status?.message?.parts), /frozen/)
  const [listed] = (await client.listTasks({ status: 8, tenant: '' })).tasks
  assert.deepEqual([listed?.id, listed && stateOf(listed)], [task.id, 'AUTH_REQUIRED'])
  await ok(`DELETE /v1/freezes/${id}`)
  await eventually(async () => resultOf(await client.getTask({ id: task.id })) === 'Thawed.')
})

test('errors have the codes of A2A and of JSON-RPC, and the same reasons in both bindings', async () => {
  const done = (await rpc('SendMessage', wire(saying({ text: 'x' })))).result?.task
  const paused = await newAgent()
  await ok(`POST /api/agents/${paused}/pause`)
  const message = wire('x')
  const rest = (verb: string, body: unknown, to = agent) =>
    send(service, `POST /a2a/${to}/${verb}`, {
      headers: { ...v1, 'content-type': 'application/a2a+json' },
      body: JSON.stringify(body),
    })
  const get = (path: string) => send(service, `GET /a2a/${agent}/${path}`, { headers: v1 })
  type Case = readonly [
    code: number,
    reason: string | undefined,
    call: Promise<RpcAnswer>,
    rest?: ReturnType<typeof get>,
  ]
  const push = { taskId: done?.id, id: 'config_1' }
  const cases: readonly Case[] = [
    [-32001, 'TASK_NOT_FOUND', rpc('GetTask', { id: 'msg_nothing' }), get('tasks/msg_nothing')],
    [
      -32001,
      'TASK_NOT_FOUND',
      rpc('SendMessage', wire('x', { taskId: 'msg_no' })),
      rest('message:send', wire('x', { taskId: 'msg_no' })),
    ],
    [-32001, 'TASK_NOT_FOUND', rpc('GetTask', { id: done?.id }, careful)],
    [-32002, 'TASK_NOT_CANCELABLE', rpc('CancelTask', { id: done?.id }), rest(`tasks/${done?.id}:cancel`, {})],
    [
      -32001,
      'TASK_NOT_FOUND',
      rpc('GetTaskPushNotificationConfig', push),
      get(`tasks/${done?.id}/pushNotificationConfigs/config_1`),
    ],
    [
      -32602,
      undefined,
      rpc('CreateTaskPushNotificationConfig', { ...push, url: 'https://10.0.0.1/' }),
      rest(`tasks/${done?.id}/pushNotificationConfigs`, { url: 'https://10.0.0.1/' }),
    ],
    [-32602, undefined, rpc('CreateTaskPushNotificationConfig', push)],
    [-32004, 'UNSUPPORTED_OPERATION', rpc('SubscribeToTask', { id: done?.id }), get(`tasks/${done?.id}:subscribe`)],
    [
      -32004,
      'UNSUPPORTED_OPERATION',
      rpc('SendMessage', wire('x', { taskId: done?.id })),
      rest('message:send', wire('x', { taskId: done?.id })),
    ],
    [-32004, 'UNSUPPORTED_OPERATION', rpc('SendMessage', message, paused), rest('message:send', message, paused)],
    [-32004, 'UNSUPPORTED_OPERATION', rpc('GetExtendedAgentCard'), get('extendedAgentCard')],
    [
      -32005,
      'CONTENT_TYPE_NOT_SUPPORTED',
      rpc('SendMessage', wire('x', { parts: [{ url: 'https://x.test' }] })),
      rest('message:stream', wire('x', { parts: [{ text: 'x', mediaType: 'image/png' }] })),
    ],
    [-32602, undefined, rpc('SendMessage', { message: {} }), rest('message:send', { message: {} })],
    [
      -32602,
      undefined,
      rpc('SendMessage', wire('x', { contextId: 'ses_no' })),
      rest('message:send', wire('x', { contextId: 'ses_no' })),
    ],
    [-32602, undefined, rpc('ListTasks', { pageSize: 101 }), get('tasks?pageSize=101')],
    [-32602, undefined, rpc('ListTasks', { pageToken: 'bm8' }), get('tasks?pageToken=bm8')],
    [-32601, undefined, rpc('message/send', message)],
    [-32601, undefined, rpc('constructor', message)],
  ]
  for (const [code, reason, called, asked] of cases) {
    const { id, error } = await called
    assert.deepEqual([id, error?.code, error?.data[0]?.reason], [7, code, reason], error?.message)
    const answer = await asked
    if (!answer) continue
    const failure = answer.json<{ error: { code: number; message: string; details: { reason: string }[] } }>().error
    assert.equal(answer.status, reason === 'TASK_NOT_FOUND' ? 404 : 400, answer.text)
    assert.deepEqual([failure.code, failure.details[0]?.reason], [answer.status, reason])
  }
  const broken = await post(service, '{"jsonrpc":', { ...v1, 'content-type': 'application/json' })
  assert.deepEqual(
    [broken.status, broken.json<RpcAnswer>().id, broken.json<RpcAnswer>().error?.code],
    [200, null, -32700],
  )
  for (const body of [[], { id: 1, method: 'GetTask' }, { jsonrpc: '2.0', id: {}, method: 'GetTask' }])
    assert.equal((await post(service, body)).json<RpcAnswer>().error?.code, -32600)
})

test('the version is that of the header or the query; without one it is 0.3, which is not supported', async () => {
  const list = { jsonrpc: '2.0', id: 1, method: 'ListTasks' }
  for (const headers of [{}, { 'a2a-version': '' }, { 'a2a-version': '0.3' }, { 'a2a-version': '1.1' }]) {
    const { error } = (await post(service, list, headers)).json<RpcAnswer>()
    assert.deepEqual([error?.code, error?.data[0]?.reason], [-32009, 'VERSION_NOT_SUPPORTED'])
    const answer = await send(service, `GET /a2a/${agent}/tasks`, { headers })
    assert.match(answer.text, /VERSION_NOT_SUPPORTED.*"supportedVersions":"1\.0"/)
  }
  for (const version of ['1.0', '1.0.2']) {
    const answer = await send(service, `GET /a2a/${agent}/tasks?A2A-Version=${version}`)
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers['content-type'] ?? '', /^application\/a2a\+json/)
  }
})

test('the same message id with another text is rejected in a context, and starts a new one outside of it', async () => {
  const messageId = crypto.randomUUID()
  const first = (await rpc('SendMessage', wire(saying({ text: 'x' }), { messageId }))).result?.task
  const other = await rpc('SendMessage', wire('y', { messageId, contextId: first?.contextId }))
  assert.match(other.error?.message ?? '', /messageId was used for another message/)
  const outside = (await rpc('SendMessage', wire(saying({ text: 'y' }), { messageId }))).result?.task
  assert.notEqual(outside?.contextId, first?.contextId)
})

test('tasks survive a restart: a finished one is the same, and a question can still be answered', {
  skip: notBehindProxy('clients follow the address in the card, which must stay'),
}, async () => {
  const client = await a2aClient(service, careful, 'JSONRPC')
  const asked = await client.sendMessage(messageOf(mayI('echo later')))
  const ended = (await client.listTasks({ status: 3, includeArtifacts: true, tenant: '' })).tasks[0] ?? assert.fail()
  const before = await client.getTask({ id: ended.id })
  await service.stop()
  service = await startService(options)
  assert.deepEqual(await client.getTask({ id: ended.id }), before)
  assert.deepEqual(await client.getTask({ id: asked.id }), asked)
  const done = await client.sendMessage(messageOf('approve', { taskId: asked.id }))
  assert.deepEqual([stateOf(done), resultOf(done)], ['COMPLETED', 'May I?\nAll done.'])
})
