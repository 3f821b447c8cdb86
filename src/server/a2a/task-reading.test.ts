import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logOf } from '../../../test/support/sessions/log-of.ts'
import type { A2aStreamResponse } from '../../contract/a2a-objects.ts'
import { TaskReading } from './task-reading.ts'

const prompt = { id: 'msg_1', session_id: 'ses_1', message_id: 'client-1', created_at: new Date(0) }
const text = (said: string) => [{ type: 'text', text: said }]

const message = { type: 'user.message', prompt_id: 'msg_1', content: text('Hello') }
const running = { type: 'session.status_running', prompt_id: 'msg_1', run_id: 'run_1' }
const said = { type: 'agent.message', content: text('Hi') }
const idle = (more: object = {}) => ({
  type: 'session.status_idle',
  stop_reason: { type: 'end_turn' },
  prompt_id: 'msg_1',
  ...more,
})
const call = {
  type: 'agent.tool_use',
  name: 'bash',
  input: { command: 'ls' },
  tool_use_id: 't',
  evaluated_permission: 'ask',
}
const asks = (...event_ids: string[]) => idle({ stop_reason: { type: 'requires_action', event_ids } })
const confirmed = (tool_use_id: string, more: object = {}) => ({
  type: 'user.tool_confirmation',
  tool_use_id,
  result: 'allow',
  ...more,
})

function readingOf(...events: readonly object[]) {
  const reading = new TaskReading(prompt)
  const changes = logOf(...events).map(event => reading.take(event))
  return { reading, changes: changes.flat(), last: changes.at(-1) ?? [] }
}
const states = (changes: readonly A2aStreamResponse[]) =>
  changes.flatMap(change => ('statusUpdate' in change ? [change.statusUpdate.status.state.slice(11)] : []))

test('a task goes from submitted over working to completed; answers are artifacts, the message is its history', () => {
  const { reading, changes } = readingOf(message, running, said, idle())
  assert.deepEqual(states(changes), ['SUBMITTED', 'WORKING', 'COMPLETED'])
  const place = { taskId: 'msg_1', contextId: 'ses_1' }
  const artifact = { artifactId: 'evt_3', parts: [{ text: 'Hi', mediaType: 'text/plain' }] }
  assert.deepEqual(changes[2], { artifactUpdate: { ...place, artifact, append: false, lastChunk: true } })
  assert.deepEqual(reading.task(), {
    id: 'msg_1',
    contextId: 'ses_1',
    status: { state: 'TASK_STATE_COMPLETED', timestamp: '1970-01-01T00:00:04.000Z' },
    artifacts: [artifact],
    history: [{ messageId: 'client-1', ...place, role: 'ROLE_USER', parts: [{ text: 'Hello' }] }],
  })
  assert.equal(reading.isOver, true)
  assert.deepEqual(reading.take(logOf(running)[0] ?? assert.fail()), [], 'nothing changes an ended task')
})

test('other prompts of the session do not change a task', () => {
  const other = { prompt_id: 'msg_2' }
  const { reading, changes } = readingOf(
    message,
    { ...message, ...other },
    { ...running, ...other },
    said,
    call,
    { ...asks('evt_5'), ...other },
    idle(other),
    { type: 'session.prompt_ended', ...other, run_id: null, state: 'cancelled', reason: 'withdrawn' },
  )
  assert.deepEqual(states(changes), ['SUBMITTED'])
  assert.deepEqual([reading.task().artifacts, reading.task().history?.length], [[], 1])
})

const ends: readonly (readonly [string, object, string])[] = [
  ['an interrupted run is canceled', idle({ stop_details: { type: 'interrupted' } }), 'CANCELED'],
  [
    'a failed run is failed',
    { type: 'session.error', prompt_id: 'msg_1', error: { type: 'x', message: 'no' } },
    'FAILED',
  ],
  [
    'a withdrawn prompt is canceled',
    { type: 'session.prompt_ended', prompt_id: 'msg_1', state: 'cancelled' },
    'CANCELED',
  ],
  [
    'a prompt that joined another run is completed',
    { type: 'session.prompt_ended', prompt_id: 'msg_1', state: 'done' },
    'COMPLETED',
  ],
  ['a deleted session cancels', { type: 'session.deleted' }, 'CANCELED'],
]
for (const [guarantee, event, state] of ends) {
  test(guarantee, () => {
    const { reading, last } = readingOf(message, running, event)
    assert.deepEqual(states(last), [state])
    assert.equal(reading.isOver, true)
  })
}

