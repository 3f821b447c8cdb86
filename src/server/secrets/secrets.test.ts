import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import { freshDatabase } from '../../../test/support/service/database.ts'
import { createRowCipher, type EncryptedTable, encryptedTables } from '../db/encrypted-rows.ts'
import { createKeyring, DecryptionError, type Keyring } from '../platform/encryption.ts'
import { encryptionKeyFile } from '../platform/encryption-key.ts'
import { AppError } from '../platform/errors.ts'
import { createLog } from '../platform/log.ts'
import { openKeyring } from './keyring.ts'
import { createReencryption } from './reencryption.ts'
import { loadServiceSecret } from './service-secret.ts'
import { secretStore } from './store.ts'

const { pool } = await freshDatabase()
const store = secretStore(pool)
const root = mkdtempSync(join(tmpdir(), 'switchyard-secrets-'))
after(() => rmSync(root, { recursive: true }))
const log = createLog('silent')

const oldKey = randomBytes(32)
const newKey = randomBytes(32)
const oldRing = createKeyring([oldKey])
const newRing = createKeyring([newKey])
const bothRing = createKeyring([newKey, oldKey])
const text = (key: Buffer): string => key.toString('base64')

beforeEach(async () => {
  for (const table of Object.keys(encryptedTables)) await pool.query(`delete from ${table}`)
})

async function addEntries(ring: Keyring, count: number, owner = ''): Promise<void> {
  const cipher = createRowCipher(ring, 'vault_entries')
  const rows = Array.from({ length: count }, (_, at) => ({ owner_id: owner, key: `entry-${at}`, version: at + 1 }))
  const made = rows.map(row => ({ ...row, ...cipher.encrypt(`value ${row.key} of ${owner}`, row) }))
  await pool.query(
    `insert into vault_entries (owner_id, key, version, sealed, key_id)
     select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bytea[], $5::text[])`,
    (['owner_id', 'key', 'version', 'sealed', 'key_id'] as const).map(column => made.map(row => row[column])),
  )
}

interface EntryRow {
  readonly owner_id: string
  readonly key: string
  readonly version: number
  readonly sealed: Buffer
  readonly key_id: string
}
const entries = async (): Promise<EntryRow[]> =>
  (await pool.query('select * from vault_entries order by owner_id, key')).rows

/** Rejects unless the ring decrypts every entry to its original value. */
async function assertReadable(ring: Keyring, count: number): Promise<void> {
  const cipher = createRowCipher(ring, 'vault_entries')
  const rows = await entries()
  assert.equal(rows.length, count)
  for (const row of rows) assert.equal(cipher.decrypt(row).toString(), `value ${row.key} of ${row.owner_id}`)
}

const runReencryption = (ring: Keyring, batchSize = 100) =>
  createReencryption({ store, keyring: ring, log, batchSize, pauseMs: 0 }).run(new AbortController().signal)

test('a service secret is generated once, stored encrypted, and the same for every server of the database', async () => {
  const [first, ...others] = await Promise.all(
    Array.from({ length: 8 }, () => loadServiceSecret(pool, newRing, 'pepper')),
  )
  assert.equal(first?.length, 32)
  for (const other of others) assert.deepEqual(other, first)
  assert.deepEqual(await loadServiceSecret(pool, bothRing, 'pepper'), first)
  assert.notDeepEqual(await loadServiceSecret(pool, newRing, 'another'), first)
  const { rows } = await pool.query("select * from service_secrets where name = 'pepper'")
  assert.equal(rows[0].sealed.includes(first), false)
})

test('a service secret of another key or with a modified row is rejected and never replaced', async () => {
  await loadServiceSecret(pool, oldRing, 'pepper')
  const before = (await pool.query('select * from service_secrets')).rows
  const unavailable = { code: 'unavailable', message: new RegExp(`key ${oldRing.currentId} is not given`) }
  await assert.rejects(loadServiceSecret(pool, newRing, 'pepper'), unavailable)
  await pool.query("update service_secrets set name = 'renamed'")
  await assert.rejects(loadServiceSecret(pool, oldRing, 'renamed'), /was damaged or modified/)
  assert.deepEqual((await pool.query("select *, 'pepper' as name from service_secrets")).rows, before)
})

