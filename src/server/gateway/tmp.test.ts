import { test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../test/support/gateway-app.ts'
import { startScriptedUpstream } from '../../../test/support/scripted-upstream.ts'
const t0 = performance.now()
const say = (...a: unknown[]) => console.log(Math.round(performance.now() - t0), ...a)
test('x', async () => {
  const upstream = await startScriptedUpstream({ script: [{ text: 'Hello', holdAtFrame: 3 }, {}] })
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url)], maxStreams: 1 })
  const ask = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
  const first = await app.post({ ...ask, stream: true })
  say('first')
  const second = await app.post({ ...ask, stream: true })
  await second.text()
  say('second')
  upstream.hold()
  const r = await app.post(ask, { signal: AbortSignal.timeout(5000) }).catch(e => e)
  say('third', String(r))
  upstream.release()
  await first.text()
  say('first text')
  await app.stop()
  say('app stopped')
  await upstream.stop()
  say('stopped')
})
