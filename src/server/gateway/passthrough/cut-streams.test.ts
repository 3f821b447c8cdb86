import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { probeMode, type Result } from '../../../../test/support/gateway/adapter-probe.ts'
import { deploymentAt } from '../../../../test/support/gateway/gateway-app.ts'
import { eventually } from '../../../../test/support/service/eventually.ts'
import { startByteServer, streamHead } from '../../../../test/support/upstream/byte-server.ts'
import type { CallKind } from '../core/call.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { openAiChat } from './openai.ts'
import type { PassthroughFormat } from './passthrough-format.ts'

interface Sample {
  readonly kind: CallKind
  readonly format: PassthroughFormat
  /** A whole stream of about 4 KiB. */
  readonly body: string
  /** The frame that completes it. */
  readonly end: string
  readonly error: RegExp
}

const frame = (type: string, fields: object = {}) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
const usage = { input_tokens: 3, output_tokens: 1 }
const delta = (text: string) => frame('content_block_delta', { index: 0, delta: { type: 'text_delta', text } })
const anthropicEnd = frame('message_stop')
const anthropic: Sample = {
  kind: 'messages',
  format: anthropicMessages,
  body: [
    frame('message_start', { message: { usage } }),
    frame('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    ...Array.from({ length: 28 }, (_, at) => delta(`piece ${at} é `)),
    frame('content_block_stop', { index: 0 }),
    frame('message_delta', { delta: { stop_reason: 'end_turn' }, usage }),
    anthropicEnd,
  ].join(''),
  end: anthropicEnd,
  error: /event: error\ndata: \{"type":"error","error":\{[^}]*\},"request_id":"req_1"\}\n\n/g,
}

const chunk = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', model: 'gpt', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
const chatEnd = chunk({}, 'stop')
const chat: Sample = {
  kind: 'chat',
  format: openAiChat,
  body: [
    chunk({ role: 'assistant', content: '' }),
    ...Array.from({ length: 36 }, (_, at) => chunk({ content: `piece ${at} é ` })),
    chatEnd,
    'data: [DONE]\n\n',
  ].join(''),
  end: chatEnd,
  error: /data: \{"error":\{[^}]*\}\}\n\n/g,
}

/** Concurrent calls. A worker starts its next call after the sockets of the previous one are closed. */
const workers = 24

for (const [name, sample] of Object.entries({ anthropic, chat })) {
  const bytes = Buffer.from(sample.body)
  for (const how of ['FIN', 'RST'] as const) {
    test(`F15: ${name}: a stream that ${how} truncates at any byte sends nothing before content, and one error after it`, async () => {
      const server = await startByteServer((socket, { body }) => {
        const { cut } = JSON.parse(body) as { cut: number }
        const part = Buffer.concat([Buffer.from(streamHead()), bytes.subarray(0, cut)])
        if (how === 'FIN') socket.end(part)
        else socket.write(part, () => setImmediate(() => socket.resetAndDestroy()))
      })
      const probe = probeMode({ format: sample.format, deployment: deploymentAt(server.url) })
      after(async () => {
        await probe.close()
        await server.stop()
      })
      const request = { model: 'test-model', max_tokens: 1, stream: true, messages: [{ role: 'user', content: 'hi' }] }
      const seen = { unseen: 0, told: 0, whole: 0 }
      let next = 0
      const work = async (): Promise<void> => {
        while (next < bytes.length) {
          const cut = next++
          const told = await probe.call(sample.kind, { ...request, cut })
          seen[judge(told, sample, `${how} after ${cut} bytes`)]++
        }
      }
      await Promise.all(Array.from({ length: workers }, work))
      assert.ok(seen.unseen > 50 && seen.told > 3_000, JSON.stringify(seen))
      await eventually(() => server.open === 0, { what: 'the end of the last connection' })
    })
  }
}

/** Asserts that the client received what it must after a truncation, and returns which case it was. */
function judge(
  { ending, error, text, heads, ends }: Result,
  sample: Sample,
  where: string,
): 'unseen' | 'told' | 'whole' {
  if (!ending) {
    assert.equal(error?.code, 'upstream_unreachable', where)
    assert.deepEqual([heads, ends, text], [0, 0, ''], where)
    return 'unseen'
  }
  assert.deepEqual([heads, ends], [1, 1], where)
  const errors = text.match(sample.error) ?? []
  if (ending.outcome === 'completed') {
    assert.equal(errors.length, 0, where)
    assert.ok(text.includes(sample.end), where)
    return 'whole'
  }
  assert.equal(ending.outcome, 'failed', where)
  assert.equal(errors.length, 1, where)
  const relayed = text.slice(0, -(errors[0]?.length ?? 0))
  assert.ok(text.endsWith(errors[0] ?? ''), where)
  assert.ok(sample.body.startsWith(relayed) && relayed.endsWith('\n\n'), where)
  assert.ok(!relayed.includes(sample.end), where)
  return 'told'
}