test('a retried model call does not end a task', () => {
  const error = { type: 'x', message: 'busy', retry_status: { type: 'retrying', attempt: 1 } }
  assert.deepEqual(readingOf(message, running, { type: 'session.error', prompt_id: 'msg_1', error }).last, [])
})

test('a pending approval is a question with the exact arguments; its answers continue the task, each in the history', () => {
  const asked = readingOf(message, running, call, call, asks('evt_3', 'evt_4'))
  assert.deepEqual(states(asked.last), ['INPUT_REQUIRED'])
  assert.deepEqual([asked.reading.isAsking, asked.reading.questions.map(({ id }) => id)], [true, ['evt_3', 'evt_4']])
  const [first, second] = asked.reading.task().status.message?.parts ?? []
  assert.match(first?.text ?? '', /bash \{"command":"ls"\}; bash/)
  const approvals = ['evt_3', 'evt_4'].map(approval_id => ({ approval_id, name: 'bash', input: { command: 'ls' } }))
  assert.deepEqual(second?.data, { approvals })

  const denial = confirmed('evt_4', { result: 'deny', deny_message: 'not today' })
  const { reading, changes } = readingOf(
    message,
    running,
    call,
    call,
    asks('evt_3', 'evt_4'),
    confirmed('evt_3'),
    denial,
    running,
  )
  assert.deepEqual(states(changes), ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'INPUT_REQUIRED', 'WORKING'])
  const history = reading.task().history ?? []
  assert.deepEqual(
    history.map(({ messageId, role }) => [messageId, role]),
    [
      ['client-1', 'ROLE_USER'],
      ['evt_5', 'ROLE_AGENT'],
      ['evt_6', 'ROLE_USER'],
      ['evt_7', 'ROLE_USER'],
    ],
  )
  assert.deepEqual(
    history.slice(2).map(({ parts }) => parts[0]?.text),
    ['approve', 'deny: not today'],
  )
})

test('an approval that expired continues with the run', () => {
  const { reading, last } = readingOf(message, running, call, asks('evt_3'), running)
  assert.deepEqual([states(last), reading.questions], [['WORKING'], []])
})

test('a budget that stops the run needs an admin; the task continues when there is room', () => {
  const stop = idle({
    stop_reason: { type: 'budget_reached', scope: 'session', scope_id: 'ses_1' },
    stop_details: { type: 'budget_reached', message: 'budget of session ses_1 is used up' },
  })
  const { reading, last } = readingOf(message, running, stop)
  assert.deepEqual([states(last), reading.isAsking, reading.isOver], [['AUTH_REQUIRED'], true, false])
  assert.match(reading.task().status.message?.parts[0]?.text ?? '', /budget of session ses_1 is used up/)
  assert.deepEqual(states(readingOf(message, running, stop, running, idle()).changes).slice(-2), [
    'WORKING',
    'COMPLETED',
  ])
})

test('a prompt that joins a running turn works in it and gets its results', () => {
  const joined = { type: 'span.model_request_start', prompt_ids: ['msg_1'] }
  const done = { type: 'session.prompt_ended', prompt_id: 'msg_1', run_id: 'run_2', state: 'done', reason: 'steered' }
  const { reading, changes } = readingOf(message, joined, said, done)
  assert.deepEqual(states(changes), ['SUBMITTED', 'WORKING', 'COMPLETED'])
  assert.equal(reading.task().artifacts?.length, 1)
})

test('a typed result is a separate artifact', () => {
  const { reading } = readingOf(message, running, said, idle({ result: { ok: true } }))
  assert.deepEqual(reading.task().artifacts?.[1], {
    artifactId: 'evt_4',
    name: 'result',
    parts: [{ data: { ok: true }, mediaType: 'application/json' }],
  })
})

test('historyLength limits the history to its newest messages; 0 leaves it out', () => {
  const { reading } = readingOf(message, running, call, asks('evt_3'))
  assert.equal(reading.task().history?.length, 2)
  assert.deepEqual(
    reading.task(1).history?.map(({ role }) => role),
    ['ROLE_AGENT'],
  )
  assert.equal('history' in reading.task(0), false)
})

