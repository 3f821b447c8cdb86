import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { killAtRandom } from './kill.ts'
import { runOnBench } from './run-cases.ts'

test('no acknowledged prompt is lost or run twice when the server is killed three times with work in flight', async t => {
  const { url } = await freshDatabase()
  const plan = { kills: 3, sessions: 6, promptsPerSession: 4, database: url }
  const seed = randomInt(2 ** 31)
  t.diagnostic(`seed ${seed}`)
  const result = await runOnBench(bench => killAtRandom(bench, plan), { seed })
  assert.equal(result.prompts_done + result.prompts_error, plan.sessions * plan.promptsPerSession)
})
