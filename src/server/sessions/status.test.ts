import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SessionFacts, statusOf } from './status.ts'

const table: readonly (readonly [SessionFacts['held'], number, SessionFacts['lastOutcome'], string])[] = [
  [false, 0, null, 'idle'],
  [false, 0, 'completed', 'idle'],
  [false, 0, 'cancelled', 'idle'],
  [false, 0, 'failed', 'error'],
  [false, 1, null, 'pending'],
  [false, 1, 'failed', 'pending'],
  [false, 3, 'completed', 'pending'],
  [true, 0, null, 'running'],
  [true, 1, 'failed', 'running'],
  [true, 2, 'cancelled', 'running'],
]

for (const [held, waitingPrompts, lastOutcome, status] of table) {
  const facts = `${held ? 'held' : 'not held'}, ${waitingPrompts} waiting, last run ${lastOutcome ?? 'none'}`
  test(`a session is ${status} when it is ${facts}`, () => {
    assert.equal(statusOf({ held, waitingPrompts, lastOutcome }), status)
  })
}
