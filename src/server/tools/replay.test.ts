import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../platform/log.ts'
import { isReplay, type RecordedCall, RecordedResults, replayedTools } from './replay.ts'
import { defaultToolLimits } from './tool.ts'
import type { CallableTool } from './tool-source.ts'

const text = (result: { readonly content: readonly object[] } | undefined) => JSON.stringify(result?.content)
const recorded = (name: string, input: unknown, answer: string): RecordedCall => ({
  name,
  input,
  content: [{ type: 'text', text: answer }],
  is_error: false,
})

test('a call gets the result with equal arguments first, else the next one of its tool, each once', () => {
  const results = new RecordedResults([
    recorded('bash', { command: 'a' }, 'A'),
    recorded('bash', { command: 'b' }, 'B'),
    recorded('read', { path: 'x' }, 'X'),
  ])
  assert.match(text(results.take('bash', { command: 'b' })), /"B"/)
  assert.match(text(results.take('bash', { command: 'new' })), /"A"/)
  assert.equal(results.take('bash', { command: 'a' }), undefined)
  assert.match(text(results.take('read', { path: 'x' })), /"X"/)
})

test('a replayed tool never runs, asks no person, and reports a call without a result', async () => {
  let diverged = 0
  const real: CallableTool = {
    ...{ name: 'bash', description: 'Runs', inputSchema: { type: 'object' } },
    ...{ policy: 'ask', reads: false, idempotent: false },
    call: async () => assert.fail('a real tool was called'),
  }
  const calls = [recorded('bash', {}, 'A')]
  const recording = { calls, onDiverged: async () => void diverged++ }
  const tools = { byName: new Map([['bash', real]]), failures: [] }
  const tool = replayedTools(tools, new RecordedResults(calls), recording).byName.get('bash')
  assert.ok(tool && 'call' in tool)
  assert.deepEqual([tool.policy, tool.idempotent], ['allow', true])
  const context = { signal: new AbortController().signal, limits: defaultToolLimits, log: createLog('silent') }
  assert.match(text(await tool.call({}, context)), /"A"/)
  const second = await tool.call({}, context)
  assert.deepEqual([second.is_error, diverged], [true, 1])
  assert.match(text(second), /no recorded result/)
})

test('only the sessions of replays replay', () => {
  assert.equal(isReplay({ source: 'experiment', replay: true }), true)
  for (const environment of [{}, { source: 'experiment' }, { source: 'webhook', replay: true }])
    assert.equal(isReplay(environment), false)
})
