import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costSteps } from './cost-steps.ts'

const call = (prompt_id: string | null, cost_usd: string | null, at: number) => ({
  prompt_id,
  cost_usd,
  created_at: `2026-01-01T00:00:0${at}.000Z`,
})

test('Calls of a prompt are one step, oldest first, with the sum so far', () => {
  const steps = costSteps([call('p2', '0.5', 3), call('p1', '0.25', 2), call('p1', '0.25', 1)])
  assert.deepEqual(
    steps.map(({ promptId, calls, costUsd, sumUsd }) => ({ promptId, calls, costUsd, sumUsd })),
    [
      { promptId: 'p1', calls: 2, costUsd: 0.5, sumUsd: 0.5 },
      { promptId: 'p2', calls: 1, costUsd: 0.5, sumUsd: 1 },
    ],
  )
})

test('A step is unknown only when none of its calls has a price', () => {
  const [first, second] = costSteps([call(null, null, 3), call('p1', '0.1', 2), call('p1', null, 1)])
  assert.equal(first?.isUnknown, false)
  assert.equal(second?.isUnknown, true)
})

test('A prompt that comes back after another one gets a separate step and key', () => {
  const steps = costSteps([call('p1', '1', 3), call('p2', '1', 2), call('p1', '1', 1)])
  assert.equal(new Set(steps.map(({ key }) => key)).size, 3)
})
