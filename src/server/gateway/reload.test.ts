import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../test/support/gateway/gateway-app.ts'
import { startScriptedUpstream } from '../../../test/support/upstream/scripted-upstream.ts'
import { createOutbound } from '../platform/outbound.ts'

const ask = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] }
const rateLimited = { status: 429, headers: { 'retry-after': '60' }, body: '{}' }

const first = await startScriptedUpstream({ script: [{ text: 'first', pauseAtFrame: 3 }] })
const second = await startScriptedUpstream({ script: [{ text: 'second' }] })
const limited = await startScriptedUpstream({ script: [rateLimited] })
after(() => Promise.all([first, second, limited].map(upstream => upstream.stop())))

const at = ({ url }: { url: string }, number: number, changes = {}) =>
  deploymentAt(url, { id: `m.${number}`, alias: 'm', upstreamModel: 'm', ...changes })
const hosts = [first, second, limited].map(({ url }) => new URL(url).host)

test('after a reload new calls use the new models, and a stream in flight keeps its own', async () => {
  const app = await startGatewayApp({ deployments: [at(first, 1)], allow: hosts })
  after(() => app.stop())
  const running = await app.post({ ...ask, stream: true })
  app.gateway.reload({ ...app.config, deployments: [at(second, 1)] })
  assert.match(await (await app.post(ask)).text(), /second/)
  first.release()
  const text = await running.text()
  assert.match(text, /first/)
  assert.match(text, /message_stop/)
  assert.equal(first.requests.length, 1)
})

test('a removed model is 404; a new one is listed and can be called', async () => {
  const app = await startGatewayApp({ deployments: [at(second, 1)], allow: hosts })
  after(() => app.stop())
  app.gateway.reload({ ...app.config, deployments: [at(second, 1, { id: 'n.1', alias: 'n' })], demo: false })
  assert.deepEqual(
    app.gateway.models().map(({ id }) => id),
    ['n'],
  )
  assert.equal((await app.post(ask)).status, 404)
  assert.equal((await app.post({ ...ask, model: 'n' })).status, 200)
})

test('an unchanged deployment keeps its cooldown; a changed one starts healthy', async () => {
  const deployments = [at(limited, 1), at(second, 2)]
  const app = await startGatewayApp({ deployments, allow: hosts, random: () => 0 })
  after(() => app.stop())
  await app.post(ask)
  const states = () => app.gateway.deployments('m').map(({ id, state }) => [id, state])
  const resting = [
    ['m.1', 'cooling'],
    ['m.2', 'healthy'],
  ]
  assert.deepEqual(states(), resting)
  app.gateway.reload({ ...app.config, deployments: structuredClone(deployments) })
  assert.deepEqual(states(), resting)
  app.gateway.reload({ ...app.config, deployments: [at(limited, 1, { apiKey: 'another' }), at(second, 2)] })
  assert.deepEqual(states(), [
    ['m.1', 'healthy'],
    ['m.2', 'healthy'],
  ])
})

test('an address that is no longer allowed is rejected, also over an open connection', async () => {
  const app = await startGatewayApp({ deployments: [at(second, 1)], allow: hosts })
  after(() => app.stop())
  assert.equal((await app.post(ask)).status, 200)
  app.gateway.reload(app.config, createOutbound({ allow: [] }))
  assert.equal((await app.post(ask)).status, 502)
  app.gateway.reload(app.config, createOutbound({ allow: hosts }))
  assert.equal((await app.post(ask)).status, 200)
})
