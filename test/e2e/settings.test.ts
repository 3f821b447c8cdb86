import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ServiceSettings } from '../../src/contract/settings.ts'
import { holderOf } from '../support/keys/virtual-keys.ts'
import { freshDatabase } from '../support/service/database.ts'
import { eventually } from '../support/service/eventually.ts'
import { send, type Target } from '../support/service/send.ts'
import { startService } from '../support/service/service.ts'

const secrets = [
  'sk-of-the-model-0123',
  'sk-of-the-harness-0123',
  'sk-of-the-server-0123',
  'sk-of-openrouter-0123',
  `whsec_${Buffer.alloc(32, 9).toString('base64')}`,
]
const [model, harness, server, openrouter = '', hook] = secrets
const config = JSON.stringify({
  model_list: [{ model_name: 'm', params: { model: 'anthropic/m', api_key: model } }],
  runtime_harnesses: [
    { alias: 'team', api_spec: 'opencode', api_base: 'https://opencode.example.com', api_key: harness },
  ],
  mcp_servers: [
    {
      server_name: 'git',
      url: 'https://mcp.example.com/mcp',
      auth_type: 'bearer_token',
      auth_value: server,
    },
  ],
  hooks: [{ name: 'filter', url: 'https://hooks.example.com/', phase: 'pre', secret: hook }],
  limits: { max_sessions: 7 },
  retention: { deliveries: '3d' },
})
const { url: databaseUrl } = await freshDatabase()
const options = { config, databaseUrl, env: { OPENROUTER_API_KEY: openrouter } }
const one = await startService(options)
const other = await startService(options)
after(() => Promise.all([one, other].map(service => service.stop())))

const settingsOf = async (target: Target) => {
  const answer = await send(target, 'GET /api/settings')
  assert.equal(answer.status, 200, answer.text)
  return answer
}

test('GET /api/settings has each setting with its source, and no secret', async () => {
  const answer = await settingsOf(one)
  const databaseSecrets = [databaseUrl, new URL(databaseUrl).password].filter(text => text !== '')
  for (const secret of [...secrets, one.key, Buffer.alloc(32, 7).toString('base64'), ...databaseSecrets])
    assert.ok(!answer.text.includes(secret))
  const found = answer.json<ServiceSettings>()
  const shown = Object.fromEntries(
    found.settings.map(({ name, value, source, is_secret, is_set }) => [
      name,
      is_secret ? [source, is_set] : [source, value],
    ]),
  )
  assert.deepEqual(
    [
      'limits.max_sessions',
      'limits.max_streams',
      'retention.deliveries',
      'mcp_servers',
      'runtime_harnesses',
      'hooks',
    ].map(name => shown[name]),
    [
      ['file', 7],
      ['default', 1000],
      ['file', '3d'],
      ['file', ['git']],
      ['file', ['team']],
      ['file', ['filter']],
    ],
  )
  assert.deepEqual(
    ['general_settings.master_key', 'DATABASE_URL', 'SWITCHYARD_ENCRYPTION_KEY', 'LOG_LEVEL', 'PORT'].map(
      name => shown[name]?.[0],
    ),
    ['environment', 'environment', 'environment', 'environment', 'environment'],
  )
  assert.equal(shown['general_settings.master_key']?.[1], true)
})

test('it has the state of the service: database, encryption key, replicas that live', async () => {
  const found = (await settingsOf(one)).json<ServiceSettings>()
  assert.deepEqual([found.database.mode, found.encryption.key_ids], ['external', [found.encryption.current_key_id]])
  assert.match(found.database.version, /^\d+/)
  assert.ok(found.database.last_migration && found.uptime_ms >= 0 && found.sandbox_driver && found.node_version)
  const idOf = async (target: Target) => (await settingsOf(target)).json<ServiceSettings>().replica_id
  const alive = async () => (await settingsOf(one)).json<ServiceSettings>().replicas.map(({ id }) => id)
  const both = [found.replica_id, await idOf(other)].sort()
  assert.deepEqual(await alive(), both)
  await other.kill()
  await eventually(async () => (await alive()).length === 1)
})

test('only admins without limits read it', async () => {
  for (const key of [{ owner_id: 'ana' }, { owner_id: 'ana', role: 'admin' as const }])
    assert.equal((await send(await holderOf(one, key), 'GET /api/settings')).status, 403)
})
