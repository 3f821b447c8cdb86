import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../../../src/contract/events.ts'
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
} from './logs-for-tests.ts'
import { markdownOf } from './markdown.ts'
import { nextRequest, rowOfEvent, rowsOf } from './rows.ts'
import { searchRows } from './search.ts'
import { createView } from './session-view.ts'
import { callsOf, costOfTurn, cutOffIn, toolStatistics, usageOfTurn } from './statistics.ts'
import { timelineOf } from './timeline.ts'
import { callTitle } from './tool-text.ts'
import type { Item, View } from './view.ts'

const viewOf = (name: string): View => createView(recordedLog(name))
const itemsOf = (view: View): Item[] => view.turns.flatMap(({ groups }) => groups.flatMap(({ items }) => items))
const onlyCall = (view: View) => {
  const [call, ...more] = callsOf(view)
  assert.ok(call)
  assert.equal(more.length, 0)
  return call
}

test('approvals show who decided, and what became of the call', () => {
  const allowed = onlyCall(viewOf('approval'))
  assert.deepEqual([allowed.state, allowed.approval?.state], ['done', 'allowed'])
  assert.ok(allowed.approval?.decidedBy)
  const denied = onlyCall(viewOf('denial'))
  assert.deepEqual([denied.state, denied.approval?.state], ['denied', 'denied'])
  const expired = onlyCall(viewOf('expiry'))
  assert.deepEqual([expired.state, expired.approval?.state], ['expired', 'expired'])
})

test('results of clients end their calls', () => {
  const states = callsOf(viewOf('custom tools')).map(({ state, runsAt }) => [runsAt, state])
  assert.deepEqual(states, [
    ['client', 'failed'],
    ['client', 'done'],
  ])
})

test('a client that does not answer in time lets its call expire', () => {
  assert.equal(onlyCall(viewOf('custom tool timeout')).state, 'expired')
})

test('an approval whose run is stopped is cancelled, and so is its call', () => {
  const use = { ...called('c1'), evaluated_permission: 'ask' } as NewEvent
  const stop: NewEvent[] = [{ type: 'user.interrupt' }, returned('c1', 'bash was not run', true), ended('p1')]
  const call = onlyCall(
    createView(logOf(prompted('p1'), running('p1'), begun('s1', ['p1']), use, answered('s1'), ...stop)),
  )
  assert.deepEqual([call.state, call.approval?.state], ['stopped', 'cancelled'])
  assert.deepEqual(
    callsOf(viewOf('interrupted tool')).map(({ state }) => state),
    ['stopped'],
  )
})

test('called agents are threads with their messages, linked to the call', () => {
  const view = viewOf('subagents')
  const threads = itemsOf(view).filter(item => item.kind === 'thread')
  assert.equal(threads.length, 2)
  for (const { sessionId, callId, state, messages, periods } of threads) {
    assert.equal(state, 'done')
    assert.deepEqual(
      messages.map(({ direction }) => direction),
      ['sent', 'received'],
    )
    assert.ok(periods.every(({ to }) => to !== undefined))
    assert.equal(callsOf(view).find(call => call.callId === callId)?.startedThreadId, sessionId)
  }
})

test('a call is "outcome unknown" after a crash, and a lost request is followed by its repetition', () => {
  const unknown = returned('c1', 'interrupted; outcome unknown: the tool may or may not have run', true)
  const log = logOf(
    prompted('p1'),
    running('p1'),
    begun('s1', ['p1']),
    called('c1'),
    answered('s1'),
    unknown,
    begun('s2'),
    begun('s3'),
  )
  const view = createView(log)
  assert.equal(onlyCall(view).state, 'outcome unknown')
  assert.deepEqual(
    view.turns[0]?.groups.map(({ state, number }) => [number, state]),
    [
      [1, 'done'],
      [2, 'lost'],
      [3, 'open'],
    ],
  )
})

