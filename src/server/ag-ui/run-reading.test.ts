import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logOf } from '../../../test/support/sessions/log-of.ts'
import type { AgUiEvent } from './events.ts'
import { RunReading } from './run-reading.ts'

const text = (said: string) => [{ type: 'text', text: said }]

const message = { type: 'user.message', prompt_id: 'msg_1', content: text('Hello') }
const running = { type: 'session.status_running', prompt_id: 'msg_1', run_id: 'run_1' }
const requested = { type: 'span.model_request_start', model: 'demo' }
const tokens = { input_tokens: 3, output_tokens: 2, cache_read_input_tokens: 5, cache_creation_input_tokens: 1 }
const answered = { type: 'span.model_request_end', model_usage: tokens }
const said = { type: 'agent.message', content: text('Hi') }
const idle = (more: object = {}) => ({
  type: 'session.status_idle',
  stop_reason: { type: 'end_turn' },
  prompt_id: 'msg_1',
  ...more,
})
const asks = (...event_ids: string[]) => idle({ stop_reason: { type: 'requires_action', event_ids } })
const bash = { type: 'agent.tool_use', name: 'bash', input: { command: 'ls' }, tool_use_id: 't1' }
const asking = { ...bash, evaluated_permission: 'ask' }
const own = { type: 'agent.custom_tool_use', name: 'read_file', input: { path: 'a' }, tool_use_id: 't2' }
const result = (tool_use_id: string, more: object = {}) => ({
  type: 'agent.tool_result',
  tool_use_id,
  content: text('ok'),
  ...more,
})

const run = { thread_id: 'thread', run_id: 'run', prompt_ids: ['msg_1'] }

/** Reads a log; `from` is the number of the first event of the run. */
function readingOf(events: readonly object[], { from = 1, prompts = ['msg_1'] } = {}) {
  const reading = new RunReading({ ...run, prompt_ids: prompts })
  const log = logOf(...events)
  for (const event of log.slice(0, from - 1)) reading.recall(event)
  const all = log.slice(from - 1).flatMap(event => reading.take(event))
  return { reading, all, types: all.map(({ type }) => type), last: all.at(-1) }
}
const ofType = <Type extends AgUiEvent['type']>(all: readonly AgUiEvent[], type: Type) =>
  all.filter((event): event is Extract<AgUiEvent, { readonly type: Type }> => event.type === type)
const outcomeOf = (last: AgUiEvent | undefined) => (last?.type === 'RUN_FINISHED' ? last.outcome : last)

