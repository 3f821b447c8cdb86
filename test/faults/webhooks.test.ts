import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { runOnBench } from './run-cases.ts'
import { crashAtEachStep, flowOfIds, stormOfOneId } from './webhooks.ts'

const place = (t: TestContext) => {
  const seed = randomInt(2 ** 31)
  t.diagnostic(`seed ${seed}`)
  return { seed }
}

test('I7: 500 parallel deliveries of one id on two replicas are one session and one prompt', async t => {
  const { url } = await freshDatabase()
  const result = await runOnBench(bench => stormOfOneId(bench, { deliveries: 500, database: url }), place(t))
  assert.equal(result.duplicate + result.processing, 499)
})

test('I7: deliveries of different ids on two replicas are a session each', async t => {
  const { url } = await freshDatabase()
  // The time is for the long form, on a machine that does nothing else.
  const plan = { deliveries: 100, agents: 5, withinMs: 2_000, p99Ms: 30_000, role: 'all', database: url } as const
  const result = await runOnBench(bench => flowOfIds(bench, plan), place(t))
  assert.equal(result.deliveries, 100)
})

test('I7: a delivery whose server is killed at any step is one session and one prompt once it was sent again', async t => {
  const plan = { database: async () => (await freshDatabase()).url, isShort: true }
  const settled = await runOnBench(bench => crashAtEachStep(bench, plan), place(t))
  assert.equal(Object.keys(settled).length, 4)
})
