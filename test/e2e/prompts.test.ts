import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import { endsRun, textOfContent } from '../../src/contract/events.ts'
import type { Prompt } from '../../src/contract/prompts.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { isRunning, toolRuns } from '../support/service/processes.ts'
import { type Sent, send } from '../support/service/send.ts'
import { type EventTail, followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService()
afterEach(() => upstream.release())

const post = (path: string, body?: unknown) => send(service, `POST ${path}`, body === undefined ? {} : { body })
const create = async (body: object = {}) => (await post('/session', body)).json<Session>().id
const asPrompt = (text: string, fields: object = {}) => ({
  model: { modelID: 'scripted' },
  parts: [{ type: 'text', text }],
  ...fields,
})

async function queue(id: string, text: string, fields: object = {}, headers: Sent['headers'] = {}): Promise<number> {
  const answer = await send(service, `POST /session/${id}/prompt_async`, { headers, body: asPrompt(text, fields) })
  if (answer.status === 204) assert.equal(answer.text, '')
  return answer.status
}

const promptsOf = async (id: string) =>
  (await send(service, `GET /session/${id}/prompts?limit=200`)).json<{ data: Prompt[] }>().data
const textOf = ({ parts }: Pick<Prompt, 'parts'>) => textOfContent(parts)
const states = async (id: string) => (await promptsOf(id)).map(prompt => [textOf(prompt), prompt.state])
const settled = (id: string) =>
  eventually(async () => {
    const all = await promptsOf(id)
    return all.every(({ state }) => state !== 'waiting' && state !== 'running') && all
  })

/** A session whose first prompt is in the middle of a model call, until the upstream is released. */
async function busySession(text = 'first'): Promise<{ id: string; tail: EventTail }> {
  upstream.hold()
  const before = upstream.requests.length
  const id = await create({ prompt: text })
  await upstream.received(before + 1)
  return { id, tail: await followEvents(service, id) }
}

/** The texts of the prompts in the order in which they ran, once the tail has seen the end of each. */
const orderOf = async (id: string, tail: EventTail) => {
  const all = await promptsOf(id)
  for (const prompt of all) await tail.event(event => endsRun(event) && event.prompt_id === prompt.id)
  const texts = new Map(all.map(prompt => [prompt.id, textOf(prompt)]))
  return tail.events
    .filter(({ type }) => type === 'session.status_running')
    .map(event => texts.get(String(event.prompt_id)))
}

test('prompts run one after the other in the order of their acknowledgement', async () => {
  const { id, tail } = await busySession()
  for (let at = 0; at < 10; at++) assert.equal(await queue(id, `number ${at}`), 204)
  const waiting = await promptsOf(id)
  assert.deepEqual(
    waiting.map(({ state }) => state),
    ['running', ...Array(10).fill('waiting')],
  )
  assert.deepEqual(
    waiting.map(({ position }) => position),
    [...waiting.map(({ position }) => position)].sort((a, b) => a - b),
  )
  upstream.release()
  const done = await settled(id)
  assert.ok(done.every(({ state }) => state === 'done'))
  assert.deepEqual(await orderOf(id, tail), done.map(textOf))
  tail.close()
})

test('the queue can be paged, and shows each prompt with its parts, model and time', async () => {
  const { id, tail } = await busySession()
  const parts = [
    { type: 'text', text: 'two ' },
    { type: 'text', text: 'parts' },
  ]
  await post(`/session/${id}/prompt_async`, { model: { modelID: 'demo', providerID: 'ignored' }, parts })
  const [first, second] = await promptsOf(id)
  assert.deepEqual(second?.parts, parts)
  assert.equal(second?.model, 'demo')
  assert.ok(Math.abs(Date.now() - Date.parse(second?.created_at ?? '')) < 60_000)
  const page = (await send(service, `GET /session/${id}/prompts?limit=1`)).json<{
    data: Prompt[]
    next_cursor: string
  }>()
  assert.deepEqual(page.data, [first])
  const rest = await send(service, `GET /session/${id}/prompts?limit=1&cursor=${page.next_cursor}`)
  assert.deepEqual(rest.json(), { data: [second], next_cursor: null })
  assert.equal((await send(service, 'GET /session/ses_nothing/prompts')).status, 404)
  tail.close()
})

test('a repeated messageID or Idempotency-Key is 204 and queues nothing; the key rejects another body', async () => {
  const { id, tail } = await busySession()
  const named = await Promise.all(Array.from({ length: 5 }, () => queue(id, 'named', { messageID: 'msg_of_client' })))
  assert.deepEqual(named, [204, 204, 204, 204, 204])
  assert.equal(await queue(id, 'other text', { messageID: 'msg_of_client' }), 204)
  const key = { 'idempotency-key': 'prompt-1' }
  const keyed = await Promise.all(Array.from({ length: 5 }, () => queue(id, 'keyed', {}, key)))
  assert.deepEqual(keyed, [204, 204, 204, 204, 204])
  assert.equal(await queue(id, 'other text', {}, key), 422)
  assert.deepEqual((await promptsOf(id)).map(textOf), ['first', 'named', 'keyed'])
  const other = await create()
  assert.equal(await queue(other, 'keyed', { messageID: 'msg_of_client' }, key), 204)
  assert.equal((await promptsOf(other)).length, 1)
  upstream.release()
  await settled(id)
  assert.equal(await queue(id, 'named', { messageID: 'msg_of_client' }), 204)
  assert.equal((await promptsOf(id)).length, 3)
  tail.close()
})

test('mode reject is 409 while the session is busy and queues when it is idle', async () => {
  const { id, tail } = await busySession()
  assert.equal(await queue(id, 'refused', { mode: 'reject' }), 409)
  upstream.release()
  await settled(id)
  assert.equal(await queue(id, 'taken', { mode: 'reject' }), 204)
  assert.deepEqual((await settled(id)).map(textOf), ['first', 'taken'])
  tail.close()
})

test('mode interrupt stops the running prompt and goes before those that wait', async () => {
  const { id, tail } = await busySession()
  await queue(id, 'waiting')
  assert.equal(await queue(id, 'urgent', { mode: 'interrupt' }), 204)
  await tail.event(isInterrupted)
  upstream.release()
  await settled(id)
  assert.deepEqual(await states(id), [
    ['first', 'cancelled'],
    ['urgent', 'done'],
    ['waiting', 'done'],
  ])
  assert.deepEqual(await orderOf(id, tail), ['first', 'urgent', 'waiting'])
  tail.close()
})

test('mode steer joins the running turn at its next model call', async () => {
  const id = await create({ prompt: saying(bash('sleep 1'), { text: 'both done' }) })
  const tail = await followEvents(service, id)
  await tail.event('agent.tool_use')
  assert.equal(await queue(id, 'STEER ME', { mode: 'steer' }), 204)
  await tail.event('session.status_idle')
  assert.equal(tail.events.filter(({ type }) => type === 'session.status_running').length, 1)
  assert.ok((await settled(id)).every(({ state }) => state === 'done'))
  const last = JSON.stringify(upstream.requests.at(-1)?.body['messages'])
  assert.ok(last.indexOf('tool_result') > 0 && last.indexOf('STEER ME') > last.indexOf('tool_result'))
  tail.close()
})

test('a failed prompt does not stop those behind it', async () => {
  const { id, tail } = await busySession()
  await queue(id, 'fails', { model: { modelID: 'no-such-model' } })
  await queue(id, 'goes on')
  upstream.release()
  await settled(id)
  assert.deepEqual(await states(id), [
    ['first', 'done'],
    ['fails', 'error'],
    ['goes on', 'done'],
  ])
  tail.close()
})

test('100 prompts may wait in a session; the next is 429 with Retry-After, and none of the 100 is lost', async () => {
  const { id, tail } = await busySession()
  const taken = await Promise.all(Array.from({ length: 100 }, (_, at) => queue(id, `waiting ${at}`)))
  assert.ok(taken.every(status => status === 204))
  const refused = await post(`/session/${id}/prompt_async`, asPrompt('one too many'))
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  assert.equal((await promptsOf(id)).length, 101)
  assert.equal((await send(service, `DELETE /session/${id}`)).status, 200)
  tail.close()
})

test('a waiting prompt can be withdrawn; one that runs or ran is 409, an unknown one 404', async () => {
  const { id, tail } = await busySession()
  await queue(id, 'withdrawn')
  await queue(id, 'kept')
  const [running, waiting] = await promptsOf(id)
  const withdraw = (promptId = '') => send(service, `DELETE /session/${id}/prompts/${promptId}`)
  assert.equal((await withdraw(running?.id)).status, 409)
  const gone = await withdraw(waiting?.id)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  assert.equal((await withdraw(waiting?.id)).status, 409)
  assert.equal((await withdraw('msg_nothing')).status, 404)
  upstream.release()
  await settled(id)
  assert.deepEqual(await states(id), [
    ['first', 'done'],
    ['withdrawn', 'cancelled'],
    ['kept', 'done'],
  ])
  assert.ok(!JSON.stringify(upstream.requests.at(-1)?.body).includes('withdrawn'))
  tail.close()
})

const isInterrupted = (event: SessionEvent) =>
  event.type === 'session.status_idle' && (event.stop_details as { type?: string } | null)?.type === 'interrupted'

for (const verb of ['abort', 'interrupt'] as const) {
  const seconds = verb === 'abort' ? '619.41' : '631.43'

  test(`${verb} in the middle of a command ends it; the prompts that wait continue`, async () => {
    const id = await create({ prompt: saying(bash(`sleep ${seconds}`), { text: 'never said' }) })
    await queue(id, 'waiting')
    const tail = await followEvents(service, id)
    await tail.event('agent.tool_use')
    await eventually(() => toolRuns(`sleep ${seconds}`))
    const answer = await post(`/session/${id}/${verb}`)
    assert.deepEqual([answer.status, answer.text], verb === 'abort' ? [200, 'true'] : [204, ''])
    await tail.event(isInterrupted)
    await eventually(() => !isRunning(`sleep ${seconds}`), { what: 'the end of the command' })
    const [first, second] = await settled(id)
    assert.deepEqual([first?.state, second?.state], ['cancelled', 'done'])
    assert.ok(tail.events.some(({ type }) => type === 'user.interrupt'))
    tail.close()
  })

  test(`${verb} in the middle of a model call ends it, upstream too; the prompts that wait continue`, async () => {
    const { id, tail } = await busySession()
    await queue(id, 'waiting')
    const cutOff = upstream.requests.at(-1)
    await post(`/session/${id}/${verb}`)
    await tail.event(isInterrupted)
    await cutOff?.closed
    upstream.release()
    const [first, second] = await settled(id)
    assert.deepEqual([first?.state, second?.state], ['cancelled', 'done'])
    tail.close()
  })
}

test('abort of an idle session changes nothing', async () => {
  const id = await create({ prompt: 'first' })
  await settled(id)
  const before = (await send(service, `GET /v1/sessions/${id}/events`)).text
  assert.equal((await post(`/session/${id}/abort`)).text, 'true')
  assert.equal((await post(`/session/${id}/interrupt`)).status, 204)
  assert.equal((await send(service, `GET /v1/sessions/${id}/events`)).text, before)
  assert.equal(await queue(id, 'second'), 204)
  assert.ok((await settled(id)).every(({ state }) => state === 'done'))
})

test('after an interrupt the conversation continues, with every tool call answered', async () => {
  const id = await create({ prompt: saying({ ...bash('sleep 641.47'), text: 'Working.' }, { text: 'never said' }) })
  const tail = await followEvents(service, id)
  await tail.event('agent.tool_use')
  await eventually(() => toolRuns('sleep 641.47'))
  await post(`/session/${id}/interrupt`)
  await tail.event(isInterrupted)
  await queue(id, 'what next?')
  await settled(id)
  const messages = upstream.requests.at(-1)?.body['messages'] as { role: string; content: { type: string }[] }[]
  assert.deepEqual(
    messages.map(({ role }) => role),
    ['user', 'assistant', 'user'],
  )
  assert.deepEqual(
    messages.map(({ content }) => content.map(({ type }) => type)),
    [['text'], ['text', 'tool_use'], ['tool_result', 'text']],
  )
  tail.close()
})

test('the system prompt of a prompt replaces that of its agent, for this prompt alone', async () => {
  const agent = await post('/api/agents', { name: 'Ada', owner_id: 'team', system: 'AGENT SYSTEM' })
  const id = await create({ agent: agent.json<{ id: string }>().id })
  await queue(id, 'one', { system: 'PROMPT SYSTEM' })
  await queue(id, 'two')
  await settled(id)
  const [one, two] = upstream.requests.slice(-2).map(({ body }) => JSON.stringify(body['system']))
  assert.match(one ?? '', /PROMPT SYSTEM/)
  assert.doesNotMatch(one ?? '', /AGENT SYSTEM/)
  assert.match(two ?? '', /AGENT SYSTEM/)
})

test('prompt_async is 401 without a key and changes nothing', async () => {
  const id = await create()
  const answer = await send({ url: service.url }, `POST /session/${id}/prompt_async`, { body: asPrompt('hello') })
  assert.equal(answer.status, 401)
  assert.deepEqual(await promptsOf(id), [])
})
