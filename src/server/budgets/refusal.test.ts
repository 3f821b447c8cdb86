import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayBeFreed, refusalOf, type Wanted } from './refusal.ts'
import type { BudgetState, Verdict } from './reservation-store.ts'

const state: BudgetState = {
  scope: 'key',
  scope_id: 'key_1',
  max_usd: '5.00',
  soft_usd: null,
  duration: '30d',
  rpm_limit: 60,
  tpm_limit: 10_000,
  max_parallel: 2,
  spent_usd: '4.930',
  reserved_usd: '0.05',
  parallel: 2,
  requests: 60,
  tokens: 9_000,
  reset_at: '2026-08-01T00:00:00+02:00',
  window_rest_s: 12,
  is_warned: false,
  has_requests: true,
  has_tokens: true,
  has_slot: true,
  has_money: true,
}
const wanted: Wanted = { amountUsd: '0.1', tokens: 2_000, model: 'opus' }
const verdict = (...budgets: Partial<BudgetState>[]): Verdict => ({
  is_admitted: false,
  is_key_valid: true,
  budgets: budgets.map(changes => ({ ...state, ...changes })),
})
const told = (given: Verdict, asked: Wanted = wanted) => {
  const { code, message, headers } = refusalOf(given, asked)
  return [code, message, headers['retry-after']]
}

const cases: readonly (readonly [name: string, ReturnType<typeof told>, readonly unknown[]])[] = [
  [
    'requests a minute',
    told(verdict({ has_requests: false })),
    ['rate_limited', 'key key_1 may make 60 requests a minute, and has made them; try again in 12 s', '12'],
  ],
  [
    'tokens a minute',
    told(verdict({ has_tokens: false })),
    [
      'rate_limited',
      'key key_1 may use 10000 tokens a minute; this call may use up to 2000, and 9000 are used or held; try again in 12 s',
      '12',
    ],
  ],
  [
    'more tokens than a whole minute has',
    told(verdict({ has_tokens: false }), { ...wanted, tokens: 10_001 }),
    [
      'rate_limited',
      'key key_1 may use 10000 tokens a minute; this call may use up to 10001: shorten it, or lower its max_tokens; try again in 12 s',
      '12',
    ],
  ],
  [
    'calls at a time',
    told(verdict({ has_slot: false })),
    ['rate_limited', 'key key_1 may make 2 calls at a time, and all are at work; try again in 1 s', '1'],
  ],
  [
    'money',
    told(verdict({ has_money: false })),
    [
      'budget_exceeded',
      'the budget of key key_1 is $5 per 30d: $4.93 are spent and $0.05 held for calls at work, ' +
        'and this call may cost up to $0.1; it is reset at 2026-07-31T22:00:00.000Z',
      undefined,
    ],
  ],
  [
    'money for life',
    told(
      verdict({ has_money: false, scope: 'owner', scope_id: 'acme', duration: null, reset_at: null, max_usd: '100' }),
    ),
    [
      'budget_exceeded',
      'the budget of owner acme is $100: $4.93 are spent and $0.05 held for calls at work, ' +
        'and this call may cost up to $0.1; it is not reset',
      undefined,
    ],
  ],
  [
    'B4: a price that nobody knows',
    told(verdict({ has_money: false }), { ...wanted, amountUsd: null, unknown: 'price' }),
    [
      'forbidden',
      'model opus has no known price, so it cannot be used under the budget of key key_1; state its price, or set prices.unknown to allow',
      undefined,
    ],
  ],
  [
    'an answer of unknown length, under a budget',
    told(verdict({ has_money: false }), { ...wanted, amountUsd: null, tokens: null, unknown: 'output' }),
    [
      'invalid_request',
      'max_tokens is required: key key_1 has a limit, and how much model opus answers at most is not known',
      undefined,
    ],
  ],
  [
    'a document of unknown length, under a limit of tokens',
    told(verdict({ has_tokens: false }), { ...wanted, amountUsd: null, tokens: null, unknown: 'input' }),
    [
      'invalid_request',
      'this call refers to text that is not in it, key key_1 has a limit, and how much model opus reads at most is not known',
      undefined,
    ],
  ],
  ['a key that is gone', told({ ...verdict(), is_key_valid: false }), ['unauthorized', 'unauthorized', undefined]],
]
for (const [name, answer, expected] of cases)
  test(`a refusal says what stands against the call: ${name}`, () => assert.deepEqual(answer, expected))

test('requests, tokens and slots are told before money, whichever budget they are in', () => {
  const [, message] = told(verdict({ has_money: false }, { scope: 'owner', scope_id: 'acme', has_slot: false }))
  assert.match(String(message), /^owner acme may make 2 calls at a time/)
})

test('a session can read from a refusal what it waits for', () => {
  const { cause, headers } = refusalOf(verdict({ has_money: false }), wanted)
  assert.deepEqual(cause, {
    type: 'budget_reached',
    scope: 'key',
    scope_id: 'key_1',
    max_usd: 5,
    needed_usd: 0.1,
    resets_at: '2026-07-31T22:00:00.000Z',
  })
  assert.deepEqual(headers, {
    'x-switchyard-budget-scope': 'key',
    'x-switchyard-budget-resets-at': '2026-07-31T22:00:00.000Z',
  })
})

test('only what other calls hold can come back before the minute or the period is over', () => {
  assert.equal(mayBeFreed(verdict({ has_money: false })), true)
  assert.equal(mayBeFreed(verdict({ has_slot: false }, {})), true)
  assert.equal(mayBeFreed(verdict({ has_money: false, parallel: 0 })), false)
  assert.equal(mayBeFreed(verdict({ has_requests: false })), false)
  assert.equal(mayBeFreed({ ...verdict({ has_money: false }), is_key_valid: false }), false)
})
