import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalRequest } from '../../../src/server/gateway/core/normal-request.ts'
import { recordOf, recordsOf } from '../../../src/server/platform/json.ts'
import { deploymentAt, targetAt } from '../../support/gateway/gateway-app.ts'
import { startPair } from './setup.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const text = (said: string) => ({ type: 'text', text: said, ...mark })
const turns = ['a', 'b', 'c'].flatMap(said => [
  { role: 'user', content: [text(said)] },
  { role: 'assistant', content: [text(said)] },
])

test('of more than four cache marks of Chat Completions the last four reach Claude, and the others are reported', async t => {
  const { app, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const messages = [{ role: 'system', content: [text('rules')] }, ...turns, { role: 'user', content: 'go' }]
  const response = await app.post({ model: 'test-model', messages }, { path: '/v1/chat/completions' })
  assert.equal(
    response.headers.get('x-switchyard-degraded'),
    'messages.0.content.0.cache_control=dropped, messages.1.content.0.cache_control=dropped, messages.2.content.0.cache_control=dropped',
  )
  const blocks = recordsOf(sent()['messages']).flatMap(({ content }) => recordsOf(content))
  assert.deepEqual(
    blocks.map(block => 'cache_control' in block),
    [false, false, true, true, true, true, false],
  )
  assert.ok(!('cache_control' in (recordsOf(sent()['system'])[0] ?? {})))
})

const onBedrock = (request: object) =>
  recordOf(
    normalRequest(
      { max_tokens: 10, ...request },
      targetAt(deploymentAt('http://localhost', { provider: 'bedrock', protocols: ['bedrock-invoke'] })),
    ).request,
  )

test('bedrock-invoke: a cache mark for the whole request moves to its last block, because Bedrock rejects it', () => {
  const request = { ...mark, messages: [{ role: 'user', content: 'hi' }] }
  const { cache_control: whole, messages } = onBedrock(request)
  assert.equal(whole, undefined)
  assert.deepEqual(messages, [{ role: 'user', content: [{ ...mark, type: 'text', text: 'hi' }] }])
  const own = { cache_control: { type: 'ephemeral', ttl: '1h' }, type: 'text', text: 'hi' }
  assert.deepEqual(onBedrock({ ...mark, messages: [{ role: 'user', content: [own] }] })['messages'], [
    { role: 'user', content: [own] },
  ])
})
