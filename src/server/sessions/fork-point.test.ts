import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../../contract/events.ts'
import { ForkPoint } from './fork-point.ts'

function pointOf(...types: readonly (readonly [type: string, fields?: object])[]): ForkPoint {
  const point = new ForkPoint()
  for (const [at, [type, fields]] of types.entries()) {
    point.add({ id: `evt_${at}`, seq: at + 1, processed_at: '', type, ...fields } as SessionEvent)
  }
  return point
}

const started = [
  ['user.message', { prompt_id: 'one' }],
  ['session.status_running', { prompt_id: 'one', run_id: 'run' }],
  ['span.model_request_start'],
] as const
const called = [
  ...started,
  ['agent.tool_use', { tool_use_id: 'a' }],
  ['agent.tool_use', { tool_use_id: 'b' }],
  ['span.model_request_end'],
  ['agent.tool_result', { tool_use_id: 'a' }],
] as const

test('an incomplete answer is not copied', () => {
  assert.equal(pointOf(...started).stepBefore, 2)
  assert.equal(pointOf(...started, ['agent.message'], ['agent.tool_use', { tool_use_id: 'a' }]).stepBefore, 2)
  assert.equal(pointOf(...called).stepBefore, undefined)
})

test('open tool calls get a result, and open prompts and runs get an end', () => {
  const closing = pointOf(...called, ['user.message', { prompt_id: 'two' }]).closing()
  assert.deepEqual(
    closing.map(({ type, ...event }) => [type, event.tool_use_id ?? event.prompt_id]),
    [
      ['agent.tool_result', 'b'],
      ['session.prompt_ended', 'two'],
      ['session.status_idle', 'one'],
    ],
  )
})

test('prompts, runs and calls that have ended need no closing events', () => {
  const ended = ['session.status_idle', { prompt_id: 'one', run_id: 'run', stop_reason: { type: 'end_turn' } }] as const
  const joined = ['session.prompt_ended', { prompt_id: 'two' }] as const
  const closing = pointOf(...called, ['agent.tool_result', { tool_use_id: 'b' }], ended, joined).closing()
  assert.deepEqual(closing, [])
})
