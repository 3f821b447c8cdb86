import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent, SessionEvent } from '../../contract/events.ts'
import { type BusEvent, EventMapping } from './events.ts'
import { opencodeMessages } from './messages.ts'

const stored = (events: readonly NewEvent[]): SessionEvent[] =>
  events.map((event, at) => ({
    id: `evt_${at + 1}`,
    processed_at: new Date(1_000 * (at + 1)).toISOString(),
    seq: at + 1,
    ...event,
  }))

const text = (said: string) => [{ type: 'text', text: said } as const]
const asked: NewEvent = { type: 'user.message', prompt_id: 'msg_a', content: text('hi'), model: 'demo' }
const runs: NewEvent = { type: 'session.status_running', prompt_id: 'msg_a', run_id: 'run_a' }
const goesOn: NewEvent = { type: 'session.status_running' }
const says: NewEvent = { type: 'agent.message', content: text('hello') }
const use = {
  type: 'agent.tool_use',
  id: 'evt_use',
  tool_use_id: 'call_1',
  name: 'bash',
  input: { command: 'ls' },
} as const
const asks: NewEvent = { ...use, evaluated_permission: 'ask' }
const result: NewEvent = { type: 'agent.tool_result', tool_use_id: 'call_1', content: text('a.txt') }
const waits: NewEvent = {
  type: 'session.status_idle',
  stop_reason: { type: 'requires_action', event_ids: ['evt_use'] },
}
const allowed: NewEvent = { type: 'user.tool_confirmation', tool_use_id: 'evt_use', result: 'allow' }
const denied: NewEvent = { type: 'user.tool_confirmation', tool_use_id: 'evt_use', result: 'deny' }
const ends: NewEvent = { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, stop_details: null }
const stopped: NewEvent = { ...ends, stop_details: { type: 'interrupted', message: 'stopped' } }
const error = (retry: 'retrying' | 'terminal'): NewEvent => ({
  type: 'session.error',
  error: { type: 'unknown_error', message: 'it broke', retry_status: { type: retry } },
})
const overBudget: NewEvent = {
  type: 'session.status_idle',
  stop_reason: {
    type: 'budget_reached',
    scope: 'key',
    scope_id: 'key_1',
    max_usd: 1,
    needed_usd: 1,
    resets_at: null,
  },
  stop_details: { message: 'used up' },
}
const deleted: NewEvent = { type: 'session.deleted' }

const mapped = (...events: readonly NewEvent[]): BusEvent[] => {
  const mapping = new EventMapping('ses_1')
  return stored(events).flatMap(event => mapping.take(event))
}

/** Summarizes an event: its type, and what distinguishes it from others of that type. */
function wordsOf({ type, properties }: BusEvent): string {
  const {
    status,
    info,
    part,
    error: failure,
    reply,
    id,
  } = properties as {
    readonly status?: { readonly type: string }
    readonly info?: { readonly role: string; readonly time: { readonly completed?: number } }
    readonly part?: { readonly type: string; readonly state?: { readonly status: string } }
    readonly error?: { readonly name: string }
    readonly reply?: string
    readonly id?: string
  }
  const message = info && `${info.role}${info.time.completed === undefined ? '' : ' done'}`
  const shown = status?.type ?? message ?? part?.state?.status ?? part?.type ?? failure?.name ?? reply ?? id
  return shown === undefined ? type : `${type} ${shown}`
}

const prompt = ['message.updated user', 'message.part.updated text']
const begun = ['session.status busy', 'message.updated assistant']
const over = ['message.updated assistant done', 'session.status idle', 'session.idle', 'session.updated']
const failed = (name: string) => [over[0], `session.error ${name}`, ...over.slice(1)]
const inWork = [...prompt, ...begun]
const asking = [...inWork, 'message.part.updated running', 'permission.asked evt_use']

const table: readonly (readonly [guarantee: string, log: readonly NewEvent[], expected: readonly unknown[]])[] = [
  ['a prompt becomes a user message with its parts', [asked], prompt],
  [
    'a run is busy, then answers, then is idle',
    [asked, runs, says, ends],
    [...inWork, 'message.part.updated text', ...over],
  ],
  [
    'a tool is running, then completed',
    [asked, runs, use, result],
    [...inWork, 'message.part.updated running', 'message.part.updated completed'],
  ],
  ['a call that requires approval is a permission, and the session stays busy', [asked, runs, asks, waits], asking],
  [
    'the decision is sent, and the run continues as the same message',
    [asked, runs, asks, waits, allowed, goesOn, result],
    [...asking, 'permission.replied once', 'message.part.updated completed'],
  ],
  ['a call that requires approval only after it was sent is a permission, too', [asked, runs, use, waits], asking],
  ['a denial is sent as reject', [asked, runs, asks, waits, denied, goesOn], [...asking, 'permission.replied reject']],
  [
    'an expired approval is rejected together with the result of the call',
    [asked, runs, asks, waits, goesOn, result],
    [...asking, 'message.part.updated completed', 'permission.replied reject'],
  ],
  [
    'a run that ends with a pending approval rejects it',
    [asked, runs, asks, waits, stopped],
    [...asking, over[0], 'permission.replied reject', 'session.error MessageAbortedError', ...over.slice(1)],
  ],
  ['a retried error is a retry', [asked, runs, error('retrying')], [...inWork, 'session.status retry']],
  [
    'an error that ends the run comes before idle',
    [asked, runs, error('terminal')],
    [...inWork, ...failed('UnknownError')],
  ],
  ['a requested stop is sent as an abort', [asked, runs, stopped], [...inWork, ...failed('MessageAbortedError')]],
  ['an exhausted budget is an API error', [asked, runs, overBudget], [...inWork, ...failed('APIError')]],
  [
    'a compaction in the middle of a run is sent with a compaction part',
    [asked, runs, { type: 'agent.thread_context_compacted', summary: 'so far', reason: 'auto' }, says],
    [...inWork, 'message.part.updated compaction', 'session.compacted', 'message.part.updated text'],
  ],
  [
    'a requested compaction is a user message and an assistant message with the summary',
    [
      { type: 'user.compact', prompt_id: 'msg_a', model: 'demo' },
      runs,
      { type: 'agent.thread_context_compacted', summary: 'so far', reason: 'request' },
      ends,
    ],
    [
      'message.updated user',
      'message.part.updated compaction',
      ...begun,
      'message.updated assistant',
      'message.part.updated text',
      'session.compacted',
      ...over,
    ],
  ],
  ['a changed title is sent', [{ type: 'session.updated', title: 'x' }], ['session.updated']],
  ['a deletion is the last event', [deleted], ['session.deleted']],
  [
    'a deletion in the middle of a run ends the run first',
    [asked, runs, deleted],
    [...inWork, ...failed('MessageAbortedError').slice(0, -1), 'session.deleted'],
  ],
  ['events without an equivalent in opencode are omitted', [asked, runs, { type: 'span.model_request_start' }], inWork],
]

