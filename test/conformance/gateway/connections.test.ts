import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../support/upstream/scripted-upstream.ts'
import { dialectOf, simple } from './setup.ts'

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
