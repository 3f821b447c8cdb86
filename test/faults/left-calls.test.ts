import { randomInt } from 'node:crypto'
import { test } from 'node:test'
import { freshDatabase } from '../support/service/database.ts'
import { assertBooked, assertHungUp, assertPaused, hangUp, killUnderCalls, pause } from './left-calls.ts'
import { runOnBench } from './run-cases.ts'

const seed = randomInt(2 ** 31)

test('V4: 40 calls that hang up before the first byte are booked, and do not pass a budget', async () => {
  const { url: database } = await freshDatabase()
  assertHungUp(await runOnBench(bench => hangUp(bench, { calls: 40, database }), { seed }))
})

test('V4: calls of a paused server whose clients have left are booked with what the upstream has answered', async () => {
  const { url: database } = await freshDatabase()
  assertPaused(await runOnBench(bench => pause(bench, { calls: 12, database }), { seed }))
})

test('V5: kill -9 loses no ledger rows of calls without a budget but those of the last moment', async () => {
  const { url: database } = await freshDatabase()
  assertBooked(await runOnBench(bench => killUnderCalls(bench, { forMs: 2_000, database }), { seed }))
})
