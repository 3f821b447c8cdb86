import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../test/support/service/data-folder.ts'
import { loadConfig } from './config/load.ts'
import { startEmbeddedPostgres } from './db/embedded-postgres.ts'
import { createLog } from './platform/log.ts'
import { upgradeDatabase } from './upgrade.ts'

const dataDir = join(temporaryFolder(), 'data')
const config = loadConfig({ env: {}, overrides: { dataDir } })
const log = createLog('silent')

test('plan changes nothing, apply runs the planned migrations, and no migration is left', async () => {
  const planned = await upgradeDatabase({ config, log, mode: 'plan' })
  assert.equal(planned.database, 'embedded')
  assert.ok(planned.migrations.length > 0)
  assert.ok(planned.steps.every(({ ms }) => ms === null))
  const applied = await upgradeDatabase({ config, log, mode: 'apply' })
  assert.deepEqual(applied.migrations, planned.migrations)
  assert.deepEqual(
    applied.steps.map(({ name, locks }) => ({ name, locks, ms: null })),
    planned.steps,
  )
  assert.ok(applied.steps.every(({ ms }) => ms !== null))
  assert.deepEqual((await upgradeDatabase({ config, log, mode: 'plan' })).migrations, [])
})

test('a database in use by a server stays unchanged, and the error names the process', async () => {
  const running = await startEmbeddedPostgres({ dataDir, log })
  try {
    const work = upgradeDatabase({ config, log, mode: 'apply' })
    await assert.rejects(work, new RegExp(`in use by process ${process.pid}`))
  } finally {
    await running.stop()
  }
})