for (const [guarantee, log, expected] of table) {
  test(guarantee, () => assert.deepEqual(mapped(...log).map(wordsOf), expected))
}

/** State of a client that merges by id. */
function merged(events: readonly BusEvent[]): unknown[] {
  const infos = new Map<unknown, object>()
  const parts = new Map<unknown, { messageID?: unknown }>()
  for (const { type, properties } of events) {
    const { info, part } = properties as { info?: { id: unknown }; part?: { id: unknown; messageID: unknown } }
    if (type === 'message.updated' && info) infos.set(info.id, info)
    if (type === 'message.part.updated' && part) parts.set(part.id, part)
  }
  return [...infos].map(([id, info]) => ({
    info,
    parts: [...parts.values()].filter(({ messageID }) => messageID === id),
  }))
}

test('a client that merges by id has the same messages as the message list', () => {
  const span: NewEvent = { type: 'span.model_request_end', model_usage: { input_tokens: 3, output_tokens: 5 } }
  const thinks: NewEvent = { type: 'agent.thinking', content: [{ type: 'thinking', thinking: 'hm' }] }
  const second: NewEvent[] = [
    { type: 'user.message', prompt_id: 'msg_b', content: text('hi'), model: 'demo' },
    { type: 'session.status_running', prompt_id: 'msg_b', run_id: 'run_a' },
    says,
    span,
    error('retrying'),
    error('terminal'),
  ]
  const log = [asked, runs, thinks, span, asks, waits, allowed, goesOn, result, says, span, ends, ...second]
  const listed = opencodeMessages('ses_1', stored(log)).map(({ info, parts }) => ({ info, parts }))
  assert.deepEqual(merged(mapped(...log)), listed)
})

const begin = { type: 'event_start', event: { id: 'evt_text', type: 'agent.message' } } as const
const piece = (said: string) =>
  ({
    type: 'event_delta',
    event_id: 'evt_text',
    delta: { type: 'content_delta', content: { type: 'text', text: said } },
  }) as const

test('text that is being generated is sent as deltas of its future part', () => {
  const mapping = new EventMapping('ses_1')
  const [first, second, third] = stored([asked, runs, { ...says, id: 'evt_text' }])
  assert.ok(first && second && third)
  mapping.take(first)
  assert.deepEqual(mapping.preview(begin), [], 'nothing runs yet')
  mapping.take(second)
  const shown = [begin, piece('hel'), piece('lo')].flatMap(preview => mapping.preview(preview))
  assert.deepEqual(
    shown.map(({ type, properties }) => [
      type,
      (properties['part'] as { text: string } | undefined)?.text ?? properties['delta'],
    ]),
    [
      ['message.part.updated', ''],
      ['message.part.delta', 'hel'],
      ['message.part.delta', 'lo'],
    ],
  )
  const [whole] = mapping.take(third)
  const part = whole?.properties['part'] as { id: string; messageID: string; text: string }
  assert.equal(part.text, 'hello')
  for (const { properties } of shown.slice(1)) {
    assert.deepEqual([properties['partID'], properties['messageID']], [part.id, part.messageID])
  }
  assert.deepEqual(mapping.preview(piece('late')), [], 'what comes late changes nothing any more')
})

test('a reader that missed the start of a text still gets the part before its deltas', () => {
  const mapping = new EventMapping('ses_1')
  for (const event of stored([asked, runs])) mapping.take(event)
  assert.deepEqual(
    mapping.preview(piece('lo')).map(({ type }) => type),
    ['message.part.updated', 'message.part.delta'],
  )
})

test('a session is followed while a prompt waits or runs', () => {
  const mapping = new EventMapping('ses_1')
  const over = stored([asked, runs, asks, waits, allowed, goesOn, ends, { type: 'session.updated', title: 'x' }]).map(
    event => {
      mapping.take(event)
      return mapping.isOver
    },
  )
  assert.deepEqual(over, [false, false, false, false, false, false, true, true])
})
