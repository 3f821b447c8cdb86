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
  ['Please,create a.txt: then show me all files', [write('a.txt', 'Written by the demo model.'), list]],
  ['save “two words” into the file `b.md`.', [write('b.md', 'two words')]],
  ['create c.txt with the text: one. two', [write('c.txt', 'one')]],
  ['write the text "x" to d.txt', [list]],
  ['run the command ls -la; list', [run('ls -la'), list]],
  ['execute echo hi   and then read a.b.c.txt', [run('echo hi'), { kind: 'read', file: 'a.b.c.txt' }]],
  [
    'Ask researcher to "list the folder", then list',
    [{ kind: 'ask', agent: 'researcher', task: 'list the folder' }, list],
  ],
  ['ask', [list]],
  ['run echo a.b!\nlist', [run('echo a.b!'), list]],
] as const

for (const [prompt, steps] of table) {
  test(`the demo model understands: ${prompt || '(an empty prompt)'}`, () => assert.deepEqual(planOf(prompt), steps))
}

test('H5: hostile prompts are parsed in linear time', () => {
  const parts = ['create a ', 'a.', 'create a.txt with text ', '"', 'write \u201c', 'run run ', 'x'.repeat(1000)]
  const blanks = [' ', '\t\n', '\n'.repeat(500)]
  const prompts = [
    ...[...parts, ...blanks].map(part => part.repeat(2000)),
    `run x${' '.repeat(5000)}`,
    `run x${' '.repeat(1900)}y`,
    `create a.txt that says x${' '.repeat(2000)}`,
    `create a.txt${' '.repeat(2000)}that`,
  ]
  const started = process.cpuUsage()
  for (const prompt of prompts) planOf(prompt)
  const { user } = process.cpuUsage(started)
  // A parser with backtracking took over 1 s for one of them.
  assert.ok(user < 500_000, `${user} us for ${prompts.length} prompts`)
})
