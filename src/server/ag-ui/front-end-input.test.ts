import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgUiRunInput } from '../../contract/ag-ui-input.ts'
import { checkTools, contentIn } from './front-end-input.ts'

const input = (more: object): AgUiRunInput => ({ threadId: 't', runId: 'r', messages: [], ...more })
const tool = { name: 'open_page', description: 'Opens a page.' }
const given = {
  tools: [{ ...tool, parameters: { properties: { path: { type: 'string' } } } }],
  context: [{ description: 'Time', value: 'noon' }],
  state: { page: 1 },
  messages: [
    { id: '1', role: 'system', content: 'Be brief.' },
    { id: '2', role: 'user', content: 'Hi' },
    { id: '3', role: 'developer', content: ' ' },
  ],
}

test('tools, context, state and instructions go to the model', () => {
  const { content, ignored } = contentIn(input(given), true)
  assert.deepEqual(content.front_end.tools, [
    { type: 'custom', ...tool, input_schema: { type: 'object', properties: { path: { type: 'string' } } } },
  ])
  assert.equal(content.front_end.text, 'Be brief.\n\nContext from the application of the user:\n\nTime:\nnoon')
  assert.deepEqual([content.state, ignored], [{ page: 1 }, []])
})

test('on another runtime they are reported, and not stored', () => {
  const { content, ignored } = contentIn(input(given), false)
  assert.deepEqual([content.front_end, content.state], [{ tools: [], text: '' }, null])
  assert.deepEqual(ignored, ['tools', 'context', 'state', 'messages[0]'])
  assert.deepEqual(contentIn(input({ tools: [], context: null, state: {} }), false).ignored, [])
})

test('an empty object is no state, because clients send it by default', () => {
  for (const state of [{}, null, undefined]) assert.equal(contentIn(input({ state }), true).content.state, null)
  for (const state of [[], 0, '', { a: null }]) assert.deepEqual(contentIn(input({ state }), true).content.state, state)
})

test('a tool that custom tools cannot be is rejected by its path', () => {
  const wrong: readonly (readonly [tool: object, problem: RegExp])[] = [
    [{ ...tool, name: 'no spaces please' }, /^tools\[1\]\.name must have/],
    [tool, /^tools\[1\]\.name open_page is already used/],
    [{ ...tool, name: 'bash' }, /^tools\[1\]\.name bash is the name of a built-in tool/],
    [{ ...tool, name: 'update_shared_state' }, /^tools\[1\]\.name update_shared_state is the name of the tool for/],
    [{ ...tool, name: 'a', description: 'x'.repeat(10_001) }, /^tools\[1\]\.description must be/],
    [{ ...tool, name: 'a', parameters: { type: 'array' } }, /^tools\[1\]\.parameters must be a JSON Schema/],
  ]
  for (const [other, message] of wrong)
    assert.throws(() => contentIn(input({ tools: [tool, other] }), true), { message })
})

test('schemas are checked once, not again with each run', async () => {
  const { content } = contentIn(input(given), true)
  const schemaProblem = async () => 'is wrong'
  await assert.rejects(checkTools(content, undefined, { schemaProblem }), { message: 'tools[0].parameters is wrong' })
  await checkTools(content, structuredClone(content), { schemaProblem })
})

test('instructions and context have a limit together', () => {
  const context = [1, 2, 3].map(() => ({ description: 'd', value: 'x'.repeat(80_000) }))
  assert.throws(() => contentIn(input({ context }), true), /at most 200000 characters together/)
})
