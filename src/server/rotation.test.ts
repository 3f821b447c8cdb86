import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { temporaryFolder } from '../../test/support/service/data-folder.ts'
import type { Config } from './config/config.ts'
import { loadConfig } from './config/load.ts'
import { createPool } from './db/connect.ts'
import { embeddedUrl, startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { createKeyring } from './platform/encryption.ts'
import { encryptionKeyFile } from './platform/encryption-key.ts'
import { createLog } from './platform/log.ts'
import { examineSecrets, forgetKey, reencryptSecrets } from './rotation.ts'
import { loadServiceSecret } from './secrets/service-secret.ts'
import { upgradeDatabase } from './upgrade.ts'

const dataDir = join(temporaryFolder(), 'data')
const log = createLog('silent')
const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const oldId = createKeyring([oldKey]).currentId
const newId = createKeyring([newKey]).currentId

function configFor(...keys: readonly Buffer[]): Config {
  const given = keys.map(key => key.toString('base64')).join(',')
  return loadConfig({ env: { SWITCHYARD_ENCRYPTION_KEY: given }, overrides: { dataDir } })
}

test('a data folder without a database stays unchanged', async () => {
  await assert.rejects(examineSecrets({ config: configFor(), log }), /no database found in/)
  assert.equal(existsSync(dataDir), false)
})

test('a database of another version stays unchanged', async () => {
  const running = await startEmbeddedPostgres({ dataDir, log })
  await assert.rejects(examineSecrets({ config: configFor(), log }), /run "switchyard migrate" first/)
  await running.stop()
  await upgradeDatabase({ config: configFor(), log, mode: 'apply' })
})

test('without a key the report is empty and does not generate a key', async () => {
  assert.deepEqual(await examineSecrets({ config: configFor(), log }), { keys: [] })
  assert.equal(existsSync(encryptionKeyFile(dataDir)), false)
})

test('S13: keys are counted, values re-encrypted and lost keys forgotten while a server runs', async () => {
  const running = await startEmbeddedPostgres({ dataDir, log })
  after(() => running.stop())
  assert.equal(embeddedUrl(dataDir), running.url)
  const pool = createPool({ url: running.url, max: 1, onLost: () => undefined })
  after(() => pool.end())
  const pepper = await loadServiceSecret(pool, createKeyring([oldKey]), 'pepper')
  const one = { service_secrets: 1 }

  const lost = { key_id: oldId, state: 'missing', rows: 1, tables: one }
  const [first, ...others] = (await examineSecrets({ config: configFor(newKey), log })).keys
  assert.deepEqual([first, ...others], [{ key_id: newId, state: 'seals', rows: 0, tables: {} }, lost])

  const both = { config: configFor(newKey, oldKey), log }
  assert.deepEqual((await examineSecrets(both)).keys[1], { ...lost, state: 'opens' })
  assert.deepEqual(await reencryptSecrets(both), {
    resealed: 1,
    keys: [
      { key_id: newId, state: 'seals', rows: 1, tables: one },
      { key_id: oldId, state: 'opens', rows: 0, tables: {} },
    ],
  })
  assert.deepEqual(await loadServiceSecret(pool, createKeyring([newKey]), 'pepper'), pepper)

  await assert.rejects(forgetKey(both, newId), /is configured, so its values can be decrypted/)
  const onlyOld = { config: configFor(oldKey), log }
  assert.equal((await forgetKey(onlyOld, 'ffffffff')).forgotten, 0)
  assert.deepEqual(await forgetKey(onlyOld, newId), {
    forgotten: 1,
    keys: [{ key_id: oldId, state: 'seals', rows: 0, tables: {} }],
  })
  assert.notDeepEqual(await loadServiceSecret(pool, createKeyring([oldKey]), 'pepper'), pepper)
  const { rows } = await pool.query('select action, object_id, before from audit_log order by created_at desc limit 1')
  assert.deepEqual(rows, [{ action: 'encryption_key.forget', object_id: newId, before: one }])
})
