import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent, SessionEvent } from '../../contract/events.ts'
import { masterCaller } from '../http/caller.ts'
import { createCopy } from './recording.ts'

const running = (prompt_id: string): NewEvent => ({ type: 'session.status_running', prompt_id }) as NewEvent
const idle = (prompt_id: string, stop = 'end_turn'): NewEvent =>
  ({ type: 'session.status_idle', stop_reason: { type: stop }, prompt_id }) as NewEvent
const asked = (prompt_id: string, text: string): NewEvent =>
  ({ type: 'user.message', prompt_id, content: [{ type: 'text', text }] }) as NewEvent
const used = (id: string, command: string): NewEvent =>
  ({ type: 'agent.tool_use', tool_use_id: id, name: 'bash', input: { command } }) as NewEvent
const gave = (id: string, text: string): NewEvent =>
  ({ type: 'agent.tool_result', tool_use_id: id, content: [{ type: 'text', text }] }) as NewEvent

function copyFrom(log: readonly NewEvent[]) {
  const events = log.map((event, at) => ({ ...event, id: `evt_${at + 1}`, seq: at + 1 }) as unknown as SessionEvent)
  return createCopy({
    sessions: { withLog: async () => ({ id: 'ses_1', deleted_at: null }) },
    events: {
      list: async ({ after, limit }) => {
        const data = events.filter(({ seq }) => seq > after).slice(0, limit)
        return { data, hasMore: false }
      },
      seqOfPrompt: async (_, id) => events.find(({ prompt_id }) => prompt_id === id)?.seq,
    },
    fileContent: async () => Buffer.from('content'),
  })
}

const copyOf = (log: readonly NewEvent[], prompt_id: string) =>
  copyFrom(log)({ session_id: 'ses_1', prompt_id }, masterCaller)

test('a prompt is copied with the results of its own calls, in the order of the calls', async () => {
  const { prompts, recorded } = await copyOf(
    [
      asked('one', 'first'),
      running('one'),
      used('a', 'ls'),
      used('b', 'pwd'),
      asked('two', 'second'),
      gave('b', 'here'),
      gave('a', 'files'),
      used('lost', 'sleep'),
      idle('one', 'budget_reached'),
      running('one'),
      used('c', 'date'),
      gave('c', 'today'),
      idle('one'),
      running('two'),
      used('d', 'other'),
      gave('d', 'of two'),
      idle('two'),
    ],
    'one',
  )
  assert.deepEqual(prompts, ['first'])
  assert.deepEqual(
    recorded.map(({ input, content }) => [input, content[0]]),
    [
      [{ command: 'ls' }, { type: 'text', text: 'files' }],
      [{ command: 'pwd' }, { type: 'text', text: 'here' }],
      [{ command: 'date' }, { type: 'text', text: 'today' }],
    ],
  )
})

test('results of MCP servers and clients are recorded under the names that the model sees', async () => {
  const log = [
    asked('one', 'go'),
    running('one'),
    { type: 'agent.mcp_tool_use', tool_use_id: 'm', mcp_server_name: 'tickets', name: 'find', input: { n: 7 } },
    { type: 'agent.mcp_tool_result', mcp_tool_use_id: 'm', content: [{ type: 'text', text: 'T7' }], is_error: true },
    { type: 'agent.custom_tool_use', name: 'ring', input: {} },
    { type: 'user.custom_tool_result', custom_tool_use_id: 'evt_5', content: [{ type: 'text', text: 'rang' }] },
    idle('one'),
  ] as NewEvent[]
  const { recorded } = await copyOf(log, 'one')
  assert.deepEqual(
    recorded.map(({ name, is_error }) => [name, is_error]),
    [
      ['tickets__find', true],
      ['ring', false],
    ],
  )
})

test('a prompt that has not ended, or does not exist, cannot be copied', async () => {
  const log = [asked('one', 'go'), running('one')]
  await assert.rejects(copyOf(log, 'one'), { code: 'conflict' })
  await assert.rejects(copyOf(log, 'two'), { code: 'not_found' })
})
