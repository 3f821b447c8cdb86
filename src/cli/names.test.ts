import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runLine, scriptedService } from '../../test/support/service/command-line.ts'

const ids = ['agent_0199aaaa1111', 'agent_0199aaaa2222', 'agent_0199bbbb2222'] as const
const agents = [
  { id: ids[0], name: 'Ada' },
  { id: ids[1], name: 'Bob' },
  { id: ids[2], name: 'Bob' },
]
const service = () =>
  scriptedService({
    'GET /api/agents': () => Response.json({ agents, next_cursor: null }),
    ...Object.fromEntries(
      [...ids, 'agent_unknown'].map(id => [
        `POST /api/agents/${id}/pause`,
        () => Response.json({ id, status: 'paused' }),
      ]),
    ),
  })

const found = [
  ['a name', 'Ada', ids[0]],
  ['the start of an id', 'agent_0199b', ids[2]],
  ['the start of an id without its prefix', '0199b', ids[2]],
  ['the end of an id', 'a2222', ids[1]],
  ['a whole id', ids[1], ids[1]],
  ['an id that the list does not have', 'agent_unknown', 'agent_unknown'],
] as const

for (const [what, text, id] of found) {
  test(`an agent is found by ${what}`, async () => {
    const { fetch, seen } = service()
    const { code, stderr } = await runLine(['agents', 'pause', text], { fetch })
    assert.equal(code, 0, stderr)
    assert.equal(seen.at(-1)?.call, `POST /api/agents/${id}/pause`)
  })
}

for (const text of ['Bob', '2222', '0199aaaa']) {
  test(`${text} is ambiguous: exit code 2 with the candidates, and nothing is changed`, async () => {
    const { fetch, seen } = service()
    const { code, stderr } = await runLine(['agents', 'pause', text], { fetch })
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`^agent "${text}" is ambiguous; use a longer part of the id:\n {2}agent_0199`))
    assert.ok(seen.every(({ call }) => call.startsWith('GET ')))
  })
}

test('a whole id needs no search', async () => {
  const id = `agent_${'0'.repeat(32)}`
  const { fetch, seen } = scriptedService({
    [`POST /api/agents/${id}/pause`]: () => Response.json({ id, status: 'paused' }),
    'GET /api/agents': () => assert.fail('searched'),
  })
  assert.equal((await runLine(['agents', 'pause', id], { fetch })).code, 0)
  assert.equal(seen.length, 1)
})

const removal = { 'DELETE /api/agents/agent_0199aaaa1111': () => Response.json({ ok: true }) }
const withRemoval = () =>
  scriptedService({ 'GET /api/agents': () => Response.json({ agents, next_cursor: null }), ...removal })
const terminal = (line: string) => ({
  isTerminal: true,
  read: () => assert.fail('reads a line only'),
  readLine: async () => line,
})

test('a destructive command needs --yes without a terminal, and with --json', async () => {
  for (const options of [{}, { stdin: terminal('Ada'), json: true }]) {
    const { fetch, seen } = withRemoval()
    const { json, ...world } = { json: false, ...options }
    const { code, stderr } = await runLine(['agents', 'rm', 'Ada', ...(json ? ['--json'] : [])], { fetch, ...world })
    assert.equal(code, 2)
    assert.match(stderr, /not confirmed: delete agent agent_0199aaaa1111; pass --yes/)
    assert.ok(seen.every(({ call }) => call.startsWith('GET ')))
  }
})

test('on a terminal the typed name confirms, and another one cancels', async () => {
  const right = withRemoval()
  assert.equal((await runLine(['agents', 'rm', 'Ada'], { fetch: right.fetch, stdin: terminal('Ada') })).code, 0)
  assert.equal(right.seen.at(-1)?.call, 'DELETE /api/agents/agent_0199aaaa1111')
  const wrong = withRemoval()
  const { code, stderr } = await runLine(['agents', 'rm', 'Ada'], { fetch: wrong.fetch, stdin: terminal('ada') })
  assert.equal(code, 130)
  assert.match(stderr, /Type Ada to confirm:\ncancelled/)
  assert.ok(wrong.seen.every(({ call }) => call.startsWith('GET ')))
})
