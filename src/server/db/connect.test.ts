import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { DatabaseError } from 'pg'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { DatabaseUnavailable } from '../platform/errors.ts'
import { asUnavailable, createKysely, createPool, isConnectionLoss, transaction } from './connect.ts'

const { url, pool, db } = await freshDatabase()
await pool.query('create table note (text text unique)')

const isUnavailable = (error: unknown) =>
  error instanceof DatabaseUnavailable && error.code === 'unavailable' && error.headers['retry-after'] === '1'

/** Terminates the connections of a pool, as in a server restart. */
const endConnections = (name: string) =>
  pool.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = $1', [name])

test('int8 is read as number, numeric as text, json as value in key order, time as Date', async () => {
  const { rows } = await pool.query(
    `select count(*) as count, 0.10::numeric as price, '{"b":1,"a":[null]}'::json as value, now() as now`,
  )
  const { count, price, value, now } = rows[0]
  assert.equal(count, 1)
  assert.equal(price, '0.10')
  assert.equal(JSON.stringify(value), '{"b":1,"a":[null]}')
  assert.ok(now instanceof Date)
})

test('Kysely reads and writes a migrated table, including arrays and NUL escapes in JSON', async () => {
  const parts = [{ type: 'text' as const, text: 'a\u0000b' }]
  const session = { id: 'ses_1', owner_id: 'o', title: 't', agent: 'a', agent_id: 'a', harness: 'h', runtime: 'r' }
  await db
    .insertInto('sessions')
    .values({ ...session, environment: '{}' })
    .execute()
  const prompt = { id: 'msg_1', session_id: 'ses_1', position: 1, model: 'm', mode: 'enqueue' as const, principal: 'p' }
  await db
    .insertInto('prompts')
    .values({ ...prompt, parts: JSON.stringify(parts) })
    .execute()
  const row = await db.selectFrom('prompts').select(['parts', 'state', 'position']).executeTakeFirst()
  assert.deepEqual(row, { parts, state: 'waiting', position: 1 })
})

test('a transaction is committed as a whole, and rolled back if its work throws', async () => {
  const add = (text: string, thrown?: Error) =>
    transaction(pool, async client => {
      await client.query('insert into note values ($1)', [text])
      if (thrown) throw thrown
      return text
    })
  assert.equal(await add('whole'), 'whole')
  const bug = new Error('bug')
  await assert.rejects(add('none', bug), bug)
  const { rows } = await pool.query('select text from note')
  assert.deepEqual(rows, [{ text: 'whole' }])
})

test('a transaction that ignored a failed statement rejects', async () => {
  const careless = transaction(pool, async client => {
    await client.query('select 1 / 0').catch(() => undefined)
  })
  await assert.rejects(careless, /rolled back/)
})

test('a pool reports terminated idle connections and reconnects', async () => {
  const lost: Error[] = []
  const other = createPool({ url, applicationName: 'idle-victim', onLost: error => lost.push(error) })
  after(() => other.end())
  await other.query('select 1')
  await endConnections('idle-victim')
  const { rows } = await again(() => other.query('select 1 as one'))
  assert.deepEqual(rows, [{ one: 1 }])
  assert.equal(lost.length, 1)
})

test('a connection lost in a transaction is `unavailable`; the message says if the outcome is unknown', async () => {
  const other = createPool({ url, applicationName: 'busy-victim', onLost: () => undefined })
  after(() => other.end())
  const beforeCommit = transaction(other, async () => {
    await endConnections('busy-victim')
  })
  await assert.rejects(beforeCommit, (error: Error) => isUnavailable(error) && /may or may not/.test(error.message))
  const inQuery = transaction(other, async client => {
    await Promise.all([client.query('select pg_sleep(30)'), endConnections('busy-victim')])
  })
  await assert.rejects(inQuery, (error: Error) => isUnavailable(error) && !/may or may not/.test(error.message))
  assert.equal(await transaction(other, async () => 'fine'), 'fine')
})

