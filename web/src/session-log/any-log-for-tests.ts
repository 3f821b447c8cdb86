import fc from 'fast-check'
import type { NewEvent, SessionEvent } from '../../../src/contract/events.ts'
import {
  answered,
  begun,
  called,
  ended,
  logOf,
  prompted,
  recordedLog,
  recordedNames,
  replied,
  returned,
  running,
} from './logs-for-tests.ts'

const promptIds = fc.constantFrom('p1', 'p2', 'p3')
const callIds = fc.constantFrom('c1', 'c2', 'c3')
const eventIds = fc.constantFrom('call_c1', 'call_c2', 'call_c3', 'call_x')
const content = [{ type: 'text', text: 'interrupted; outcome unknown' }] as const
const place = { session_thread_id: 't1', tool_use_id: 'c1' } as const
const thread = { ...place, agent_name: 'Helper' } as const

/** Events in any order, also in orders that no server writes: a window may start anywhere. */
const anyEvent: fc.Arbitrary<NewEvent> = fc.oneof(
  promptIds.map(id => prompted(id)),
  promptIds.map(id => running(id)),
  fc.constant<NewEvent>({ type: 'session.status_running' }),
  fc.tuple(fc.constantFrom('s1', 's2'), fc.subarray(['p1', 'p2'])).map(([id, prompts]) => begun(id, prompts)),
  fc.constantFrom('s1', 's2').map(answered),
  fc.constantFrom('m1', 'm2').map(id => replied(id)),
  callIds.map(id => called(id)),
  callIds.map(id => ({ ...called(id), evaluated_permission: 'ask' }) as NewEvent),
  callIds.map(id => ({ ...called(id), session_thread_id: 't1' }) as NewEvent),
  fc.tuple(callIds, fc.boolean()).map(([id, isError]) => returned(id, 'interrupted; outcome unknown', isError)),
  eventIds.map((tool_use_id): NewEvent => ({ type: 'user.tool_confirmation', tool_use_id, result: 'allow' })),
  eventIds.map(
    (tool_use_id): NewEvent => ({ type: 'session.approval_expired', tool_use_id, expired_at: '2026-01-01T00:00:00Z' }),
  ),
  eventIds.map((custom_tool_use_id): NewEvent => ({ type: 'user.custom_tool_result', custom_tool_use_id, content })),
  promptIds.map(id => ended(id)),
  promptIds.map(
    (prompt_id): NewEvent => ({
      type: 'session.prompt_ended',
      prompt_id,
      run_id: null,
      state: 'cancelled',
      reason: 'withdrawn',
    }),
  ),
  fc.constantFrom('retrying', 'terminal').map((type): NewEvent => {
    return { type: 'session.error', error: { type: 'billing_error', message: 'no', retry_status: { type } } }
  }),
  fc.constantFrom<NewEvent>(
    { type: 'session.status_idle', stop_reason: { type: 'requires_action', event_ids: ['call_c1'] } },
    {
      type: 'session.status_idle',
      stop_reason: { type: 'budget_reached', scope: 'key', scope_id: 'k', max_usd: 1, needed_usd: 2, resets_at: null },
    },
    { type: 'user.interrupt' },
    { type: 'session.usage', usage: { input_tokens: 1 }, cost_usd: 0.5 },
    { type: 'session.updated', title: 'New title' },
    { type: 'session.thread_created', ...thread, session_id: 't1' },
    { type: 'session.thread_status_running', ...thread },
    { type: 'session.thread_status_idle', ...thread, stop_reason: { type: 'end_turn' } },
    { type: 'agent.thread_message_received', ...place, content },
    { type: 'session.deleted' },
  ),
  fc.constantFrom('constructor', 'vendor.event').map(type => ({ type }) as unknown as NewEvent),
)

/** A log with event ids of its own, as a server stores it. */
const uniqueLog = (events: readonly NewEvent[]): SessionEvent[] => {
  const ids = new Set<string>()
  return logOf(...events).map(event => {
    const id = ids.has(event.id) ? `e${event.seq}` : event.id
    ids.add(id)
    return { ...event, id }
  })
}

/** A log that a server has stored, or any events in any order. */
export const anyLog: fc.Arbitrary<readonly SessionEvent[]> = fc.oneof(
  fc.constantFrom(...recordedNames).map(recordedLog),
  fc.array(anyEvent, { minLength: 1, maxLength: 40 }).map(uniqueLog),
)
