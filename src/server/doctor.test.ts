import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { startFakeApiServer } from '../../test/support/kubernetes/fake-api-server.ts'
import { temporaryFolder } from '../../test/support/service/data-folder.ts'
import { freePort } from '../../test/support/service/free-port.ts'
import type { Environment } from './config/config.ts'
import { examine, examinePort, type Finding } from './doctor.ts'

const folder = temporaryFolder()

async function findingsOf(env: Environment, storedProviders: readonly string[] = []): Promise<Map<string, Finding>> {
  const inputs = { env: { SWITCHYARD_DATA_DIR: join(folder, 'new', 'data'), ...env }, overrides: {} }
  const findings = await examine({ ...inputs, storedProviders })
  return new Map(findings.map(finding => [finding.name, finding]))
}

test('a machine without settings passes, and the checks leave no file behind', async () => {
  const findings = await findingsOf({})
  assert.equal(findings.get('data folder')?.state, 'ok')
  assert.equal(findings.get('database')?.state, 'ok')
  assert.match(findings.get('database')?.detail ?? '', /embedded PostgreSQL \d+/)
  assert.deepEqual(readdirSync(folder), [])
})

test('providers of the environment and of the running service are listed once; without any there is a next step', async () => {
  const env = { OPENAI_API_KEY: 'canary-openai' }
  assert.equal((await findingsOf(env, ['openai', 'gemini'])).get('model providers')?.detail, 'openai, gemini')
  assert.match((await findingsOf({})).get('model providers')?.next ?? '', /switchyard providers set/)
})

test('no finding contains a secret', async () => {
  const port = await freePort()
  const env = {
    GATEWAY_MASTER_KEY: 'canary-master',
    OPENAI_API_KEY: 'canary-openai',
    DATABASE_URL: `postgres://user:canary-password@127.0.0.1:${port}/none`,
  }
  const findings = await findingsOf(env)
  assert.match(findings.get('model providers')?.detail ?? '', /openai/)
  assert.doesNotMatch(JSON.stringify([...findings.values()]), /canary/)
})

test('an unreachable database fails with a next step', async () => {
  const findings = await findingsOf({ DATABASE_URL: `postgres://user@127.0.0.1:${await freePort()}/none` })
  const { state, detail, next } = findings.get('database') ?? assert.fail()
  assert.equal(state, 'fail')
  assert.match(detail, /ECONNREFUSED/)
  assert.match(next ?? '', /check that the database runs/)
})

test('a data folder that is a file fails', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const findings = await findingsOf({ SWITCHYARD_DATA_DIR: join(file, 'data') })
  assert.equal(findings.get('data folder')?.state, 'fail')
})

test('every problem of the configuration is listed, and independent checks still run', async () => {
  const findings = await findingsOf({ PORT: 'x', LOG_LEVEL: 'loud' })
  const { state, detail } = findings.get('configuration') ?? assert.fail()
  assert.equal(state, 'fail')
  for (const name of ['PORT', 'LOG_LEVEL']) assert.ok(detail.includes(name), name)
  assert.ok(findings.has('sandbox'))
})

test('the cluster of the sandboxes is checked without creating anything in it', async () => {
  const fake = await startFakeApiServer({ volume: folder })
  const { namespace, claim, api } = fake.settings
  const configFile = join(folder, 'switchyard.yaml')
  const access = { server: api.server, token_file: api.tokenFile, ca_file: api.caFile }
  const kubernetes = { namespace, workspaces: { claim }, api: access }
  writeFileSync(configFile, JSON.stringify({ sandbox: { driver: 'kubernetes', image: 'debian:trixie', kubernetes } }))
  const sandboxOf = async () =>
    (await examine({ env: { SWITCHYARD_DATA_DIR: folder }, overrides: { configFile }, storedProviders: [] })).find(
      ({ name }) => name === 'sandbox',
    )
  const found = await sandboxOf()
  assert.deepEqual([found?.state, found?.next], ['ok', undefined])
  fake.state.denied.add('create sandboxes')
  const lacking = await sandboxOf()
  assert.equal(lacking?.state, 'fail')
  assert.match(lacking?.detail ?? '', /lacks rights in namespace agents: create sandboxes/)
  assert.ok(fake.state.requests.every(line => line.startsWith('GET') || line.includes('selfsubjectaccessreviews')))
  await fake.close()
})

test('a port in use fails, and a free port passes', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const inputs = { env: {}, overrides: { port } }
  assert.equal((await examinePort(inputs))?.state, 'fail')
  server.close()
  await once(server, 'close')
  assert.equal((await examinePort(inputs))?.state, 'ok')
})
