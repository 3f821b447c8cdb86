import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planOf } from './demo-plan.ts'

const write = (file: string, content: string) => ({ kind: 'write', file, content })
const list = { kind: 'list' }
const run = (command: string) => ({ kind: 'run', command })

const table = [
  ['Create hello.txt that says hello, then list the folder', [write('hello.txt', 'hello'), list]],
  [
    'Create a file called notes/todo.md with the text "buy milk". List the files.',
    [write('notes/todo.md', 'buy milk'), list],
  ],
  [
    'Write "hi there" to greeting.txt and run `cat greeting.txt`',
    [write('greeting.txt', 'hi there'), run('cat greeting.txt')],
  ],
  ['make a new text file named a.txt containing one two three', [write('a.txt', 'one two three')]],
  [
    'Create hello.txt saying hello world and then show hello.txt',
    [write('hello.txt', 'hello world'), { kind: 'read', file: 'hello.txt' }],
  ],
  ['Run `ls -la /tmp` please', [run('ls -la /tmp')]],
  ['run echo one, then run "echo two"', [run('echo one'), run('echo two')]],
  ['Create empty.txt', [write('empty.txt', 'Written by the demo model.')]],
  ['What is the weather?', [list]],
  ['', [list]],
] as const

for (const [prompt, steps] of table) {
  test(`the demo model understands: ${prompt || '(an empty prompt)'}`, () => assert.deepEqual(planOf(prompt), steps))
}

test('a hostile prompt is planned in no time', () => {
  const started = performance.now()
  for (const part of ['create ', 'a.', 'with text ', '"', 'run run ', 'x'.repeat(1000), '\n'.repeat(500)])
    planOf(part.repeat(1000))
  assert.ok(performance.now() - started < 500)
})
