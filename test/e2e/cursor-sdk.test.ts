import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startCursorFake } from '../support/cursor/cursor-fake.ts'
import type { CursorStep } from '../support/cursor/cursor-runs.ts'
import { clientProgram } from '../support/service/client-program.ts'
import { eventually } from '../support/service/eventually.ts'

const git = {
  branches: [{ repoUrl: 'github.com/acme/app', branch: 'cursor/fix', prUrl: 'https://github.com/acme/app/pull/7' }],
}

const turn: readonly CursorStep[] = [
  { event: 'thinking', data: { text: 'Hm.' } },
  { event: 'assistant', data: { text: 'I look.' } },
  { event: 'tool_call', data: { callId: 'c1', name: 'shell', status: 'running', args: { command: 'ls' } } },
  { event: 'heartbeat', data: {} },
  { cut: 1 },
  { hold: true },
  { event: 'tool_call', data: { callId: 'c1', name: 'shell', status: 'completed', result: 'a.txt' } },
  { event: 'assistant', data: { text: 'Done.' } },
  { end: { text: 'Done.', git } },
]

/** What it may want elsewhere goes to a proxy that nobody serves. */
const envFor = (url: string, key: string) => ({
  CURSOR_BACKEND_URL: url,
  CURSOR_API_KEY: key,
  DO_NOT_TRACK: '1',
  NODE_USE_ENV_PROXY: '1',
})

const program = await clientProgram('Cursor SDK')

test('the client of Cursor itself takes the fake for its service: runs, resumption, refusals, lists', async t => {
  const fake = await startCursorFake({
    script: prompt => {
      if (prompt === 'Hold') return [{ hold: true }]
      return prompt === 'Turn' ? turn : [{ end: { text: prompt } }]
    },
  })
  t.after(fake.stop)
  const running = program.run({ args: [], env: envFor(fake.url, fake.key) })
  await eventually(() => fake.count('GET /v1/agents/*/runs/*/stream') > 1, {
    what: 'the second stream',
  })
  fake.runs[0]?.release()
  const { code, stdout, stderr } = await running
  const calls = fake.calls.map(({ name }) => name).join('\n')
  assert.equal(code, 0, `${stdout}\n${stderr}\n${calls}`)
  const seen = JSON.parse(stdout) as Record<string, unknown> & { messages: string[]; runs: string[] }
  assert.deepEqual(
    seen.messages.filter(message => !message.startsWith('status')),
    ['thinking Hm.', 'assistant I look.', 'tool_call c1 running', 'tool_call c1 completed', 'assistant Done.'],
  )
  const { agentId, messages: _, runs, found, ...rest } = seen
  assert.deepEqual(rest, {
    result: { status: 'finished', text: 'Done.', git },
    busy: ['AgentBusyError', 'agent_busy'],
    cancelled: 'cancelled',
    again: ['finished', 'Again'],
    archived: ['ConfigurationError', 'agent_archived'],
    agents: [agentId],
    gone: ['ConfigurationError', 'agent_not_found'],
    me: 'tests',
    models: ['composer-2.5'],
  })
  assert.equal(runs.length, 3)
  assert.deepEqual(found, [runs[0], 'finished'])
  const made = fake.calls.find(({ name }) => name === 'POST /v1/agents')?.body
  assert.deepEqual([made?.['agentId'], made?.['autoCreatePR']], [agentId, true])
})

test('the client of Cursor itself is rejected by the fake with another key', async t => {
  const fake = await startCursorFake()
  t.after(fake.stop)
  const { code, stderr } = await program.run({ args: [], env: envFor(fake.url, 'another-key') })
  assert.notEqual(code, 0)
  assert.match(stderr, /AuthenticationError/)
  assert.equal(fake.account.agents.size, 0)
})
