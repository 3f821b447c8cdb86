import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type KeyRights, keySentence, listOf } from './key-sentence.ts'

const free: KeyRights = {
  owner_id: null,
  user_id: null,
  team_id: null,
  role: 'user',
  models: [],
  max_budget: null,
  budget_duration: null,
  rpm_limit: null,
  tpm_limit: null,
  max_parallel_requests: null,
  expires_at: null,
}
const now = new Date(2026, 10, 26).getTime()
const endOf = (year: number, month: number, day: number) => new Date(year, month, day, 23, 59, 59).toISOString()

const cases: readonly (readonly [rights: Partial<KeyRights>, sentence: string])[] = [
  [{}, 'This key may call every model, spend without a limit, without an end.'],
  [
    {
      models: ['claude-*', 'gpt-5.5'],
      max_budget: 50,
      budget_duration: '1mo',
      rpm_limit: 60,
      expires_at: endOf(2026, 11, 31),
    },
    'This key may call claude-* and gpt-5.5, spend $50 a month, 60 requests a minute, until 31 Dec.',
  ],
  [{ role: 'viewer', models: ['a'] }, 'This key may only read, without an end.'],
  [
    { user_id: 'user_1' },
    'This key may call every model, spend without a limit, within what its user and team may do, without an end.',
  ],
  [
    { owner_id: 'ada', max_budget: 0.5, expires_at: endOf(2027, 0, 31) },
    'This key of ada may call every model, spend $0.50 in total, until 31 Jan 2027.',
  ],
  [
    {
      role: 'admin',
      tpm_limit: 200_000,
      max_parallel_requests: 1,
      rpm_limit: 1,
      budget_duration: '30d',
      max_budget: 5,
    },
    'This admin key may call every model, spend $5 every 30 days, 1 request a minute, 200k tokens a minute, ' +
      '1 call at a time, manage keys, providers, models and budgets, without an end.',
  ],
]
for (const [rights, sentence] of cases) {
  test(`${JSON.stringify(rights)} in a sentence`, () =>
    assert.equal(keySentence({ ...free, ...rights }, now), sentence))
}

test('a long list of models is shortened', () => {
  assert.equal(listOf(['a', 'b', 'c', 'd']), 'a, b, c and d')
  assert.equal(listOf(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more')
})
