import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noService, runLine } from '../../test/support/service/command-line.ts'
import type { Config } from '../server/config/config.ts'
import type { SecretsReport } from '../server/rotation.ts'
import type { LocalService } from './local-service.ts'

const seals = { key_id: '11111111', state: 'seals', rows: 3, tables: { vault_entries: 2, service_secrets: 1 } } as const
const idle = { key_id: '22222222', state: 'opens', rows: 0, tables: {} } as const
const needed = { key_id: '33333333', state: 'opens', rows: 1, tables: { vault_entries: 1 } } as const
const missing = { key_id: '44444444', state: 'missing', rows: 1, tables: { service_secrets: 1 } } as const

/** Returns this report for every task; `seen` records the tasks. */
function reporting(keys: SecretsReport['keys'], seen: unknown[] = []): LocalService {
  return {
    ...noService,
    configure: async ({ overrides }) => overrides as unknown as Config,
    secrets: {
      status: async config => {
        seen.push(['status', config])
        return { keys }
      },
      reseal: async () => {
        seen.push(['reseal'])
        return { keys, resealed: 1 }
      },
      forget: async (_config, keyId) => {
        seen.push(['forget', keyId])
        return { keys, forgotten: keyId === '44444444' ? 2 : 0 }
      },
    },
  }
}

test('secrets status prints which key encrypts, which is still needed and which can be removed', async () => {
  const seen: unknown[] = []
  const server = reporting([seals, needed, idle], seen)
  const { code, stdout } = await runLine(['secrets', 'status', '--data-dir', 'd'], { server })
  assert.equal(code, 0)
  assert.deepEqual(seen, [['status', { dataDir: 'd' }]])
  assert.deepEqual(stdout.trimEnd().split('\n'), [
    '11111111  encrypts new values  3 values (vault_entries 2, service_secrets 1)',
    '33333333  decrypts older values; still needed  1 value (vault_entries 1)',
    '22222222  no stored value uses this key; it can be removed  0 values',
  ])
})

test('secrets status fails when a key is missing and prints the next step', async () => {
  const { code, stdout } = await runLine(['secrets', 'status'], { server: reporting([seals, missing]) })
  assert.equal(code, 1)
  assert.match(
    stdout,
    /^44444444 {2}missing; configure it again, or delete its values with "secrets forget" {2}1 value/m,
  )
})

test('secrets status before the first start reports that no key exists', async () => {
  const { code, stdout } = await runLine(['secrets', 'status'], { server: reporting([]) })
  assert.equal(code, 0)
  assert.match(stdout, /No encryption key yet/)
})

test('secrets --json prints one object', async () => {
  const { stdout } = await runLine(['secrets', 'reseal', '--json'], { server: reporting([seals]) })
  assert.deepEqual(JSON.parse(stdout), { keys: [seals], resealed: 1 })
})

test('secrets reseal prints the number of re-encrypted values', async () => {
  const { code, stdout } = await runLine(['secrets', 'reseal'], { server: reporting([seals, idle]) })
  assert.equal(code, 0)
  assert.match(stdout, /^1 value re-encrypted\.\n11111111 {2}encrypts/)
})

test('secrets forget requires --yes and fails when no value uses the key', async () => {
  const seen: unknown[] = []
  const server = reporting([seals], seen)
  assert.equal((await runLine(['secrets', 'forget', '44444444'], { server })).code, 2)
  assert.deepEqual(seen, [])
  const done = await runLine(['secrets', 'forget', '44444444', '--yes'], { server })
  assert.equal(done.code, 0)
  assert.match(done.stdout, /^2 values deleted\.$/m)
  const nothing = await runLine(['secrets', 'forget', 'ffffffff', '--yes'], { server })
  assert.equal(nothing.code, 1)
  assert.match(nothing.stderr, /no stored value uses encryption key ffffffff/)
})
