import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'
import type { Memory } from '../contract/memories.ts'

const path = '/api/v1/managed_agents/agents/agent_1/memory'
const record = (changes: Partial<Memory> = {}): Memory => ({
  id: 'mem_1',
  agent_id: 'agent_1',
  text: 'Prefers tabs',
  tags: [],
  type: 'fact',
  priority: 0,
  disabled: false,
  times_applied: 0,
  last_applied_at: null,
  source: 'ui',
  created_at: '1970-01-01T00:00:00.000Z',
  session_id: null,
  created_by: 'master',
  ...changes,
})

test('memories ls prints one memory per line for any text, and does not count a use', async () => {
  const memories = [
    record({ priority: 10, text: 'A\u001b[2J\nB', times_applied: 3 }),
    record({ id: 'mem_22', source: 'agent', disabled: true }),
  ]
  const { fetch, seen } = scriptedService({
    [`GET ${path}`]: () => Response.json(memories, { headers: { 'x-next-cursor': 'c2' } }),
  })
  const line = ['memories', 'ls', 'agent_1', '--limit', '2', '--search', 'tabs', '--tag', 'style']
  const { code, stdout, stderr } = await runLine(line, { fetch })
  assert.equal(code, 0)
  assert.deepEqual(stdout.split('\n'), [
    'ID      PRIORITY  USED  SOURCE  TYPE  TEXT',
    'mem_1   10        3     ui      fact  A B',
    'mem_22  0         0     agent   fact  (disabled) Prefers tabs',
    '',
  ])
  assert.equal(stderr, 'More: --cursor c2\n')
  assert.equal(seen[0]?.call, `GET ${path}?limit=2&include_disabled=true&track=false&q=tabs&tag=style`)
})

test('memories list without memories says how to add one', async () => {
  const { fetch } = scriptedService({ [`GET ${path}`]: () => Response.json([]) })
  assert.match((await runLine(['memories', 'list', 'agent_1'], { fetch })).stdout, /memories add agent_1/)
})

test('memories add sends each option as its field and prints only the id', async () => {
  const { fetch, seen } = scriptedService({ [`POST ${path}`]: () => Response.json(record()) })
  assert.equal((await runLine(['memories', 'add', 'agent_1', 'Prefers tabs'], { fetch })).stdout, 'mem_1\n')
  const options = ['--tag', 'style', 'code', '--type', 'preference', '--priority', '-5']
  await runLine(['memories', 'add', 'agent_1', 'Prefers tabs', ...options], { fetch })
  assert.deepEqual(
    seen.map(({ body }) => body),
    [{ text: 'Prefers tabs' }, { text: 'Prefers tabs', tags: ['style', 'code'], type: 'preference', priority: -5 }],
  )
  for (const priority of ['high', '1.5', '9999999999']) {
    const { code, stderr } = await runLine(['memories', 'add', 'agent_1', 'x', '--priority', priority], { fetch })
    assert.equal(code, 2, priority)
    assert.match(stderr, /an integer/)
  }
})

test('memories rm prints the deleted memory', async () => {
  const { fetch } = scriptedService({ [`DELETE ${path}/mem_1`]: () => new Response(null, { status: 204 }) })
  const { code, stdout } = await runLine(['memories', 'rm', 'agent_1', 'mem_1', '--yes'], { fetch })
  assert.deepEqual([code, stdout], [0, '✓ deleted mem_1\n'])
})
