import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { A2aStreamResponse } from '../../src/contract/a2a-objects.ts'
import type { Agent } from '../../src/contract/agents.ts'
import { a2aClient, type Binding, messageOf, stateNames } from '../support/a2a/a2a-client.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { type AnswerTo, type Received, startWebhookReceiver } from '../support/triggers/webhook-receiver.ts'
import { bash, configFor, saying } from '../support/upstream/scripted-service.ts'
import { startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const upstream = await startScriptedUpstream()
const { url: databaseUrl, pool } = await freshDatabase()
let answer: AnswerTo = () => 200
const receiver = await startWebhookReceiver((received, count) => answer(received, count))
const config = JSON.parse(configFor(upstream)) as { outbound: { allow: string[] } }
config.outbound.allow.push(receiver.host)
const options = { databaseUrl, config: JSON.stringify(config) }
let service = await startService(options)
after(async () => {
  await service.stop()
  await upstream.stop()
})
const nameOf = await stateNames()
const bindings: readonly Binding[] = ['JSONRPC', 'HTTP+JSON']

async function newAgent(): Promise<string> {
  const body = { name: 'Scribe', owner_id: 'ada', model: 'scripted', config: { a2a: { enabled: true } } }
  return (await send(service, 'POST /api/agents', { body })).json<Agent>().id
}
const agent = await newAgent()
const frameOf = ({ text }: Received): A2aStreamResponse => JSON.parse(text)
const taskIdOf = (frame: A2aStreamResponse): string =>
  'task' in frame ? frame.task.id : 'statusUpdate' in frame ? frame.statusUpdate.taskId : frame.artifactUpdate.taskId
const isOf = (id: string) => (received: Received) => taskIdOf(frameOf(received)) === id
const acceptedOf = (id: string) => receiver.accepted.filter(isOf(id))

/** The state of a frame that has one, without its prefix; `=` and the text of an artifact. */
function shown(frame: A2aStreamResponse): string {
  if ('artifactUpdate' in frame) return `=${frame.artifactUpdate.artifact.parts[0]?.text}`
  const status = 'task' in frame ? frame.task.status : frame.statusUpdate.status
  return status.state.replace('TASK_STATE_', '')
}
const untilOver = (id: string) =>
  eventually(
    () => {
      const frames = acceptedOf(id).map(frameOf)
      const last = frames.at(-1)
      return last && /COMPLETED|FAILED|CANCELED/.test(shown(last)) && frames
    },
    { what: `the end of task ${id}` },
  )
const push = (more: object = {}) => ({
  id: '',
  tenant: '',
  taskId: '',
  url: receiver.url,
  token: 'the-token',
  authentication: { scheme: 'Bearer', credentials: 'the-credentials' },
  ...more,
})
const now = { returnImmediately: true }
const firstPage = { tenant: '', pageSize: 0, pageToken: '' }

for (const binding of bindings) {
  const client = await a2aClient(service, agent, binding)

  test(`${binding}: a message with a config sends the task and all its changes, in order, with the credentials`, async () => {
    const configuration = { ...now, taskPushNotificationConfig: push() }
    const task = await client.sendMessage(
      messageOf(saying({ text: 'One.', ...bash('echo 1') }, { text: 'Two.' }), {}, configuration),
    )
    const frames = await untilOver(task.id)
    assert.ok(frames[0] && 'task' in frames[0], 'the task comes first')
    // The task has what was there when it was sent.
    const { artifacts = [] } = frames[0].task
    const before = artifacts.map(({ parts }) => `=${parts[0]?.text}`)
    const changes = frames.slice(1).map(shown)
    assert.deepEqual([...before, ...changes.filter(change => change !== 'WORKING')], ['=One.', '=Two.', 'COMPLETED'])
    for (const { headers } of acceptedOf(task.id)) {
      assert.equal(headers['content-type'], 'application/a2a+json')
      assert.equal(headers['x-a2a-notification-token'], 'the-token')
      assert.equal(headers.authorization, 'Bearer the-credentials')
    }
    const ids = acceptedOf(task.id).map(({ headers }) => headers['webhook-id'])
    assert.equal(new Set(ids).size, ids.length)
    const { configs } = await client.listTaskPushNotificationConfig({ taskId: task.id, ...firstPage })
    assert.deepEqual(
      configs.map(({ id }) => id),
      [task.id],
    )
  })

  test(`${binding}: configs are created, read, listed and deleted; their secrets are never shown`, async () => {
    const task = await client.sendMessage(messageOf(saying(bash('sleep 2'), { text: 'Late.' }), {}, now))
    const created = await client.createTaskPushNotificationConfig(push({ taskId: task.id }))
    assert.match(created.id, /^push_/)
    const named = await client.createTaskPushNotificationConfig(push({ taskId: task.id, id: 'mine' }))
    const place = { taskId: task.id, tenant: '' }
    const { configs } = await client.listTaskPushNotificationConfig({ ...place, ...firstPage })
    assert.deepEqual(configs, [created, named])
    for (const each of configs) {
      assert.deepEqual(await client.getTaskPushNotificationConfig({ ...place, id: each.id }), each)
      assert.deepEqual([each.url, each.taskId, each.token], [receiver.url, task.id, ''])
      assert.deepEqual(each.authentication, { scheme: 'Bearer', credentials: '' })
    }
    for (const _ of [1, 2]) await client.deleteTaskPushNotificationConfig({ ...place, id: created.id })
    await assert.rejects(client.getTaskPushNotificationConfig({ ...place, id: created.id }), /not found/)
    await untilOver(task.id)
    const over = acceptedOf(task.id)
      .map(frameOf)
      .filter(frame => shown(frame) === 'COMPLETED')
    assert.equal(over.length, 1, 'the deleted config gets nothing')
    for (const at of Array.from({ length: 9 }, (_, index) => index))
      await client.createTaskPushNotificationConfig(push({ taskId: task.id, id: `more${at}` }))
    await assert.rejects(
      client.createTaskPushNotificationConfig(push({ taskId: task.id })),
      /10 push notification configs, the maximum/,
    )
  })
}

test('a config for an ended task sends the whole task', async () => {
  const client = await a2aClient(service, agent, 'JSONRPC')
  const task = await client.sendMessage(messageOf(saying({ text: 'Done.' })))
  await client.createTaskPushNotificationConfig(push({ taskId: task.id }))
  const [frame, ...more] = await untilOver(task.id)
  assert.ok(frame && 'task' in frame)
  assert.deepEqual([frame.task.artifacts?.[0]?.parts[0]?.text, more], ['Done.', []])
})

test('a task and its configs are visible only to their owner', async () => {
  const bob = await holderOf(service, { owner_id: 'bob' })
  const client = await a2aClient(service, agent, 'JSONRPC')
  const task = await client.sendMessage(messageOf(saying({ text: 'x' })))
  const headers = { 'a2a-version': '1.0' }
  const path = `/a2a/${agent}/tasks/${task.id}/pushNotificationConfigs`
  for (const line of [`GET ${path}`, `GET ${path}/mine`, `DELETE ${path}/mine`])
    assert.equal((await send(bob, line, { headers })).status, 404)
  const body = JSON.stringify(push({ id: 'x' }))
  const sent = { headers: { ...headers, 'content-type': 'application/a2a+json' }, body }
  assert.equal((await send(bob, `POST ${path}`, sent)).status, 404)
})

test('addresses and texts that cannot be sent are rejected with the field', async () => {
  const client = await a2aClient(service, agent, 'HTTP+JSON')
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ url: 'https://127.0.0.1/hook' }, /taskPushNotificationConfig\.url is not allowed: .*not a public address/],
    [{ url: 'http://example.com/hook' }, /url is not allowed: .*https/],
    [{ id: 'a/b' }, /taskPushNotificationConfig\.id must have only letters/],
    [{ token: 'a\nb' }, /taskPushNotificationConfig\.token must have only printable ASCII/],
    [{ authentication: { scheme: 'a b', credentials: 'x' } }, /authentication\.scheme must be a scheme of HTTP/],
    [{ authentication: { scheme: 'Bearer', credentials: 'ä' } }, /authentication\.credentials must have only/],
  ]
  for (const [more, message] of wrong) {
    const configuration = { ...now, taskPushNotificationConfig: push(more) }
    await assert.rejects(client.sendMessage(messageOf(saying({ text: 'x' }), {}, configuration)), message)
  }
})

