import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LooseFields, looseLog } from '../../../test/support/sessions/loose-event.ts'
import { faultsOf } from './grammar.ts'

const asked: LooseFields = { type: 'user.message', prompt_id: 'msg_a' }
const of = { prompt_id: 'msg_a', run_id: 'run_a' }
const runs: LooseFields = { type: 'session.status_running', ...of }
const says: LooseFields = { type: 'agent.message', content: [] }
const use: LooseFields = { type: 'agent.tool_use', tool_use_id: 'call_1' }
const result: LooseFields = { type: 'agent.tool_result', tool_use_id: 'call_1' }
const ends: LooseFields = { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, ...of }
const waits: LooseFields = {
  type: 'session.status_idle',
  stop_reason: { type: 'requires_action', event_ids: ['evt_3'] },
}
const paused: LooseFields = { ...ends, stop_reason: { type: 'budget_reached' } }
const retried: LooseFields = { type: 'session.error', error: { retry_status: { type: 'retrying' } } }
const failed: LooseFields = { type: 'session.error', error: { retry_status: { type: 'terminal' } }, ...of }
const deleted: LooseFields = { type: 'session.deleted' }
const second = { prompt_id: 'msg_b', run_id: 'run_b' }

const right: readonly (readonly [guarantee: string, log: readonly LooseFields[]])[] = [
  ['an empty log', []],
  ['a run with a tool', [asked, runs, says, use, result, says, ends]],
  ['a run that fails after a retry', [asked, runs, retried, failed]],
  [
    'a run that waits for an approval and continues',
    [asked, runs, use, waits, { type: 'session.status_running' }, result, ends],
  ],
  ['a run that a budget paused continues', [asked, runs, paused, runs, ends]],
  [
    'a second run may reuse call ids',
    [asked, runs, use, result, ends, { ...runs, ...second }, use, result, { ...ends, ...second }],
  ],
  ['the last result of a coding runtime has no call', [asked, runs, { ...result, tool_use_id: 'run-1' }, ends]],
  ['a session that is deleted during a run', [asked, runs, use, deleted]],
]
for (const [guarantee, log] of right) {
  test(`valid: ${guarantee}`, () => assert.deepEqual(faultsOf(looseLog(log)), []))
}

const wrong: readonly (readonly [guarantee: string, log: readonly LooseFields[], expected: RegExp])[] = [
  ['a gap in the sequence numbers', [{ ...asked, seq: 2 }], /is at position 1/],
  ['a repeated event id', [{ ...asked, id: 'evt_2' }, runs], /repeats the id evt_2/],
  ['an invalid time', [{ ...asked, processed_at: 'now' }], /processed_at/],
  ['a message while no run is in progress', [asked, says], /while no run is in progress/],
  ['a call without a result', [asked, runs, use, ends], /leaves call_1 without a result/],
  ['two results of a call', [asked, runs, use, result, result, ends], /second result/],
  ['a result without a call', [asked, runs, result, says, ends], /a call that does not exist/],
  ['a repeated call', [asked, runs, use, use, result, ends], /repeats the call/],
  ['two ends of a run', [asked, runs, ends, ends], /ends a run while no run is in progress/],
  ['two runs at a time', [asked, runs, { ...runs, ...second }], /before the current run has ended/],
  ['a prompt that runs again', [asked, runs, ends, runs], /runs prompt msg_a again/],
  ['a run without ids', [asked, { type: 'session.status_running' }], /has no prompt_id/],
  ['an end of another prompt', [asked, runs, { ...ends, prompt_id: 'msg_b' }], /ends msg_b, not msg_a/],
  ['an end of another run', [asked, runs, { ...ends, run_id: 'run_b' }], /ends run_b, not run_a/],
  ['an approval request for an unknown event', [asked, runs, waits], /refers to evt_3/],
]
for (const [guarantee, log, expected] of wrong) {
  test(`invalid: ${guarantee}`, () => assert.match(faultsOf(looseLog(log)).join('\n'), expected))
}
