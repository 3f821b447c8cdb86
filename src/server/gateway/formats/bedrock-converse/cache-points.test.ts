import assert from 'node:assert/strict'
import { test } from 'node:test'
import { claude, contents, llama, nova, sent } from './fixtures.ts'

const mark = { cache_control: { type: 'ephemeral' } }
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const point = { cachePoint: { type: 'default' } }
const hourPoint = { cachePoint: { type: 'default', ttl: '1h' } }
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more })
const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'cGRm' } }
const plain = { type: 'document', source: { type: 'text', data: 'notes' } }
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } }
const result = (content: unknown, more: object = {}) => ({ type: 'tool_result', tool_use_id: 't', content, ...more })

/** Returns the kinds of the blocks of a content. */
const kinds = (blocks: unknown): readonly string[] => (blocks as object[]).map(block => Object.keys(block)[0] ?? '')

test('C1: a cache mark on a tool or a system block becomes a cache point after it', () => {
  const { body } = sent({ tools: [tool('a', mark), tool('b')], system: [text('s', mark), text('t')] })
  assert.deepEqual(kinds((body['toolConfig'] as { tools: unknown }).tools), ['toolSpec', 'cachePoint', 'toolSpec'])
  assert.deepEqual(body['system'], [{ text: 's' }, point, { text: 't' }])
})

const marked = [
  ['text', text('x', mark), ['text', 'cachePoint', 'text']],
  ['image', { ...image, ...mark }, ['image', 'cachePoint', 'text']],
  ['document', { ...pdf, ...mark }, ['document', 'cachePoint', 'text']],
  ['tool_result', result('r', mark), ['toolResult', 'cachePoint', 'text']],
  ['a block inside of a tool_result', result([text('r', mark), text('q')]), ['toolResult', 'cachePoint', 'text']],
  ['both a tool_result and a block inside', result([text('r', mark)], mark), ['toolResult', 'cachePoint', 'text']],
] as const

for (const [name, block, expected] of marked) {
  test(`C1: a cache mark on ${name} becomes a cache point after it`, () => {
    assert.deepEqual(kinds(contents([{ role: 'user', content: [block, text('end')] }])[0]), expected)
  })
}

test('C1: a cache mark on a tool_use becomes a cache point after it', () => {
  const call = { type: 'tool_use', id: 't', name: 'f', input: { cache_control: 'mine' }, ...mark }
  const found = contents([
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [call] },
  ])[1]
  assert.deepEqual(found, [{ toolUse: { toolUseId: 't', name: 'f', input: { cache_control: 'mine' } } }, point])
})

test('C1: a cache mark on the whole request becomes one cache point at its end', () => {
  const messages = [{ role: 'user', content: [text('a'), text('b')] }]
  assert.deepEqual(kinds((sent({ ...mark, messages }).body['messages'] as { content: unknown }[])[0]?.content), [
    ...['text', 'text', 'cachePoint'],
  ])
  const both = [{ role: 'user', content: [text('a', mark)] }]
  assert.deepEqual(kinds((sent({ ...mark, messages: both }).body['messages'] as { content: unknown }[])[0]?.content), [
    ...['text', 'cachePoint'],
  ])
})

test('C2: a ttl is kept for models that support it; otherwise it is removed and recorded', () => {
  const request = { system: [text('s', hour)] }
  assert.deepEqual(sent(request, claude).body['system'], [{ text: 's' }, hourPoint])
  const older = sent(request, 'anthropic.claude-sonnet-4-20250514-v1:0')
  assert.deepEqual(older.body['system'], [{ text: 's' }, point])
  assert.deepEqual(older.degraded, ['system.0.cache_control.ttl=dropped'])
  const five = { system: [text('s', { cache_control: { type: 'ephemeral', ttl: '5m' } })] }
  assert.deepEqual(sent(five, nova).body['system'], [{ text: 's' }, point])
  assert.deepEqual(sent(five, nova).degraded, [])
})

test('C2: tool inputs and schemas are not changed', () => {
  const schema = { type: 'object', properties: { cache_control: { type: 'string' }, ttl: { const: '1h' } }, $defs: {} }
  const { body } = sent({ tools: [{ name: 'f', input_schema: schema, ...mark }] })
  const [spec] = (body['toolConfig'] as { tools: { toolSpec: { inputSchema: unknown } }[] }).tools
  assert.deepEqual(spec?.toolSpec.inputSchema, { json: schema })
})

test('C1: models without cache points get none, and dropped marks are recorded', () => {
  const request = { system: [text('s', mark)], tools: [tool('a', mark)] }
  assert.ok(!sent(request, llama).text.includes('cachePoint'))
  assert.deepEqual(sent(request, llama).degraded, ['tools.0.cache_control=dropped', 'system.0.cache_control=dropped'])
  assert.deepEqual(sent(request, nova).body['system'], [{ text: 's' }, point])
  assert.deepEqual(sent(request, nova).degraded, ['tools.0.cache_control=dropped'])
})

test('C1: the last four of more than four marks are kept', () => {
  const messages = [{ role: 'user', content: ['a', 'b', 'c', 'd'].map(words => text(words, mark)) }]
  const { body, degraded, text: bytes } = sent({ messages, tools: [tool('f', mark)], system: [text('s', mark)] })
  assert.equal(bytes.split('cachePoint').length - 1, 4)
  assert.deepEqual(body['system'], [{ text: 's' }])
  assert.deepEqual(degraded, ['tools.0.cache_control=dropped', 'system.0.cache_control=dropped'])
})

test('C1: a cache point is moved or dropped where Bedrock would reject it', () => {
  const behind = (content: object[]) => kinds(contents([{ role: 'user', content }])[0])
  // After a document other than a PDF.
  assert.deepEqual(behind([text('a'), { ...plain, ...mark }]), ['text', 'cachePoint', 'document'])
  // After reasoning, when the turn has no other content.
  const thinking = { type: 'thinking', thinking: 'Hm', signature: 'Sig=' }
  const turn = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [text('a'), thinking] },
  ]
  const last = (sent({ ...mark, messages: turn }).body['messages'] as { content: unknown }[])[1]?.content
  assert.deepEqual(kinds(last), ['text', 'cachePoint', 'reasoningContent'])
  // Before all other content.
  const alone = sent({ messages: [{ role: 'user', content: [result('r'), { ...plain, ...mark }] }] })
  assert.deepEqual(kinds((alone.body['messages'] as { content: unknown }[])[0]?.content), [
    ...['toolResult', 'text', 'cachePoint', 'document'],
  ])
  const first = sent({ messages: [{ role: 'user', content: [{ ...plain, ...mark }, text('Read')] }] })
  assert.ok(!first.text.includes('cachePoint'))
  assert.deepEqual(first.degraded, ['messages.0.content.0.cache_control=dropped'])
})