test('a failed notification is retried before the next; 410 stops a config, and creating it again starts it again', async () => {
  const client = await a2aClient(service, agent, 'JSONRPC')
  answer = (_, count) => (count % 2 === 0 ? 200 : 503)
  const configuration = { taskPushNotificationConfig: push() }
  const task = await client.sendMessage(messageOf(saying({ text: 'Kept.' }), {}, configuration))
  await eventually(() => receiver.requests.some(isOf(task.id)))
  answer = () => 410
  await retryNow()
  const stopped = 'select state from a2a_push_configs where task_id = $1'
  await eventually(async () => (await pool.query(stopped, [task.id])).rows[0]?.state === 'stopped')
  answer = () => 200
  await client.createTaskPushNotificationConfig(push({ taskId: task.id, id: task.id }))
  const frames = await untilOver(task.id)
  assert.ok(frames.at(-1) && 'task' in (frames.at(-1) as object), 'the whole task again')
})

test('what was committed before a crash is sent after it, and an unconfirmed notification with the same id again', async () => {
  const client = await a2aClient(service, agent, 'HTTP+JSON')
  answer = received => (shown(frameOf(received)) === 'COMPLETED' ? 'hang' : 200)
  const configuration = { ...now, taskPushNotificationConfig: push() }
  const task = await client.sendMessage(
    messageOf(saying({ text: 'Before the crash.', delayMs: 1_000 }), {}, configuration),
  )
  const ends = () => receiver.requests.filter(isOf(task.id)).filter(each => shown(frameOf(each)) === 'COMPLETED')
  await eventually(() => ends().length === 1)
  await service.kill()
  answer = () => 200
  service = await startService(options)
  await retryNow()
  const frames = await untilOver(task.id)
  assert.deepEqual(
    frames.map(shown).filter(change => /^=|COMPLETED/.test(change)),
    ['=Before the crash.', 'COMPLETED'],
  )
  const [first, second] = ends().map(({ headers }) => headers['webhook-id'])
  assert.equal(first, second)
  assert.equal(
    nameOf((await (await a2aClient(service, agent, 'JSONRPC')).getTask({ id: task.id })).status?.state),
    'COMPLETED',
  )
})

test('a revoked key ends the notifications of its configs', async () => {
  const ada = await holderOf(service, { owner_id: 'ada' })
  const client = await a2aClient(ada, agent, 'JSONRPC')
  const slow = saying(bash('sleep 3'), { text: 'Too late.' })
  const task = await client.sendMessage(messageOf(slow, {}, { ...now, taskPushNotificationConfig: push() }))
  await eventually(() => acceptedOf(task.id).length > 0)
  await pool.query('update api_keys set revoked_at = clock_timestamp() where owner_id = $1', ['ada'])
  const state = 'select state from a2a_push_configs where task_id = $1'
  await eventually(async () => (await pool.query(state, [task.id])).rows[0]?.state === 'stopped')
  assert.ok(
    !acceptedOf(task.id)
      .map(frameOf)
      .some(frame => shown(frame) === 'COMPLETED'),
  )
})

/** As if the time of the next attempt had come, and no process had a claim. */
const retryNow = () =>
  pool.query('update a2a_push_configs set ready_at = clock_timestamp(), claim = null where ready_at is not null')
