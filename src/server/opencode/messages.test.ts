import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent, NewEventOf, SessionEvent } from '../../contract/events.ts'
import { opencodeMessages } from './messages.ts'

const stored = (events: readonly NewEvent[]): SessionEvent[] =>
  events.map((event, at) => ({
    id: `evt_${at + 1}`,
    processed_at: new Date(1_000 * (at + 1)).toISOString(),
    seq: at + 1,
    ...event,
  }))

const asks = (id: string, text: string): NewEvent => ({
  type: 'user.message',
  prompt_id: id,
  content: [{ type: 'text', text }],
  model: 'demo',
})
const runs = (id: string): NewEvent => ({ type: 'session.status_running', prompt_id: id, run_id: `run_${id}` })
const says = (text: string): NewEvent => ({ type: 'agent.message', content: [{ type: 'text', text }] })
const uses = (id: string): NewEvent => ({
  type: 'agent.tool_use',
  tool_use_id: id,
  name: 'bash',
  input: { command: 'ls' },
})
const result = (id: string, text: string, is_error = false): NewEvent => ({
  type: 'agent.tool_result',
  tool_use_id: id,
  content: [{ type: 'text', text }],
  is_error,
})
const ends: NewEventOf<'session.status_idle'> = {
  type: 'session.status_idle',
  stop_reason: { type: 'end_turn' },
  stop_details: null,
}

const read = (...events: NewEvent[]) => opencodeMessages('ses_1', stored(events))
const rolesOf = (messages: ReturnType<typeof read>) =>
  messages.map(({ info }) => `${info['role']} ${info['parentID'] ?? info['id']}`)

test('a session without events has no messages', () => assert.deepEqual(read(), []))

test('a prompt and its answer become two linked messages', () => {
  const [asked, answer] = read(asks('msg_a', 'hi'), runs('msg_a'), says('hello'), ends)
  assert.equal(asked?.info['id'], 'msg_a')
  assert.deepEqual(
    asked?.parts.map(({ text }) => text),
    ['hi'],
  )
  assert.equal(answer?.info['parentID'], 'msg_a')
  assert.equal(answer?.info['finish'], 'stop')
  assert.deepEqual(answer?.info['time'], { created: 2_000, completed: 4_000 })
  assert.deepEqual(
    answer?.parts.map(({ type, text }) => [type, text]),
    [['text', 'hello']],
  )
})

test('an answer directly follows its prompt, also when others were queued meanwhile', () => {
  const messages = read(
    asks('a', '1'),
    runs('a'),
    asks('b', '2'),
    asks('c', '3'),
    says('one'),
    ends,
    runs('b'),
    says('two'),
    ends,
  )
  assert.deepEqual(rolesOf(messages), ['user a', 'assistant a', 'user b', 'assistant b', 'user c'])
})

test('a tool call is one part that changes from running to its result', () => {
  const partOf = (...events: NewEvent[]) => read(asks('a', 'x'), runs('a'), ...events)[1]?.parts[0]
  assert.deepEqual((partOf(uses('t')) as { state: unknown }).state, {
    status: 'running',
    input: { command: 'ls' },
    time: { start: 3_000 },
  })
  const done = partOf(uses('t'), result('t', 'files')) as { state: Record<string, unknown> }
  assert.deepEqual([done.state['status'], done.state['output']], ['completed', 'files'])
  const broken = partOf(uses('t'), result('t', 'no such file', true)) as { state: Record<string, unknown> }
  assert.deepEqual([broken.state['status'], broken.state['error']], ['error', 'no such file'])
})

test('the tokens of all model calls of a run are added', () => {
  const call = (input: number): NewEvent => ({
    type: 'span.model_request_end',
    model_usage: { input_tokens: input, output_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 },
  })
  const [, answer] = read(asks('a', 'x'), runs('a'), call(1), call(10), ends)
  assert.deepEqual(answer?.info['tokens'], { input: 11, output: 4, reasoning: 0, cache: { read: 6, write: 8 } })
})

