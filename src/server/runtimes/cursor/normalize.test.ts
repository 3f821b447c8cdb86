import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../../contract/events.ts'
import { normalize, type Words } from './normalize.ts'
import { newReading, type Reading, withLogged } from './reading.ts'

type Native = readonly [name: string, data?: Record<string, unknown>, id?: string | null]

const git = {
  branches: [{ repoUrl: 'github.com/acme/app', branch: 'cursor/fix', prUrl: 'https://github.com/acme/app/pull/7' }],
}
const words: Words = { clean: text => text.replaceAll('hidden', '[secret]'), newEventId: () => 'evt_text' }

/** Events of a native stream, from its start or from a place in it. */
function readAll(natives: readonly Native[], start: Reading = newReading({ runId: 'run-1' })) {
  let reading = start
  const events: NewEvent[] = []
  const shown: string[] = []
  const batches: { events: readonly NewEvent[]; safeId: string | undefined }[] = []
  for (const [at, [name, data = {}, id = `${at + 1}-0`]] of natives.entries()) {
    const read = normalize(reading, { name, id: id ?? undefined, data }, words)
    reading = read.reading
    events.push(...read.events)
    if (read.shown) shown.push(`${read.shown.eventId} ${read.shown.text}`)
    if (read.events.length > 0) batches.push({ events: read.events, safeId: reading.safeId })
  }
  return { reading, events, shown, batches }
}

const message = (text: string) => ({ id: 'evt_text', type: 'agent.message', content: [{ type: 'text', text }] })
const thinking = (text: string) => ({ type: 'agent.thinking', content: [{ type: 'thinking', thinking: text }] })
const use = (id: string, name = 'shell', input: unknown = { command: 'ls' }) => ({
  type: 'agent.tool_use',
  tool_use_id: id,
  name,
  input,
  evaluated_permission: 'allow',
})
const result = (id: string, text: string, is_error = false) => ({
  type: 'agent.tool_result',
  tool_use_id: id,
  content: [{ type: 'text', text }],
  is_error,
})
const endTurn = { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, stop_details: null }
const failure = (text: string, type = 'model_request_failed_error') => ({
  type: 'session.error',
  error: { type, message: text, retry_status: { type: 'terminal' } },
})

const say = (text: string): Native => ['assistant', { text }]
const think = (text: string): Native => ['thinking', { text }]
const run = (callId: string): Native => [
  'tool_call',
  { callId, name: 'shell', status: 'running', args: { command: 'ls' } },
]
const ran = (callId: string, answer: unknown, status = 'completed'): Native => [
  'tool_call',
  { callId, name: 'shell', status, args: { command: 'ls' }, result: answer },
]
const status = (word: string): Native => ['status', { runId: 'run-1', status: word }, null]
const finished = (data: Record<string, unknown> = {}): Native => [
  'result',
  { runId: 'run-1', status: 'FINISHED', ...data },
]
const unfinished = 'the run ended before this call had a result; its outcome is unknown'

