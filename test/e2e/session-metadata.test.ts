import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { send } from '../support/service/send.ts'
import { startScriptedService } from '../support/upstream/scripted-service.ts'

const { service } = await startScriptedService()

const call = (route: string, body?: unknown, key = service.key) =>
  send({ ...service, key }, route, body === undefined ? {} : { body })
const dialect = { 'anthropic-beta': 'managed-agents-2026-04-01' }

async function create(body: object): Promise<Session> {
  const answer = await call('POST /session', body)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Session>()
}

async function found(query: string, key?: string): Promise<string[]> {
  const answer = await call(`GET /session?${query}`, undefined, key)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Session[]>().map(({ id }) => id)
}

test('metadata is stored, shown, patched and sent to readers', async () => {
  const session = await create({ title: 'Kept', metadata: { team: 'blue', ticket: 'A-1' } })
  assert.deepEqual(session.metadata, { team: 'blue', ticket: 'A-1' })
  const patched = await call(`PATCH /session/${session.id}`, { metadata: { ticket: null, stage: 'two' } })
  assert.deepEqual(patched.json<Session>().metadata, { team: 'blue', stage: 'two' })
  await call(`PATCH /session/${session.id}`, { title: 'Kept', metadata: { stage: 'two' } })
  const read = await call(`GET /session/${session.id}`)
  assert.deepEqual(read.json<Session>().metadata, { team: 'blue', stage: 'two' })
  const { data } = (await call(`GET /v1/sessions/${session.id}/events`)).json<{ data: { type: string }[] }>()
  const updates = data.filter(({ type }) => type === 'session.updated')
  assert.deepEqual(
    updates.map(update => (update as { metadata?: unknown }).metadata),
    [{ team: 'blue', stage: 'two' }],
  )
  assert.deepEqual((await create({})).metadata, {})
})

test('what is wrong with metadata is named', async () => {
  const wrong = [
    [{ metadata: { n: 1 } }, /metadata\.n must be string/],
    [{ metadata: { n: 'x'.repeat(513) } }, /metadata\.n/],
    [{ metadata: 'x' }, /metadata must be object/],
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v'])) }, /metadata.*16/],
  ] as const
  for (const [body, message] of wrong) {
    const answer = await call('POST /session', body)
    assert.equal(answer.status, 400, answer.text)
    assert.match(answer.text, message)
  }
  const full = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, 'v']))
  const { id } = await create({ metadata: full })
  const more = await call(`PATCH /session/${id}`, { metadata: { another: 'v' } })
  assert.equal(more.status, 400)
  assert.match(more.text, /at most 16 keys/)
  for (const query of ['metadata=x', 'metadata[k]=a&metadata[k]=b', 'q=']) {
    assert.equal((await call(`GET /session?${query}`)).status, 400, query)
  }
})

test('sessions are found by metadata, by a part of their title and by their id, page by page', async () => {
  const one = await create({ title: '100% of_Rain', metadata: { found: 'yes', n: '1' } })
  const two = await create({ title: 'rain again', metadata: { found: 'yes', n: '2' } })
  const both = [two.id, one.id]
  assert.deepEqual(await found('metadata[found]=yes'), both)
  assert.deepEqual(await found('metadata%5Bfound%5D=yes&metadata%5Bn%5D=2'), [two.id])
  assert.deepEqual(await found('metadata[found]=no'), [])
  assert.deepEqual(await found('q=RAIN'), both)
  assert.deepEqual(await found('q=%25%20of_'), [one.id])
  assert.deepEqual(await found(`q=${one.id}`), [one.id])
  assert.deepEqual(await found('q=rain&metadata[n]=1'), [one.id])
  const page = await call('GET /session?metadata[found]=yes&limit=1')
  assert.deepEqual(
    page.json<Session[]>().map(({ id }) => id),
    [two.id],
  )
  const cursor = String(page.headers['x-next-cursor'])
  assert.deepEqual(await found(`metadata[found]=yes&limit=1&cursor=${encodeURIComponent(cursor)}`), [one.id])
  const managed = await call('GET /api/v1/managed_agents/sessions?metadata[n]=1&metadata[found]=yes')
  assert.deepEqual(
    managed.json<{ data: Session[] }>().data.map(({ id }) => id),
    [one.id],
  )
})

test('a caller does not find the sessions of others', async () => {
  await create({ title: 'Secret', metadata: { secret: 'yes' } })
  const { key } = (await call('POST /api/keys', { label: 'other', owner_id: 'other' })).json<{ key: string }>()
  assert.deepEqual(await found('metadata[secret]=yes', key), [])
  assert.deepEqual(await found('q=Secret', key), [])
})

test('the Managed Agents dialect shows and changes the same metadata', async () => {
  const session = await create({ metadata: { team: 'blue' } })
  const path = `/v1/sessions/${session.id}`
  const shown = await send(service, `GET ${path}`, { headers: dialect })
  assert.deepEqual(shown.json<Session>().metadata, { team: 'blue' })
  const changed = await send(service, `POST ${path}`, { headers: dialect, body: { metadata: { team: 'red' } } })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual((await call(`GET /session/${session.id}`)).json<Session>().metadata, { team: 'red' })
  assert.deepEqual(await found(`metadata[team]=red&q=${session.id}`), [session.id])
})

test('a fork begins with the metadata of its origin', async () => {
  const { id } = await create({ metadata: { team: 'blue' } })
  const fork = await call(`POST /session/${id}/fork`, {})
  assert.deepEqual(fork.json<Session>().metadata, { team: 'blue' })
})
