import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../../contract/events.ts'
import { endingOf } from './ending.ts'
import { Transcript } from './transcript.ts'

const assistant = { id: 'msg_2', role: 'assistant', time: { created: 1 } }
const part = (more: object) => ({ id: 'prt_1', messageID: 'msg_2', sessionID: 'ses_1', ...more })
const tool = (status: string, more: object = {}) =>
  part({ type: 'tool', tool: 'bash', callID: 'call_1', state: { status, input: { command: 'ls' }, ...more } })

/** A transcript in which the agent has begun a message. */
function begun(log: readonly NewEvent[] = [], after = 'msg_1'): Transcript {
  const transcript = new Transcript()
  for (const event of log) transcript.restore(event)
  transcript.begin(after)
  transcript.message(assistant)
  return transcript
}

/** Events without generated ids. */
const told = (events: readonly NewEvent[]) => events.map(({ id: _, ...event }) => event)

const use = {
  type: 'agent.tool_use',
  tool_use_id: 'call_1',
  name: 'bash',
  input: { command: 'ls' },
  source_event_id: 'prt_1',
}
const result = (text: string) => ({
  type: 'agent.tool_result',
  tool_use_id: 'call_1',
  content: [{ type: 'text', text }],
  source_event_id: 'prt_1',
})
const message = { type: 'agent.message', content: [{ type: 'text', text: 'Hi' }], source_event_id: 'prt_1' }

const table: readonly (readonly [string, object, readonly object[]])[] = [
  ['a text that is still written is not told', part({ type: 'text', text: 'H', time: { start: 1 } }), []],
  [
    'a text is told as a whole once it is done',
    part({ type: 'text', text: 'Hi', time: { start: 1, end: 2 } }),
    [message],
  ],
  ['an empty text is not told', part({ type: 'text', text: ' ', time: { start: 1, end: 2 } }), []],
  ['what the user sees not is not told', part({ type: 'text', text: 'x', ignored: true, time: { end: 2 } }), []],
  [
    'thinking is told once it is done',
    part({ type: 'reasoning', text: 'Hm', time: { start: 1, end: 2 } }),
    [{ type: 'agent.thinking', content: [{ type: 'thinking', thinking: 'Hm' }], source_event_id: 'prt_1' }],
  ],
  [
    'thinking without words is told without content',
    part({ type: 'reasoning', text: '', time: { start: 1, end: 2 } }),
    [{ type: 'agent.thinking', source_event_id: 'prt_1' }],
  ],
  ['a tool call without arguments yet is not told', tool('pending', { input: {} }), []],
  ['a tool call that waits is told with its arguments', tool('pending'), [use]],
  ['a tool call that runs is told', tool('running'), [use]],
  [
    'a result brings its call along when that is missing',
    tool('completed', { output: 'a.txt' }),
    [use, result('a.txt')],
  ],
  ['a failure is a result', tool('error', { error: 'no' }), [use, { ...result('no'), is_error: true }]],
  [
    'a step that ends tells tokens and cost; thinking counts as output',
    part({
      type: 'step-finish',
      cost: 0.5,
      tokens: { input: 7, output: 5, reasoning: 2, cache: { read: 3, write: 1 } },
    }),
    [
      {
        type: 'session.usage',
        usage: { input_tokens: 7, output_tokens: 7, cache_creation_input_tokens: 1, cache_read_input_tokens: 3 },
        cost_usd: 0.5,
        source_event_id: 'prt_1',
      },
    ],
  ],
  [
    'numbers that are none count as nothing',
    part({ type: 'step-finish', cost: 'x', tokens: { input: -1 } }),
    [nothingUsed()],
  ],
  ['the start of a step is nothing', part({ type: 'step-start' }), []],
  ['kinds of parts that nobody knows yet are nothing', part({ type: 'hologram' }), []],
  [
    'what the user said is an echo',
    { ...part({ type: 'text', text: 'Hi', time: { end: 2 } }), messageID: 'msg_user' },
    [],
  ],
]

function nothingUsed() {
  const usage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
  return { type: 'session.usage', usage, cost_usd: 0, source_event_id: 'prt_1' }
}

for (const [guarantee, given, expected] of table) {
  test(guarantee, () => {
    const transcript = begun()
    transcript.message({ id: 'msg_user', role: 'user' })
    assert.deepEqual(told(transcript.part(given as never)), expected)
  })

  test(`${guarantee}: logged once, however often it arrives, also after a crash`, () => {
    const transcript = begun()
    const events = transcript.part(given as never)
    assert.deepEqual(transcript.part(given as never), [])
    assert.deepEqual(begun(JSON.parse(JSON.stringify(events))).part(given as never), [])
  })
}

test('parts of an earlier prompt are not logged', () => {
  const transcript = begun([], 'msg_9')
  assert.deepEqual(transcript.part(part({ type: 'text', text: 'Old', time: { end: 2 } }) as never), [])
})