test('S13: re-encryption covers every table, and the values can then be decrypted without the old key', async () => {
  const pepper = await loadServiceSecret(pool, oldRing, 'pepper')
  await addEntries(oldRing, 120, 'ana')
  await addEntries(oldRing, 120)
  const credential = { id: 'c1', provider: 'anthropic', api_base: 'https://api.anthropic.com', version: 3 }
  const encryptedCredential = createRowCipher(oldRing, 'provider_credentials').encrypt('sk-ant', credential)
  await pool.query(
    `insert into provider_credentials (id, provider, api_base, masked, version, sealed, key_id)
     values ('c1', 'anthropic', 'https://api.anthropic.com', '***', 3, $1, $2)`,
    [encryptedCredential.sealed, encryptedCredential.key_id],
  )
  const encryptedDeployment = createRowCipher(oldRing, 'deployments').encrypt('{"api_key":"x"}', {
    id: 'd1',
    version: 1,
  })
  await pool.query(
    `insert into deployments (id, model_name, params, version, sealed, key_id, created_by)
     values ('d1', 'm', '{}', 1, $1, $2, 'master'), ('d2', 'm', '{}', 1, null, null, 'master')`,
    [encryptedDeployment.sealed, encryptedDeployment.key_id],
  )
  const runtime = { id: 'cursor', api_base: 'https://api.cursor.com', version: 4 }
  const encryptedRuntime = createRowCipher(oldRing, 'runtime_credentials').encrypt('crsr', runtime)
  await pool.query(
    `insert into runtime_credentials (id, api_base, masked, version, sealed, key_id)
     values ('cursor', 'https://api.cursor.com', '***', 4, $1, $2)`,
    [encryptedRuntime.sealed, encryptedRuntime.key_id],
  )
  const harness = { alias: 'oc', api_base: 'https://oc.example', version: 5 }
  const encryptedHarness = createRowCipher(oldRing, 'runtime_harnesses').encrypt('oc-key', harness)
  await pool.query(
    `insert into runtime_harnesses (alias, api_spec, display_name, api_base, masked, version, sealed, key_id, created_by)
     values ('oc', 'opencode', 'oc', 'https://oc.example', '***', 5, $1, $2, 'master'),
            ('open', 'opencode', 'open', 'https://oc.example', null, 5, null, null, 'master')`,
    [encryptedHarness.sealed, encryptedHarness.key_id],
  )
  const { rows: times } = await pool.query('select owner_id, key, updated_at, version from vault_entries order by 1, 2')

  assert.deepEqual(await runReencryption(bothRing, 7), { reencrypted: 245, unreadable: 0 })
  assert.deepEqual(new Set((await store.keyUse()).map(({ key_id }) => key_id)), new Set([newRing.currentId]))
  await assertReadable(newRing, 240)
  assert.deepEqual(await loadServiceSecret(pool, newRing, 'pepper'), pepper)
  const { rows: credentials } = await pool.query('select * from provider_credentials')
  assert.equal(createRowCipher(newRing, 'provider_credentials').decrypt(credentials[0]).toString(), 'sk-ant')
  const { rows: deployments } = await pool.query('select * from deployments order by id')
  assert.equal(createRowCipher(newRing, 'deployments').decrypt(deployments[0]).toString(), '{"api_key":"x"}')
  const { rows: runtimes } = await pool.query('select * from runtime_credentials')
  assert.equal(createRowCipher(newRing, 'runtime_credentials').decrypt(runtimes[0]).toString(), 'crsr')
  const { rows: harnesses } = await pool.query('select * from runtime_harnesses order by alias')
  assert.equal(createRowCipher(newRing, 'runtime_harnesses').decrypt(harnesses[0]).toString(), 'oc-key')
  assert.deepEqual([harnesses[1].sealed, harnesses[1].key_id], [null, null])
  assert.deepEqual([deployments[1].sealed, deployments[1].key_id], [null, null])
  // Re-encryption does not change the entry itself.
  assert.deepEqual(
    (await pool.query('select owner_id, key, updated_at, version from vault_entries order by 1, 2')).rows,
    times,
  )
  assert.deepEqual(await runReencryption(bothRing), { reencrypted: 0, unreadable: 0 })
})

