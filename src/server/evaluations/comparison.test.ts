import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Experiment, ExperimentCase } from '../../contract/experiments.ts'
import { comparisonOf } from './comparison.ts'

type Facts = Pick<ExperimentCase, 'state'> & Partial<ExperimentCase>

const withCases = (facts: Readonly<Record<string, Facts>>, changes: Partial<Experiment> = {}) => ({
  experiment: { pass_rate: 0.5, score: 0.5, cost_usd: null, ...changes } as Experiment,
  cases: Object.entries(facts).map(
    ([case_id, fact]) =>
      ({ case_id, name: case_id, score: null, cost_usd: null, duration_ms: null, ...fact }) as ExperimentCase,
  ),
})

test('cases are matched by id: worse ones come first, and cancelled ones count as absent', () => {
  const base = withCases({
    same: { state: 'failed' },
    better: { state: 'error' },
    worse: { state: 'passed', score: 1, cost_usd: 0.5, duration_ms: 100 },
    deleted: { state: 'passed' },
    cancelled: { state: 'passed' },
  })
  const other = withCases({
    same: { state: 'error' },
    better: { state: 'passed' },
    worse: { state: 'failed', score: 0.25, cost_usd: 0.75, duration_ms: 40 },
    added: { state: 'passed' },
    cancelled: { state: 'cancelled' },
  })
  const { cases, totals } = comparisonOf(base, other)
  assert.deepEqual(
    cases.map(({ name, change }) => [name, change]),
    [
      ['worse', 'worse'],
      ['better', 'better'],
      ['same', 'same'],
      ['added', 'only_in_other'],
      ['deleted', 'only_in_base'],
      ['cancelled', 'only_in_base'],
    ],
  )
  const [worse] = cases
  assert.deepEqual([worse?.score_change, worse?.cost_change_usd, worse?.duration_change_ms], [-0.75, 0.25, -60])
  assert.deepEqual([totals.worse, totals.better, totals.same, totals.duration_change_ms], [1, 1, 1, -60])
  // An unknown cost has no difference.
  assert.equal(totals.cost_change_usd, null)
})
