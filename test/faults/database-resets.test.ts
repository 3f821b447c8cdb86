import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { resetDatabase } from './database-resets.ts'
import { runOnBench } from './run-cases.ts'

test('V1: of 200 prompts under 10 resets of the database none ends in an error of ours', async t => {
  const { url } = await freshDatabase()
  const plan = { sessions: 20, promptsPerSession: 10, resets: 10, database: url }
  const seed = randomInt(2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const result = await runOnBench(bench => resetDatabase(bench, plan), { seed })
  t.diagnostic(JSON.stringify(result))
  assert.equal(result.prompts_done, plan.sessions * plan.promptsPerSession)
})
