import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { openaiChat } from '../../../../test/support/upstream/dialects/openai-chat.ts'
import { startScriptedUpstream } from '../../../../test/support/upstream/scripted-upstream.ts'
import type { Deployment } from '../../config/deployments.ts'
import { type Caller, masterCaller } from '../../http/caller.ts'

const upstream = await startScriptedUpstream({ script: [{ text: 'Hello' }], dialect: openaiChat })
after(() => upstream.stop())

const messages = [{ role: 'user', content: 'hi' }]
const openRouter: Partial<Deployment> = { id: 'm.1', alias: 'm', provider: 'openrouter', protocols: ['openai-chat'] }

type Budgets = NonNullable<NonNullable<Parameters<typeof startGatewayApp>[0]>['budgets']>

const budgeted: Budgets = {
  isLimited: () => true,
  reserve: () => ({
    sliceId: undefined,
    amountUsd: '1',
    isBudgeted: true,
    isParallelLimited: false,
    warning: undefined,
    settled() {},
    release() {},
  }),
  requireMoney: async () => {},
}

/** Returns the status and the message for a chat with these fields. */
async function chatAs(
  models: readonly string[],
  { budgets, ...changes }: Partial<Deployment> & { budgets?: Budgets } = {},
) {
  const key = { id: 'key_1', models, isLimited: budgets !== undefined, isNarrow: true, expires: false }
  const caller: Caller = { ...masterCaller, principal: 'key_1', role: 'user', key }
  const deployments = [deploymentAt(`${upstream.url}/v1`, { ...openRouter, ...changes })]
  const app = await startGatewayApp({ deployments, caller, ...(budgets && { budgets }) })
  after(() => app.stop())
  return async (fields: string) => {
    const body = `{"model":"m","messages":${JSON.stringify(messages)}${fields}}`
    const answer = await app.post(body, { path: '/v1/chat/completions' })
    const { error } = (await answer.json()) as { error?: { message: string } }
    return [answer.status, error?.message.split(' ')[0]]
  }
}

test('B5: a key with models cannot name other models in the fields of OpenRouter', async () => {
  const chat = await chatAs(['m'])
  for (const fields of [
    ',"models":["other/model"]',
    ',"\\u006dodels":["other/model"]',
    ',"models":["other/model"],"models":[]',
  ])
    assert.deepEqual(await chat(fields), [403, 'models'], fields)
  assert.deepEqual(await chat(',"fallbacks":[{"model":"other/model"}]'), [403, 'fallbacks'])
  assert.deepEqual(await chat(',"models":null,"fallbacks":[]'), [200, undefined])
})

test('B2: nor can a call that a budget limits', async () => {
  const chat = await chatAs([], { budgets: budgeted, prices: { input: 1e-6, output: 1e-6 } })
  assert.deepEqual(await chat(',"models":["other/model"]'), [403, 'models'])
  assert.deepEqual(await chat(''), [200, undefined])
})

test('a key without limits, and a model of another provider, pass these fields on', async () => {
  const free = await chatAs([])
  assert.deepEqual(await free(',"models":["other/model"]'), [200, undefined])
  assert.deepEqual(upstream.requests.at(-1)?.body['models'], ['other/model'])
  const openai = await chatAs(['m'], { provider: 'openai' })
  assert.deepEqual(await openai(',"models":["other/model"]'), [200, undefined])
})
