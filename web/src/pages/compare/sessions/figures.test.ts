import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  answered,
  begun,
  called,
  ended,
  logOf,
  prompted,
  returned,
  running,
} from '../../../session-log/logs-for-tests.ts'
import { createView } from '../../../session-log/session-view.ts'
import { figuresOf } from './figures.ts'
import { promptCosts } from './prompt-costs.ts'

const costs = promptCosts([
  { prompt_id: 'p1', cost_usd: '0.25' },
  { prompt_id: 'p1', cost_usd: '0.5' },
  { prompt_id: 'p2', cost_usd: null },
  { prompt_id: null, cost_usd: '9' },
])

test('Figures sum requests, tokens, calls, time and cost of the turns', () => {
  const { turns } = createView(
    logOf(
      prompted('p1'),
      running('p1'),
      begun('s1', ['p1']),
      called('c1'),
      answered('s1'),
      returned('c1', 'no', true),
      ended('p1'),
    ),
  )
  assert.deepEqual(figuresOf(turns, costs), {
    costUsd: 0.75,
    ms: 5000,
    requests: 1,
    inputTokens: 12,
    outputTokens: 5,
    calls: 1,
    failedCalls: 1,
  })
})

test('What no event and no priced call reports is unknown, not 0', () => {
  const { turns } = createView(logOf(prompted('p2'), running('p2')))
  const { costUsd, ms, inputTokens } = figuresOf(turns, costs)
  assert.deepEqual([costUsd, ms, inputTokens], [undefined, undefined, undefined])
})
