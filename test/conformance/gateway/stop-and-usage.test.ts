import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dataFrame } from '../../support/upstream/dialects/dialect.ts'
import { everyProtocol } from '../../support/upstream/spoken-protocols.ts'
import { startPair, tool, translated, usageAtStart } from './setup.ts'

for (const protocol of everyProtocol) {
  test(`S2, ${protocol}: an answer that the token limit cut ends with max_tokens`, async t => {
    const { stream, request: ask } = await startPair(t, protocol, {
      script: [{ text: 'long', stopReason: 'max_tokens' }],
    })
    assert.equal((await stream()).stopReason, 'max_tokens')
    assert.equal((await ask()).stop_reason, 'max_tokens')
  })

  test(`S2, ${protocol}: an answer that a filter stopped ends with refusal`, async t => {
    const { stream, request: ask } = await startPair(t, protocol, { script: [{ text: 'no', stopReason: 'refusal' }] })
    assert.equal((await stream()).stopReason, 'refusal')
    assert.equal((await ask()).stop_reason, 'refusal')
  })

  test(`S4, ${protocol}: a stream that is cut at any frame never ends in end_turn`, async t => {
    const { post } = await startPair(t, protocol, { script: (_request, at) => ({ breakAtFrame: at + 1 }) })
    for (let frame = 1; frame < 3; frame++) {
      const response = await post({ stream: true })
      if (response.status === 200) {
        const text = await response.text()
        assert.ok(text.includes('event: error'))
        assert.ok(!text.includes('end_turn') && !text.includes('message_stop'))
      } else assert.equal(response.status, 529)
    }
  })

  test(`U1, ${protocol}: message_start has input tokens before any content, and message_delta the exact count`, async t => {
    const usage = { input_tokens: 321, output_tokens: 45 }
    const { stream, request: ask } = await startPair(t, protocol, { script: [{ text: 'counted', usage }] })
    const said = await stream()
    assert.ok(Number(usageAtStart(said)['input_tokens']) > 0)
    assert.deepEqual([said.usage['input_tokens'], said.usage['output_tokens']], [321, 45])
    assert.equal((await ask()).usage['input_tokens'], 321)
  })

  test(`U2, ${protocol}: usage in message_start has every field, the cache_creation object included`, async t => {
    const { stream } = await startPair(t, protocol, { script: [{}] })
    const usage = usageAtStart(await stream())
    for (const field of ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'])
      assert.equal(typeof usage[field], 'number', field)
    const split = usage['cache_creation'] as Record<string, unknown>
    assert.equal(typeof split['ephemeral_5m_input_tokens'], 'number')
    assert.equal(typeof split['ephemeral_1h_input_tokens'], 'number')
  })

  test(`U3, ${protocol}: tokens read from a cache are not input tokens too`, async t => {
    const usage = { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 5 }
    const { stream, app } = await startPair(t, protocol, { script: [{ text: 'cached', usage }] })
    const { usage: final } = await stream()
    assert.deepEqual([final['input_tokens'], final['cache_read_input_tokens']], [100, 900])
    await app.bookedCalls(1)
    assert.deepEqual([app.booked[0]?.input_tokens, app.booked[0]?.cache_read_tokens], [100, 900])
  })

  test(`U8, ${protocol}: a stream that breaks off is booked as failed, with the tokens already sent`, async t => {
    const script = [{ text: 'x'.repeat(400), usage: { output_tokens: 60 }, breakAtFrame: 12 }]
    const { stream, app } = await startPair(t, protocol, { script })
    const { error } = await stream()
    assert.ok(error)
    await app.bookedCalls(1)
    assert.equal(app.booked[0]?.outcome, 'failed')
    assert.ok((app.booked[0]?.output_tokens ?? 0) > 10)
  })
}

for (const protocol of translated) {
  test(`S1, ${protocol}: a tool call gives tool_use even if the upstream reports a plain stop`, async t => {
    const script = [{ tool_calls: [{ name: 'look', input: {} }], stopReason: 'end_turn' }]
    const { stream, request: ask } = await startPair(t, protocol, { script })
    assert.equal((await stream({ tools: [tool] })).stopReason, 'tool_use')
    assert.equal((await ask({ tools: [tool] })).stop_reason, 'tool_use')
  })
}

for (const reason of ['pause_turn', 'refusal', 'model_context_window_exceeded', 'compaction']) {
  test(`S3: the stop reason ${reason} of an Anthropic upstream passes unchanged`, async t => {
    const { stream, request: ask } = await startPair(t, 'anthropic-messages', { script: [{ stopReason: reason }] })
    assert.equal((await stream()).stopReason, reason)
    assert.equal((await ask()).stop_reason, reason)
  })
}

test('U4: counts that come several times are totals: the last one counts', async t => {
  const chunk = (text: string, output: number, finish?: string) =>
    dataFrame({
      candidates: [{ content: { parts: [{ text }] }, ...(finish && { finishReason: finish }) }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: output },
    })
  const frames = [chunk('a', 1), chunk('b', 2), chunk('c', 3, 'STOP')]
  const { stream } = await startPair(t, 'gemini', { script: [{ frames }] })
  assert.equal((await stream()).usage['output_tokens'], 3)
})

test('U5: five-minute and one-hour cache writes stay apart', async t => {
  const cache_creation = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 7 }
  const usage = { cache_creation_input_tokens: 37, cache_creation }
  const { stream, app } = await startPair(t, 'anthropic-messages', { script: [{ usage }] })
  assert.deepEqual((await stream()).usage['cache_creation'], cache_creation)
  await app.bookedCalls(1)
  assert.deepEqual([app.booked[0]?.cache_write_5m_tokens, app.booked[0]?.cache_write_1h_tokens], [30, 7])
})

test('U6: usage is requested from OpenAI-style streams', async t => {
  const { stream, sent } = await startPair(t, 'openai-chat', { script: [{}] })
  await stream()
  assert.deepEqual(sent()['stream_options'], { include_usage: true })
})

test('U7: reasoning tokens are in the output tokens once, whatever the protocol', async t => {
  const chat = await startPair(t, 'openai-chat', {
    script: [
      {
        frames: [
          dataFrame({ choices: [{ index: 0, delta: { content: 'ok' }, finish_reason: 'stop' }] }),
          dataFrame({
            choices: [],
            usage: { prompt_tokens: 5, completion_tokens: 50, completion_tokens_details: { reasoning_tokens: 40 } },
          }),
        ],
      },
    ],
  })
  assert.equal((await chat.stream()).usage['output_tokens'], 50)
  const google = await startPair(t, 'gemini', {
    script: [
      {
        frames: [
          dataFrame({
            candidates: [{ content: { parts: [{ text: 'ok' }] }, finishReason: 'STOP' }],
            usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 10, thoughtsTokenCount: 40 },
          }),
        ],
      },
    ],
  })
  assert.equal((await google.stream()).usage['output_tokens'], 50)
})