test('a prompt that steers joins the request that includes it, and a withdrawn one has no groups', () => {
  const steered = viewOf('steer').turns
  assert.equal(steered.length, 1)
  const joined = steered[0]?.groups.flatMap(group => group.joined)
  assert.deepEqual(
    joined?.map(({ state, reason }) => [state, reason]),
    [['done', 'steered']],
  )
  const withdrawn = viewOf('withdrawal').turns.filter(({ prompt }) => prompt?.state === 'withdrawn')
  assert.deepEqual(
    withdrawn.map(({ groups, end }) => [groups.length, end?.outcome]),
    [[0, 'withdrawn']],
  )
})

test('a stop shows what it cut off', () => {
  const [turn] = viewOf('interrupted tool').turns
  assert.ok(turn)
  assert.equal(turn.end?.outcome, 'stopped')
  const log = logOf(
    prompted('p1'),
    running('p1'),
    begun('s1', ['p1']),
    { ...replied('m1', 'I was ab'), interrupted: true } as NewEvent,
    { ...answered('s1'), interrupted: true, estimated: true } as NewEvent,
    { ...ended('p1'), stop_details: { type: 'interrupted' } } as NewEvent,
  )
  const [cut] = createView(log).turns
  assert.ok(cut)
  const { texts, hasRequest } = cutOffIn(cut)
  assert.deepEqual([texts.length, hasRequest], [1, true])
  assert.equal(cut.groups[0]?.isEstimated, true)
})

test('pauses, compactions, forks and unknown types are notes', () => {
  const typesIn = (name: string) =>
    itemsOf(viewOf(name)).flatMap(item => (item.kind === 'note' ? [item.event.type] : []))
  assert.deepEqual(typesIn('budget'), ['session.status_idle'])
  assert.deepEqual(typesIn('compaction'), ['agent.thread_context_compacted'])
  assert.deepEqual(typesIn('fork'), ['session.forked'])
  const vendor = { type: 'vendor.thing', value: 1 } as unknown as NewEvent
  assert.deepEqual(
    itemsOf(createView(logOf(vendor))).map(({ kind }) => kind),
    ['note'],
  )
})

test('rows are found by event, by model request and by text', () => {
  const rows = rowsOf(viewOf('approval'))
  const confirmation = recordedLog('approval').find(({ type }) => type === 'user.tool_confirmation')
  const at = rowOfEvent(rows, confirmation?.id ?? '')
  const row = rows[at]
  assert.ok(row?.kind === 'item' && row.item.kind === 'tool')
  const first = nextRequest(rows, -1, 'next')
  const second = nextRequest(rows, first, 'next')
  assert.ok(first >= 0 && second > first)
  assert.equal(nextRequest(rows, second, 'next'), -1)
  assert.equal(nextRequest(rows, second, 'previous'), first)
  const { command } = row.item.input as { readonly command: string }
  assert.ok(searchRows(rows, ` ${command.toUpperCase()} `).includes(at))
  assert.deepEqual(searchRows(rows, ' '), [])
  assert.equal(rowOfEvent(rows, 'evt_other'), -1)
})

test('a collapsed turn hides its groups, a collapsed group its items', () => {
  const view = viewOf('approval')
  const [turn] = view.turns
  const [group] = turn?.groups ?? []
  const kinds = (collapsed: readonly string[]) =>
    rowsOf(view, { collapsed: new Set(collapsed) }).map(({ kind }) => kind)
  assert.deepEqual(kinds([turn?.key ?? '']), ['prompt', 'end'])
  assert.deepEqual(kinds([group?.key ?? '']), ['prompt', 'request', 'request', 'item', 'end'])
})

