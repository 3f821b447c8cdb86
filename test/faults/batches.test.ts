import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { killUnderBatch } from './batches.ts'
import { runOnBench } from './run-cases.ts'

test('F45: a batch has one result per request, within its budget, after its server was killed twice', async t => {
  const { url: database } = await freshDatabase()
  const plan = { lines: 120, calls: 8, delayMs: 40, kills: 2, database }
  const numbers = await runOnBench(
    bench =>
      killUnderBatch(bench, {
        ...plan,
        untilKill: ({ done, kills }) => eventually(async () => (await done()) >= 30 + 50 * kills, { withinMs: 60_000 }),
      }),
    { seed: randomInt(2 ** 31) },
  )
  t.diagnostic(JSON.stringify(numbers))
})
