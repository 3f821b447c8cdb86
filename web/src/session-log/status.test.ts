import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'
import {
  answered,
  begun,
  called,
  ended,
  logOf,
  prompted,
  recordedLog,
  replied,
  returned,
  running,
  timeAt,
} from './logs-for-tests.ts'
import { createView } from './session-view.ts'
import { statusOf } from './status.ts'

const start = [prompted('p1'), running('p1')]
const calling = [...start, begun('s1', ['p1']), called('c1'), answered('s1')]
const asking: NewEvent[] = [
  ...start,
  begun('s1', ['p1']),
  { ...called('c1'), evaluated_permission: 'ask' } as NewEvent,
  answered('s1'),
]
const requires = (...event_ids: string[]): NewEvent => ({
  type: 'session.status_idle',
  prompt_id: 'p1',
  stop_reason: { type: 'requires_action', event_ids },
  stop_details: null,
})
const custom: NewEvent = {
  type: 'agent.custom_tool_use',
  id: 'call_c1',
  tool_use_id: 'c1',
  name: 'door',
  input: {},
  timeout_seconds: 60,
}
const failedTry: NewEvent = {
  type: 'session.error',
  error: {
    type: 'model_overloaded_error',
    message: 'overloaded',
    retry_status: { type: 'retrying', attempt: 2, next_at: '2026-01-01T00:01:00.000Z' },
  },
}
const thread = { session_thread_id: 't1', tool_use_id: 'c1', agent_name: 'Helper' } as const
const idle = (type: string): NewEvent => ({ ...ended('p1'), stop_details: { type, message: type } }) as NewEvent

const table: readonly (readonly [string, readonly NewEvent[], object])[] = [
  ['no prompt', [], { word: 'idle', since: undefined }],
  ['a stored prompt', [prompted('p1'), prompted('p2')], { word: 'queued', since: timeAt(1), position: 1, count: 2 }],
  ['a run without a step', start, { word: 'starting runtime', since: timeAt(2), phase: undefined }],
  [
    'a workspace that is being prepared',
    [...start, { type: 'session.workspace_restored', checkpoint_id: 'c', checkpoint_seq: 1, files: 1, bytes: 1 }],
    { word: 'starting runtime', since: timeAt(2), phase: 'session.workspace_restored' },
  ],
  ['an open request', [...start, begun('s1', ['p1'])], { word: 'model thinking', since: timeAt(3), model: 'demo' }],
  ['an open call', calling, { word: 'tool running', since: timeAt(4), argument: 'npm test', count: 1 }],
  [
    'the time between two steps',
    [...calling, returned('c1')],
    { word: 'model thinking', since: timeAt(6), model: 'demo' },
  ],
  ['a call that requires approval', asking, { word: 'waiting for approval', since: timeAt(4), eventIds: ['call_c1'] }],
  ['a wait for approval', [...asking, requires('call_c1')], { word: 'waiting for approval', since: timeAt(4) }],
  [
    'an answered approval before the run continues',
    [...asking, requires('call_c1'), { type: 'user.tool_confirmation', tool_use_id: 'call_c1', result: 'allow' }],
    { word: 'starting runtime', since: timeAt(7), phase: 'answered' },
  ],
  [
    'an allowed call',
    [
      ...asking,
      requires('call_c1'),
      { type: 'user.tool_confirmation', tool_use_id: 'call_c1', result: 'allow' },
      running('p1'),
    ],
    { word: 'tool running', since: timeAt(7) },
  ],
  [
    'a call of a client',
    [...start, begun('s1', ['p1']), custom, answered('s1'), requires('call_c1')],
    { word: 'waiting for custom tool', since: timeAt(4), expiresAt: timeAt(64) },
  ],
  [
    'a called session',
    [...calling, { type: 'session.thread_created', ...thread, session_id: 't1' }],
    { word: 'waiting for subagent', since: timeAt(4) },
  ],
  [
    'a called session that asks',
    [
      ...calling,
      { type: 'session.thread_created', ...thread, session_id: 't1' },
      { ...called('c9'), evaluated_permission: 'ask', session_thread_id: 't1' } as NewEvent,
      { ...requires('call_c9'), session_thread_ids: ['t1'] } as NewEvent,
    ],
    { word: 'waiting for approval', since: timeAt(7), eventIds: ['call_c9'] },
  ],
  [
    'a failed try',
    [...start, begun('s1', ['p1']), { ...answered('s1'), is_error: true } as NewEvent, failedTry],
    { word: 'retrying', since: timeAt(5), attempt: 3, nextAt: '2026-01-01T00:01:00.000Z', message: 'overloaded' },
  ],
  ['a request to stop', [...calling, { type: 'user.interrupt' }], { word: 'stopping', since: timeAt(6) }],
  [
    'a stopped run',
    [...calling, { type: 'user.interrupt' }, idle('interrupted')],
    { word: 'stopped', since: timeAt(7), reason: 'interrupted' },
  ],
  ['an ended run', [...start, ended('p1')], { word: 'idle', since: timeAt(3) }],
  [
    'an ended run with a prompt behind it',
    [prompted('p0'), ...start, ended('p1')],
    { word: 'queued', since: timeAt(1) },
  ],
  ['a truncated answer', [...start, idle('max_tokens')], { word: 'idle', since: timeAt(3) }],
  [
    'a failed run',
    [
      ...start,
      {
        type: 'session.error',
        prompt_id: 'p1',
        error: { type: 'billing_error', message: 'no credit', retry_status: { type: 'terminal' } },
      },
    ],
    {
      word: 'failed',
      since: timeAt(3),
      cause: 'no credit',
      nextStep: 'Add credit at the provider, or choose another model, then send the prompt again.',
    },
  ],
  ['a deleted session', [...start, { type: 'session.deleted' }], { word: 'stopped', reason: 'deleted' }],
]