test('an answer is a message, in a step, and the tokens are counted with the caches', () => {
  const { all, types, reading } = readingOf([message, running, requested, said, answered, idle({ result: { n: 1 } })])
  assert.deepEqual(types, [
    ...['STEP_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'STEP_FINISHED'],
    'RUN_FINISHED',
  ])
  assert.deepEqual(all.at(-1), {
    type: 'RUN_FINISHED',
    threadId: 'thread',
    runId: 'run',
    outcome: { type: 'success' },
    result: { n: 1 },
    usage: [
      {
        model: 'demo',
        inputTokens: 9,
        outputTokens: 2,
        totalTokens: 11,
        cachedInputTokens: 5,
        cacheWriteInputTokens: 1,
      },
    ],
  })
  assert.ok(reading.isOver && !reading.isUnfinished)
})

test('pieces of an answer come first, and the log adds only what is missing', () => {
  const reading = new RunReading(run)
  const [asked, runs, answer] = logOf(message, running, { ...said, content: text('Hi there') })
  assert.ok(asked && runs && answer)
  const start = { type: 'event_start', event: { id: answer.id, type: 'agent.message' } } as const
  const piece = (said: string) =>
    ({
      type: 'event_delta',
      event_id: answer.id,
      delta: { type: 'content_delta', content: { type: 'text', text: said } },
    }) as const
  for (const event of [asked, runs]) reading.take(event)
  const live = [...reading.preview(start), ...reading.preview(piece('Hi ')), ...reading.preview(piece('th'))]
  const all = [...live, ...reading.take(answer)]
  assert.deepEqual(
    ofType(all, 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta),
    ['Hi ', 'th', 'ere'],
  )
  assert.equal(all.at(-1)?.type, 'TEXT_MESSAGE_END')
  assert.deepEqual([...reading.preview(start), ...reading.preview(piece('late'))], [], 'pieces that come too late')
})

test('a text that is not part of the conversation is closed and reported', () => {
  const reading = new RunReading(run)
  const [asked, runs, again] = logOf(message, running, requested)
  assert.ok(asked && runs && again)
  for (const event of [asked, runs]) reading.take(event)
  reading.preview({ type: 'event_start', event: { id: 'evt_x', type: 'agent.message' } })
  const delta = { type: 'content_delta', content: { type: 'text', text: 'Hal' } } as const
  reading.preview({ type: 'event_delta', event_id: 'evt_x', delta })
  assert.deepEqual(reading.take(again).slice(0, 2), [
    { type: 'TEXT_MESSAGE_END', messageId: 'evt_x' },
    { type: 'CUSTOM', name: 'message_dropped', value: { messageId: 'evt_x' } },
  ])
})

test('calls of one answer belong to its message, or to the first of them', () => {
  const second = { ...bash, tool_use_id: 't3' }
  const turn = [message, running, requested, said, bash, second, result('t1'), result('t3'), requested, bash, second]
  const starts = ofType(readingOf(turn).all, 'TOOL_CALL_START')
  assert.deepEqual(
    starts.map(({ toolCallId, parentMessageId }) => [toolCallId, parentMessageId]),
    [
      ['evt_5', 'evt_4'],
      ['evt_6', 'evt_4'],
      ['evt_10', undefined],
      ['evt_11', 'evt_10'],
    ],
  )
  const [first] = ofType(readingOf(turn).all, 'TOOL_CALL_RESULT')
  assert.deepEqual(first, {
    type: 'TOOL_CALL_RESULT',
    messageId: 'evt_7',
    toolCallId: 'evt_5',
    content: 'ok',
    role: 'tool',
  })
})

test('an approval is an interrupt, and the next run has the result of the call without the call', () => {
  const log = [message, running, asking, asks('evt_3')]
  const { last, reading } = readingOf(log)
  const outcome = outcomeOf(last)
  assert.ok(outcome && 'interrupts' in outcome)
  const [interrupt] = outcome.interrupts
  assert.deepEqual(
    [interrupt?.id, interrupt?.reason, interrupt?.message, interrupt?.toolCallId],
    ['evt_3', 'tool_call', 'Allow bash {"command":"ls"}?', 'evt_3'],
  )
  assert.ok(reading.isUnfinished, 'the prompt waits')
  const confirmed = { type: 'user.tool_confirmation', tool_use_id: 'evt_3', result: 'allow' }
  const next = readingOf([...log, confirmed, running, result('t1'), said, idle()], { from: 5 })
  assert.deepEqual(
    next.types.filter(type => type.startsWith('TOOL')),
    ['TOOL_CALL_RESULT'],
  )
  assert.deepEqual(
    [ofType(next.all, 'TOOL_CALL_RESULT')[0]?.toolCallId, outcomeOf(next.last)],
    ['evt_3', { type: 'success' }],
  )
})

test('calls of tools of the front-end end the run with success, and their results are not sent back', () => {
  const log = [message, running, own, { ...own, tool_use_id: 't4' }, asks('evt_3', 'evt_4')]
  const { last, reading } = readingOf(log)
  assert.deepEqual(outcomeOf(last), { type: 'success', pendingToolCallIds: ['evt_3', 'evt_4'] })
  assert.deepEqual(
    reading.questions.map(({ id, name, isClient }) => [id, name, isClient]),
    [
      ['evt_3', 'read_file', true],
      ['evt_4', 'read_file', true],
    ],
  )
  const returned = (id: string) => ({ type: 'user.custom_tool_result', custom_tool_use_id: id, content: text('x') })
  const next = readingOf([...log, returned('evt_3'), returned('evt_4'), running, said, idle()], { from: 6 })
  assert.deepEqual(
    next.types.filter(type => type.startsWith('TOOL')),
    [],
  )
  assert.deepEqual(outcomeOf(next.last), { type: 'success' })
})

test('the list of pending calls is left out when tools of the service wait as well', () => {
  const { last } = readingOf([message, running, own, bash, asks('evt_3')])
  assert.deepEqual(outcomeOf(last), { type: 'success' })
})

test('a change of the shared state is a delta after the result of its call, unless the call failed', () => {
  const operations = [{ op: 'add', path: '/a', value: 1 }]
  const call = { ...bash, name: 'update_shared_state', input: { operations } }
  const { types, all } = readingOf([message, running, call, result('t1')])
  assert.deepEqual(types.slice(-2), ['TOOL_CALL_RESULT', 'STATE_DELTA'])
  assert.deepEqual(ofType(all, 'STATE_DELTA')[0]?.delta, operations)
  assert.equal(
    ofType(readingOf([message, running, call, result('t1', { is_error: true })]).all, 'STATE_DELTA').length,
    0,
  )
})

test('reasoning is a span with one message; what has no text is left out', () => {
  const thinking = (block: object) => ({ type: 'agent.thinking', content: [block] })
  const { types, all } = readingOf([
    message,
    running,
    thinking({ type: 'thinking', thinking: 'Hm', signature: 's' }),
    thinking({ type: 'redacted_thinking', data: 'x' }),
  ])
  assert.deepEqual(types, [
    'REASONING_START',
    'REASONING_MESSAGE_START',
    'REASONING_MESSAGE_CONTENT',
    'REASONING_MESSAGE_END',
    'REASONING_END',
  ])
  assert.equal(ofType(all, 'REASONING_MESSAGE_CONTENT')[0]?.delta, 'Hm')
})

const ends: readonly (readonly [what: string, event: object, expected: object])[] = [
  [
    'a failure',
    { type: 'session.error', prompt_id: 'msg_1', error: { type: 'billing_error', message: 'no money' } },
    { type: 'RUN_ERROR', message: 'no money', code: 'billing_error' },
  ],
  [
    'the deletion of the session',
    { type: 'session.deleted' },
    { type: 'RUN_ERROR', message: 'the session of this thread was deleted', code: 'session_deleted' },
  ],
  [
    'a budget',
    idle({
      stop_reason: { type: 'budget_reached', scope: 'key', scope_id: 'k' },
      stop_details: { message: 'budget used up' },
    }),
    { type: 'RUN_ERROR', message: 'budget used up; the run continues once an admin raises it', code: 'budget_reached' },
  ],
]
for (const [what, event, expected] of ends) {
  test(`${what} ends the run with an error`, () => {
    const { last, reading } = readingOf([message, running, event, said])
    assert.deepEqual(last, expected)
    assert.ok(reading.isOver)
  })
}

test('a run that was stopped, or taken out of the queue, is cancelled', () => {
  assert.deepEqual(outcomeOf(readingOf([message, running, idle({ stop_details: { type: 'interrupted' } })]).last), {
    type: 'cancelled',
  })
  const withdrawn = { type: 'session.prompt_ended', prompt_id: 'msg_1', state: 'cancelled', reason: 'withdrawn' }
  assert.deepEqual(outcomeOf(readingOf([message, withdrawn]).last), { type: 'cancelled' })
})

test('events of other prompts do not belong to the run', () => {
  const other = { ...running, prompt_id: 'msg_0' }
  const { types } = readingOf([other, message, said, idle({ prompt_id: 'msg_0' }), running, said, idle()])
  assert.deepEqual(types, ['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED'])
})

test('questions of other prompts are not those of the run', () => {
  const other = { ...running, prompt_id: 'msg_0' }
  const asksOther = { ...asks('evt_3'), prompt_id: 'msg_0' }
  const { types, reading } = readingOf([other, message, asking, asksOther])
  assert.deepEqual([types, reading.questions, reading.isUnfinished], [[], [], true])
  const after = readingOf([message, running, said, idle(), other, asking, { ...asks('evt_6'), prompt_id: 'msg_0' }])
  assert.deepEqual(after.reading.questions, [])
})

test('a prompt that joins a running turn shows the turn from there, and ends with it', () => {
  const other = { ...running, prompt_id: 'msg_0' }
  const joined = { ...requested, prompt_ids: ['msg_1'] }
  const steered = { type: 'session.prompt_ended', prompt_id: 'msg_1', state: 'done', reason: 'steered' }
  const { types, last } = readingOf([other, message, said, joined, said, steered, idle({ prompt_id: 'msg_0' })])
  assert.equal(types.filter(type => type === 'TEXT_MESSAGE_START').length, 1)
  assert.deepEqual(outcomeOf(last), { type: 'success' })
})

test('a run that answers and sends a message continues until both prompts have ended', () => {
  const second = { ...message, prompt_id: 'msg_2' }
  const log = [
    message,
    running,
    own,
    asks('evt_3'),
    second,
    running,
    said,
    idle(),
    { ...running, prompt_id: 'msg_2' },
    said,
  ]
  const { types, reading } = readingOf([...log, idle({ prompt_id: 'msg_2' })], { from: 5, prompts: ['msg_1', 'msg_2'] })
  assert.equal(types.filter(type => type === 'TEXT_MESSAGE_START').length, 2)
  assert.equal(types.filter(type => type === 'RUN_FINISHED').length, 1)
  assert.ok(!reading.isUnfinished)
})

test('a called agent that asks is a call with an interrupt; its results are not part of the conversation', () => {
  const child = { ...asking, session_thread_id: 'ses_2', tool_use_id: 'c1' }
  const { types, last } = readingOf([message, running, child, asks('evt_3')])
  assert.deepEqual(types.slice(0, 3), ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END'])
  const outcome = outcomeOf(last)
  assert.ok(outcome && 'interrupts' in outcome)
})
