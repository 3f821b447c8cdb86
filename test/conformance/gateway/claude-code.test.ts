import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startPair, translated } from './setup.ts'

/** What the client sends, in the order and the shape in which it sends it. */
const system = [
  { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1.329' },
  { type: 'text', text: 'You are Claude Code.', cache_control: { type: 'ephemeral', ttl: '1h' } },
  { type: 'text', text: 'The folder is /work.' },
]

test('G5: the system array reaches an Anthropic upstream in its order and shape', async t => {
  const { request: ask, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  await ask({ system })
  assert.deepEqual(sent()['system'], system)
})

test('G7: adaptive thinking for a model of any name passes without a beta header', async t => {
  const {
    request: ask,
    sent,
    upstream,
  } = await startPair(t, 'anthropic-messages', {
    script: [{}],
    changes: { upstreamModel: 'claude-of-tomorrow' },
  })
  await ask({ thinking: { type: 'adaptive' } })
  assert.deepEqual(sent()['thinking'], { type: 'adaptive' })
  assert.equal(upstream.requests[0]?.headers['anthropic-beta'], undefined)
})

for (const protocol of translated) {
  test(`G7, ${protocol}: adaptive thinking for a model of any name is no error`, async t => {
    const { post } = await startPair(t, protocol, { script: [{}], changes: { upstreamModel: 'model-of-tomorrow' } })
    assert.equal((await post({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })).status, 200)
  })
}

test('G10: a count for an Anthropic upstream is the upstream’s own', async t => {
  const { post } = await startPair(t, 'anthropic-messages', { script: [{}], countTokens: 98_765 })
  const response = await post({ system }, { path: '/v1/messages/count_tokens?beta=true' })
  assert.deepEqual(await response.json(), { input_tokens: 98_765 })
})

test('G11: no answer is kept for another call: equal requests each reach the upstream', async t => {
  const { request: ask, upstream } = await startPair(t, 'anthropic-messages', {
    script: [{ text: 'one' }, { text: 'two' }],
  })
  const said = [await ask({ system }), await ask({ system })].map(({ content }) => content[0]?.['text'])
  assert.deepEqual(said, ['one', 'two'])
  assert.equal(upstream.requests.length, 2)
})
