import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { WorkspaceFile } from '../../src/contract/files.ts'
import type { OpencodeMessage, Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { release, untilReleased } from '../support/sessions/released-command.ts'
import type { Answer } from '../support/upstream/scripted-answer.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service, upstream } = await startScriptedService({ models: ['scripted', 'other'] })

async function ok<T>(line: string, body?: object): Promise<T> {
  const answer = await send(service, line, body === undefined ? {} : { body })
  assert.ok(answer.status < 300, `${line}: ${answer.text}`)
  return answer.text === '' ? (undefined as T) : answer.json<T>()
}

const logOf = async (id: string) =>
  (await ok<{ data: SessionEvent[] }>(`GET /v1/sessions/${id}/events?limit=1000`)).data
const ask = (id: string, text: string) =>
  ok<void>(`POST /session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
const fork = (id: string, body: object) => ok<Session>(`POST /session/${id}/fork`, body)

/** Lets the session answer as scripted; returns the results of its tools. */
async function run(id: string, ...answers: readonly Answer[]): Promise<SessionEvent[]> {
  const before = (await logOf(id)).length
  await ask(id, saying(...answers, { text: 'Done.' }))
  const log = await eventually(async () => {
    const now = (await logOf(id)).slice(before)
    return now.some(({ type }) => type === 'session.status_idle') && now
  })
  return log.filter(({ type }) => type === 'agent.tool_result')
}

async function pathsOf(id: string, query = ''): Promise<string[]> {
  return (await ok<{ data: WorkspaceFile[] }>(`GET /api/sessions/${id}/files${query}`)).data.map(({ path }) => path)
}

const textOf = (event: SessionEvent | undefined): string =>
  ((event?.content ?? []) as { readonly text?: string }[]).map(({ text = '' }) => text).join('')

test('a fork between two file writes has the first file and not the second, and continues by itself', async () => {
  const { id } = await ok<Session>('POST /session', { title: 'Original' })
  const [first, second] = await run(id, bash('echo one > one.txt'), bash('echo two > two.txt'))
  const forked = await fork(id, { event_id: first?.id })
  assert.deepEqual(forked.forked_from, { session_id: id, seq: first?.seq })
  assert.deepEqual([forked.title, forked.status, forked.agent_id], ['Original (fork)', 'idle', ''])
  assert.deepEqual(await pathsOf(forked.id), ['one.txt'])
  assert.deepEqual(await pathsOf(forked.id, '?at=start'), ['one.txt'])
  assert.deepEqual(await pathsOf(forked.id, `?at=${first?.id}`), ['one.txt'])
  const log = await logOf(forked.id)
  assert.deepEqual(
    log.map(({ seq }) => seq),
    log.map((_, at) => at + 1),
  )
  assert.deepEqual(log.slice(0, first?.seq), (await logOf(id)).slice(0, first?.seq))
  assert.deepEqual(
    log.slice(first?.seq).map(({ type }) => type),
    ['session.status_idle', 'session.forked'],
  )
  assert.ok(!JSON.stringify(log).includes(second?.id ?? ''))

  const [seen] = await run(forked.id, bash('ls; echo three > three.txt'))
  assert.equal(textOf(seen).trim(), 'one.txt')
  const request = upstream.requests.at(-1)?.rawBody.toString() ?? ''
  assert.equal(request.split('"type":"tool_use"').length - 1, 2, 'the conversation continues from the first call')
  assert.deepEqual(await pathsOf(id), ['one.txt', 'two.txt'])
  assert.deepEqual(await pathsOf(forked.id), ['one.txt', 'three.txt'])
  assert.equal((await ok<Session>(`GET /session/${id}`)).forked_from, null)

  const twice = await fork(forked.id, {})
  assert.deepEqual(await pathsOf(twice.id), ['one.txt', 'three.txt'])
  await ok(`DELETE /session/${id}`)
  await ok(`DELETE /session/${forked.id}`)
  assert.equal(textOf((await run(twice.id, bash('cat one.txt three.txt')))[0]).trim(), 'one\nthree')
})

test('an event inside a step means the last whole step before it', async () => {
  const { id } = await ok<Session>('POST /session', {})
  const both = [bash('echo a > a.txt'), bash('echo b > b.txt')].flatMap(({ tool_calls = [] }) => tool_calls)
  const [first] = await run(id, { text: 'Both at once.', tool_calls: both })
  const log = await logOf(id)
  const said = log.find(({ type }) => type === 'agent.message')
  const start = log.find(({ type }) => type === 'span.model_request_start')
  assert.deepEqual((await fork(id, { event_id: said?.id })).forked_from?.seq, (start?.seq ?? 0) - 1)
  const { id: half } = await fork(id, { event_id: first?.id })
  assert.deepEqual(await pathsOf(half), ['a.txt'])
  const results = (await logOf(half)).filter(({ type }) => type === 'agent.tool_result').map(textOf)
  assert.match(results[1] ?? '', /not run: the session was forked/)
  assert.equal(textOf((await run(half, bash('ls')))[0]).trim(), 'a.txt')
})

test('opencode forks before a message', async () => {
  const { id } = await ok<Session>('POST /session', {})
  await run(id, bash('echo 1 > 1.txt'))
  await run(id, bash('echo 2 > 2.txt'))
  const messages = await ok<OpencodeMessage[]>(`GET /session/${id}/message`)
  const [, , second] = messages
  const { id: before } = await fork(id, { messageID: second?.info['id'] })
  assert.equal((await ok<OpencodeMessage[]>(`GET /session/${before}/message`)).length, 2)
  assert.deepEqual(await pathsOf(before), ['1.txt'])
  const { id: unanswered } = await fork(id, { messageID: messages[3]?.info['id'] })
  assert.deepEqual(await pathsOf(unanswered), ['1.txt'])
})

test('a fork can run on another agent, version and model', async () => {
  const agent = await ok<Agent>('POST /api/agents', {
    name: 'One',
    owner_id: 'ada',
    model: 'scripted',
    system: 'You are ONE.',
  })
  await ok(`PATCH /api/agents/${agent.id}`, { name: 'One', owner_id: 'ada', system: 'You are TWO.' })
  const { id } = await ok<Session>('POST /session', { agent_id: agent.id, agent_version: 1 })
  await run(id, { text: 'Hello.' })
  const same = await fork(id, { title: 'Again' })
  assert.deepEqual([same.agent_version, same.title], [1, 'Again'])
  const next = await fork(id, { version: 2, model: 'other' })
  assert.equal(next.agent_version, 2)
  const content = [{ type: 'text', text: saying({ text: 'Hi.' }) }]
  await ok(`POST /v1/sessions/${next.id}/events`, { events: [{ type: 'user.message', content }] })
  const asked = await eventually(() => upstream.requests.find(({ rawBody }) => rawBody.includes('You are TWO.')))
  assert.equal(asked.body['model'], 'other')
  assert.ok(asked.rawBody.includes('Hello.'))
  const bobs = await ok<Agent>('POST /api/agents', { name: 'Two', owner_id: 'bob', model: 'scripted' })
  const refused = await send(service, `POST /session/${id}/fork`, { body: { agent_id: bobs.id } })
  assert.deepEqual([refused.status, /agent_id/.test(refused.text)], [400, true])
})

test('a fork of a running session leaves its run alone, and repeats are one', async () => {
  const { id } = await ok<Session>('POST /session', {})
  await ask(id, saying(bash('echo x > x.txt'), bash(`${untilReleased}; echo y > y.txt`), { text: 'Done.' }))
  await eventually(
    async () => (await logOf(id)).filter(({ type }) => type === 'agent.tool_use').length === 2 || undefined,
  )
  await ask(id, 'waits')
  const headers = { 'idempotency-key': 'once' }
  const answers = await Promise.all([1, 2].map(() => send(service, `POST /session/${id}/fork`, { body: {}, headers })))
  const [one, other] = answers.map(answer => answer.json<Session>().id)
  assert.equal(one, other)
  assert.deepEqual(await pathsOf(one ?? ''), ['x.txt'])
  const closing = (await logOf(one ?? '')).slice(-4).map(({ type }) => type)
  assert.deepEqual(closing, ['agent.tool_result', 'session.prompt_ended', 'session.status_idle', 'session.forked'])
  await release(service, id)
  await eventually(async () => (await pathsOf(id)).join() === 'x.txt,y.txt' || undefined)
})

test('what names nothing is rejected', async () => {
  const { id } = await ok<Session>('POST /session', {})
  const cases = [
    [{ event_id: 'evt_nothing' }, 404, 'event evt_nothing not found'],
    [{ messageID: 'msg_nothing' }, 404, 'message msg_nothing not found'],
    [{ event_id: 'a', messageID: 'b' }, 400, 'mutually exclusive'],
    [{ runtime: 'nothing' }, 400, 'runtime'],
  ] as const
  for (const [body, status, text] of cases) {
    const answer = await send(service, `POST /session/${id}/fork`, { body })
    assert.equal(answer.status, status, answer.text)
    assert.ok(answer.text.includes(text), answer.text)
  }
  assert.deepEqual(await pathsOf((await fork(id, {})).id), [])
})
