import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Agent } from '../../src/contract/agents.ts'
import type { FeedEvent, SessionEvent } from '../../src/contract/events.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type EventTail, followFeed } from '../support/sessions/event-tail.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

const post = async <T>(path: string, body: object, key = service.key): Promise<T> => {
  const answer = await send({ ...service, key }, `POST ${path}`, { body })
  assert.ok(answer.status < 300, answer.text)
  return answer.json<T>()
}
const run = (body: object = {}) => post<Session>('/session', { model: 'scripted', prompt: 'Go.', ...body })

const fed = ({ frames }: EventTail): FeedEvent[] =>
  frames.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data) as FeedEvent)
const idle = (tail: EventTail, { id }: Session) =>
  eventually(() => fed(tail).some(event => event.session_id === id && event.type === 'session.status_idle'), {
    what: `the end of the run of ${id}`,
  })
const logOf = async ({ id }: Session) =>
  (await send(service, `GET /v1/sessions/${id}/events?limit=1000`)).json<{ data: SessionEvent[] }>().data

test('one stream has the events of all sessions, as their logs have them', async () => {
  const tail = await followFeed(service)
  const sessions = await Promise.all([run(), run(), run()])
  for (const session of sessions) await idle(tail, session)
  for (const session of sessions) {
    const own = fed(tail).filter(({ session_id }) => session_id === session.id)
    const log = (await logOf(session)).slice(0, own.length)
    assert.deepEqual(
      own,
      log.map(event => ({ ...event, session_id: session.id })),
    )
  }
  tail.close()
})

test('a reader that continues behind any frame gets the rest, once', async () => {
  const tail = await followFeed(service)
  const session = await run()
  await idle(tail, session)
  tail.close()
  const whole = tail.frames.filter(({ data }) => data !== '').map(({ id, data }) => [id, data])
  for (const at of [0, Math.floor(whole.length / 2), whole.length - 2]) {
    const headers = { 'last-event-id': String(whole[at]?.[0]) }
    const resumed = await followFeed(service, at === 0 ? { query: `after=${whole[0]?.[0]}` } : { headers })
    await idle(resumed, session)
    resumed.close()
    const rest = resumed.frames.filter(({ data }) => data !== '').map(({ id, data }) => [id, data])
    assert.deepEqual(rest.slice(0, whole.length - at - 1), whole.slice(at + 1))
  }
})

test('a stream of an agent, or of sessions with some metadata, has no others; from=start has what was before', async () => {
  const agent = await post<Agent>('/api/agents', { name: 'Ada', owner_id: 'team', model: 'scripted' })
  const tail = await followFeed(service, { query: `agent_id=${agent.id}` })
  const marked = await followFeed(service, { query: 'metadata[team]=blue' })
  const other = await run()
  const own = await run({ agent_id: agent.id, metadata: { team: 'blue' } })
  for (const stream of [tail, marked]) {
    await idle(stream, own)
    assert.deepEqual(new Set(fed(stream).map(({ session_id }) => session_id)), new Set([own.id]))
    stream.close()
  }
  const all = await followFeed(service, { query: 'from=start' })
  await idle(all, other)
  await idle(all, own)
  all.close()
})

test('a caller does not find the sessions of others', async () => {
  const { key } = await post<{ key: string }>('/api/keys', { label: 'other', owner_id: 'other' })
  const tail = await followFeed({ ...service, key }, { query: 'from=start' })
  await run()
  const own = await post<Session>('/session', { model: 'scripted', prompt: 'Go.' }, key)
  await idle(tail, own)
  assert.deepEqual(new Set(fed(tail).map(({ session_id }) => session_id)), new Set([own.id]))
  tail.close()
})

test('a cursor that is none is rejected with the name of the field', async () => {
  const wrong = await send(service, 'GET /v1/events/stream?after=12')
  assert.deepEqual([wrong.status, /after must be an event id/.test(wrong.text)], [400, true])
  const headers = { 'last-event-id': '9000000000000000000.ses_1.1' }
  const strange = await send(service, 'GET /v1/events/stream', { headers })
  assert.deepEqual(
    [strange.status, /Last-Event-ID is from before the database was restored/.test(strange.text)],
    [400, true],
  )
  assert.equal((await send(service, 'GET /v1/events/stream?from=end')).status, 400)
  assert.equal((await send({ ...service, key: 'wrong' }, 'GET /v1/events/stream')).status, 401)
})
