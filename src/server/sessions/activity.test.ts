import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ActivityFacts, activityOf, type TailEvent } from './activity.ts'

const at = (second: number): string => `2026-05-05T10:00:0${second}.000Z`
const event = (type: string, second: number, payload: object = {}): TailEvent => ({
  type,
  at: at(second),
  head: JSON.stringify(payload),
})
const quiet: ActivityFacts = { isDeleted: false, hasFailed: false, prompt: undefined, wait: undefined, tail: [] }
const running: ActivityFacts = { ...quiet, prompt: { state: 'running', since: at(0) } }
const use = (id: string, second: number) =>
  event('agent.tool_use', second, { tool_use_id: id, name: 'bash', input: { name: 'x' } })
const result = (id: string, second: number) => event('agent.tool_result', second, { tool_use_id: id })
const start = event('span.model_request_start', 1)
const end = event('span.model_request_end', 2)

const table: readonly (readonly [guarantee: string, facts: ActivityFacts, expected: object])[] = [
  ['a new session is idle', quiet, { kind: 'idle', since: null }],
  ['a deleted session', { ...quiet, isDeleted: true }, { kind: 'deleted' }],
  [
    'a waiting prompt is queued',
    { ...quiet, prompt: { state: 'waiting', since: at(3) } },
    { kind: 'queued', since: at(3) },
  ],
  [
    'a wait shows its end',
    { ...running, wait: { kind: 'retry', since: at(1), until: at(9) }, tail: [start] },
    { kind: 'retry', since: at(1), until: at(9) },
  ],
  [
    'an approval names its tool',
    { ...running, wait: { kind: 'approval', since: at(3), until: null }, tail: [use('a', 3), end, start] },
    { kind: 'approval', name: 'bash' },
  ],
  ['a run that has no events yet is starting', running, { kind: 'starting', since: at(0) }],
  [
    'events of the run before do not count',
    { ...running, tail: [event('session.status_running', 3), end, start] },
    { kind: 'starting', since: at(0) },
  ],
  ['an open model request', { ...running, tail: [start] }, { kind: 'model', since: at(1) }],
  [
    'of several tools the oldest that runs',
    { ...running, tail: [result('a', 5), use('c', 4), use('b', 4), use('a', 3), end, start] },
    { kind: 'tool', name: 'bash', since: at(4) },
  ],
  [
    'between two steps',
    { ...running, tail: [result('a', 5), use('a', 3), end, start] },
    { kind: 'working', since: at(5) },
  ],
  [
    'a tool of an MCP server',
    { ...running, tail: [event('agent.mcp_tool_use', 3, { mcp_server_name: 'git', name: 'log', input: {} })] },
    { kind: 'tool', name: 'git__log' },
  ],
  [
    'a failed session has the error',
    {
      ...quiet,
      hasFailed: true,
      tail: [event('session.error', 4, { error: { type: 'billing_error', message: 'no credit' } })],
    },
    { kind: 'failed', since: at(4), reason: 'billing_error', message: 'no credit' },
  ],
  [
    'an idle session has the reason of its stop',
    { ...quiet, tail: [event('session.status_idle', 4, { stop_reason: { type: 'end_turn' }, stop_details: null })] },
    { kind: 'idle', reason: 'end_turn', message: null },
  ],
  [
    'the details of a stop win',
    {
      ...quiet,
      tail: [
        event('session.status_idle', 4, {
          stop_reason: { type: 'end_turn' },
          stop_details: { type: 'interrupted', message: 'stopped' },
        }),
      ],
    },
    { kind: 'idle', reason: 'interrupted', message: 'stopped' },
  ],
]

for (const [guarantee, facts, expected] of table) {
  test(guarantee, () => assert.partialDeepStrictEqual(activityOf(facts), expected))
}

test('a payload that is cut or out of order gives no name', () => {
  const tail = [{ type: 'agent.tool_use', at: at(3), head: '{"input":{"name":"x"},"na' }]
  assert.deepEqual([activityOf({ ...running, tail }).kind, activityOf({ ...running, tail }).name], ['tool', null])
})
