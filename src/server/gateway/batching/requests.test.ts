import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { deploymentAt, startGatewayApp } from '../../../../test/support/gateway/gateway-app.ts'
import { hookAt, startHookServer } from '../../../../test/support/gateway/hook-server.ts'
import type { Deployment } from '../../config/deployments.ts'
import { masterCaller } from '../../http/caller.ts'
import type { Call, Sink } from '../core/call.ts'

const hook = await startHookServer()
after(() => hook.stop())

const price = { prices: { input: 0.000001, output: 0.00001 } }
const claude = (changes: Partial<Deployment> = {}) =>
  deploymentAt('https://api.anthropic.com', { alias: 'claude', upstreamModel: 'claude-sonnet-5', ...price, ...changes })
const answer = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'secret' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 1_000, output_tokens: 100 },
}

const callOf = (model: string, more: Partial<Call> = {}): Call => ({
  kind: 'messages',
  body: Buffer.from(JSON.stringify({ model, max_tokens: 10, messages: [{ role: 'user', content: 'hi' }] })),
  headers: { 'anthropic-beta': 'some-beta' },
  query: '',
  requestId: 'req_1',
  caller: { principal: 'master', key: undefined },
  signal: new AbortController().signal,
  ...more,
})

async function appOf(t: TestContext, options: Parameters<typeof startGatewayApp>[0]) {
  const app = await startGatewayApp(options)
  t.after(() => app.stop())
  return app
}

const hosts: readonly (readonly [why: string, deployment: Deployment, isUsed: boolean])[] = [
  ['Anthropic’s own address', claude(), true],
  ['it where the setting says no', claude({ batchApi: false }), false],
  ['another address', claude({ apiBase: 'https://proxy.example.com' }), false],
  [
    'another address where the setting says yes',
    claude({ apiBase: 'https://proxy.example.com', batchApi: true }),
    true,
  ],
  ['a compatible server of another provider', claude({ provider: 'custom', batchApi: true }), true],
  ['a provider of another format', claude({ provider: 'gemini', protocols: ['gemini'], batchApi: true }), false],
]

for (const [why, deployment, isUsed] of hosts) {
  test(`${isUsed ? 'the batch API' : 'no batch API'} is used at ${why}`, async t => {
    const { gateway } = await appOf(t, { deployments: [deployment] })
    const target = gateway.batchTarget('messages', 'claude')
    assert.deepEqual(target, isUsed ? { deployment: 'test.1', upstream_model: 'claude-sonnet-5' } : undefined)
    assert.equal((await gateway.batchRequest(callOf('claude'))) !== undefined, isUsed)
    // A format that the provider does not speak.
    assert.equal(gateway.batchTarget('chat', 'claude'), undefined)
  })
}

test('B5: a request that names other models of the provider is made singly, which rejects it', async t => {
  const { gateway } = await appOf(t, { deployments: [claude({ provider: 'openai-compatible', batchApi: true })] })
  const key = { id: 'key_1', models: ['claude'], isLimited: false, isNarrow: true, expires: false }
  const caller = { ...masterCaller, principal: 'key_1', key }
  const body = callOf('claude').body.toString().replace('{', '{"models":["other"],')
  assert.notEqual(await gateway.batchRequest(callOf('claude', { caller })), undefined)
  assert.equal(await gateway.batchRequest(callOf('claude', { caller, body: Buffer.from(body) })), undefined)
})

