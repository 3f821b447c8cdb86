import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../test/support/gateway-app.ts'
import { startScriptedUpstream } from '../../../test/support/scripted-upstream.ts'
test('x', async () => {
  const upstream = await startScriptedUpstream({ script: [{ text: 'Hello', holdAtFrame: 3 }, {}] })
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url)], maxStreams: 1 })
  const t0 = performance.now()
  const ask = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
  const first = await app.post({ ...ask, stream: true })
  const second = await app.post({ ...ask, stream: true })
  console.log(await second.text())
  upstream.hold()
  const r = await app.post(ask, { signal: AbortSignal.timeout(5000) }).catch(e => e)
  console.log(r, performance.now() - t0)
  upstream.release()
  console.log(await first.text())
  await app.stop(); await upstream.stop()
  console.log('stopped', performance.now() - t0)
})
