import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recordOf } from '../../../src/server/platform/json.ts'
import { startPair, tool, translated } from './setup.ts'

const degradedOf = (response: Response): string => response.headers.get('x-switchyard-degraded') ?? ''

/** Tools that Anthropic defines and the client runs, with a call as the model may make it. */
const clientTools = [
  [{ type: 'bash_20250124', name: 'bash' }, { command: 'ls' }, ['command', 'restart']],
  [
    { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10_000 },
    { command: 'view', path: '/a' },
    ['command', 'path', 'view_range', 'file_text', 'old_str', 'new_str', 'insert_line', 'insert_text'],
  ],
  [
    { type: 'text_editor_20250124', name: 'str_replace_editor' },
    { command: 'undo_edit', path: '/a' },
    ['undo_edit', 'path', 'view_range', 'file_text', 'old_str', 'new_str', 'insert_line'],
  ],
  [
    { type: 'memory_20250818', name: 'memory' },
    { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' },
    ['command', 'path', 'view_range', 'file_text', 'old_path', 'new_path', 'insert_text'],
  ],
  [
    { type: 'computer_20251124', name: 'computer', display_width_px: 1024, display_height_px: 768 },
    { action: 'zoom', region: [0, 0, 10, 10] },
    ['action', 'coordinate', 'scroll_direction', 'scroll_amount', 'duration', 'region', '1024 pixels'],
  ],
] as const

for (const protocol of translated) {
  for (const [definition, input, words] of clientTools) {
    test(`F11, ${protocol}: ${definition.type} is a function there, and its calls come back under its name`, async t => {
      const { post, stream, sentText } = await startPair(t, protocol, {
        script: [{ tool_calls: [{ name: definition.name, input }] }],
      })
      const response = await post({ tools: [tool, definition] })
      assert.match(degradedOf(response), /tools\.1=sent_as_function/)
      const { content } = (await response.json()) as { content: readonly object[] }
      const { type, name, input: received } = recordOf(content[0])
      assert.deepEqual({ type, name, input: received }, { type: 'tool_use', name: definition.name, input })
      for (const word of words) assert.ok(sentText().includes(word), word)
      const { events } = await stream({ tools: [definition] })
      const started = events.find(({ type }) => type === 'content_block_start')
      assert.equal(recordOf(started?.content_block)['name'], definition.name)
    })
  }

  test(`F11, ${protocol}: a forced client tool and its history are carried`, async t => {
    const { post, sentText } = await startPair(t, protocol, { script: [{}] })
    const response = await post({
      tools: [{ type: 'bash_20250124', name: 'bash' }, tool],
      tool_choice: { type: 'tool', name: 'bash' },
      messages: [
        { role: 'user', content: 'run it' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'a.txt' }] },
      ],
    })
    assert.equal(response.status, 200)
    assert.ok(sentText().includes('a.txt'))
    assert.equal(sentText().match(/"bash"/g)?.length, protocol === 'gemini' ? 4 : 3)
  })

  for (const kind of ['regex', 'bm25']) {
    test(`F11, ${protocol}: a search for tools by ${kind} is reported: all tools are there without it`, async t => {
      const { post, sentText } = await startPair(t, protocol, { script: [{}] })
      const name = `tool_search_tool_${kind}`
      const search = { type: `${name}_20251119`, name }
      const response = await post({
        tools: [search, { ...tool, defer_loading: true }],
        tool_choice: { type: 'tool', name },
      })
      assert.match(degradedOf(response), /^tools\.0=dropped, tool_choice=dropped/)
      assert.ok(sentText().includes('"look"'))
      assert.ok(!sentText().includes(name))
      assert.equal((await post({ tools: [search], tool_choice: { type: 'any' } })).status, 200)
    })
  }
}

test('F11, anthropic-messages: a passthrough keeps the client’s tools as they are', async t => {
  const { post, sent } = await startPair(t, 'anthropic-messages', { script: [{}] })
  const tools = clientTools.map(([definition]) => definition)
  await post({ tools })
  assert.deepEqual(sent()['tools'], tools)
})