const table: readonly (readonly [guarantee: string, natives: readonly Native[], events: readonly unknown[]])[] = [
  ['status running adds nothing: the start of the run has said it', [status('RUNNING'), status('running')], []],
  ['status CREATING is nothing', [status('CREATING'), status('creating')], []],
  [
    'assistant deltas are joined to one agent.message before the next tool use',
    [say('Let '), say('me look.'), run('c1')],
    [message('Let me look.'), use('c1')],
  ],
  [
    'assistant deltas are joined to one agent.message before the terminal event',
    [say('Al'), say('most'), status('idle')],
    [message('Almost'), endTurn],
  ],
  [
    'thinking is one agent.thinking per stretch',
    [think('Hm, '), think('yes.'), run('c1'), think('And '), think('now?'), run('c2')],
    [thinking('Hm, yes.'), use('c1'), thinking('And now?'), use('c2')],
  ],
  ['thinking before text is told as the text begins', [think('Hm.'), say('Hi')], [thinking('Hm.')]],
  [
    'thinking amid text does not split the message',
    [say('One '), think('Hm.'), say('two'), run('c1')],
    [thinking('Hm.'), message('One two'), use('c1')],
  ],
  ['tool_call running is one agent.tool_use per callId', [run('c1'), run('c1'), run('c2')], [use('c1'), use('c2')]],
  [
    'tool_call completed is one agent.tool_result',
    [run('c1'), ran('c1', 'a.txt'), ran('c1', 'a.txt')],
    [use('c1'), result('c1', 'a.txt')],
  ],
  [
    'tool_call error is a result that says so',
    [run('c1'), ran('c1', 'no such file', 'error')],
    [use('c1'), result('c1', 'no such file', true)],
  ],
  [
    'tool_call completed brings the missing use first',
    [say('Ok'), ran('c1', 'a.txt')],
    [message('Ok'), use('c1'), result('c1', 'a.txt')],
  ],
  [
    'a tool result that is no text is JSON',
    [ran('c1', { success: { stdout: 'a' } })],
    [use('c1'), result('c1', '{"success":{"stdout":"a"}}')],
  ],
  [
    'result flushes text and is an agent.tool_result under the id of the run',
    [say('Done.'), finished({ text: 'Done.' })],
    [message('Done.'), result('run-1', 'Done.'), endTurn],
  ],
  [
    'result with a callId answers that call',
    [run('c1'), finished({ callId: 'c1', text: 'ok' })],
    [use('c1'), result('c1', 'ok'), endTurn],
  ],
  [
    'result without text has its payload as JSON',
    [say('x'), finished()],
    [message('x'), result('run-1', '{"runId":"run-1","status":"FINISHED"}'), endTurn],
  ],
  [
    'result of a run without assistant text says its text first',
    [finished({ text: 'Done.' })],
    [{ type: 'agent.message', content: [{ type: 'text', text: 'Done.' }] }, result('run-1', 'Done.'), endTurn],
  ],
  [
    'result without a terminal status ends nothing',
    [say('x'), ['result', { text: 'x' }]],
    [message('x'), result('run-1', 'x')],
  ],
  [
    'result FINISHED is idle with end_turn, and git rides on it',
    [finished({ text: 'a', git }), ['done']],
    [{ type: 'agent.message', content: [{ type: 'text', text: 'a' }] }, result('run-1', 'a'), { ...endTurn, git }],
  ],
  [
    'result ERROR is a session.error',
    [finished({ status: 'ERROR', text: 'a', error: { code: 'integration_not_connected', message: 'connect hidden' } })],
    [
      { type: 'agent.message', content: [{ type: 'text', text: 'a' }] },
      result('run-1', 'a', true),
      failure('the run failed at Cursor: connect [secret]', 'repository_authentication_error'),
    ],
  ],
  [
    'result CANCELLED is a session.error unless we cancelled',
    [say('x'), ['result', { status: 'cancelled', text: 'x' }]],
    [message('x'), result('run-1', 'x', true), failure('the run was cancelled at Cursor')],
  ],
  [
    'result EXPIRED is a session.error',
    [say('x'), ['result', { status: 'EXPIRED', text: 'x' }]],
    [message('x'), result('run-1', 'x', true), failure('the run has expired at Cursor; send a prompt to continue')],
  ],
  [
    'status idle flushes and ends the turn',
    [say('Hi'), status('idle'), say('late'), status('idle')],
    [message('Hi'), endTurn],
  ],
  [
    'status FINISHED is held until the result',
    [say('a'), status('FINISHED'), say('b'), ['result', { text: 'ab' }]],
    [message('ab'), result('run-1', 'ab'), endTurn],
  ],
  ['status FINISHED is held until done', [say('a'), status('finished'), ['done']], [message('a'), endTurn]],
  ['status ERROR is held until done', [status('ERROR'), ['done']], [failure('the run failed at Cursor')]],
  [
    'status CANCELLED is held until done',
    [status('CANCELLED'), ['done']],
    [failure('the run was cancelled at Cursor')],
  ],
  [
    'status EXPIRED is held until done',
    [status('EXPIRED'), ['done']],
    [failure('the run has expired at Cursor; send a prompt to continue')],
  ],
  [
    'error flushes text and is a session.error in clean words',
    [say('Hi'), ['error', { code: 'usage_limit_exceeded', message: 'the key hidden is at its limit' }], ['done']],
    [message('Hi'), failure('the run failed at Cursor: the key [secret] is at its limit', 'billing_error')],
  ],
  [
    'error of the stream alone ends nothing: the run will be asked',
    [['error', { code: 'stream_unavailable', message: 'gone' }], ['done']],
    [],
  ],
  [
    'heartbeat, done, interaction_update and unknown kinds are nothing',
    [
      ['heartbeat'],
      ['interaction_update', { type: 'text-delta', text: 'x' }],
      ['constructor', { text: 'x' }],
      ['surprise', { text: 'x' }],
      ['done'],
    ],
    [],
  ],
  [
    'a tool call that the end cuts off gets a result that says so',
    [run('c1'), run('c2'), ran('c1', 'a'), finished({ text: 'x' })],
    [
      use('c1'),
      use('c2'),
      result('c1', 'a'),
      { type: 'agent.message', content: [{ type: 'text', text: 'x' }] },
      result('c2', unfinished, true),
      result('run-1', 'x'),
      endTurn,
    ],
  ],
  [
    'there is one terminal event, whatever comes behind it',
    [finished({ text: 'x' }), status('ERROR'), ['error', { code: 'a' }], finished({ text: 'y' }), ['done']],
    [{ type: 'agent.message', content: [{ type: 'text', text: 'x' }] }, result('run-1', 'x'), endTurn],
  ],
  [
    'malformed events are nothing',
    [
      ['tool_call', { status: 'running' }],
      ['tool_call', { callId: 7, status: 'running' }],
      ['tool_call', { callId: 'c', status: 'odd' }],
      ['assistant', { text: 5 }],
      ['thinking', {}],
      ['status', { status: null }],
    ],
    [],
  ],
]

