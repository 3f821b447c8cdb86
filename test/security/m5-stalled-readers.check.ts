import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { open, send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { fillLog, openStalled, watchProcess } from '../support/sessions/stalled-readers.ts'

const stalledReaders = 200
const { url: databaseUrl, pool } = await freshDatabase()
const service = await startService({ databaseUrl })
after(() => service.stop())

const { id } = (await send(service, 'POST /session', { body: {} })).json<Session>()
await fillLog(pool, id, { count: 1_000, eventBytes: 100_000 })
const { key } = (await send(service, 'POST /api/keys', { body: { label: 'stalled', role: 'admin' } })).json<{
  key: string
}>()
const holder = { url: service.url, key }
const path = `/v1/sessions/${id}/events/stream`

test('M5: 200 readers that never read cost at most 64 MB, are disconnected, and their key gets no further stream', async t => {
  // One reader that takes it all: the service has then seen such events.
  const whole = await open(service, `GET ${path}?after=800`)
  whole.resume()
  await eventually(() => whole.socket.bytesRead > 15_000_000)
  whole.destroy()
  const watched = await watchProcess(service.pid, service.url)
  t.after(() => watched.stop())
  const { sockets, mb } = watched
  watched.maxFromNow()
  const stalled = await Promise.all(Array.from({ length: stalledReaders }, () => openStalled(holder, path)))
  t.after(() => {
    for (const socket of stalled) socket.destroy()
  })
  await eventually(() => watched.sockets >= sockets + stalledReaders, { withinMs: 20_000 })
  for (const line of [`GET ${path}`, 'GET /event', 'GET /global/event'])
    assert.equal((await send(holder, line)).status, 429, line)
  assert.equal((await send(holder, `GET /session/${id}`)).status, 200)
  await eventually(() => watched.sockets < sockets + 10, {
    withinMs: 60_000,
    what: 'the end of all streams',
  })
  const more = watched.maxMb - mb
  assert.ok(more <= 64, `the service took ${Math.round(more)} MB more`)
  const again = await open(holder, `GET ${path}?from=tail`)
  assert.equal(again.statusCode, 200)
  again.destroy()
})
