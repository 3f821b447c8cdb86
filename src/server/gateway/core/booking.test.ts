import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { masterCaller } from '../../http/caller.ts'
import { createPriceBook } from '../pricing/price-book.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { usageRow } from './booking.ts'
import type { Attempt, Outcome } from './call.ts'

const attempt: Attempt = {
  call: {
    kind: 'messages',
    body: Buffer.from('{}'),
    headers: {},
    query: '',
    requestId: 'req_1',
    caller: masterCaller,
    signal: new AbortController().signal,
  },
  parsed: { model: 'm', modelSpan: { start: 0, end: 0 }, stream: false, maxTokens: 1 },
  target: targetAt(deploymentAt('http://x'), 'm'),
  ownHeaders: {},
  startedMs: 0,
}

const completed = {
  outcome: 'completed',
  status: 200,
  stopReason: 'end_turn',
  usage: noTokens,
  firstContentMs: undefined,
} as const
const rowOf = (given: Attempt, outcome: Outcome) =>
  usageRow(given, {
    outcome,
    attempts: 1,
    prices: createPriceBook({ imported: {} }),
    reservation: undefined,
    discardedUsd: [],
  })

const degradedOf = (degraded: Outcome['degraded']) =>
  rowOf(attempt, { ...completed, ...(degraded && { degraded }) }).degraded

test('all degradations are booked, also those that the header omits', () => {
  const many = Array.from({ length: 40 }, (_, at) => ({ path: `messages.${at}`, action: 'dropped' }))
  assert.equal(degradedOf(many)?.split(', ').length, 40)
  assert.equal(degradedOf([{ path: 'top_k', action: 'dropped' }]), 'top_k=dropped')
})

test('a call without degradations is booked without a list', () => {
  assert.equal(degradedOf(undefined), null)
  assert.equal(degradedOf([]), null)
})

test('untrusted names in the list never prevent the row from being written', () => {
  const listed = degradedOf([
    { path: `a\0b${'x'.repeat(20_000)}`, action: 'dropped' },
    { path: '\ud800', action: 'cut' },
  ])
  assert.equal(listed?.length, 8_000)
  assert.ok(listed?.startsWith('abx'))
  assert.equal(degradedOf([{ path: '\ud800', action: 'cut' }]), '\ufffd=cut')
})

test('an ARN of Bedrock is booked without its account number, the requested name unchanged', () => {
  const arn = 'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1'
  const target = targetAt(deploymentAt('http://x', { provider: 'bedrock' }), arn)
  const { upstream_model, alias } = rowOf({ ...attempt, target }, completed)
  assert.deepEqual([upstream_model, alias], ['arn:aws:bedrock:eu-west-1:...:application-inference-profile/a1', 'm'])
})
