import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { eventually } from '../../../test/support/service/eventually.ts'
import { createLog } from '../platform/log.ts'
import { createNotifications, ownerLock } from './notifications.ts'

const { pool, url } = await freshDatabase()

const notify = (channel: string, payload: string) => pool.query('select pg_notify($1, $2)', [channel, payload])

/** Returns the notification connections of this database. */
async function listening(): Promise<number[]> {
  const { rows } = await pool.query<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'switchyard-listen'`,
  )
  return rows.map(({ pid }) => pid)
}

/** True if the lock of the owner is free. */
async function isGone(owner: string): Promise<boolean> {
  const client = await pool.connect()
  const { rows } = await client.query<{ free: boolean }>(`select pg_try_advisory_xact_lock(${ownerLock}) as free`, [
    owner,
  ])
  client.release()
  return rows[0]?.free ?? false
}

async function started(t: TestContext, owner: string) {
  const notifications = createNotifications({ connectionString: url }, createLog('silent'))
  const heard: string[] = []
  let reconnects = 0
  notifications.on('news', payload => heard.push(payload))
  notifications.onReconnect(() => reconnects++)
  await notifications.start(owner)
  t.after(() => notifications.stop())
  return { notifications, heard, reconnects: () => reconnects }
}

test('a hint reaches every listener of its channel and no others', async t => {
  const { notifications, heard } = await started(t, 'a')
  const other = await started(t, 'b')
  // Its hello notification may still be in flight.
  assert.ok(await notifications.hasPeers())
  await notify('old_news', 'not for us')
  notifications.send('news', 'one')
  await eventually(() => heard.length === 1 && other.heard.length === 1)
  assert.deepEqual([heard, other.heard], [['one'], ['one']])
})

test('a process holds its owner lock while it runs', async t => {
  const { notifications } = await started(t, 'alive')
  assert.equal(await isGone('alive'), false)
  await notifications.stop()
  await eventually(() => isGone('alive'))
})

test('a lost connection is replaced by one that listens and holds the owner lock', async t => {
  const { heard, reconnects } = await started(t, 'cut')
  for (let round = 1; round <= 2; round++) {
    for (const pid of await listening()) await pool.query('select pg_terminate_backend($1)', [pid])
    await eventually(() => reconnects() === round)
    await notify('news', `round ${round}`)
    await eventually(() => heard.includes(`round ${round}`))
    await eventually(async () => !(await isGone('cut')))
    assert.equal((await listening()).length, 1)
  }
})

test('hints are received even while the database still keeps the previous connection', async t => {
  const { heard, reconnects } = await started(t, 'kept')
  const keeper = await pool.connect()
  // Simulates a lost connection that the database has not detected: it still holds the lock of the process.
  for (const pid of await listening()) await keeper.query('select pg_terminate_backend($1)', [pid])
  await eventually(async () => {
    const { rows } = await keeper.query<{ taken: boolean }>(`select pg_try_advisory_lock(${ownerLock}) as taken`, [
      'kept',
    ])
    return rows[0]?.taken
  })
  await eventually(() => reconnects() === 1)
  await notify('news', 'heard')
  await eventually(() => heard.includes('heard'), { withinMs: 1_000 })
  await keeper.query(`select pg_advisory_unlock(${ownerLock})`, ['kept'])
  keeper.release()
  await eventually(async () => !(await isGone('kept')))
})

test('stop ends the connection, even right after a connection loss', async t => {
  const { notifications } = await started(t, 'stopped')
  for (const pid of await listening()) await pool.query('select pg_terminate_backend($1)', [pid])
  await notifications.stop()
  await eventually(async () => (await listening()).length === 0)
})

test('C7: hints of a new connection are delivered only after the reconnect listeners ran, and none is lost', async t => {
  const notifications = createNotifications({ connectionString: url }, createLog('silent'))
  const seen: (number | 'reconnect')[] = []
  notifications.on('news', payload => seen.push(Number(payload)))
  // Many channels: their LISTENs take a while, during which the first one already receives hints.
  for (let at = 0; at < 20; at++) notifications.on(`other_${at}`, () => undefined)
  notifications.onReconnect(() => seen.push('reconnect'))
  await notifications.start('hinted')
  t.after(() => notifications.stop())
  let isOn = true
  let sent = 0
  const sending = (async () => {
    while (isOn) await notify('news', String(++sent))
  })()
  await eventually(() => seen.length > 0)
  for (const pid of await listening()) await pool.query('select pg_terminate_backend($1)', [pid])
  await eventually(() => seen.includes('reconnect') && seen.at(-1) !== 'reconnect')
  isOn = false
  await sending
  await eventually(() => seen.at(-1) === sent)
  const at = seen.indexOf('reconnect')
  const [before, after] = [seen.slice(0, at), seen.slice(at + 1)]
  const follows = (hints: typeof seen) =>
    hints.every((hint, place) => place === 0 || hint === Number(hints[place - 1]) + 1)
  assert.ok(follows(before), 'what is heard before is of the old connection')
  assert.ok(follows(after), 'behind it nothing is lost')
})

test('C4: a process has peers while another process listens on the same database', async t => {
  const { notifications } = await started(t, 'first')
  assert.equal(await notifications.hasPeers(), false)
  const other = await started(t, 'second')
  assert.equal(await notifications.hasPeers(), true)
  await other.notifications.stop()
  await eventually(async () => !(await notifications.hasPeers()))
})
