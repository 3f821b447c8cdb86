import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SessionFacts, statusOf } from './status.ts'

type Row = readonly [SessionFacts['held'], number, SessionFacts['lastOutcome'], string, 'asks'?]

const table: readonly Row[] = [
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
  [true, 1, null, 'idle', 'asks'],
  [false, 1, null, 'idle', 'asks'],
]

for (const [held, waitingPrompts, lastOutcome, status, asks] of table) {
  const facts = `${held ? 'held' : 'not held'}${asks ? ', with a question' : ''}, ${waitingPrompts} waiting, last run ${lastOutcome ?? 'none'}`
  test(`a session is ${status} when it is ${facts}`, () => {
    assert.equal(statusOf({ held, asks: asks === 'asks', waitingPrompts, lastOutcome }), status)
  })
}
