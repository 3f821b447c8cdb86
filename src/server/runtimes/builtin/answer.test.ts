import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectAnswer } from './answer.ts'
import { answerEvents, modelUsage } from './answer-events.ts'

const noTools = { byName: new Map(), failures: [] }

const collect = (...events: object[]) => {
  const heard: [number, string][] = []
  const collected = collectAnswer((index, text) => heard.push([index, text]))
  for (const event of events) collected.frame({ data: JSON.stringify(event) })
  return { answer: collected.result(), heard }
}

const start = { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } }
const block = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, change: object) => ({ type: 'content_block_delta', index, delta: change })
const stop = { type: 'message_stop' }
const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } }

test('an answer is assembled from its pieces, and each piece of text is reported on arrival', () => {
  const { answer, heard } = collect(
    start,
    block(0, { type: 'thinking', thinking: '' }),
    delta(0, { thinking: 'hm' }),
    delta(0, { signature: 'sig' }),
    block(1, { type: 'text', text: '' }),
    delta(1, { text: 'Hel' }),
    delta(1, { text: 'lo' }),
    block(2, { type: 'tool_use', id: 'toolu_1', name: 'bash' }),
    delta(2, { partial_json: '{"command":' }),
    delta(2, { partial_json: '"ls"}' }),
    end,
    stop,
  )
  assert.deepEqual(answer.blocks, [
    { type: 'thinking', thinking: 'hm', signature: 'sig' },
    { type: 'text', text: 'Hello' },
    { type: 'tool_use', id: 'toolu_1', name: 'bash', json: '{"command":"ls"}' },
  ])
  assert.deepEqual(heard, [
    [1, 'Hel'],
    [1, 'lo'],
  ])
  assert.deepEqual([answer.isComplete, answer.stopReason, answer.error], [true, 'end_turn', undefined])
})

test('token counts are running totals: the last one counts', () => {
  const { answer } = collect(start, end, { ...end, usage: { output_tokens: 9 } }, stop)
  assert.deepEqual(modelUsage(answer), {
    input_tokens: 10,
    output_tokens: 9,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
  })
})

test('an answer without message_stop is incomplete', () => {
  assert.equal(collect(start, block(0, { type: 'text' }), delta(0, { text: 'half' }), end).answer.isComplete, false)
})

test('an error inside the stream is returned with its type', () => {
  const { answer } = collect(start, { type: 'error', error: { type: 'overloaded_error', message: 'busy' } })
  assert.deepEqual(answer.error, { type: 'overloaded_error', message: 'busy' })
})

test('pieces of a block that was not started and unknown events are ignored', () => {
  const { answer } = collect(start, delta(3, { text: 'lost' }), { type: 'ping' }, { type: 'from_the_future' }, stop)
  assert.deepEqual(answer.blocks, [])
})

test('blocks become events in their order, except empty text and unknown blocks', () => {
  const { answer } = collect(
    block(0, { type: 'text', text: '' }),
    block(1, { type: 'server_tool_use', id: 'x' }),
    block(2, { type: 'text', text: 'hi' }),
    block(3, { type: 'tool_use', id: 'toolu_1', name: 'bash' }),
    delta(3, { partial_json: '{"command":"ls"}' }),
    block(4, { type: 'redacted_thinking', data: 'abc' }),
    stop,
  )
  const events = answerEvents(answer, new Map([[2, 'evt_shown']]), { tools: noTools, rejected: new Set() })
  assert.deepEqual(events, [
    { type: 'agent.message', content: [{ type: 'text', text: 'hi' }], id: 'evt_shown' },
    {
      type: 'agent.tool_use',
      tool_use_id: 'toolu_1',
      name: 'bash',
      input: { command: 'ls' },
      evaluated_permission: 'allow',
    },
    { type: 'agent.thinking', content: [{ type: 'redacted_thinking', data: 'abc' }] },
  ])
})

test('each call of an answer has its own id, also when the provider repeats ids or sends none', () => {
  const ids = ['toolu_1', 'toolu_1', undefined, '', 'x'.repeat(1_000), 'toolu_2']
  const { answer } = collect(...ids.map((id, at) => block(at, { type: 'tool_use', id, name: 'bash' })), stop)
  const given = answer.blocks.map(each => (each.type === 'tool_use' ? each.id : ''))
  assert.equal(new Set(given).size, ids.length)
  assert.deepEqual([given[0], given[5]], ['toolu_1', 'toolu_2'])
  for (const id of given) assert.match(id, /^toolu_\w{1,40}$/)
})

test('arguments that are not a JSON object stay text, so that the call fails', () => {
  const inputOf = (json: string) => {
    const { answer } = collect(block(0, { type: 'tool_use', id: 't', name: 'bash' }), delta(0, { partial_json: json }))
    return answerEvents(answer, new Map(), { tools: noTools, rejected: new Set() })[0]?.['input']
  }
  assert.deepEqual(inputOf(''), {})
  for (const json of ['{"command":"ec', '[1]', '"ls"', 'null']) assert.equal(inputOf(json), json)
})

test('arguments that are too deep or too many for a later request stay text', () => {
  const inputOf = (json: string) => {
    const { answer } = collect(block(0, { type: 'tool_use', id: 't', name: 'bash' }), delta(0, { partial_json: json }))
    return answerEvents(answer, new Map(), { tools: noTools, rejected: new Set() })[0]?.['input']
  }
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}"]}[{"${'}'.repeat(levels)}`
  assert.deepEqual(inputOf(nested(90)), JSON.parse(nested(90)))
  const many = `{"a":[${'0,'.repeat(300_000)}0]}`
  for (const json of [nested(101), nested(1_000_000), many]) assert.equal(inputOf(json), json)
})
