import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, targetAt } from '../../../../test/support/gateway/gateway-app.ts'
import { freshDatabase } from '../../../../test/support/service/database.ts'
import { defaultRouter } from '../../config/router-of-file.ts'
import { createRowCipher } from '../../db/encrypted-rows.ts'
import { createKeyring } from '../../platform/encryption.ts'
import type { Outcome, Sink } from '../core/call.ts'
import { readRequest } from '../core/request.ts'
import type { Router, Served } from '../routing/router.ts'
import { noTokens } from '../tokens/token-counts.ts'
import { createCachedRouter } from './cached-router.ts'
import { createResponseCache } from './entries.ts'
import { responseCacheStore } from './store.ts'

const { pool } = await freshDatabase()
const cache = createResponseCache({
  store: responseCacheStore(pool),
  cipher: createRowCipher(createKeyring([Buffer.alloc(32, 1)]), 'response_cache'),
  maxBytes: () => 1e9,
  log: { warn: () => assert.fail('the cache failed') },
})

const megabyte = 1024 * 1024
const body = Buffer.from(
  JSON.stringify({ model: 'test-model', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] }),
)

function routeRequestOf(principal: string, signal: AbortSignal = new AbortController().signal) {
  const deployment = deploymentAt('http://127.0.0.1:1', { cacheTtlMs: 60_000 })
  const served: Served = { ...targetAt(deployment), adapter: () => assert.fail('the adapter is not candidates') }
  const call = {
    kind: 'messages',
    body,
    headers: {},
    query: '',
    requestId: 'req_1',
    caller: { principal, key: undefined },
    signal,
  } as const
  return {
    call,
    parsed: readRequest(call),
    settings: defaultRouter,
    candidates: [served],
    groupOf: () => [],
    ownHeaders: {},
    startedMs: performance.now(),
    cacheUse: 'on' as const,
  }
}

/** An upstream that streams an answer of that length. */
const streaming = (length: number): { readonly route: Router; readonly calls: () => number } => {
  let calls = 0
  const ending: Outcome = {
    outcome: 'completed',
    status: 200,
    stopReason: 'end_turn',
    usage: noTokens,
    firstContentMs: 1,
  }
  return {
    calls: () => calls,
    async route({ call, parsed, candidates: [target], ownHeaders, startedMs }, sink) {
      calls++
      assert.ok(target)
      sink.head(200, { 'content-type': 'text/event-stream' })
      sink.data(Buffer.alloc(length / 2, 'a'))
      sink.end(Buffer.alloc(length / 2, 'b'))
      return { ending, attempt: { call, parsed, target, ownHeaders, startedMs }, attempts: 1, discarded: [] }
    },
  }
}

/** A client that reads a piece at a time. */
function slowClient(onPiece: (pieces: number) => void = () => undefined) {
  const pieces: Buffer[] = []
  let isFull = false
  const sink: Sink = {
    head: () => undefined,
    data(chunk) {
      assert.ok(!isFull, 'nothing comes before there is room')
      pieces.push(chunk)
      isFull = true
      onPiece(pieces.length)
      return false
    },
    onDrain(resume) {
      setImmediate(() => {
        isFull = false
        resume()
      })
    },
    end: chunk => void (chunk && pieces.push(chunk)),
  }
  return { sink, bytes: () => Buffer.concat(pieces) }
}

const fastSink: Sink = { head: () => undefined, data: () => true, onDrain: resume => resume(), end: () => undefined }

test('a stream is replayed as fast as its client reads, to its last byte', async () => {
  const { route, calls } = streaming(megabyte)
  const cached = createCachedRouter(route, cache)
  await cached(routeRequestOf('ada'), fastSink)
  const client = slowClient()
  const { ending, replayed } = await cached(routeRequestOf('ada'), client.sink)
  assert.equal(calls(), 1)
  assert.deepEqual([ending instanceof Error ? ending : ending.outcome, replayed !== undefined], ['completed', true])
  assert.ok(client.bytes().equals(Buffer.concat([Buffer.alloc(megabyte / 2, 'a'), Buffer.alloc(megabyte / 2, 'b')])))
})

test('a replay ends when its client disconnects', async () => {
  const { route } = streaming(megabyte)
  const cached = createCachedRouter(route, cache)
  await cached(routeRequestOf('bob'), fastSink)
  const leaving = new AbortController()
  const client = slowClient(pieces => pieces === 2 && leaving.abort())
  const { ending } = await cached(routeRequestOf('bob', leaving.signal), client.sink)
  assert.equal(ending instanceof Error ? ending : ending.outcome, 'aborted')
  assert.equal(client.bytes().length, 128 * 1024)
})

test('an answer of more than 4 MB is not cached', async () => {
  const { route, calls } = streaming(4 * megabyte + 2)
  const cached = createCachedRouter(route, cache)
  for (const _ of [1, 2]) await cached(routeRequestOf('eve'), fastSink)
  assert.equal(calls(), 2)
})
