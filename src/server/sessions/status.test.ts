import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SessionFacts, statusOf } from './status.ts'

type Row = readonly [SessionFacts['held'], SessionFacts['paused'], number, SessionFacts['lastOutcome'], string, 'asks'?]

const table: readonly Row[] = [
  [false, false, 0, null, 'idle'],
  [false, false, 0, 'completed', 'idle'],
  [false, false, 0, 'cancelled', 'idle'],
  [false, false, 0, 'failed', 'error'],
  [false, false, 1, null, 'pending'],
  [false, false, 1, 'failed', 'pending'],
  [false, false, 3, 'completed', 'pending'],
  [true, false, 0, null, 'running'],
  [true, false, 1, 'failed', 'running'],
  [true, false, 2, 'cancelled', 'running'],
  [false, true, 1, null, 'idle'],
  [false, true, 3, 'failed', 'idle'],
  [true, true, 2, null, 'running'],
  [true, false, 1, null, 'idle', 'asks'],
  [false, false, 1, null, 'pending', 'asks'],
]

for (const [held, paused, waitingPrompts, lastOutcome, status, asks] of table) {
  const facts = `${held ? 'held' : 'not held'}${paused ? ', paused' : ''}${asks ? ', with a question' : ''}, ${waitingPrompts} waiting, last run ${lastOutcome ?? 'none'}`
  test(`a session is ${status} when it is ${facts}`, () => {
    assert.equal(statusOf({ held, asks: asks === 'asks', paused, waitingPrompts, lastOutcome }), status)
  })
}
