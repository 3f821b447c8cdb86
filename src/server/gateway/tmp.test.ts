import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { readStream } from '../../../test/support/event-grammar.ts'
import { deploymentAt, startGatewayApp } from '../../../test/support/gateway-app.ts'
import { type Script, startScriptedUpstream } from '../../../test/support/scripted-upstream.ts'
import type { Deployment } from '../config.ts'

const ask = { model: 'test-model', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
const streamed = { ...ask, stream: true }

/** A gateway in front of a scripted upstream; both end with the file. */
async function pair(
  script: Script,
  {
    deployment = {},
    ...options
  }: { deployment?: Partial<Deployment>; pingAfterMs?: number; maxStreams?: number; countTokens?: 'absent' } = {},
) {
  const { countTokens, ...rest } = options
  const upstream = await startScriptedUpstream({ script, ...(countTokens && { countTokens }) })
  const apiBase = `${upstream.url}${deployment.apiBase ?? ''}`
  const app = await startGatewayApp({ deployments: [deploymentAt(upstream.url, { ...deployment, apiBase })], ...rest })
  after(async () => {
    const t=performance.now(); await app.stop()
    console.log('0 app.stop', performance.now()-t)
    await upstream.stop()
    console.log('0 upstream.stop', performance.now()-t)
  })
  return { upstream, ...app }
}

/** A gateway in front of a plain server that answers any bytes. */
async function rawPair(
  listener: RequestListener,
  options: { pingAfterMs?: number; deployment?: Partial<Deployment> } = {},
) {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { deployment, ...rest } = options
  const app = await startGatewayApp({ deployments: [deploymentAt(`http://127.0.0.1:${port}`, deployment)], ...rest })
  after(async () => {
    await app.stop()
    server.closeAllConnections()
    server.close()
  })
  return app
}

const textOf = async (answer: Response) => readStream(await answer.text())

test('a full process', async () => {
  const t0 = performance.now()
  const say = (...a: unknown[]) => console.log(Math.round(performance.now() - t0), ...a)
  const { post, upstream, gateway } = await pair([{ text: 'Hello', holdAtFrame: 3 }, {}], { maxStreams: 1 })
  const first = await post(streamed)
  say('first')
  const second = await post(streamed)
  await second.json()
  say('second')
  upstream.hold()
  const r = await post(ask, { signal: AbortSignal.timeout(5_000) }).catch(e => e); say('third', String(r))
  upstream.release()
  await first.text()
  say('first text', gateway.streams)
  assert.equal((await post(streamed)).status, 200)
  say('end')
})