const ended = { ...assistant, time: { created: 1, completed: 2 } }

test('a text in the list is logged once its message has ended, whether or not the text is marked as done', () => {
  const events = begun().listed({ info: ended, parts: [part({ type: 'text', text: 'Hi' })] })
  assert.deepEqual(told(events), [message])
})

test('a message in the stream that is newer than the parts after it does not truncate them', () => {
  const transcript = begun()
  transcript.message(ended)
  assert.deepEqual(transcript.part(part({ type: 'text', text: '', time: { start: 1 } })), [])
  assert.deepEqual(told(transcript.part(part({ type: 'text', text: 'Hi', time: { start: 1, end: 2 } }))), [message])
})

test('previews of text have the id of the later message; thinking has no previews', () => {
  const transcript = begun()
  transcript.part(part({ type: 'text', text: '', time: { start: 1 } }) as never)
  transcript.part({ ...part({ type: 'reasoning', text: '', time: { start: 1 } }), id: 'prt_0' } as never)
  const shown = transcript.eventOfDelta('prt_1')
  const [event] = transcript.part(part({ type: 'text', text: 'Hi', time: { end: 2 } }) as never)
  assert.ok(shown)
  assert.equal(event?.id, shown)
  assert.equal(transcript.eventOfDelta('prt_0'), undefined)
})

test('an interrupted call gets exactly one result', () => {
  const transcript = begun()
  transcript.part(tool('running') as never)
  assert.deepEqual(told(transcript.closeOpenCalls('stopped')), [{ ...result('stopped'), is_error: true }])
  assert.deepEqual(transcript.part(tool('completed', { output: 'late' }) as never), [])
  assert.deepEqual(transcript.closeOpenCalls('stopped'), [])
})

test('usage totals continue from those in the log', () => {
  const step = part({ type: 'step-finish', cost: 1, tokens: { input: 1, output: 1, reasoning: 0, cache: {} } })
  const [first] = begun().part(step as never)
  const [second] = begun([first ?? assert.fail('no event')]).part({ ...step, id: 'prt_2' } as never)
  assert.equal(second?.cost_usd, 2)
})

test('a text of ten million characters keeps its start and end', () => {
  const [, end] = begun().part(tool('completed', { output: `a${'😀'.repeat(5_000_000)}z` }) as never)
  const [{ text = '' } = {}] = (end?.content ?? []) as { text?: string }[]
  assert.ok(text.length < 201_000)
  assert.match(text, /^a😀.*characters cut out.*😀z$/su)
  assert.ok(text.isWellFormed())
})

const endings = [
  ['a turn that ends is a turn that ends', undefined, 'end_turn', null],
  [
    'a turn that somebody stopped at the runtime is no failure',
    { name: 'MessageAbortedError' },
    'end_turn',
    'interrupted',
  ],
  ['an answer that is cut off is no failure', { name: 'MessageOutputLengthError' }, 'end_turn', 'max_tokens'],
  ['an answer that is filtered is a refusal', { name: 'ContentFilterError' }, 'refusal', null],
] as const

for (const [guarantee, error, reason, details] of endings) {
  test(guarantee, () => {
    const { stop_reason, stop_details } = endingOf(error, { apiKey: undefined })
    assert.deepEqual(stop_reason, { type: reason })
    assert.equal((stop_details as { type: string } | null)?.type ?? null, details)
  })
}

test('a call of an MCP tool is a separate event, also after a restart', () => {
  const tools = new Map([['wiki_look', { server: 'wiki', tool: 'look' }]])
  const called = (status: string, more: object = {}) =>
    part({ type: 'tool', tool: 'wiki_look', callID: 'call_1', state: { status, input: { page: 1 }, ...more } })
  const transcript = new Transcript(tools)
  transcript.begin('msg_1')
  transcript.message(assistant)
  const [begin] = transcript.part(called('running'))
  assert.deepEqual([begin?.type, begin?.mcp_server_name, begin?.name], ['agent.mcp_tool_use', 'wiki', 'look'])
  assert.deepEqual(transcript.mcpToolOf(begin?.id ?? ''), { server: 'wiki', tool: 'look' })
  const [ended] = transcript.part(called('completed', { output: 'seen' }))
  assert.deepEqual([ended?.type, ended?.mcp_tool_use_id], ['agent.mcp_tool_result', 'call_1'])

  const restored = new Transcript(tools)
  if (begin) restored.restore(begin)
  assert.deepEqual(restored.mcpToolOf(begin?.id ?? ''), { server: 'wiki', tool: 'look' })
  const [closed] = restored.closeOpenCalls('stopped')
  assert.deepEqual([closed?.type, closed?.mcp_tool_use_id], ['agent.mcp_tool_result', 'call_1'])
})
