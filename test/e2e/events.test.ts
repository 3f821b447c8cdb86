import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { type SseFrame, sseReader } from '../../src/contract/sse.ts'
import { seededRandom } from '../support/service/random.ts'
import { open, type Sent, send } from '../support/service/send.ts'
import { followEvents } from '../support/sessions/event-tail.ts'
import { bash, saying, startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()
const stranger = { url: service.url }

const post = (path: string, body: unknown) => send(service, `POST ${path}`, { body })
const create = async (body: object = {}) => (await post('/session', body)).json<Session>().id
const listOf = async (id: string, query = 'limit=1000') => send(service, `GET /v1/sessions/${id}/events?${query}`)
const eventsOf = async (id: string, query?: string) =>
  (await listOf(id, query)).json<{ data: SessionEvent[]; next_page: string | null }>()
const statusOfStream = async (id: string, query = '', headers: Sent['headers'] = {}) => {
  const response = await open(service, `GET /v1/sessions/${id}/events/stream${query}`, { headers })
  response.destroy()
  return response.statusCode
}

/** A session that has done one turn with tools. */
async function doneSession(): Promise<string> {
  const id = await create({ prompt: saying(bash('echo hi'), { text: 'done' }) })
  const tail = await followEvents(service, id)
  await tail.event('session.status_idle')
  tail.close()
  return id
}

const silentId = await create()
const silent = await followEvents(service, silentId)
const openedMs = performance.now()

test('an agent with tools: its events come in order, numbered without a gap, each with its name and id', async () => {
  const agent = (await post('/api/agents', { name: 'Ada', owner_id: 'team' })).json<{ id: string }>()
  const write = { name: 'write', input: { file_path: 'notes/a.txt', content: 'from the agent\n' } }
  const prompt = saying(bash('echo hello from bash'), { tool_calls: [write] }, { text: 'All done.' })
  const id = await create({ agent_id: agent.id, prompt })
  const tail = await followEvents(service, id)
  await tail.event('session.status_idle')
  tail.close()

  assert.deepEqual(
    tail.events.map(({ type }) => type).filter(type => !type.startsWith('span.')),
    [
      'user.message',
      'session.status_running',
      'agent.tool_use',
      'agent.tool_result',
      'agent.tool_use',
      'agent.tool_result',
      'agent.message',
      'session.usage',
      'session.status_idle',
    ],
  )
  for (const [at, { id: frameId, event, data }] of tail.frames.entries()) {
    const logged = JSON.parse(data) as SessionEvent
    assert.equal(logged.seq, at + 1)
    assert.equal(frameId, String(at + 1))
    assert.equal(event, logged.type)
    assert.match(logged.id, /^evt_/)
    assert.ok(Math.abs(Date.now() - Date.parse(logged.processed_at)) < 60_000)
  }
  assert.equal(new Set(tail.events.map(event => event.id)).size, tail.events.length)
  const [bashUse, bashResult, writeUse, writeResult] = tail.events.filter(({ type }) => type.startsWith('agent.tool'))
  assert.deepEqual([bashUse?.['name'], bashUse?.['input']], ['bash', { command: 'echo hello from bash' }])
  assert.equal(bashResult?.['tool_use_id'], bashUse?.['tool_use_id'])
  assert.deepEqual(
    [bashResult?.['content'], bashResult?.['is_error']],
    [[{ type: 'text', text: 'hello from bash' }], false],
  )
  assert.deepEqual([writeUse?.['name'], writeResult?.['is_error']], ['write', false])
  assert.deepEqual(tail.events.at(-1)?.stop_reason, { type: 'end_turn' })
  assert.equal(readFileSync(join(service.dataDir, 'workspaces', id, 'notes/a.txt'), 'utf8'), 'from the agent\n')
})

test('list and stream hold the same events, byte for byte', async () => {
  const id = await doneSession()
  const tail = await followEvents(service, id)
  await tail.event('session.status_idle')
  tail.close()
  const listed = await listOf(id)
  assert.equal(listed.text, `{"data":[${tail.frames.map(({ data }) => data).join(',')}],"next_page":null}`)
})

test('the stream is served as what it is, whatever Accept asks for', async () => {
  for (const accept of ['application/json', 'text/event-stream', '*/*', 'image/png']) {
    const tail = await followEvents(service, silentId, { headers: { accept } })
    assert.equal(tail.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(tail.headers['cache-control'], 'no-cache, no-transform')
    assert.equal(tail.headers['x-accel-buffering'], 'no')
    assert.match(String(tail.headers['request-id']), /^req_/)
    tail.close()
  }
})

test('Last-Event-ID, ?after= and ?from=tail set the start; the header wins', async () => {
  const id = await doneSession()
  const all = (await eventsOf(id)).data
  const last = all.length
  const firstSeen = async (query: string, headers: Sent['headers'] = {}) => {
    const tail = await followEvents(service, id, { query, headers })
    const { seq } = await tail.event(() => true)
    tail.close()
    return seq
  }
  assert.equal(await firstSeen(''), 1)
  assert.equal(await firstSeen('', { 'last-event-id': '3' }), 4)
  assert.equal(await firstSeen('after=5'), 6)
  assert.equal(await firstSeen('after=0'), 1)
  assert.equal(await firstSeen('after=5', { 'last-event-id': '2' }), 3)
  assert.equal(await firstSeen('from=tail', { 'last-event-id': '2' }), 3)
  const atTail = await followEvents(service, id, { query: 'from=tail' })
  await post(`/session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: 'more' }] })
  assert.equal((await atTail.event(() => true)).seq, last + 1)
  atTail.close()
})

test('a position that is no number is 400; one in the future waits for its events', async () => {
  const id = await doneSession()
  for (const headers of [{ 'last-event-id': 'abc' }, { 'last-event-id': '-1' }, { 'last-event-id': '1.5' }]) {
    assert.equal(await statusOfStream(id, '', headers), 400, JSON.stringify(headers))
  }
  for (const query of ['?after=abc', '?after=-1', '?from=start', '?after=']) {
    assert.equal(await statusOfStream(id, query), 400, query)
  }
  const last = (await eventsOf(id)).data.length
  const future = await followEvents(service, id, { query: `after=${last + 2}` })
  await post(`/session/${id}/prompt_async`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: 'more' }] })
  assert.equal((await future.event(() => true)).seq, last + 3)
  future.close()
})

test('several readers of one session all see the same log, over several turns', async () => {
  const id = await create()
  const tails = await Promise.all(Array.from({ length: 8 }, () => followEvents(service, id)))
  for (const text of ['one', 'two', 'three']) {
    await post(`/session/${id}/message`, { model: { modelID: 'scripted' }, parts: [{ type: 'text', text }] })
  }
  const { data } = await eventsOf(id)
  for (const tail of tails) {
    await tail.event(({ seq }) => seq === data.length)
    assert.deepEqual(tail.events, data)
    tail.close()
  }
})

for (const query of ['event_deltas=1', 'event_deltas=true', 'event_deltas[]=agent.message']) {
  test(`?${query} adds previews without an id, for the event that follows`, async () => {
    const text = 'A text that comes in several pieces, so that there is something to preview.'
    const id = await create()
    const tail = await followEvents(service, id, { query })
    const plain = await followEvents(service, id)
    const body = { model: { modelID: 'scripted' }, parts: [{ type: 'text', text: saying({ text, chunkDelayMs: 20 }) }] }
    await post(`/session/${id}/prompt_async`, body)
    await tail.event('session.status_idle')
    await plain.event('session.status_idle')

    const message = await tail.event('agent.message')
    const previews = tail.frames.filter(({ event }) => event?.startsWith('event_'))
    const [start, ...deltas] = previews.map(({ data }) => JSON.parse(data))
    assert.deepEqual(start, { type: 'event_start', event: { id: message.id, type: 'agent.message' } })
    assert.ok(deltas.length >= 1)
    for (const delta of deltas) assert.equal(delta.event_id, message.id)
    assert.equal(deltas.map(({ delta }) => delta.content.text).join(''), text)
    assert.ok(previews.every(frame => frame.id === undefined))
    const isFinal = ({ event }: SseFrame) => event === 'agent.message'
    assert.ok(tail.frames.findLastIndex(({ event }) => event === 'event_delta') < tail.frames.findIndex(isFinal))
    assert.ok(plain.frames.every(({ event }) => !event?.startsWith('event_')))
    assert.deepEqual(tail.events, plain.events)
    for (const reader of [tail, plain]) reader.close()
  })
}

test('a ticket opens the stream of its session once, without a key, and nothing else', async () => {
  const id = await doneSession()
  const issue = async () => {
    const answer = await send(service, `POST /v1/sessions/${id}/events/tickets`)
    assert.equal(answer.status, 201)
    return answer.json<{ ticket: string; expires_at: string }>()
  }
  const { ticket, expires_at } = await issue()
  const lifeMs = Date.parse(expires_at) - Date.now()
  assert.ok(lifeMs > 50_000 && lifeMs <= 61_000)
  const at = (session: string, query: string) => `GET /v1/sessions/${session}/events/stream?${query}`
  assert.equal((await send(stranger, at(silentId, `ticket=${ticket}`))).status, 401)
  const tail = await followEvents(stranger, id, { query: `ticket=${ticket}&after=1` })
  assert.equal((await tail.event(() => true)).seq, 2)
  tail.close()
  for (const query of [`ticket=${ticket}`, 'ticket=', 'ticket=nonsense']) {
    assert.equal((await send(stranger, at(id, query))).status, 401, query)
  }
  const second = (await issue()).ticket
  for (const line of [
    `GET /v1/sessions/${id}/events`,
    `GET /session/${id}`,
    `POST /v1/sessions/${id}/events/tickets`,
  ]) {
    assert.equal((await send(stranger, `${line}?ticket=${second}`)).status, 401, line)
  }
  const headers = { authorization: 'Bearer wrong' }
  assert.equal((await send(stranger, at(id, `ticket=${second}`), { headers })).status, 401)
  assert.equal((await send(service, 'POST /v1/sessions/ses_nothing/events/tickets')).status, 404)
})

test('the list pages both ways, filters by type, and next_page is null at the end', async () => {
  const id = await doneSession()
  const { data } = await eventsOf(id)
  for (const [order, name] of [
    ['asc', 'after'],
    ['desc', 'page'],
  ] as const) {
    const seen: SessionEvent[] = []
    let next: string | null = null
    do {
      const page = await eventsOf(id, `limit=3&order=${order}${next === null ? '' : `&${name}=${next}`}`)
      seen.push(...page.data)
      next = page.next_page
    } while (next !== null)
    assert.deepEqual(seen, order === 'asc' ? data : data.toReversed())
  }
  const wanted = data.filter(({ type }) => ['agent.message', 'agent.tool_use'].includes(type))
  for (const types of [
    'types=agent.message,agent.tool_use',
    'types=agent.message&types=agent.tool_use',
    'types[]=agent.message&types[]=agent.tool_use',
  ]) {
    assert.deepEqual((await eventsOf(id, types)).data, wanted, types)
  }
  assert.equal((await listOf('ses_nothing')).status, 404)
  assert.equal(await statusOfStream('ses_nothing'), 404)
})

test('POST …/events queues a message and an interrupt, and answers with what it stored', async () => {
  const id = await create()
  const path = `/v1/sessions/${id}/events`
  const content = [{ type: 'text', text: 'sent as an event' }]
  const answer = await post(path, { events: [{ type: 'user.message', content }] })
  assert.equal(answer.status, 200)
  const [stored] = answer.json<{ data: SessionEvent[] }>().data
  assert.deepEqual([stored?.type, stored?.seq, stored?.content], ['user.message', 1, content])
  const tail = await followEvents(service, id)
  await tail.event('session.status_idle')
  tail.close()
  assert.deepEqual(tail.events[0], stored)
  assert.deepEqual((await post(path, { events: [{ type: 'user.interrupt' }] })).json(), { data: [] })
  assert.equal((await post('/v1/sessions/ses_nothing/events', { events: [{ type: 'user.interrupt' }] })).status, 404)
})

test('a reader that is cut 100 times at random and resumes by Last-Event-ID sees the log exactly', async t => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000_000)
  t.diagnostic(`SEED=${seed}`)
  const random = seededRandom(seed)
  const turns = Array.from({ length: 80 }, (_, at) => ({
    tool_calls: [{ name: 'write', input: { file_path: 'log.txt', content: `turn ${at} ${'x'.repeat(at)}` } }],
  }))
  const id = await create({ prompt: saying(...turns, { text: 'the end' }) })
  const frames: SseFrame[] = []
  const isAtEnd = () => frames.at(-1)?.event === 'session.status_idle'
  let cuts = 0
  while (!isAtEnd()) {
    const bytes = cuts < 100 ? Math.floor(random() * 700) : Number.POSITIVE_INFINITY
    await readUpTo(bytes, id, frames)
    cuts++
  }
  assert.ok(cuts >= 100, `only ${cuts} cuts (SEED=${seed})`)
  assert.deepEqual(
    frames.map(({ id: seq }) => seq),
    frames.map((_, at) => String(at + 1)),
    `SEED=${seed}`,
  )
  assert.equal((await listOf(id)).text, `{"data":[${frames.map(({ data }) => data).join(',')}],"next_page":null}`)
})

/** Adds the frames that are whole within the first `bytes` of a connection which goes on after the last of `frames`. */
async function readUpTo(bytes: number, id: string, frames: SseFrame[]): Promise<void> {
  const last = frames.at(-1)?.id
  const headers = last === undefined ? {} : { 'last-event-id': last }
  const response = await open(service, `GET /v1/sessions/${id}/events/stream`, { headers })
  const read = sseReader()
  let left = bytes
  for await (const chunk of response as AsyncIterable<Buffer>) {
    frames.push(...read(chunk.subarray(0, left).toString()))
    left -= chunk.length
    if (left <= 0 || frames.at(-1)?.event === 'session.status_idle') break
  }
  response.destroy()
}

test('a silent stream starts with its retry time and carries a comment every 10 s', async () => {
  assert.ok(silent.text.startsWith('retry: 2000\n\n'))
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = setInterval(() => silent.text.includes('\n: ') && resolve(), 50)
  const late = setTimeout(resolve, 13_000 - (performance.now() - openedMs))
  await promise
  clearInterval(look)
  clearTimeout(late)
  assert.match(silent.text, /^retry: 2000\n\n(: [\w-]+\n\n)+$/)
  assert.deepEqual(silent.frames, [])
  silent.close()
})

test('a list may wait for what comes next: the answer comes with the first event, or empty when the time is over', async () => {
  const id = await create()
  const waiting = eventsOf(id, 'after=0&wait=30')
  await post(`/session/${id}/prompt_async`, {
    model: { modelID: 'scripted' },
    parts: [{ type: 'text', text: saying({ text: 'Hi' }) }],
  })
  const { data } = await waiting
  assert.deepEqual([data[0]?.seq, data[0]?.type], [1, 'user.message'])
  await eventsOf(id, 'after=1&types=session.status_idle&wait=30')
  const all = await eventsOf(id)
  assert.equal(all.data.at(-1)?.type, 'session.status_idle')
  const past = await eventsOf(id, `after=${all.data.at(-1)?.seq}&wait=1`)
  assert.deepEqual(past, { data: [], next_page: null })
  await send(service, `DELETE /session/${id}`)
  assert.deepEqual((await eventsOf(id, 'after=1000&wait=60')).data, [], 'nothing comes to a log that is closed')
})

test('a wait is rejected where nothing can come, and where it is too long', async () => {
  for (const [query, words] of [
    ['order=desc&wait=5', /wait requires order asc/],
    ['wait=61', /wait/],
  ] as const) {
    const { status, text } = await listOf(silentId, query)
    assert.equal(status, 400)
    assert.match(text, words)
  }
})
