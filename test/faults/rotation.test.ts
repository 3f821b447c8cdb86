import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { rotateUnderKills } from './rotation.ts'
import { runOnBench } from './run-cases.ts'

test('S13: no secret and no virtual key is lost when the server is killed while it changes the encryption key', async t => {
  const { url } = await freshDatabase()
  const seed = randomInt(2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const plan = { entries: 1_500, virtualKeys: 2, kills: 1, writers: 2, database: url }
  const { entries, kills } = await runOnBench(bench => rotateUnderKills(bench, plan), { seed })
  assert.deepEqual([entries, kills], [1_500, 1])
})
