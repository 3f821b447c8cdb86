import assert from 'node:assert/strict'
import { test } from 'node:test'
import { observedBudgets, observedCall, observedSweep, observedUsage } from './observed.ts'
import { combined, noTelemetry, type Telemetry } from './telemetry.ts'

test('telemetry that is off leaves every part of the call path as it is', () => {
  const usage = { book: () => undefined }
  const budgets = { reserve: () => assert.fail('not called') }
  const call = () => assert.fail('not called')
  const sweep = async () => undefined
  assert.equal(combined([]), noTelemetry)
  assert.equal(observedUsage(usage, noTelemetry), usage)
  assert.equal(observedBudgets(budgets, noTelemetry), budgets)
  assert.equal(observedCall(call, noTelemetry), call)
  assert.equal(observedSweep('retention', sweep, noTelemetry), sweep)
})

test('several receivers each get everything', () => {
  const got: string[] = []
  const receiver = (name: string): Telemetry => ({ ...noTelemetry, ticked: state => void got.push(`${name} ${state}`) })
  combined([receiver('a'), receiver('b')]).ticked('started')
  assert.deepEqual(got, ['a started', 'b started'])
})

test('a failed sweep is reported as failed, and its error reaches the caller', async () => {
  const swept: boolean[] = []
  const telemetry: Telemetry = { ...noTelemetry, swept: (_name, _ms, isFailed) => void swept.push(isFailed) }
  const sweep = observedSweep('sessions', async (isBroken: boolean) => assert.ok(!isBroken), telemetry)
  await sweep(false)
  await assert.rejects(sweep(true))
  assert.deepEqual(swept, [false, true])
})
