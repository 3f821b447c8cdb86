import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../../platform/errors.ts'
import { OutboundBlocked } from '../../platform/outbound.ts'
import { errors } from '../../platform/undici.ts'
import type { UpstreamError } from '../core/call.ts'
import { errorClassOf, isBroken, verdictOf } from './retryable.ts'

const upstreamError = (status: number, rest: Partial<UpstreamError> = {}): UpstreamError => ({
  outcome: 'refused',
  status,
  headers: {},
  body: Buffer.from('{}'),
  ...rest,
})

const statuses = [
  [400, 'final'],
  [401, 'elsewhere'],
  [402, 'final'],
  [403, 'elsewhere'],
  [404, 'final'],
  [408, 'again'],
  [409, 'again'],
  [413, 'final'],
  [415, 'final'],
  [422, 'final'],
  [429, 'again'],
  [500, 'again'],
  [501, 'final'],
  [502, 'again'],
  [503, 'again'],
  [504, 'again'],
  [520, 'again'],
  [522, 'again'],
  [524, 'again'],
  [529, 'again'],
  [530, 'again'],
] as const

for (const [status, expected] of statuses) {
  test(`F14: a ${status} of the upstream is retried: ${expected}`, () =>
    assert.equal(verdictOf(upstreamError(status)), expected))
}

test('an error that only another model can avoid is not retried, whatever its status', () => {
  for (const reason of ['context_window', 'policy'] as const)
    for (const status of [400, 403, 529]) assert.equal(verdictOf(upstreamError(status, { reason })), 'final')
})

const failures = [
  ['a connection that fails', new AppError('upstream_unreachable', 'x', { cause: new Error('ECONNRESET') }), 'again'],
  [
    'an address that may not be called',
    new AppError('upstream_unreachable', 'x', { cause: new OutboundBlocked('x:1') }),
    'elsewhere',
  ],
  [
    'no first byte in time',
    new AppError('upstream_timeout', 'x', { cause: new errors.HeadersTimeoutError() }),
    'again',
  ],
  [
    'silence in the hold-back window',
    new AppError('upstream_timeout', 'x', { cause: new errors.BodyTimeoutError() }),
    'again',
  ],
  ['the total time used up', new AppError('upstream_timeout', 'x'), 'elsewhere'],
  ['a credential that cannot be made', new AppError('unauthorized', 'x'), 'elsewhere'],
  ['a request that has no equivalent', new AppError('invalid_request', 'x'), 'final'],
  ['a fault of ours', new AppError('internal', 'x'), 'final'],
] as const

for (const [name, failure, expected] of failures) {
  test(`${name} is retried: ${expected}`, () => assert.equal(verdictOf(failure), expected))
}

test('a rejected credential or address needs an operator; a timeout does not', () => {
  assert.equal(isBroken(upstreamError(401)), true)
  assert.equal(isBroken(failures[1][1]), true)
  assert.equal(isBroken(failures[4][1]), false)
  assert.equal(isBroken(upstreamError(500)), false)
})

test('the class of an error contains no text of the upstream', () => {
  assert.equal(errorClassOf(upstreamError(429, { body: Buffer.from('sk-secret') })), 'http_429')
  assert.equal(errorClassOf(new AppError('upstream_timeout', 'sk-secret')), 'upstream_timeout')
})