test('the timeline has a lane for each called session, and bars and marks that lead to rows', () => {
  for (const name of ['subagents', 'approval', 'budget', 'retry', 'repository', 'interrupt', 'fork']) {
    const view = viewOf(name)
    const keys = new Set(rowsOf(view).map(({ key }) => key))
    for (const { bars, marks } of timelineOf(view).lanes) {
      for (const { rowKey } of [...bars, ...marks]) assert.ok(keys.has(rowKey), `${name}: ${rowKey}`)
    }
  }
  assert.equal(timelineOf(viewOf('subagents')).lanes.length, 3)
  const [main] = timelineOf(viewOf('approval')).lanes
  assert.deepEqual(
    main?.bars.map(({ kind }) => kind),
    ['model', 'wait', 'tool', 'model'],
  )
  assert.deepEqual(
    main?.marks.map(({ kind }) => kind),
    ['prompt', 'approval'],
  )
  assert.ok(timelineOf(viewOf('retry')).lanes[0]?.marks.some(({ kind }) => kind === 'error'))
  assert.deepEqual(timelineOf(createView()), {
    from: undefined,
    to: undefined,
    lanes: [{ key: 'main', label: 'Session', bars: [], marks: [] }],
  })
})

test('tools have their calls, failures, median and longest time; turns their tokens and their cost', () => {
  const calls = (id: string, isError: boolean, at: number): NewEvent[] => [
    called(id),
    ...Array.from(
      { length: at },
      (): NewEvent => ({ type: 'session.usage', usage: { input_tokens: 1 }, cost_usd: 0.25 }),
    ),
    returned(id, 'x', isError),
  ]
  const first = [
    prompted('p1'),
    running('p1'),
    begun('s1', ['p1']),
    answered('s1'),
    ...calls('c1', false, 0),
    ...calls('c2', true, 2),
    ended('p1'),
  ]
  const usage: NewEvent = { type: 'session.usage', usage: { input_tokens: 9 }, cost_usd: 1 }
  const view = createView(logOf(...first, prompted('p2'), running('p2'), replied('m2'), usage, ended('p2')))
  assert.partialDeepStrictEqual(toolStatistics(view), [
    { name: 'bash', calls: 2, failures: 1, unrun: 0, medianMs: 2_000, maxMs: 3_000, maxEventId: 'call_c2' },
  ])
  const [one, two] = view.turns
  assert.ok(one && two)
  assert.deepEqual(usageOfTurn(one), { input: 10, output: 5, cacheRead: 2, cacheWrite: 0 })
  assert.deepEqual(usageOfTurn(two), { input: 8, output: 0, cacheRead: 0, cacheWrite: 0 })
  assert.deepEqual([costOfTurn(one), costOfTurn(two)], [0.25, 0.75])
  const [windowed] = createView(view.log.toArray().slice(12)).turns.slice(-1)
  assert.equal(windowed && costOfTurn(windowed), undefined)
  const [builtin] = viewOf('approval').turns
  assert.equal(builtin && costOfTurn(builtin), undefined)
})

test('S44: Markdown cannot break out of its code blocks', () => {
  const hostile = 'a\n````\n# Not a title\n```'
  const log = logOf(
    prompted('p1'),
    running('p1'),
    begun('s1', ['p1']),
    called('c1', 'bash', { command: 'cat `x`' }),
    returned('c1', hostile),
    ended('p1'),
  )
  const markdown = markdownOf(createView(log), 'A\n# title')
  assert.ok(markdown.startsWith('# A # title\n\n## User'))
  assert.ok(markdown.includes(`\n\`\`\`\`\`\n${hostile}\n\`\`\`\`\`\n`))
  assert.ok(markdown.includes('**Tool** `` bash · cat `x` `` (done)'))
})

test('the title of a call is its name and its first argument on one line', () => {
  assert.equal(callTitle({ name: 'bash', server: undefined, input: { command: 'a\n  b' } }), 'bash · a b')
  assert.equal(callTitle({ name: 'create', server: 'github', input: {} }), 'github.create')
  assert.equal(callTitle({ name: 'x', server: undefined, input: 'broken {' }), 'x · broken {')
  const long = callTitle({ name: 'x', server: undefined, input: { text: 'é'.repeat(500) } })
  assert.equal(long, `x · ${'é'.repeat(200)}…`)
})