test('S25: the credential of a provider cannot be decrypted for another address', async () => {
  const row = { id: 'c1', provider: 'anthropic', api_base: 'https://api.anthropic.com', version: 1 }
  const cipher = createRowCipher(newRing, 'provider_credentials')
  const { sealed } = cipher.encrypt('sk-ant', row)
  assert.throws(() => cipher.decrypt({ ...row, sealed, api_base: 'https://evil.example' }), DecryptionError)
})

test('S12: a value of one table cannot be decrypted in another', () => {
  const tables = Object.keys(encryptedTables) as EncryptedTable[]
  const names = {
    owner_id: 'x',
    key: 'x',
    name: 'x',
    id: 'x',
    alias: 'x',
    endpoint_id: 'x',
    agent_id: 'x',
    delivery_id: 'x',
    principal: 'x',
    request_id: 'x',
    server_id: 'x',
    url: 'x',
    state_hash: 'x',
    task_id: 'x',
    place: 'x',
  }
  const row = { ...names, provider: 'x', api_base: 'x', version: 1 }
  for (const from of tables) {
    const { sealed } = createRowCipher(newRing, from).encrypt('secret', row)
    for (const to of tables.filter(table => table !== from))
      assert.throws(() => createRowCipher(newRing, to).decrypt({ ...row, sealed }), DecryptionError, `${from} as ${to}`)
  }
})

test('S13: re-encryption can stop between any two batches and continue later', async () => {
  await addEntries(oldRing, 50)
  const stopped = new AbortController()
  let batches = 0
  const counting = {
    ...store,
    reencryptBatch: ((table, batch) => {
      if (++batches === 3) stopped.abort()
      return store.reencryptBatch(table, batch)
    }) as typeof store.reencryptBatch,
  }
  const first = await createReencryption({ store: counting, keyring: bothRing, log, batchSize: 10 }).run(stopped.signal)
  assert.equal(first.reencrypted, 30)
  await assertReadable(bothRing, 50)
  assert.equal((await runReencryption(bothRing)).reencrypted, 20)
  await assertReadable(newRing, 50)
})

test('S13: several servers re-encrypt at the same time, each value once', async () => {
  await addEntries(oldRing, 400)
  const done = await Promise.all([1, 2, 3, 4].map(() => runReencryption(bothRing, 10)))
  const total = done.reduce((sum, { reencrypted }) => sum + reencrypted, 0)
  assert.ok(total <= 400)
  // A run skips rows that another server has locked, so one more run may be needed.
  assert.equal(total + (await runReencryption(bothRing)).reencrypted, 400)
  await assertReadable(newRing, 400)
})

test('S13: an entry that changes during re-encryption keeps the change', async () => {
  await addEntries(oldRing, 20)
  const cipher = createRowCipher(oldRing, 'vault_entries')
  const changed = { owner_id: '', key: 'entry-5', version: 99 }
  const { sealed, key_id } = cipher.encrypt('changed', changed)
  const client = await pool.connect()
  await client.query('begin')
  await client.query("update vault_entries set version = 99, sealed = $1, key_id = $2 where key = 'entry-5'", [
    sealed,
    key_id,
  ])
  assert.equal((await runReencryption(bothRing)).reencrypted, 19)
  await client.query('commit')
  client.release()
  assert.equal((await runReencryption(bothRing)).reencrypted, 1)
  const row = (await entries()).find(({ key }) => key === 'entry-5') ?? assert.fail('no entry')
  assert.deepEqual([row.version, row.key_id], [99, newRing.currentId])
  assert.equal(createRowCipher(newRing, 'vault_entries').decrypt(row).toString(), 'changed')
})