test('a request is what a single call would send, and is reserved at the batch price', async t => {
  const reserved: unknown[] = []
  const released: string[] = []
  const reservation = (isParallelLimited: boolean) => ({
    sliceId: undefined,
    amountUsd: '1',
    isBudgeted: true,
    isParallelLimited,
    warning: undefined,
    settled: () => undefined,
    release: () => void released.push('released'),
  })
  let isParallelLimited = false
  const { gateway } = await appOf(t, {
    deployments: [claude({ batchPriceFactor: 0.25 })],
    budgets: {
      isLimited: () => true,
      reserve(request) {
        reserved.push([request.mayOutlast, request.amountUsd])
        return reservation(isParallelLimited)
      },
      async requireMoney(request) {
        reserved.push([request.mayOutlast, request.amountUsd])
      },
    },
  })
  const key = { id: 'key_1', models: ['claude'], isLimited: true, isNarrow: true, expires: false }
  const call = callOf('claude', { caller: { ...masterCaller, principal: 'key_1', key } })
  const request = (await gateway.batchRequest(call)) ?? assert.fail('there is no request')
  assert.deepEqual(
    [request.path, request.headers['anthropic-beta'], request.reservedUsd],
    ['/v1/messages', 'some-beta', '1'],
  )
  assert.equal(JSON.parse(request.body.toString()).model, 'claude-sonnet-5')
  assert.equal(request.called, call.body)
  await gateway.checkLater(call)
  const [[mayOutlast, amount], [, usual]] = reserved as [[boolean, string], [boolean, string]]
  assert.equal(mayOutlast, true)
  assert.ok(Math.abs(Number(amount) / Number(usual) - 0.25) < 0.001, `${amount} is not a quarter of ${usual}`)

  isParallelLimited = true
  assert.equal(await gateway.batchRequest(call), undefined)
  assert.deepEqual(released, ['released'])
  const stranger = callOf('claude', { caller: { principal: 'key_2', key: { ...key, models: ['other'] } } })
  await assert.rejects(gateway.batchRequest(stranger), { code: 'forbidden' })
})

test('hooks see a request before its submission and its answer afterwards, once each', async t => {
  const { gateway, booked } = await appOf(t, {
    deployments: [claude()],
    allow: ['api.anthropic.com', hook.host],
    hooks: [hookAt(hook.url, { name: 'before' }), hookAt(hook.url, { name: 'after', phase: 'post' })],
  })
  hook.answer(({ phase, call, response }) =>
    phase === 'pre'
      ? { action: 'replace', body: { ...call.body, metadata: { user_id: 'masked' } } }
      : { action: 'replace', body: { ...(response?.body as object), content: [{ type: 'text', text: '***' }] } },
  )
  const request = (await gateway.batchRequest(callOf('claude'))) ?? assert.fail('there is no request')
  assert.equal(JSON.parse(request.body.toString()).metadata.user_id, 'masked')
  assert.deepEqual(
    hook.got.map(({ asked }) => asked.phase),
    ['pre'],
  )

  const chunks: Buffer[] = []
  const sink: Sink = {
    head: status => assert.equal(status, 200),
    data: chunk => Boolean(chunks.push(chunk)),
    onDrain: resume => resume(),
    end: chunk => void (chunk && chunks.push(chunk)),
  }
  const { deployment, upstream_model: upstreamModel } = request
  const batchAnswer = { deployment, upstreamModel, body: Buffer.from(JSON.stringify(answer)), reservedUsd: '0.5' }
  // Whatever the key may do by now, since the answer exists.
  const key = { id: 'key_1', models: ['other'], isLimited: true, isNarrow: true, expires: false }
  const caller = { principal: 'key_1', key }
  const outcome = await gateway.call(callOf('claude', { body: request.called, batchAnswer, caller }), sink)
  assert.deepEqual([outcome.outcome, outcome.usage.input_tokens], ['completed', 1_000])
  assert.equal(JSON.parse(Buffer.concat(chunks).toString()).content[0].text, '***')
  assert.deepEqual(
    hook.got.map(({ asked }) => asked.phase),
    ['pre', 'post'],
  )
  const [row] = booked
  assert.deepEqual(
    [row?.cost_usd, row?.price_source, row?.held_usd, row?.key_id],
    ['0.001', 'config, batch', '0.5', 'key_1'],
  )
  assert.equal(row?.rates?.['output'], '0.000005')
})
