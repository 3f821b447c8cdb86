import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import type { Call, CallKind, CallSession } from '../core/call.ts'
import type { RouteRequest } from '../routing/router.ts'
import { cacheUseOf, entryName, ttlOf } from './request.ts'

const call: Call = {
  kind: 'messages',
  body: Buffer.from('{"model":"test-model"}'),
  headers: {},
  query: '',
  requestId: 'req_1',
  caller: { principal: 'ada', key: undefined },
  signal: new AbortController().signal,
}

function routeRequestOf(changes: Partial<Call> = {}, modelTtlMs: readonly (number | undefined)[] = [60_000]) {
  const candidates = modelTtlMs.map((cacheTtlMs, at) => {
    const deployment = deploymentAt('http://127.0.0.1:1', { id: `test.${at}`, ...(cacheTtlMs && { cacheTtlMs }) })
    return { ...targetAt(deployment), adapter: () => assert.fail('the adapter is not candidates') }
  })
  const parsed: RouteRequest['parsed'] = {
    model: 'test-model',
    modelSpan: { start: 0, end: 0 },
    stream: false,
    maxTokens: 1,
  }
  return { call: { ...call, ...changes }, parsed, candidates }
}

const keyWith = (cacheTtlMs?: number): Partial<Call> => ({
  caller: {
    principal: 'ada',
    key: {
      id: 'key_1',
      models: [],
      isLimited: false,
      isNarrow: false,
      expires: false,
      ...(cacheTtlMs && { cacheTtlMs }),
    },
  },
})

test('the setting of the key overrides that of the model; without settings the cache is off', () => {
  assert.equal(ttlOf(routeRequestOf()), 60_000)
  assert.equal(ttlOf(routeRequestOf(keyWith(1_000))), 1_000)
  assert.equal(ttlOf(routeRequestOf(keyWith(), [undefined, 5_000, 7_000])), 5_000)
  assert.equal(ttlOf(routeRequestOf(keyWith(), [undefined])), undefined)
})

const cached: readonly CallKind[] = ['messages', 'chat', 'gemini', 'completions', 'embeddings', 'moderations', 'rerank']
const never: readonly CallKind[] = ['count_tokens', 'responses_compact', 'images', 'speech', 'transcriptions']

test('answers of generation and embeddings are cached; counts, forms, images and speech are not', () => {
  for (const kind of cached) assert.equal(ttlOf(routeRequestOf({ kind })), 60_000, kind)
  for (const kind of never) assert.equal(ttlOf(routeRequestOf({ kind })), undefined, kind)
})

test('calls of sessions, calls bound to a deployment and stateful responses are not cached', () => {
  const session: CallSession = { session_id: 's', agent_id: 'a', owner_id: 'o', prompt_id: 'p', run_id: 'r' }
  assert.equal(ttlOf(routeRequestOf({ session })), undefined)
  assert.equal(ttlOf(routeRequestOf({ deployment: 'test.0' })), undefined)
  const kind = 'responses'
  const chain = { previousId: undefined, isStored: false, isRetained: false }
  assert.equal(ttlOf(routeRequestOf({ kind, chain })), 60_000)
  assert.equal(ttlOf(routeRequestOf({ kind })), undefined)
  assert.equal(ttlOf(routeRequestOf({ kind, chain: { ...chain, isStored: true } })), undefined)
  assert.equal(ttlOf(routeRequestOf({ kind, chain: { ...chain, previousId: 'resp_1' } })), undefined)
})

test('the name of an entry covers everything that determines an answer, and nothing else', () => {
  const { id } = entryName(routeRequestOf())
  const same: readonly Partial<Call>[] = [
    { requestId: 'req_2' },
    { headers: { authorization: 'Bearer x', 'user-agent': 'y', 'openai-organization': 'z' } },
    { query: '?key=sk-1' },
  ]
  for (const changes of same) assert.equal(entryName(routeRequestOf(changes)).id, id, JSON.stringify(changes))
  const other: readonly Partial<Call>[] = [
    { kind: 'chat' },
    { caller: { principal: 'bob', key: undefined } },
    { body: Buffer.from('{"model": "test-model"}') },
    { query: '?beta=true' },
    { address: { model: 'test-model', stream: true } },
    { address: { model: 'test-model', stream: false } },
    { headers: { 'anthropic-beta': 'a' } },
    { headers: { 'openai-beta': 'a' } },
  ]
  const ids = [
    id,
    entryName(routeRequestOf({}, [60_000, undefined])).id,
    ...other.map(changes => entryName(routeRequestOf(changes)).id),
  ]
  assert.equal(new Set(ids).size, other.length + 2)
  const [one, two] = [
    { 'anthropic-beta': 'a', 'openai-beta': 'b' },
    { 'openai-beta': 'b', 'anthropic-beta': 'a' },
  ]
  assert.equal(entryName(routeRequestOf({ headers: one })).id, entryName(routeRequestOf({ headers: two })).id)
})

test('x-switchyard-cache is off or refresh', () => {
  const useOf = (value: string | string[] | undefined) => cacheUseOf({ headers: { 'x-switchyard-cache': value } })
  assert.deepEqual([useOf(undefined), useOf('off'), useOf('refresh')], ['on', 'off', 'refresh'])
  for (const value of ['', 'Off', 'on', 'hit', ['off', 'off']])
    assert.throws(() => useOf(value), { code: 'invalid_request', message: /^header x-switchyard-cache must be/ })
})
