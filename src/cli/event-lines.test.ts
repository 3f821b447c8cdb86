import assert from 'node:assert/strict'
import { test } from 'node:test'
import { looseLog } from '../../test/support/sessions/loose-event.ts'
import { eventLines, firstArgument, runEndOf } from './event-lines.ts'

const text = (value: string) => [{ type: 'text', text: value }]
const error = (retry: string) => ({ type: 'boom_error', message: 'it broke', retry_status: { type: retry } })

const table = [
  ['a message is its text', { type: 'agent.message', content: text('\n\nHi\n  you\n\n') }, ['Hi', '  you']],
  ['a prompt is one line', { type: 'user.message', content: text('do\nit') }, ['› do it']],
  [
    'a tool call shows its first argument',
    { type: 'agent.tool_use', name: 'bash', input: { command: 'npm test\n--all', cwd: '/' } },
    ['▸ bash  npm test --all'],
  ],
  [
    'a tool of an MCP server names the server',
    { type: 'agent.mcp_tool_use', mcp_server_name: 'github', name: 'search', input: {} },
    ['▸ github.search'],
  ],
  [
    'a call that a person must approve says so',
    { type: 'agent.tool_use', name: 'write', input: { path: 'a' }, evaluated_permission: 'ask' },
    ['▸ write  a (needs approval)'],
  ],
  [
    'a long result shows its first lines and how much is left',
    { type: 'agent.tool_result', content: text('1\n2\n3\n4\n5\n6') },
    ['  1', '  2', '  3', '  4', '  … 2 more lines'],
  ],
  ['a result without output says so', { type: 'agent.tool_result' }, ['  (no output)']],
  [
    'a failed call has the word, not only a colour',
    { type: 'agent.tool_result', is_error: true, content: text('no') },
    ['✗ error  no'],
  ],
  [
    'V9: a warning is shown in its own words',
    { type: 'session.warning', warning: { type: 'workspace_elsewhere', message: 'files are missing' } },
    ['! files are missing'],
  ],
  ['a retry is told apart', { type: 'session.error', error: error('retrying') }, ['↻ retrying: it broke (boom_error)']],
  [
    'a final failure is told apart',
    { type: 'session.error', error: error('terminal') },
    ['✗ failed: it broke (boom_error)'],
  ],
  [
    'an end is marked',
    { type: 'session.status_idle', stop_reason: { type: 'end_turn' }, stop_details: null },
    ['✓ done'],
  ],
  ['what only programs care about is left out', { type: 'span.model_request_start' }, []],
  ['an event of a later version is no error', { type: 'agent.dreaming' }, []],
] as const

for (const [guarantee, event, expected] of table) {
  test(guarantee, () => {
    const lines = looseLog([event]).flatMap(eventLines)
    assert.deepEqual(
      lines.map(line =>
        line
          .map(piece => piece.text)
          .join('')
          .trimEnd(),
      ),
      expected,
    )
  })
}

const idle = (reason: string, details: object | null = null) => ({
  type: 'session.status_idle',
  stop_reason: { type: reason },
  stop_details: details,
})

const ends = [
  [idle('end_turn'), 'done'],
  [idle('end_turn', { type: 'interrupted' }), 'stopped'],
  [idle('requires_action'), 'approval'],
  [idle('budget_reached'), 'budget'],
  [idle('refusal'), 'failed'],
  [idle('retries_exhausted'), 'failed'],
  [{ type: 'session.error', error: error('exhausted') }, 'failed'],
  [{ type: 'session.deleted' }, 'stopped'],
] as const

test('every way for a run to end has its outcome', () => {
  for (const [fields, outcome] of ends) {
    const [event = assert.fail('no event')] = looseLog([fields])
    assert.equal(runEndOf(event).outcome, outcome, JSON.stringify(event))
  }
})

test('the first argument is one short line, whatever it is', () => {
  assert.equal(firstArgument({ list: [1, 2] }), '[1,2]')
  assert.equal(firstArgument('{"cut'), '{"cut')
  assert.equal(firstArgument(null), '')
  assert.equal(firstArgument({}), '')
  assert.ok(firstArgument({ a: 'x'.repeat(500) }).length <= 100)
})
