import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { Client } from 'pg'
import type { ShownApiKey } from '../../src/contract/keys.ts'
import type { Session } from '../../src/contract/sessions.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'
import { followEvents } from '../support/sessions/event-tail.ts'

/** Security, S03: everywhere within 5 s. */
const revokedMs = 5_000

const stops: (() => Promise<unknown>)[] = []
after(async () => {
  for (const stop of stops) await stop()
})
const { url: databaseUrl } = await freshDatabase()
const env = { SWITCHYARD_ENCRYPTION_KEY: randomBytes(32).toString('base64') }
const [one, other] = [await startService({ databaseUrl, env }), await startService({ databaseUrl, env })]
stops.push(one.stop, other.stop)

const statusAt = async (url: string, key: string | undefined) =>
  (await send({ url, ...(key !== undefined && { key }) }, 'GET /api/agents')).status

/** The same key at the other replica, which has it in memory then. */
async function knownAtBoth() {
  const holder = await holderOf(one, { role: 'admin' })
  for (const { url } of [one, other]) assert.equal(await statusAt(url, holder.key), 200)
  return { ...holder, there: { url: other.url, key: holder.key ?? '' } }
}

async function asDatabaseAdmin(text: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  const { rowCount } = await client.query(text)
  await client.end()
  return rowCount ?? 0
}

test('a key that one replica has made opens the other at once', async () => {
  const { key } = await holderOf(one)
  assert.equal(await statusAt(other.url, key), 200)
})

test('S03: a key that was revoked at one replica is 401 at the other, and its streams there end', async () => {
  const { id, there } = await knownAtBoth()
  const session = (await send(one, 'POST /session', { body: {} })).json<Session>()
  const stream = await followEvents(there, session.id)
  await send(one, `DELETE /api/keys/${id}`)
  await eventually(async () => (await statusAt(there.url, there.key)) === 401, { withinMs: revokedMs })
  await stream.ended
})

test('S03: also when no notification gets through', async () => {
  const { id, there } = await knownAtBoth()
  const session = (await send(one, 'POST /session', { body: {} })).json<Session>()
  const stream = await followEvents(there, session.id)
  // The same change as a revocation makes, without a word to anybody.
  const changed = await asDatabaseAdmin(`
    with ended as (delete from api_key_hashes where key_id = '${id}')
    update api_keys set revoked_at = clock_timestamp() where id = '${id}'`)
  assert.equal(changed, 1)
  await stream.ended
  await eventually(async () => (await statusAt(there.url, there.key)) === 401, { withinMs: revokedMs })
})

test('S03: also when the listening connections are cut while it is revoked', async () => {
  const { id, there } = await knownAtBoth()
  const cut = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'switchyard-listen' and datname = current_database()`
  assert.ok((await asDatabaseAdmin(cut)) >= 2)
  await send(one, `DELETE /api/keys/${id}`)
  await eventually(async () => (await statusAt(there.url, there.key)) === 401, { withinMs: revokedMs })
})

test('a key that was rotated at one replica is the new one at the other; the role of a key changes there too', async () => {
  const { id, there } = await knownAtBoth()
  const rotated = (await send(one, `POST /api/keys/${id}/rotate`)).json<ShownApiKey>()
  assert.equal(await statusAt(other.url, rotated.key), 200)
  await eventually(async () => (await statusAt(other.url, there.key)) === 401, { withinMs: revokedMs })
  const holder = { url: other.url, key: rotated.key }
  assert.equal((await send(holder, 'GET /api/keys')).status, 200)
  await send(one, `PATCH /api/keys/${id}`, { body: { role: 'user' } })
  await eventually(async () => (await send(holder, 'GET /api/keys')).status === 403, { withinMs: revokedMs })
})

test('an expired key works on every replica once its expiry is extended', async () => {
  const { id, key } = await holderOf(one, { expires_at: new Date(Date.now() + 500).toISOString() })
  for (const { url } of [one, other])
    await eventually(async () => (await statusAt(url, key)) === 401, { withinMs: revokedMs })
  await send(one, `PATCH /api/keys/${id}`, { body: { expires_at: null } })
  for (const { url } of [one, other])
    await eventually(async () => (await statusAt(url, key)) === 200, { withinMs: revokedMs })
})

test('keys outlive a restart', async () => {
  const { key } = await holderOf(one)
  await other.stop()
  const again = await startService({ databaseUrl, env })
  stops.push(again.stop)
  assert.equal(await statusAt(again.url, key), 200)
})
