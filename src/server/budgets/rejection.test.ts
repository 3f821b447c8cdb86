import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CallBounds, mayBeFreed, rejectionOf } from './rejection.ts'
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
const wanted: CallBounds = { amountUsd: '0.1', tokens: 2_000, model: 'opus' }
const verdict = (...budgets: Partial<BudgetState>[]): Verdict => ({
  is_admitted: false,
  is_key_valid: true,
  budgets: budgets.map(changes => ({ ...state, ...changes })),
})
const rejectionFor = (given: Verdict, bounds: CallBounds = wanted) => {
  const { code, message, headers } = rejectionOf(given, bounds)
  return [code, message, headers['retry-after']]
}

const cases: readonly (readonly [name: string, ReturnType<typeof rejectionFor>, readonly unknown[]])[] = [
  [
    'requests per minute',
    rejectionFor(verdict({ has_requests: false })),
    ['rate_limited', 'key key_1 has reached its limit of 60 requests per minute; retry after 12 s', '12'],
  ],
  [
    'tokens per minute',
    rejectionFor(verdict({ has_tokens: false })),
    [
      'rate_limited',
      'key key_1 would exceed its limit of 10000 tokens per minute: 9000 used or reserved, this call may use up to 2000; retry after 12 s',
      '12',
    ],
  ],
  [
    'more tokens than the limit per minute',
    rejectionFor(verdict({ has_tokens: false }), { ...wanted, tokens: 10_001 }),
    [
      'rate_limited',
      'key key_1 has a limit of 10000 tokens per minute: this call may use up to 10001; shorten it or lower max_tokens; retry after 12 s',
      '12',
    ],
  ],
  [
    'concurrent calls',
    rejectionFor(verdict({ has_slot: false })),
    ['rate_limited', 'key key_1 has reached its limit of 2 concurrent calls; retry after 1 s', '1'],
  ],
  [
    'money',
    rejectionFor(verdict({ has_money: false })),
    [
      'budget_exceeded',
      'budget of key key_1 is $5 per 30d: $4.93 spent, $0.05 reserved for calls in flight, ' +
        'this call may cost up to $0.1; the budget resets at 2026-07-31T22:00:00.000Z',
      undefined,
    ],
  ],
  [
    'a budget that is never reset',
    rejectionFor(
      verdict({ has_money: false, scope: 'owner', scope_id: 'acme', duration: null, reset_at: null, max_usd: '100' }),
    ),
    [
      'budget_exceeded',
      'budget of owner acme is $100: $4.93 spent, $0.05 reserved for calls in flight, ' +
        'this call may cost up to $0.1; the budget is never reset',
      undefined,
    ],
  ],
  [
    'B4: unknown price',
    rejectionFor(verdict({ has_money: false }), { ...wanted, amountUsd: null, unknown: 'price' }),
    [
      'forbidden',
      'model opus has no known price, and key key_1 has a budget; set the price of the model, or set prices.unknown to allow',
      undefined,
    ],
  ],
  [
    'unknown maximum output under a budget',
    rejectionFor(verdict({ has_money: false }), { ...wanted, amountUsd: null, tokens: null, unknown: 'output' }),
    [
      'invalid_request',
      'max_tokens is required: key key_1 has a limit, and the maximum output of model opus is unknown',
      undefined,
    ],
  ],
  [
    'unknown maximum input under a token limit',
    rejectionFor(verdict({ has_tokens: false }), { ...wanted, amountUsd: null, tokens: null, unknown: 'input' }),
    [
      'invalid_request',
      'request refers to content outside of it: key key_1 has a limit, and the maximum input of model opus is unknown',
      undefined,
    ],
  ],
  ['deleted key', rejectionFor({ ...verdict(), is_key_valid: false }), ['unauthorized', 'unauthorized', undefined]],
]
for (const [name, answer, expected] of cases)
  test(`a rejection names the limit and its figures: ${name}`, () => assert.deepEqual(answer, expected))

test('a rejection names limits on requests, tokens and concurrent calls before money, in whichever budget', () => {
  const [, message] = rejectionFor(verdict({ has_money: false }, { scope: 'owner', scope_id: 'acme', has_slot: false }))
  assert.match(String(message), /^owner acme has reached its limit of 2 concurrent calls/)
})

test('a rejection carries the reached budget in its cause and headers', () => {
  const { cause, headers } = rejectionOf(verdict({ has_money: false }), wanted)
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

test('a retry can succeed soon only if calls in flight hold reservations', () => {
  assert.equal(mayBeFreed(verdict({ has_money: false })), true)
  assert.equal(mayBeFreed(verdict({ has_slot: false }, {})), true)
  assert.equal(mayBeFreed(verdict({ has_money: false, parallel: 0 })), false)
  assert.equal(mayBeFreed(verdict({ has_requests: false })), false)
  assert.equal(mayBeFreed({ ...verdict({ has_money: false }), is_key_valid: false }), false)
})
