import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { openaiResponses } from '../../../../test/support/upstream/dialects/openai-responses.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import type { Deployment } from '../../config/deployments.ts'

const upstream = await startScriptedUpstream({ script: [{ text: 'Hello' }], dialect: openaiResponses })
after(() => upstream.stop())

const all = (provider: string): Deployment =>
  deploymentAt(`${upstream.url}/v1`, {
    id: `${provider}.1`,
    alias: `${provider}/*`,
    provider,
    upstreamModel: '*',
    protocols: ['openai-responses'],
  })

async function appWith(...providers: string[]) {
  const app = await startGatewayApp({ deployments: providers.map(all) })
  after(() => app.stop())
  const ask = async (model: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.post({ model, input: 'hi' }, { path: '/v1/responses', headers })
    const { error } = (await answer.json()) as { error?: { message: string } | null }
    return { status: answer.status, message: error?.message }
  }
  const list = async (query = '', headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`${app.url}/v1/models${query}`, { headers })
    return (await answer.json()) as { data: { id: string; created: number }[]; has_more: boolean }
  }
  return { ...app, ask, list }
}

test('E1: a bare name goes to the only configured provider that has the model, and is booked by its full name', async () => {
  const { ask, booked, gateway } = await appWith('openai')
  assert.equal((await ask('gpt-5.5')).status, 200)
  assert.equal(upstream.requests.at(-1)?.body['model'], 'gpt-5.5')
  assert.deepEqual([booked[0]?.alias, booked[0]?.upstream_model], ['openai/gpt-5.5', 'gpt-5.5'])
  assert.equal(gateway.find('gpt-5.5')?.id, 'openai/gpt-5.5')
})

test('E1: an ambiguous bare name and a misspelt one are 404 with suggestions', async () => {
  const both = await appWith('gemini', 'vertex')
  const hint = 'did you mean gemini/gemini-2.5-flash or vertex/gemini-2.5-flash?'
  assert.deepEqual(await both.ask('gemini-2.5-flash'), {
    status: 404,
    message: `model gemini-2.5-flash not found; ${hint}`,
  })
  const one = await appWith('openai')
  assert.deepEqual(await one.ask('gtp-5.5'), {
    status: 404,
    message: 'model gtp-5.5 not found; did you mean openai/gpt-5.5?',
  })
  assert.deepEqual(await one.ask('something-else'), { status: 404, message: 'model something-else not found' })
})

test('E1: the models of a key are compared with the full name', async () => {
  const { gateway } = await appWith('openai')
  const key = (...models: string[]) =>
    ({ id: 'key_1', models }) as unknown as NonNullable<Parameters<typeof gateway.find>[1]>
  assert.equal(gateway.find('gpt-5.5', key('openai/*'))?.id, 'openai/gpt-5.5')
  assert.equal(gateway.find('gpt-5.5', key('gpt-5.5')), undefined)
})

test('E1: clients of OpenAI get all models at once, those of Anthropic pages, and all of them real dates', async () => {
  const { list } = await appWith('openai', 'azure', 'openrouter', 'xai')
  const [whole, paged, limited] = [
    await list(),
    await list('', { 'anthropic-version': '2023-06-01' }),
    await list('?limit=2'),
  ]
  assert.ok(whole.data.length > 20, `${whole.data.length} models`)
  assert.deepEqual([whole.has_more, paged.data.length, paged.has_more, limited.data.length], [false, 20, true, 2])
  for (const { id, created } of whole.data) assert.ok(created > 1_600_000_000, `${id} was created at ${created}`)
})