test('a failed run has its error; a retrying one has not ended', () => {
  const error = (type: 'retrying' | 'terminal'): NewEvent => ({
    type: 'session.error',
    error: { type: 'api_error', message: 'no', retry_status: { type } },
  })
  const [, failed] = read(asks('a', 'x'), runs('a'), error('retrying'), says('half'), error('terminal'))
  assert.deepEqual(failed?.info['error'], { name: 'UnknownError', data: { message: 'no' } })
  assert.equal(failed?.parts.length, 1)
})

test('a run that was stopped, or ended by the deletion of the session, is aborted', () => {
  const stopped = { ...ends, stop_details: { type: 'interrupted' } }
  for (const end of [stopped, { type: 'session.deleted' } as const]) {
    const [, answer] = read(asks('a', 'x'), runs('a'), end)
    assert.deepEqual(answer?.info['error'], { name: 'MessageAbortedError', data: { message: 'aborted' } })
  }
})

test('a run that is resumed after a crash is still one message', () => {
  const messages = read(
    asks('a', 'x'),
    runs('a'),
    uses('t'),
    result('t', 'interrupted; outcome unknown', true),
    says('ok'),
    ends,
  )
  assert.deepEqual(rolesOf(messages), ['user a', 'assistant a'])
})

const pauses: NewEvent = {
  type: 'session.status_idle',
  stop_reason: {
    type: 'budget_reached',
    scope: 'key',
    scope_id: 'key_1',
    max_usd: 1,
    needed_usd: 1,
    resets_at: null,
  },
  stop_details: { type: 'budget_reached', message: 'no money' },
}

test('a run that a budget stopped has an error; when it resumes it is the same message without that error', () => {
  const [, paused] = read(asks('a', 'x'), runs('a'), says('half'), pauses)
  const data = { message: 'no money', statusCode: 402, isRetryable: true }
  assert.deepEqual(paused?.info['error'], { name: 'APIError', data })
  const messages = read(asks('a', 'x'), runs('a'), says('half'), pauses, asks('b', 'y'), runs('a'), says('whole'), ends)
  assert.deepEqual(rolesOf(messages), ['user a', 'assistant a', 'user b'])
  const [, answer] = messages
  assert.deepEqual(
    answer?.parts.map(({ text }) => text),
    ['half', 'whole'],
  )
  assert.deepEqual([answer?.info['error'], answer?.info['finish']], [undefined, 'stop'])
  assert.deepEqual(answer?.info['time'], { created: 2_000, completed: 8_000 })
})

test('a run that is cancelled while a budget stops it is aborted', () => {
  const givenUp = { ...ends, stop_details: { type: 'interrupted' }, prompt_id: 'a' }
  const [, answer] = read(asks('a', 'x'), runs('a'), pauses, { type: 'user.interrupt' }, givenUp)
  assert.deepEqual(answer?.info['error'], { name: 'MessageAbortedError', data: { message: 'aborted' } })
})

test('thinking is shown as reasoning', () => {
  const thinks: NewEvent = { type: 'agent.thinking', content: [{ type: 'thinking', thinking: 'hm', signature: 's' }] }
  const [, answer] = read(asks('a', 'x'), runs('a'), thinks, ends)
  assert.deepEqual(
    answer?.parts.map(({ type, text }) => [type, text]),
    [['reasoning', 'hm']],
  )
})

test('a requested compaction is a message with its summary, and one in the middle of a run is a part of its answer', () => {
  const compacted = (reason: 'auto' | 'request'): NewEvent => ({
    type: 'agent.thread_context_compacted',
    summary: 'so far',
    reason,
  })
  const asked: NewEvent = { type: 'user.compact', prompt_id: 'msg_c', model: 'demo' }
  const messages = read(
    asks('msg_a', 'hi'),
    runs('msg_a'),
    compacted('auto'),
    ends,
    asked,
    runs('msg_c'),
    compacted('request'),
    ends,
  )
  const shown = messages.map(({ info, parts }) => [
    info['role'],
    info['summary'],
    ...parts.map(part => part['text'] ?? part['type']),
  ])
  assert.deepEqual(shown, [
    ['user', undefined, 'hi'],
    ['assistant', undefined, 'compaction'],
    ['user', undefined, 'compaction'],
    ['assistant', true, 'so far'],
  ])
})