const customCall = { type: 'agent.custom_tool_use', name: 'lookup', input: { id: 7 }, tool_use_id: 't' }
const customResult = (custom_tool_use_id: string, more: object = {}) => ({
  type: 'user.custom_tool_result',
  custom_tool_use_id,
  content: text('12 EUR'),
  ...more,
})

test('a call of a custom tool is a question with its arguments and id; the result is in the history', () => {
  const asked = readingOf(message, running, customCall, asks('evt_3'))
  assert.deepEqual(states(asked.last), ['INPUT_REQUIRED'])
  const [first, second] = asked.reading.task().status.message?.parts ?? []
  assert.match(first?.text ?? '', /lookup \{"id":7\}\. Answer with its result/)
  assert.deepEqual(second?.data, { custom_tool_calls: [{ call_id: 'evt_3', name: 'lookup', input: { id: 7 } }] })
  const { reading, last } = readingOf(message, running, customCall, asks('evt_3'), customResult('evt_3'))
  assert.deepEqual(states(last), ['WORKING'])
  const answer = reading.task().history?.at(-1)
  assert.deepEqual([answer?.role, answer?.parts[0]?.text], ['ROLE_USER', '12 EUR'])
  assert.deepEqual(answer?.parts[1]?.data, { call_id: 'evt_3' })
})

test('after one of several answers the status has the questions that are left', () => {
  const { reading, last } = readingOf(message, running, call, customCall, asks('evt_3', 'evt_4'), confirmed('evt_3'))
  assert.deepEqual(states(last), ['INPUT_REQUIRED'])
  assert.deepEqual(
    reading.questions.map(({ id }) => id),
    ['evt_4'],
  )
  const [, data] = reading.task().status.message?.parts ?? []
  assert.deepEqual(Object.keys(data?.data as object), ['custom_tool_calls'])
})

const begun = (id: string) => ({ type: 'event_start', event: { id, type: 'agent.message' } }) as const
const piece = (event_id: string, of: string) =>
  ({
    type: 'event_delta',
    event_id,
    delta: { type: 'content_delta', content: { type: 'text', text: of } },
  }) as const
const updates = (changes: readonly A2aStreamResponse[]) =>
  changes.flatMap(change => {
    if (!('artifactUpdate' in change)) return []
    const { artifact, append, lastChunk } = change.artifactUpdate
    return [[artifact.artifactId, artifact.parts[0]?.text, append, lastChunk]]
  })

test('an answer comes in pieces while it is generated, with the id of its artifact, and no text comes twice', () => {
  const { reading } = readingOf(message, running)
  const previews = [begun('evt_3'), piece('evt_3', 'H'), piece('evt_3', 'i')]
  assert.deepEqual(updates(previews.flatMap(preview => reading.preview(preview))), [
    ['evt_3', 'H', false, false],
    ['evt_3', 'i', true, false],
  ])
  const whole = { ...said, content: text('Hi!') }
  const event = logOf(message, running, whole)[2] ?? assert.fail()
  assert.deepEqual(updates(reading.take(event)), [['evt_3', '!', true, true]])
  assert.deepEqual(reading.task().artifacts, [
    { artifactId: 'evt_3', parts: [{ text: 'Hi!', mediaType: 'text/plain' }] },
  ])
})

test('pieces of an answer that failed are emptied before the next request and at the end', () => {
  const next = { type: 'span.model_request_start', prompt_ids: [] }
  for (const event of [next, idle(), { type: 'session.prompt_ended', prompt_id: 'msg_1', state: 'cancelled' }]) {
    const { reading } = readingOf(message, running)
    for (const preview of [begun('evt_9'), piece('evt_9', 'Lost')]) reading.preview(preview)
    const changes = reading.take(logOf(message, running, event)[2] ?? assert.fail())
    assert.deepEqual(updates(changes), [['evt_9', '', false, true]])
  }
})

test('pieces of other prompts are ignored', () => {
  const { reading } = readingOf(message)
  assert.deepEqual(
    [begun('evt_3'), piece('evt_3', 'H')].flatMap(preview => reading.preview(preview)),
    [],
  )
})
