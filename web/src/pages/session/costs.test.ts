import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UsageCall } from '../../../../src/contract/usage.ts'
import type { Group, Turn } from '../../session-log/view.ts'
import { costsOf } from './costs.ts'

const callOf = (request_id: string, prompt_id: string, [input_tokens, output_tokens, cost_usd]: CallFigures) =>
  ({ request_id, prompt_id, input_tokens, output_tokens, cost_usd }) as UsageCall
type CallFigures = readonly [input: number, output: number, cost: string | null]

const groupOf = (key: string, input: number, output: number) =>
  ({ key, usage: { input, output, cacheRead: 0, cacheWrite: 0 } }) as Group
const turnOf = (promptId: string, groups: readonly Group[]) => ({ prompt: { id: promptId }, groups }) as unknown as Turn

test('each model request takes the next call of its prompt with the same tokens', () => {
  const turns = [turnOf('p1', [groupOf('a', 10, 5), groupOf('b', 10, 5)]), turnOf('p2', [groupOf('c', 10, 5)])]
  const calls = [
    callOf('req_3', 'p2', [10, 5, '0.3']),
    callOf('req_2', 'p1', [10, 5, '0.2']),
    callOf('req_1', 'p1', [10, 5, '0.1']),
  ]
  assert.deepEqual(
    [...costsOf(turns, calls)],
    [
      ['a', '0.1'],
      ['b', '0.2'],
      ['c', '0.3'],
    ],
  )
})

test('a failed call between two others does not shift the costs, and an unknown price stays unknown', () => {
  const turns = [turnOf('p', [groupOf('a', 10, 5), groupOf('b', 20, 6), groupOf('c', 30, 7)])]
  const calls = [
    callOf('req_1', 'p', [10, 5, '1']),
    callOf('req_2', 'p', [0, 0, null]),
    callOf('req_3', 'p', [20, 6, null]),
  ]
  const costs = costsOf(turns, calls)
  assert.deepEqual([costs.get('a'), costs.get('b'), costs.get('c')], ['1', null, undefined])
})
