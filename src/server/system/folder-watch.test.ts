import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../../../test/support/database.ts'
import { createFolderWatch } from './folder-watch.ts'
import { replicaStore } from './replica-store.ts'

const { pool } = await freshDatabase()
const store = replicaStore(pool)

/** A process; each `start` is a heartbeat. */
function replica(folderId: string | undefined, id = randomUUID()) {
  const lines: string[] = []
  const note = (level: string) => (text: unknown) => void lines.push(`${level} ${String(text).slice(0, 32)}`)
  const log = { warn: note('warn'), info: note('info'), debug: note('debug') }
  const { start, stop, warnings } = createFolderWatch({ store, id, folderId, log })
  const beat = async () => {
    await start()
    return warnings().length
  }
  return { id, beat, stop, lines, warnings }
}

test('V9: both sides of a difference are warned, with one line a change', async () => {
  const [one, other] = [replica(randomUUID()), replica(randomUUID())]
  assert.equal(await one.beat(), 0)
  assert.equal(await other.beat(), 1)
  assert.deepEqual([await one.beat(), await one.beat()], [1, 1])
  assert.match(one.warnings().join(), /put the data folders of all replicas on one shared volume$/)
  await other.stop()
  assert.deepEqual([await one.beat(), await one.beat()], [0, 0])
  assert.deepEqual(one.lines, ['warn another replica runs sessions wi', 'info all replicas that run sessions s'])
  await one.stop()
})

test('V9: one folder, no sessions, or long silence is no difference', async () => {
  const folder = randomUUID()
  const [one, same, api, silent] = [replica(folder), replica(folder), replica(undefined), replica(randomUUID())]
  await silent.beat()
  await pool.query(`update replicas set seen_at = seen_at - interval '31 seconds' where id = $1`, [silent.id])
  await store.seen(api.id)
  assert.deepEqual([await same.beat(), await api.beat(), await one.beat(), await same.beat()], [0, 0, 0, 0])
  for (const each of [one, same, api, silent]) await each.stop()
  assert.equal((await pool.query('select from replicas')).rowCount, 0)
})

test('V9: a probe of readiness leaves the folder as it is recorded', async () => {
  const [one, other] = [replica(randomUUID()), replica(randomUUID())]
  await one.beat()
  await store.seen(one.id)
  assert.equal(await other.beat(), 1)
  for (const each of [one, other]) await each.stop()
})

test('V9: while the database does not answer, what was known stays', async () => {
  const [one, other] = [replica(randomUUID()), replica(randomUUID())]
  await other.beat()
  const away = { ...store, isAway: false }
  const broken = createFolderWatch({
    store: { ...away, otherFolders: id => (away.isAway ? Promise.reject(new Error('away')) : store.otherFolders(id)) },
    id: one.id,
    folderId: randomUUID(),
    log: { warn: () => undefined, info: () => undefined, debug: () => undefined },
  })
  await broken.start()
  away.isAway = true
  await broken.start()
  assert.equal(broken.warnings().length, 1)
  for (const each of [broken, other]) await each.stop()
})