for (const [what, events, expected] of table) {
  test(`status of ${what}`, () => {
    const status = statusOf(createView(logOf(...events)))
    assert.partialDeepStrictEqual(status, expected)
    if ('since' in expected) assert.equal(status.since, expected.since)
  })
}

/** Status words while the events of a log arrive, without repeats. */
const wordsOf = (log: readonly SessionEvent[]) =>
  log
    .map((_, at) => statusOf(createView(log.slice(0, at + 1))).word)
    .filter((word, at, words) => word !== words[at - 1])

const recordedWords: readonly (readonly [string, string])[] = [
  [
    'approval',
    'queued, starting runtime, model thinking, waiting for approval, starting runtime, tool running, model thinking, idle',
  ],
  [
    'custom tools',
    'queued, starting runtime, model thinking, waiting for custom tool, starting runtime, model thinking, idle',
  ],
  ['subagents', 'queued, starting runtime, model thinking, tool running, waiting for subagent, model thinking, idle'],
  [
    'budget',
    'queued, starting runtime, model thinking, tool running, model thinking, paused: budget, model thinking, idle',
  ],
  ['retry', 'queued, starting runtime, model thinking, retrying, model thinking, idle'],
  ['failure', 'queued, starting runtime, model thinking, failed'],
  ['interrupt', 'queued, starting runtime, model thinking, stopping, queued, starting runtime, model thinking, idle'],
  ['acp', 'queued, starting runtime, model thinking, idle'],
]

for (const [name, words] of recordedWords) {
  test(`recorded log "${name}" passes through its states`, () =>
    assert.equal(wordsOf(recordedLog(name)).join(', '), words))
}

test('a window that starts in the middle of a run has a status, too', () => {
  const log = logOf(...calling, returned('c1'), begun('s2'))
  assert.equal(statusOf(createView(log.slice(4))).word, 'model thinking')
  const waiting = logOf(...asking, requires('call_c1'))
  assert.partialDeepStrictEqual(statusOf(createView(waiting.slice(5))), {
    word: 'waiting for approval',
    since: timeAt(6),
    eventIds: ['call_c1'],
  })
  assert.equal(statusOf(createView(logOf(replied('m1')))).word, 'model thinking')
})
