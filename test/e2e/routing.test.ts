import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { DeploymentState } from '../../src/contract/models.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send } from '../support/service/send.ts'
import { type Service, startService } from '../support/service/service.ts'
import { type ScriptedUpstream, startScriptedUpstream } from '../support/upstream/scripted-upstream.ts'

const first = await startScriptedUpstream({ script: [{ text: 'first' }] })
const second = await startScriptedUpstream({ script: [{ text: 'second' }] })
const limited = await startScriptedUpstream({ script: [{ status: 429, headers: { 'retry-after': '50' }, body: '{}' }] })
after(() => Promise.all([first, second, limited].map(upstream => upstream.stop())))

/** A configuration whose model `m` is served by these upstreams. */
const configOf = (...upstreams: readonly ScriptedUpstream[]): string =>
  JSON.stringify({
    model_list: upstreams.map(({ url }) => ({
      model_name: 'm',
      params: { model: 'anthropic/m', api_base: url, api_key: 'sk-upstream' },
    })),
    outbound: { allow: upstreams.map(({ port }) => `127.0.0.1:${port}`) },
  })

const ask = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] }
const call = (service: Service) => send(service, 'POST /v1/messages', { body: ask })

test('a running service follows its configuration file, rejects a broken one, and obeys SIGHUP', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchyard-reload-'))
  after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'switchyard.yaml')
  writeFileSync(file, configOf(first))
  const service = await startService({ env: { SWITCHYARD_CONFIG: file } })
  // Right after its start a service on a busy machine may be too late to take a call.
  await eventually(async () => (await call(service)).text.includes('first'))

  writeFileSync(file, configOf(second))
  await eventually(async () => (await call(service)).text.includes('second'))
  const [provider] = (await send(service, 'GET /api/capabilities')).json<{ providers: string[] }>().providers
  assert.equal(provider, 'anthropic')

  writeFileSync(file, 'model_list: [{model_name: 5}]\nrouter: {retrys: 1}\n')
  const refused = await eventually(() =>
    service
      .logs()
      .split('\n')
      .find(line => line.includes('invalid configuration; keeping the previous one')),
  )
  const { problems } = JSON.parse(refused) as { problems: string[] }
  assert.deepEqual(
    problems.map(problem => problem.replace(`${file}:`, '')),
    [
      '1: model_list[0].model_name must be a string (put it in quotes)',
      '1: model_list[0].params is required',
      '2: unknown key router.retrys; did you mean retries?',
    ],
  )
  await eventually(async () => (await call(service)).text.includes('second'))

  process.kill(service.pid, 'SIGHUP')
  await eventually(() => service.logs().split('invalid configuration; keeping the previous one').length === 3)
  assert.equal(await service.stop(), 0)
})

test('a deployment that one replica puts out rests at the other too', async () => {
  const { url: databaseUrl } = await freshDatabase()
  const options = { config: configOf(limited, second), databaseUrl }
  const [one, other] = [await startService(options), await startService(options)]
  const statesAt = async (service: Service) => {
    const { deployments } = (await send(service, 'GET /v1/models/m')).json<{ deployments: DeploymentState[] }>()
    return deployments.map(({ state, last_error }) => [state, last_error])
  }
  try {
    while (limited.requests.length === 0) assert.equal((await call(one)).status, 200)
    const resting = [
      ['cooling', 'http_429'],
      ['healthy', null],
    ]
    assert.deepEqual(await statesAt(one), resting)
    await eventually(async () => JSON.stringify(await statesAt(other)) === JSON.stringify(resting))
    for (let n = 0; n < 10; n++) assert.match((await call(other)).text, /second/)
    assert.equal(limited.requests.length, 1)
  } finally {
    await Promise.all([one.stop(), other.stop()])
  }
})

test('a fallback of the file may be a model that the API adds: a warning at the start, skipped until it is there', async () => {
  const broken = await startScriptedUpstream({ script: [{ status: 500, body: '{}' }] })
  after(() => broken.stop())
  const config = {
    ...JSON.parse(configOf(broken)),
    outbound: { allow: [broken, second].map(({ port }) => `127.0.0.1:${port}`) },
    router: { retries: 0, fallbacks: { m: ['added'] } },
  }
  const service = await startService({ config: JSON.stringify(config) })
  assert.match(
    service.logs(),
    /router\.fallbacks\.m\[0\] added is not a model of the file; it takes effect once a model/,
  )
  assert.equal((await call(service)).status, 500)
  const params = { model: 'anthropic/m', api_base: second.url, api_key: 'sk-upstream' }
  const added = await send(service, 'POST /api/models', { body: { model_name: 'added', params } })
  assert.equal(added.status, 201, added.text)
  const answer = await call(service)
  assert.deepEqual([answer.status, answer.text.includes('second')], [200, true])
})