test('S13: a value that cannot be decrypted is counted, stays unchanged, and does not stop the run', async () => {
  await addEntries(oldRing, 30)
  await pool.query("update vault_entries set version = 77 where key = 'entry-3'")
  const strange = createKeyring([randomBytes(32)])
  await addEntries(strange, 2, 'stranger')
  const before = (await entries()).filter(({ key, owner_id }) => key === 'entry-3' || owner_id === 'stranger')
  assert.deepEqual(await runReencryption(bothRing, 4), { reencrypted: 29, unreadable: 3 })
  const after = (await entries()).filter(({ key, owner_id }) => key === 'entry-3' || owner_id === 'stranger')
  assert.deepEqual(after, before)
})

test('S13: start re-encrypts in the background, and stop waits for it', async () => {
  await addEntries(oldRing, 300)
  const reencryption = createReencryption({ store, keyring: bothRing, log })
  reencryption.start()
  await reencryption.stop()
  await assertReadable(bothRing, 300)
  assert.equal(
    (await store.keyUse()).reduce((sum, { rows }) => sum + rows, 0),
    300,
  )
})

/** A new data folder, with these lines as its key file. */
function folder(lines?: readonly string[]): string {
  const dataDir = mkdtempSync(join(root, 'data-'))
  if (lines) writeFileSync(encryptionKeyFile(dataDir), lines.join('\n'), { mode: 0o600 })
  return dataDir
}

const contents = async () => JSON.stringify([await entries(), (await pool.query('select * from service_secrets')).rows])

test('S16: a start with an empty database generates a key, and the next start finds it', async () => {
  const dataDir = folder()
  const ring = await openKeyring({ pool, given: [], dataDir })
  await addEntries(ring, 1)
  assert.deepEqual((await openKeyring({ pool, given: [], dataDir })).ids, ring.ids)
})

test('S13: the first key encrypts and all decrypt, from the configuration and from the file', async () => {
  await addEntries(oldRing, 1)
  const given = await openKeyring({ pool, given: [text(newKey), text(oldKey)], dataDir: folder() })
  const file = await openKeyring({ pool, given: [], dataDir: folder([text(newKey), text(oldKey)]) })
  for (const ring of [given, file]) assert.deepEqual(ring.ids, [newRing.currentId, oldRing.currentId])
})

const rejectedStarts = [
  [
    'no key at all',
    () => ({ given: [], dataDir: folder() }),
    /no encryption key is given; set SWITCHYARD_ENCRYPTION_KEY/,
  ],
  [
    'another configured key',
    () => ({ given: [text(newKey)], dataDir: folder() }),
    /but only [0-9a-f]{8} is given; append that key to SWITCHYARD_ENCRYPTION_KEY/,
  ],
  [
    'another key, the right one in an unused file',
    () => ({ given: [text(newKey)], dataDir: folder([text(oldKey)]) }),
    /it may be in .*encryption\.key/,
  ],
  ['another key in the file', () => ({ given: [], dataDir: folder([text(newKey)]) }), /restore .*encryption\.key/],
] as const
for (const [name, place, message] of rejectedStarts) {
  test(`S16: a start with ${name} fails, names the missing key, and changes nothing`, async () => {
    await addEntries(oldRing, 2)
    await loadServiceSecret(pool, oldRing, 'pepper')
    const before = await contents()
    const { given, dataDir } = place()
    const file = encryptionKeyFile(dataDir)
    const fileBefore = existsSync(file) ? readFileSync(file, 'utf8') : undefined
    await assert.rejects(openKeyring({ pool, given, dataDir }), error => {
      assert.ok(error instanceof AppError)
      assert.equal(error.code, 'unavailable')
      assert.match(error.message, new RegExp(`encryption key ${oldRing.currentId} \\(3 values\\)`))
      assert.match(error.message, message)
      assert.match(error.message, /nothing was changed$/)
      for (const key of [oldKey, newKey]) assert.equal(error.message.includes(text(key)), false)
      return true
    })
    assert.equal(await contents(), before)
    assert.equal(existsSync(file) ? readFileSync(file, 'utf8') : undefined, fileBefore)
  })
}
