import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Outcome, type OutcomeState, progressOf, type StoredOutcome } from './outcomes.ts'

const outcome: Outcome = { outcome_id: 'outc_1', description: 'A', rubric: 'B', max_iterations: 3, model: null }
const ended_at = new Date('2026-01-02T03:04:05Z')
const at = '2026-01-02T03:04:04.123456+00:00'

const state = (result: OutcomeState['result'], iteration = 0): OutcomeState => ({
  result,
  iteration,
  explanation: result === 'evaluating' ? null : 'why',
  ...(['evaluating', 'needs_revision'].includes(result) ? {} : { completed_at: at }),
})

const table: readonly (readonly [
  guarantee: string,
  state: StoredOutcome['state'],
  last: OutcomeState | null,
  expected: string,
])[] = [
  ['a waiting prompt is pending', 'waiting', null, 'pending 0'],
  ['a prompt that works is running', 'running', null, 'running 0'],
  ['an open evaluation is evaluating', 'running', state('evaluating', 1), 'evaluating 1'],
  ['a revision is running, one further', 'running', state('needs_revision', 1), 'running 2'],
  ['a revision that a budget stopped is running', 'waiting', state('needs_revision', 0), 'running 1'],
  ['a verdict stays', 'running', state('max_iterations_reached', 2), 'max_iterations_reached 2'],
  ['a satisfied outcome stays satisfied', 'done', state('satisfied', 1), 'satisfied 1'],
  ['a stop between two evaluations interrupts', 'cancelled', state('needs_revision', 0), 'interrupted 0'],
  ['a failed run fails', 'error', state('needs_revision', 0), 'failed 0'],
  ['a run that ended without an evaluation fails', 'done', null, 'failed 0'],
]

for (const [guarantee, promptState, last, expected] of table) {
  test(guarantee, () => {
    const end = ['waiting', 'running'].includes(promptState) ? null : ended_at
    const shown = progressOf({ outcome, outcome_state: last, state: promptState, ended_at: end })
    assert.equal(`${shown.result} ${shown.iteration}`, expected)
    const isOver = !['pending', 'running', 'evaluating'].includes(shown.result)
    assert.equal(shown.completed_at !== null, isOver)
  })
}
