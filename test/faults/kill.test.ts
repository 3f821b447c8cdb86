import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshDatabase } from '../support/database.ts'
import { killAtRandom } from './kill.ts'
import { runOnBench } from './run-cases.ts'

test('no acknowledged prompt is lost or run twice when the server is killed three times at work', async () => {
  const { url } = await freshDatabase()
  const plan = { kills: 3, sessions: 6, promptsPerSession: 4, database: url }
  const fault = { run: async (bench: Parameters<typeof killAtRandom>[0]) => killAtRandom(bench, plan) }
  const result = await runOnBench(fault, { seed: 1 })
  assert.equal(result.prompts_done + result.prompts_error, plan.sessions * plan.promptsPerSession)
})
