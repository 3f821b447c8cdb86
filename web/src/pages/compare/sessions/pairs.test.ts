import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ended, logOf, prompted, running } from '../../../session-log/logs-for-tests.ts'
import { createView } from '../../../session-log/session-view.ts'
import { equalPairs, pairsOf, promptText } from './pairs.ts'

const turnsOf = (...prompts: readonly string[]) =>
  createView(logOf(...prompts.flatMap((text, at) => [prompted(`p${at}`, text), running(`p${at}`), ended(`p${at}`)])))
    .turns

test('Only prompts that both sessions have are equal pairs', () => {
  const pairs = pairsOf(turnsOf('One', 'Two', 'Three'), turnsOf('One', 'Other'))
  assert.equal(pairs.length, 3)
  assert.deepEqual(
    equalPairs(pairs).map(({ a }) => promptText(a)),
    ['One'],
  )
})
