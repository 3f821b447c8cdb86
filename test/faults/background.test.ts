import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { killUnderResponses } from './background.ts'
import { runOnBench } from './run-cases.ts'

test('V11: after kill -9 a background response runs again, or fails when a reader has a part of its answer', async () => {
  const { url: database } = await freshDatabase()
  await runOnBench(bench => killUnderResponses(bench, { database }), { seed: randomInt(2 ** 31) })
})
