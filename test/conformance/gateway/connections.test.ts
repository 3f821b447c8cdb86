import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { dialectOf, simple, startPair } from './setup.ts'

test('calls one after the other share a connection to their upstream, streamed or not', async t => {
  const upstream = await startScriptedUpstream({ dialect: dialectOf('openai-chat'), script: [{ text: 'ok' }] })
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { protocols: ['openai-chat'] })] })
  t.after(async () => {
    await app.stop()
    await upstream.stop()
  })
  for (let call = 0; call < 10; call++) {
    const response = await app.post({ model: 'test-model', ...simple, stream: call % 2 === 0 })
    assert.equal(response.status, 200)
    await response.text()
    // The upstream ends its answer behind the last event that counts.
    await upstream.requests[call]?.closed
  }
  assert.equal(upstream.connections, 1)
})

test('compressed requests reach the upstream as they were before compression', async t => {
  const { app, upstream } = await startPair(t, 'openai-responses', {
    script: [{ text: 'ok' }],
    changes: { upstreamModel: 'test-model' },
  })
  const text = JSON.stringify({ model: 'test-model', input: 'hi', stream: true, instructions: 'x'.repeat(5_000) })
  for (const [encoding, body] of [
    ['zstd', zstdCompressSync(text)],
    ['gzip', gzipSync(text)],
  ] as const) {
    const response = await fetch(`${app.url}/v1/responses`, {
      method: 'POST',
      body: new Uint8Array(body),
      headers: { 'content-type': 'application/json', 'content-encoding': encoding },
    })
    assert.equal(response.status, 200, await response.text())
    const sent = upstream.requests.at(-1)
    assert.deepEqual([sent?.rawBody.toString(), sent?.headers['content-encoding']], [text, undefined])
  }
})
