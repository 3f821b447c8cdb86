import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createRowCipher } from '../../src/server/db/encrypted-rows.ts'
import { createKeyring } from '../../src/server/platform/encryption.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, type ServiceOptions, startService } from '../support/service/service.ts'

const { url: databaseUrl, pool } = await freshDatabase()
const root = mkdtempSync(join(tmpdir(), 'switchyard-keys-'))
after(() => rmSync(root, { recursive: true, force: true }))

const text = (byte: number): string => Buffer.alloc(32, byte).toString('base64')
const ringOf = (byte: number) => createKeyring([Buffer.alloc(32, byte)])
const [first, second] = [1, 2]

interface StartOptions extends Pick<ServiceOptions, 'key'> {
  /** Text of SWITCHYARD_ENCRYPTION_KEY; absent: none is given. */
  readonly keys?: string
  readonly dataDir?: string
}

let last: Service | undefined
after(() => last?.stop())

async function start({ keys, key, dataDir = mkdtempSync(join(root, 'data-')) }: StartOptions): Promise<Service> {
  await last?.stop()
  const env = { SWITCHYARD_ENCRYPTION_KEY: keys }
  last = await startService({ databaseUrl, dataDir, env, ...(key !== undefined && { key }) })
  return last
}

/** The output of a start that is rejected. */
async function refusal(options: StartOptions): Promise<string> {
  await last?.stop()
  last = undefined
  const outcome = await start(options).catch((error: Error) => error.message)
  if (typeof outcome === 'string') return outcome
  assert.fail('the service started')
}

const encryptedRows = async () => {
  const { rows } = await pool.query(`
    select owner_id || '/' || key as name, version, sealed, key_id from vault_entries
    union all select name, version, sealed, key_id from service_secrets order by 1`)
  return rows
}

let virtualKey = ''
/** The virtual key opens the API and the vault holds what was put in; the database needs the key `byte` alone. */
async function assertAllThere(service: Service, byte: number): Promise<void> {
  assert.equal((await send({ ...service, key: virtualKey }, 'GET /api/agents')).status, 200)
  const { keys } = (await send(service, 'GET /api/vault')).json<{ keys: { key: string }[] }>()
  assert.deepEqual(
    keys.map(({ key }) => key),
    ['TOKEN'],
  )
  const { rows } = await pool.query("select * from vault_entries where key = 'TOKEN'")
  assert.equal(createRowCipher(ringOf(byte), 'vault_entries').decrypt(rows[0]).toString(), 'vault canary')
}

test('a vault entry and a virtual key are made under the first encryption key', async () => {
  const service = await start({ keys: text(first) })
  const made = await send(service, 'POST /api/keys', { body: { label: 'survivor' } })
  assert.equal(made.status, 201)
  virtualKey = made.json<{ key: string }>().key
  await send(service, 'POST /api/vault', { body: { key: 'TOKEN', value: 'vault canary' } })
  await assertAllThere(service, first)
  assert.equal(service.logs().includes('vault canary'), false)
})

test('S12: a new master key leaves every stored value readable', async () => {
  const before = await encryptedRows()
  const service = await start({ keys: text(first), key: 'sk-quite-another-master-key' })
  await assertAllThere(service, first)
  assert.deepEqual(await encryptedRows(), before)
})

const refused: readonly (readonly [guarantee: string, options: () => StartOptions, reason: RegExp])[] = [
  [
    'another encryption key',
    () => ({ keys: text(second) }),
    /encrypted with encryption key [0-9a-f]{8} \(2 values\), but only/,
  ],
  ['no encryption key and a new data folder', () => ({}), /no encryption key is given/],
  ['a key of 31 bytes', () => ({ keys: Buffer.alloc(31).toString('base64') }), /must be 32 bytes in base64/],
  ['an empty second key', () => ({ keys: `${text(first)},` }), /must be 32 bytes in base64/],
  ['a key file that others can read', () => ({ dataDir: withFile(text(first), 0o640) }), /mode 640.*chmod 600/],
  ['a damaged key file', () => ({ dataDir: withFile('damaged', 0o600) }), /does not contain encryption keys/],
  [
    'a key file with another key',
    () => ({ dataDir: withFile(text(second), 0o600) }),
    /, but only [0-9a-f, ]+ is given/,
  ],
]

function withFile(content: string, mode: number): string {
  const dataDir = mkdtempSync(join(root, 'data-'))
  writeFileSync(join(dataDir, 'encryption.key'), content)
  chmodSync(join(dataDir, 'encryption.key'), mode)
  return dataDir
}

for (const [guarantee, options, reason] of refused) {
  test(`S16: a start with ${guarantee} is rejected with the reason, and the database stays as it is`, async () => {
    const before = await encryptedRows()
    const given = { dataDir: mkdtempSync(join(root, 'data-')), ...options() }
    const had = existsSync(join(given.dataDir, 'encryption.key'))
    const output = await refusal(given)
    assert.match(output, reason)
    for (const key of [text(first), text(second)]) assert.equal(output.includes(key), false)
    assert.deepEqual(await encryptedRows(), before)
    assert.equal(existsSync(join(given.dataDir, 'encryption.key')), had)
  })
}

test('S16: the right key from a file of mode 0600 decrypts the values encrypted with the key of the variable', async () => {
  await assertAllThere(await start({ dataDir: withFile(`${text(first)}\n`, 0o600) }), first)
})

test('S13: with a new first key the running service re-encrypts everything, and the old key can be removed', async () => {
  const service = await start({ keys: `${text(second)},${text(first)}` })
  await eventually(async () => (await encryptedRows()).every(({ key_id }) => key_id === ringOf(second).currentId))
  await assertAllThere(service, second)
  await assertAllThere(await start({ keys: text(second) }), second)
  assert.match(await refusal({ keys: text(first) }), /, but only [0-9a-f, ]+ is given/)
})