test('a Kysely transaction that loses its connection rejects and does not end the process', async () => {
  const other = createPool({ url, applicationName: 'kysely-victim', onLost: () => undefined })
  after(() => other.end())
  const work = createKysely(other)
    .transaction()
    .execute(async trx => {
      await endConnections('kysely-victim')
      return trx.selectFrom('agents').select('id').execute()
    })
  await assert.rejects(work, isUnavailable)
})

test('V1: every call of a pool, its clients and Kysely rejects with DatabaseUnavailable', async () => {
  const other = createPool({ url, applicationName: 'typed-victim', onLost: () => undefined })
  after(() => other.end())
  const suicide = 'select pg_terminate_backend(pg_backend_pid())'
  const onClient = async () => {
    const client = await other.connect()
    await client.query(suicide).finally(() => client.release(true))
  }
  const unheard = await listen(() => undefined)
  const away = createPool({
    url: `postgres://u@127.0.0.1:${unheard.port}/d`,
    connectTimeoutMs: 50,
    onLost: () => undefined,
  })
  after(async () => {
    await away.end()
    await unheard.close()
  })
  const calls = [() => other.query(suicide), onClient, () => away.query('select 1'), () => away.connect()]
  for (const call of calls) await assert.rejects(call, isUnavailable)
  const select = (on: typeof away) => createKysely(on).selectFrom('agents').select('id').execute()
  await assert.rejects(select(away), isUnavailable)
  await assert.rejects(other.query('select 1 / 0'), error => error instanceof DatabaseError && error.code === '22012')
})

test('a statement timeout and an exhausted pool are `unavailable`', async () => {
  const hasty = createPool({ url, max: 1, statementTimeoutMs: 50, connectTimeoutMs: 100, onLost: () => undefined })
  after(() => hasty.end())
  await assert.rejects(hasty.query('select pg_sleep(30)'), isUnavailable)
  const busy = transaction(hasty, () =>
    assert.rejects(
      transaction(hasty, async () => undefined),
      isUnavailable,
    ),
  )
  await busy
})

test('a database that is unreachable, rejects, disconnects or hangs is `unavailable`', async () => {
  const silent = await listen(() => undefined)
  const rude = await listen(socket => socket.destroy())
  const closed = await listen(() => undefined)
  await closed.close()
  const urls = [
    'postgres://switchyard@localhost/switchyard?host=/nowhere&port=5432',
    'postgres://switchyard@no-such-host.invalid/switchyard',
    ...[silent, rude, closed].map(({ port }) => `postgres://switchyard@127.0.0.1:${port}/switchyard`),
  ]
  for (const away of urls) {
    const other = createPool({ url: away, connectTimeoutMs: 200, onLost: () => undefined })
    await assert.rejects(
      transaction(other, async () => undefined),
      isUnavailable,
      away,
    )
    await assert.rejects(other.query('select 1'), isConnectionLoss)
    await other.end()
  }
  await Promise.all([silent.close(), rude.close()])
})

const sqlState = (code: string) => Object.assign(new DatabaseError('from the server', 1, 'error'), { code })

test('a full disk, a read-only standby, too many connections and conflicting transactions are `unavailable`', () => {
  for (const code of [
    '40001',
    '40P01',
    '53100',
    '53200',
    '53300',
    '25006',
    '55P03',
    '57P01',
    '57P03',
    '08006',
    '58030',
  ]) {
    assert.ok(isUnavailable(asUnavailable(sqlState(code))), code)
  }
})

test('errors of the statement itself are unchanged', () => {
  for (const error of [sqlState('23505'), sqlState('42601'), new Error('bug'), undefined]) {
    assert.equal(asUnavailable(error), error)
    assert.equal(isConnectionLoss(error), false)
  }
})

/** A pool may detect a dead connection one query late. */
async function again<T>(query: () => Promise<T>): Promise<T> {
  return query().catch(query)
}

async function listen(onConnection: (socket: Socket) => void): Promise<{ port: number; close(): Promise<void> }> {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket.on('error', () => undefined))
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