for (const [guarantee, natives, events] of table) {
  test(guarantee, () => assert.deepEqual(readAll(natives).events, events))
}

test('CANCELLED after our own cancellation is idle', () => {
  const cancelled = newReading({ runId: 'run-1', isCancelled: true })
  const { events } = readAll([['result', { status: 'CANCELLED' }]], cancelled)
  assert.equal(events.at(-1)?.type, 'session.status_idle')
})

test('text is previewed with the id of the later message', () => {
  const { shown, events } = readAll([say('Let '), think('hm'), say('me.'), run('c1')])
  assert.deepEqual(shown, ['evt_text Let ', 'evt_text me.'])
  assert.equal(events.find(({ type }) => type === 'agent.message')?.id, 'evt_text')
})

test('a very long tool result is truncated with a note', () => {
  const { events } = readAll([ran('c1', 'x'.repeat(3_000_000))])
  const content = (events.at(-1)?.content ?? []) as { text: string }[]
  const text = content[0]?.text ?? ''
  assert.ok(text.length < 1_100_000)
  assert.match(text, /\[truncated: 3000000 characters\]$/)
})

const everything: readonly Native[] = [
  status('RUNNING'),
  think('First'),
  think(' thing.'),
  say('I '),
  say('look.'),
  run('c1'),
  run('c2'),
  say('Mean'),
  ran('c1', 'a.txt'),
  say('while'),
  think('Hm.'),
  say('.'),
  ran('c2', 'b.txt'),
  ran('c3', 'c.txt'),
  say('All '),
  say('done.'),
  finished({ text: 'All done.', git }),
  ['done'],
]

test('a run that is resumed at any stored place has the same events as an uninterrupted one', () => {
  const whole = readAll(everything)
  for (const [at, { safeId }] of whole.batches.entries()) {
    const before = whole.batches.slice(0, at + 1).flatMap(({ events }) => events)
    const from = everything.findIndex((_, index) => `${index + 1}-0` === safeId) + 1
    const rest = everything
      .slice(from)
      .map(([name, data = {}, id], index): Native => [name, data, id === null ? null : `${from + index + 1}-0`])
    const logged = before.reduce<Reading>(
      (reading, event) => withLogged(reading, event),
      newReading({ runId: 'run-1', lastEventId: safeId }),
    )
    const isOver = before.some(({ type }) => type === 'session.status_idle')
    const after = isOver ? [] : readAll(rest, logged).events
    assert.deepEqual([...before, ...after], whole.events, `cut off behind batch ${at + 1}`)
  }
})

test('content without an id makes the stream unresumable', () => {
  const { reading } = readAll([say('a'), ['tool_call', { callId: 'c', status: 'running' }, null], say('b'), run('d')])
  assert.deepEqual([reading.safeId, reading.lastId], [undefined, undefined])
})
