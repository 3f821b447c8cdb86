import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageOfAnswer } from './answers.ts'

const content = [{ type: 'text', text: 'a "quoted" \\ text with {"usage":{"output_tokens":9}} in it' }]
const usage = { input_tokens: 700, cache_creation: { ephemeral_1h_input_tokens: 5 }, output_tokens: 200 }
const long = [{ type: 'text', text: 'x'.repeat(2 * 1024 * 1024) }]

const stated: readonly [what: string, text: string][] = [
  ['a usual response', JSON.stringify({ id: 'msg_1', content, stop_reason: 'end_turn', usage })],
  ['a response over several lines', JSON.stringify({ usage, content, stop_reason: 'end_turn' }, null, 2)],
  [
    'a response with escapes in its keys',
    JSON.stringify({ content, usage, stop_reason: 'end_turn' }).replace('"usage":{"in', '"us\\u0061ge":{"in'),
  ],
  [
    'a response with duplicate keys',
    `{"usage":{"output_tokens":1},"stop_reason":"end_turn","usage":${JSON.stringify(usage)}}`,
  ],
  ['a very long response', JSON.stringify({ content: long, stop_reason: 'end_turn', usage })],
]

for (const [what, text] of stated) {
  test(`usage and stop reason come from the top level of ${what}`, () => {
    const { usage: counts, stopReason } = usageOfAnswer(Buffer.from(text))
    assert.deepEqual(
      [counts.input_tokens, counts.cache_write_1h_tokens, counts.output_tokens, counts.estimated, stopReason],
      [700, 5, 200, false, 'end_turn'],
    )
  })
}

test('a response without output tokens gets an estimate, marked as one; other bodies count as zero', () => {
  const guessed = usageOfAnswer(Buffer.from(JSON.stringify({ content, usage: null, stop_reason: 7 })))
  assert.deepEqual([guessed.usage.estimated, guessed.stopReason], [true, undefined])
  assert.equal(guessed.usage.output_tokens, Math.ceil(JSON.stringify(content).length / 4))
  for (const text of ['', '[]', '{"usage":{"output_tokens":5}', '{"usage":{"output_tokens":5}} x', 'null']) {
    const { usage: counts, stopReason } = usageOfAnswer(Buffer.from(text))
    assert.deepEqual([counts.output_tokens, counts.estimated, stopReason], [0, false, undefined], text)
  }
})
