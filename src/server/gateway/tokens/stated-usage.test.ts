import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../platform/json.ts'
import { chatUsageOf } from './stated-usage.ts'

const table: readonly (readonly [string, unknown, Json | undefined])[] = [
  [
    'U3: cached prompt tokens are subtracted',
    { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } },
    { input_tokens: 20, cache_read_tokens: 80, output_tokens: 5 },
  ],
  [
    'U3: tokens written to a cache are subtracted and reported',
    { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 60 } },
    { input_tokens: 30, cache_read_tokens: 10, cache_write_5m_tokens: 60 },
  ],
  [
    'U3: more cached than prompt tokens leave zero',
    { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 80 } },
    { input_tokens: 0, cache_read_tokens: 80 },
  ],
  [
    'U3: DeepSeek reports cache hits in a separate field',
    { prompt_tokens: 10, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 6 },
    { input_tokens: 6, cache_read_tokens: 4 },
  ],
  [
    'U3: Moonshot reports cached tokens in a separate field',
    { prompt_tokens: 10, cached_tokens: 4 },
    { input_tokens: 6, cache_read_tokens: 4 },
  ],
  [
    'U7: completion tokens include reasoning tokens',
    { prompt_tokens: 10, completion_tokens: 50, total_tokens: 60, completion_tokens_details: { reasoning_tokens: 40 } },
    { input_tokens: 10, output_tokens: 50, reasoning_tokens: 40 },
  ],
  [
    'U7: reasoning tokens that the total counts separately are added once',
    {
      prompt_tokens: 10,
      completion_tokens: 50,
      total_tokens: 100,
      completion_tokens_details: { reasoning_tokens: 40 },
    },
    { input_tokens: 10, output_tokens: 90, reasoning_tokens: 40 },
  ],
  ['F17: invalid counts are ignored', { prompt_tokens: -1, completion_tokens: 1e300, cached_tokens: '7' }, undefined],
  ['F17: fractions are ignored', { prompt_tokens: 1.5, completion_tokens: 3 }, { output_tokens: 3 }],
  ['F17: null usage gives no counts', null, undefined],
]

for (const [guarantee, usage, expected] of table) test(guarantee, () => assert.deepEqual(chatUsageOf(usage), expected))

test('F17: no count is negative or invalid for any usage object', () => {
  const number = fc.oneof(fc.double(), fc.integer(), fc.jsonValue())
  const names = ['prompt_tokens', 'completion_tokens', 'total_tokens', 'cached_tokens', 'prompt_cache_hit_tokens']
  const usage = fc.dictionary(fc.constantFrom(...names), number)
  const details = fc.dictionary(fc.constantFrom('cached_tokens', 'cache_write_tokens'), number)
  fc.assert(
    fc.property(usage, details, (given, inner) => {
      const {
        tier: _,
        images: __,
        audio: ___,
        ...counts
      } = chatUsageOf({ ...given, prompt_tokens_details: inner }) ?? {}
      assert.ok(Object.values(counts).every(count => Number.isSafeInteger(count) && count >= 0))
    }),
  )
})
