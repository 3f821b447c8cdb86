import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import type { Session } from '../../src/contract/sessions.ts'
import { freshDatabase } from '../support/service/database.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'

const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})
const { url: databaseUrl, pool } = await freshDatabase()
const env = { SWITCHYARD_ENCRYPTION_KEY: randomBytes(32).toString('base64') }
const [one, other] = [await startService({ databaseUrl, env }), await startService({ databaseUrl, env })]
stops.push(one.stop, other.stop)

/** Backends besides those of hints that wait for the lock under which notifications are put in order. */
const waitingText = `
  select count(*) as waiting from pg_locks join pg_stat_activity activity using (pid)
  where locktype = 'object' and not granted and activity.datname = current_database() and application_name <> 'switchyard-listen'`

test('no writer of two busy replicas waits for the lock of notifications, and each receives the notifications of the other', async () => {
  const turn = async (at: number) => {
    const [here, there] = at % 2 === 0 ? [one, other] : [other, one]
    const { id } = (await send(here, 'POST /session', { body: {} })).json<Session>()
    const tail = await followEvents(there, id)
    const body = { model: { modelID: 'demo' }, parts: [{ type: 'text', text: 'Hello' }] }
    assert.equal((await send(here, `POST /session/${id}/prompt_async`, { body })).status, 204)
    await tail.event('session.status_idle')
    tail.close()
  }
  let isBusy = true
  let looks = 0
  let waits = 0
  const watching = (async () => {
    while (isBusy) {
      const { rows } = await pool.query<{ waiting: number }>(waitingText)
      waits += rows[0]?.waiting ?? 0
      looks++
    }
  })()
  try {
    for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 10 }, (_, at) => turn(at)))
  } finally {
    isBusy = false
    await watching
  }
  assert.equal(waits, 0, `of ${looks} looks`)
})
