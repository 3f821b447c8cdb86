import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import { watchLoopDelay } from '../../platform/loop-delay.ts'

const ask = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }

test('while the event loop is late new calls get 529 with retry-after, and streams in flight continue', async () => {
  let delayMs = 0
  const upstream = await startScriptedUpstream({ script: [{ text: 'whole', pauseAtFrame: 3 }] })
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url)], loopDelayMs: () => delayMs })
  after(async () => {
    await app.stop()
    await upstream.stop()
  })
  const running = await app.post({ ...ask, stream: true })
  delayMs = 51
  for (const stream of [true, false]) {
    const refused = await app.post({ ...ask, stream })
    const { error } = (await refused.json()) as { error: { type: string } }
    assert.deepEqual([refused.status, error.type, refused.headers.get('retry-after')], [529, 'overloaded_error', '2'])
  }
  upstream.release()
  assert.match(await running.text(), /message_stop/)
  delayMs = 50
  const again = await app.post({ ...ask, stream: true })
  upstream.release()
  assert.equal(again.status, 200)
  assert.equal(upstream.requests.length, 2)
})

/** Blocks the event loop. */
function block(ms: number): void {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs);
}

test('an idle event loop is not late, whatever the load of the machine', async () => {
  const delay = watchLoopDelay()
  after(() => delay.stop())
  const untilMs = performance.now() + 1_300
  while (performance.now() < untilMs) {
    await new Promise(resolve => setTimeout(resolve, 25))
    assert.equal(delay.meanMs, 0)
  }
})

test('an event loop that is late repeatedly is detected after a second', async () => {
  const delay = watchLoopDelay()
  after(() => delay.stop())
  const untilMs = performance.now() + 5_000
  while (delay.meanMs <= 50 && performance.now() < untilMs) {
    block(120)
    await new Promise(setImmediate)
  }
  assert.ok(delay.meanMs > 50, `${delay.meanMs} ms`)
})
