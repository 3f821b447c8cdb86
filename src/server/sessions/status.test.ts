import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SessionFacts, statusOf } from './status.ts'

type Row = readonly [SessionFacts['isRunning'], number, SessionFacts['lastOutcome'], string, 'awaits approval'?]

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
  [true, 1, null, 'idle', 'awaits approval'],
  [false, 1, null, 'idle', 'awaits approval'],
]

for (const [isRunning, waitingPrompts, lastOutcome, status, awaitsAnswer] of table) {
  const facts = `${isRunning ? 'leased' : 'not leased'}${awaitsAnswer ? ', with a pending approval' : ''}, ${waitingPrompts} waiting, last run ${lastOutcome ?? 'none'}`
  test(`a session is ${status} when it is ${facts}`, () => {
    assert.equal(
      statusOf({ isRunning, awaitsAnswer: awaitsAnswer === 'awaits approval', waitingPrompts, lastOutcome }),
      status,
    )
  })
}
