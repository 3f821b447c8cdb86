import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Message, summaryOf } from './blocks.ts'
import { withTodos } from './todos.ts'

const call = (...todos: object[]): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_use', id: 't', name: 'todo_write', input: { todos } }],
})
const words: Message = { role: 'user', content: [{ type: 'text', text: 'go on' }] }
const first = { content: 'one', status: 'completed' }
const second = { content: 'two', status: 'pending' }
const end = '\n\nThe list of tasks at this point (todo_write):\n'

test('a summary ends with the last list of tasks', () => {
  assert.equal(withTodos('So far.', [call(first), words, call(first, second), words]), `So far.${end}[x] one\n[ ] two`)
})

test('a list stays through a second compaction, unless a later call replaced it', () => {
  const summary = withTodos('So far.', [call(first, second)])
  const compacted: Message = { role: 'user', content: [summaryOf(summary)] }
  assert.equal(withTodos('Later.', [compacted, words]), `Later.${end}[x] one\n[ ] two`)
  assert.equal(withTodos('Later.', [compacted, call(second)]), `Later.${end}[ ] two`)
})

test('without a list, after an empty one and after an invalid call the summary is unchanged', () => {
  for (const messages of [
    [words],
    [call(first), call()],
    [{ ...call(), content: [{ type: 'tool_use', name: 'todo_write' }] }],
  ])
    assert.equal(withTodos('So far.', messages as Message[]), 'So far.')
})
