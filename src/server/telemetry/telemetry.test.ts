import assert from 'node:assert/strict'
import { test } from 'node:test'
import { observedBudgets, observedCall, observedSweep, observedUsage } from './observed.ts'
import { combined, noReceiver, noTelemetry, type Telemetry, type TelemetryReceiver } from './telemetry.ts'

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
  const receiver = (name: string): TelemetryReceiver => ({
    ...noReceiver,
    ticked: state => void got.push(`${name} ${state}`),
    followed: (_sessionId, { type }, { endedRun }) => void got.push(`${name} ${type} ${endedRun?.outcome}`),
  })
  const telemetry = combined([receiver('a'), receiver('b')])
  telemetry.ticked('started')
  const run = { id: 'e', seq: 1, processed_at: new Date(0).toISOString(), prompt_id: 'p', run_id: 'r' }
  telemetry.stored('s', [
    { ...run, type: 'session.status_running' },
    { ...run, type: 'session.status_idle', stop_reason: { type: 'end_turn' } },
  ])
  assert.deepEqual(got, [
    'a started',
    'b started',
    'a session.status_running undefined',
    'b session.status_running undefined',
    'a session.status_idle completed',
    'b session.status_idle completed',
  ])
})

test('a failed sweep is reported as failed, and its error reaches the caller', async () => {
  const swept: boolean[] = []
  const telemetry: Telemetry = { ...noTelemetry, swept: (_name, _ms, isFailed) => void swept.push(isFailed) }
  const sweep = observedSweep('sessions', async (isBroken: boolean) => assert.ok(!isBroken), telemetry)
  await sweep(false)
  await assert.rejects(sweep(true))
  assert.deepEqual(swept, [false, true])
})
