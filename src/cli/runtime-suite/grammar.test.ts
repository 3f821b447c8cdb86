import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../contract/events.ts'
import { faultsOf } from './grammar.ts'

type Given = { readonly type: string; readonly [field: string]: unknown }

const logOf = (events: readonly Given[]): SessionEvent[] =>
  events.map((event, at) => ({ id: `evt_${at + 1}`, processed_at: '2026-01-01T00:00:00.000Z', seq: at + 1, ...event }))

const asked: Given = { type: 'user.message', prompt_id: 'msg_a' }
const of = { prompt_id: 'msg_a', run_id: 'run_a' }
const runs: Given = { type: 'session.status_running', ...of }
const says: Given = { type: 'agent.message', content: [] }
const use: Given = { type: 'agent.tool_use', tool_use_id: 'call_1' }
const result: Given = { type: 'agent.tool_result', tool_use_id: 'call_1' }
const ends: Given = { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, ...of }
const waits: Given = { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: ['evt_3'] } }
const paused: Given = { ...ends, stop_reason: { type: 'budget_reached' } }
const retried: Given = { type: 'session.error', error: { retry_status: { type: 'retrying' } } }
const failed: Given = { type: 'session.error', error: { retry_status: { type: 'terminal' } }, ...of }
const deleted: Given = { type: 'session.deleted' }
const second = { prompt_id: 'msg_b', run_id: 'run_b' }

const right: readonly (readonly [guarantee: string, log: readonly Given[]])[] = [
  ['an empty log', []],
  ['a run with a tool', [asked, runs, says, use, result, says, ends]],
  ['a run that fails after a new try', [asked, runs, retried, failed]],
  [
    'a run that waits for a person and goes on',
    [asked, runs, use, waits, { type: 'session.status_running' }, result, ends],
  ],
  ['a run that a budget stopped goes on', [asked, runs, paused, runs, ends]],
  [
    'a second run may use the ids of calls again',
    [asked, runs, use, result, ends, { ...runs, ...second }, use, result, { ...ends, ...second }],
  ],
  ['what a coding runtime says last answers no call', [asked, runs, { ...result, tool_use_id: 'run-1' }, ends]],
  ['a session that is deleted at work', [asked, runs, use, deleted]],
]
for (const [guarantee, log] of right) {
  test(`no fault: ${guarantee}`, () => assert.deepEqual(faultsOf(logOf(log)), []))
}

const wrong: readonly (readonly [guarantee: string, log: readonly Given[], expected: RegExp])[] = [
  ['a gap in the numbers', [{ ...asked, seq: 2 }], /stands at place 1/],
  ['an id that was there', [{ ...asked, id: 'evt_2' }, runs], /has the id evt_2/],
  ['a time that is none', [{ ...asked, processed_at: 'now' }], /processed_at/],
  ['an answer while nothing runs', [asked, says], /while nothing runs/],
  ['a call without a result', [asked, runs, use, ends], /leaves call_1 without result/],
  ['two results of a call', [asked, runs, use, result, result, ends], /second result/],
  ['a result that no call asked for', [asked, runs, result, says, ends], /nobody made/],
  ['a call that comes twice', [asked, runs, use, use, result, ends], /repeats the call/],
  ['two ends of a run', [asked, runs, ends, ends], /ends a run while nothing runs/],
  ['two runs at a time', [asked, runs, { ...runs, ...second }], /before the run in work has ended/],
  ['a prompt that runs again', [asked, runs, ends, runs], /runs prompt msg_a again/],
  ['a run without a name', [asked, { type: 'session.status_running' }], /names no prompt_id/],
  ['an end of another prompt', [asked, runs, { ...ends, prompt_id: 'msg_b' }], /ends msg_b, not msg_a/],
  ['an end of another run', [asked, runs, { ...ends, run_id: 'run_b' }], /ends run_b, not run_a/],
  ['a question about what is not there', [asked, runs, waits], /asks about evt_3/],
]
for (const [guarantee, log, expected] of wrong) {
  test(`a fault: ${guarantee}`, () => assert.match(faultsOf(logOf(log)).join('\n'), expected))
}
