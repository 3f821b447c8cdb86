import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deploymentAt } from '../../../test/support/gateway/gateway-app.ts'
import { type BaseConfig, settingsInForce } from './in-force.ts'
import type { StoredCredential, StoredModel } from './stored-settings.ts'

const key = 'sk-canary-0123456789'
const at = new Date(0)
const empty: BaseConfig = { deployments: [], modelsFrom: 'file', environmentKeys: {}, demo: true, outboundAllow: [] }
const sonnet = deploymentAt('https://api.anthropic.com', { id: 'sonnet.1', alias: 'sonnet', provider: 'anthropic' })

const credential = (provider: string, changes: Partial<StoredCredential> = {}): StoredCredential => ({
  provider,
  apiBase: `https://${provider}.example`,
  masked: '…6789',
  updatedAt: at,
  params: { api_key: key, api_base: `https://${provider}.example` },
  problem: undefined,
  ...changes,
})

const model = (id: string, changes: Partial<StoredModel> = {}): StoredModel => ({
  id,
  modelName: id,
  shown: {},
  params: { model: `openai/${id}`, api_key: key },
  origin: 'https://api.openai.com',
  problem: undefined,
  createdBy: 'master',
  createdAt: at,
  updatedAt: at,
  ...changes,
})

const combined = (stored: { credentials?: StoredCredential[]; models?: StoredModel[] }, config = empty) =>
  settingsInForce(config, { credentials: [], models: [], ...stored })
const aliases = ({ deployments }: ReturnType<typeof combined>) => deployments.map(({ alias }) => alias)

test('a stored credential enables the models of its provider, including bare Claude names', () => {
  assert.deepEqual(aliases(combined({ credentials: [credential('anthropic'), credential('openai')] })), [
    'anthropic/*',
    'claude-*',
    'openai/*',
  ])
})

test('a model without its own key uses the key and address of its provider', () => {
  const { deployments } = combined({
    credentials: [credential('openai')],
    models: [model('m', { params: { model: 'openai/m' }, origin: undefined })],
  })
  const { apiKey, apiBase, id } = deployments[0] ?? {}
  assert.deepEqual([apiKey, apiBase, id], [key, 'https://openai.example', 'm'])
})

test('an invalid setting is disabled with the reason; the others stay active', () => {
  const { deployments, models, credentials } = combined({
    credentials: [
      credential('openai'),
      credential('gemini', { params: undefined, problem: 'it is encrypted with encryption key 0badcafe' }),
      credential('anthropic', { params: { api_key: key, api_base: 'http://10.0.0.1' } }),
    ],
    models: [
      model('good'),
      model('damaged', { params: undefined, problem: 'its encrypted value is damaged' }),
      model('old', { params: { model: 'openai/x', api_key: key, no_more: 1 } }),
      model('keyless', { params: { model: 'gemini/x' }, origin: undefined }),
    ],
  })
  assert.deepEqual(
    deployments.map(({ alias }) => alias),
    ['good', 'openai/*'],
  )
  const reasons = [...models, ...credentials.values()].map(({ error }) => error?.slice(0, 30))
  assert.deepEqual(reasons, [
    undefined,
    'its encrypted value is damaged',
    'unknown key params.no_more; kn',
    'params.api_key is required: pr',
    undefined,
    'it is encrypted with encryptio',
    'api_base: 10.0.0.1:80 is not a',
  ])
})

test('stored settings do not change names and providers of the configuration', () => {
  const config: BaseConfig = { ...empty, deployments: [sonnet] }
  const { deployments, credentials, models } = combined(
    { credentials: [credential('anthropic')], models: [model('sonnet'), model('gpt')] },
    config,
  )
  assert.deepEqual(
    deployments.map(({ id }) => id),
    ['sonnet.1', 'gpt'],
  )
  assert.equal(credentials.get('anthropic')?.error, 'disabled: provider anthropic comes from the configuration file')
  assert.equal(models[0]?.error, 'disabled: sonnet comes from the configuration file')
})

test('a stored model overrides the same name of a provider wildcard', () => {
  const wild = model('dep_1', { modelName: 'openai/*', params: { model: 'openai/*', api_key: 'sk-own-0123456789' } })
  const { deployments } = combined({ credentials: [credential('openai')], models: [wild] })
  assert.deepEqual(
    deployments.map(({ id, apiKey }) => [id, apiKey]),
    [['dep_1', 'sk-own-0123456789']],
  )
})

test('S25: a secret is not used if the host of its model was changed in the database', () => {
  const moved = model('m', { params: { model: 'openai/m', api_key: key, api_base: 'https://evil.example' } })
  const { deployments, models } = combined({ models: [moved] })
  assert.deepEqual(deployments, [])
  assert.equal(models[0]?.error, 'its secrets were stored for https://api.openai.com; send them again')
})

test('two stored models with the same name form a group', () => {
  const group = ['a', 'b'].map(id => model(id, { modelName: 'gpt' }))
  assert.deepEqual(aliases(combined({ models: group })), ['gpt', 'gpt'])
})
