import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../../../../src/contract/events.ts'
import { ended, logOf, prompted, running } from '../../../session-log/logs-for-tests.ts'
import { createView } from '../../../session-log/session-view.ts'
import { partingSeq, promptTurns } from './parting.ts'

const first = [prompted('p1', 'One'), running('p1'), ended('p1')]
const second = [prompted('p2', 'Two'), running('p2'), ended('p2')]
const forkedFrom = (session_id: string, seq: number): NewEvent => ({
  type: 'session.forked',
  forked_from: { session_id, seq },
  context: 'log',
})
const side = (id: string, ...events: readonly NewEvent[]) => ({ id, view: createView(logOf(...events)) })

const original = side('ses_a', ...first, ...second)
const fork = side('ses_b', ...first, forkedFrom('ses_a', 3), ...second)

test('A fork and its original part at the fork, in both orders', () => {
  assert.equal(partingSeq(original, fork), 3)
  assert.equal(partingSeq(fork, original), 3)
})

test('Two forks of one session part at the earlier fork', () => {
  const other = side('ses_c', ...first, ...second, forkedFrom('ses_a', 6))
  assert.equal(partingSeq(fork, other), 3)
})

test('Independent sessions have nothing in common', () => {
  assert.equal(partingSeq(original, side('ses_d', ...first)), 0)
  assert.equal(promptTurns(original.view, 0).length, 2)
})

test('Turns after the parting leave out the copied ones', () => {
  for (const { view } of [original, fork]) {
    assert.deepEqual(
      promptTurns(view, 3).map(({ prompt }) => prompt?.id),
      ['p2'],
    )
  }
})
